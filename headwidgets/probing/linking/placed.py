"""Where are the words of an example among the model's tokens? Both sides of a map, and what was left out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from headwidgets.errors import InputError, UnsupportedError
from headwidgets.models.model import HeadModel
from headwidgets.models.sites import Site
from headwidgets.probing.linking.examples import LinkExample
from headwidgets.text.examples import Example, Side
from headwidgets.text.placing import place, units_of

Units: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class WordSide:
    """The words of one side of a map, at the word level.

    Attributes:
        units: Per token its position at the word level, -1 for none; int64 [tokens].
        unit_of: Per word that position; None where no token of it is left.
        n: Positions.
        tags: Part of speech of each position (of its first word); empty when not known.
        words: Per position its first word.
    """

    units: Units
    unit_of: tuple[int | None, ...]
    n: int
    tags: tuple[str, ...]
    words: tuple[int, ...]


@dataclass(frozen=True)
class PlacedExample:
    """An example as the model sees it: its tokens, and the words of the map's rows and columns."""

    given: LinkExample
    example: Example
    query: WordSide
    key: WordSide


@dataclass(frozen=True)
class PlacedExamples:
    """Examples that the model can be asked about, the sites that are asked, and what was left out, in sentences."""

    examples: list[PlacedExample]
    sites: list[Site]
    causal: bool
    cross: bool
    notes: list[str]


def placed(model: HeadModel, examples: Sequence[LinkExample], *, written: bool = False) -> PlacedExamples:
    """Tokenise examples and find their words.

    Args:
        model: A HeadModel.
        examples: All with `LinkExample.against`, or none.
        written: Of cross-attention: a word's rows are those at which it is written, not those at which it is read.

    Raises:
        InputError: nothing that the model can read.
        UnsupportedError: two texts for a model without cross-attention.
    """
    if examples[0].against is not None:
        return _crossed(model, examples, written)
    found = place(model, [example.sentence() for example in examples])
    made = []
    for number, own in zip(found.index, found.sentences, strict=True):
        side = _side(examples[number], own.units, own.unit_of, own.n_units)
        made.append(PlacedExample(examples[number], own.example, side, side))
    sites = [s for s in model.sites if not model.is_encoder_decoder or s.kind == "encoder"]
    causal = all(site.kind == "decoder" for site in sites)
    return PlacedExamples(made, sites, causal, False, found.notes())


def _side(given: LinkExample, units: Units, unit_of: Sequence[int | None], n: int) -> WordSide:
    words = [0] * n
    for word in range(len(unit_of) - 1, -1, -1):
        unit = unit_of[word]
        if unit is not None:
            words[unit] = word
    tags = tuple(given.tags[word] for word in words) if given.tags else ()
    return WordSide(units, tuple(unit_of), n, tags, tuple(words))


def _crossed(model: HeadModel, examples: Sequence[LinkExample], written: bool) -> PlacedExamples:
    if not model.is_encoder_decoder or "cross" not in model.kinds:
        raise UnsupportedError(
            f"{type(model.model).__name__} has no cross-attention: expected examples without against=, links of which "
            "are between words of one text"
        )
    made: list[PlacedExample] = []
    why: list[str] = []
    for given in examples:
        assert given.against is not None
        try:
            example = model.encode([(given.against.text, given.text)])[0]
        except InputError as error:
            why.append(str(error))
            continue
        assert example.target is not None
        query, key = _found(given, example.target), _found(given.against, example.source)
        if written:
            query = WordSide(np.append(query.units[1:], -1), query.unit_of, query.n, query.tags, query.words)
        made.append(PlacedExample(given, example, query, key))
    if not made:
        raise InputError(f"expected at least one example that the model can read, got none ({why[0]})")
    notes = [f"{len(why)} of {len(examples)} examples were left out, the first because {why[0]}."] if why else []
    return PlacedExamples(made, model.sites_of("cross"), False, True, notes)


def _found(given: LinkExample, side: Side) -> WordSide:
    """The words of one side of a pair."""
    return _side(given, *units_of(given.text, given.spans, side.offsets))


def sample_of(placed_: PlacedExamples, most: int, seed: int) -> PlacedExamples:
    """Some of the examples, at random, in their order."""
    total = len(placed_.examples)
    if total <= most:
        return placed_
    chosen: Any = np.sort(np.random.default_rng(seed).choice(total, most, replace=False))
    return PlacedExamples(
        [placed_.examples[i] for i in chosen.tolist()], placed_.sites, placed_.causal, placed_.cross, placed_.notes
    )
