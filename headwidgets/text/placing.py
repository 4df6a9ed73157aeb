"""Where are a treebank's words among the model's tokens? Matched by characters; what cannot be matched is listed."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwidgets.errors import InputError
from headwidgets.text.encoding import encode_side
from headwidgets.text.examples import Example
from headwidgets.text.treebank import Sentence
from headwidgets.text.words import assign_words


@dataclass(frozen=True)
class PlacedSentence:
    """A sentence as the model sees it.

    Attributes:
        sentence: From the treebank.
        example: Its tokens; of an encoder-decoder only the source, since only the encoder is looked at.
        units: Per token the position at the word level that it belongs to, int64 [tokens]; -1 for special tokens and
            tokens of no word.
        unit_of: Per word its position at the word level, from 0; None for a word of which no token is left. Words that
            share all their tokens have the same one.
        n_units: Positions at the word level.
    """

    sentence: Sentence
    example: Example
    units: NDArray[np.int64]
    unit_of: tuple[int | None, ...]
    n_units: int


@dataclass(frozen=True)
class Skipped:
    """A sentence that was left out: its number in the treebank, its name, and why."""

    index: int
    name: str
    reason: str


@dataclass(frozen=True)
class Placed:
    """The sentences of a treebank that a model can be asked about.

    Attributes:
        sentences: Those that could be placed.
        index: Where each stands in the treebank.
        skipped: Those that could not.
        words: Words in `sentences`.
        lost: Words of them without a token.
        merged: Words of them that share their tokens with another word, so that maps cannot tell them apart.
        unknown: Words of them that are nothing but the tokenizer's unknown token.
    """

    sentences: list[PlacedSentence]
    index: list[int]
    skipped: list[Skipped]
    words: int
    lost: int
    merged: int
    unknown: int

    def __len__(self) -> int:
        return len(self.sentences)

    def notes(self) -> list[str]:
        """What was left out, in sentences."""
        found = []
        reasons = Counter(skip.reason.split(":")[0] for skip in self.skipped)
        total = len(self.sentences) + len(self.skipped)
        for reason, count in reasons.items():
            found.append(f"{count} of {total} sentences were left out: {reason}.")
        for count, what in (
            (self.lost, "have no token of the model"),
            (self.merged, "share all their tokens with another word and are one position with it"),
            (self.unknown, "are unknown to the tokenizer"),
        ):
            if count:
                found.append(f"{count} of {self.words} words {what}.")
        return found


def place(model: Any, sentences: Iterable[Sentence], *, limit: int | None = None) -> Placed:
    """Tokenise sentences as running text and find the tokens of every word.

    Args:
        model: A HeadModel.
        sentences: A treebank, or sentences of one.
        limit: Leave out sentences of more words than this.

    Raises:
        InputError: no sentence is left.
    """
    found: list[PlacedSentence] = []
    index: list[int] = []
    skipped: list[Skipped] = []
    lost = merged = unknown = 0
    most = model.max_positions
    for number, sentence in enumerate(sentences):
        if limit is not None and len(sentence) > limit:
            skipped.append(Skipped(number, sentence.name, f"more than {limit} words: {len(sentence)}"))
            continue
        side, encoding = encode_side(model.tokenizer, [sentence.text])
        if most is not None and len(side) > most:
            skipped.append(Skipped(number, sentence.name, f"longer than the model's {most} positions: {len(side)}"))
            continue
        spans = sorted({word.span for word in sentence.words})
        _, numbers = assign_words(spans, side.offsets, given=True)
        present = sorted({n for n in numbers if n is not None})
        rank = {n: i for i, n in enumerate(present)}
        units = np.array([-1 if n is None else rank[n] for n in numbers], dtype=np.int64)
        place_of = {span: rank.get(i) for i, span in enumerate(spans)}
        unit_of = tuple(place_of[word.span] for word in sentence.words)
        types = encoding.get("token_type_ids") if getattr(model.model.config, "type_vocab_size", 0) else None
        example = Example(sentence.text, replace(side), None, tuple(types) if types is not None else None)
        found.append(PlacedSentence(sentence, example, units, unit_of, len(present)))
        index.append(number)
        shared = Counter(unit for unit in unit_of if unit is not None)
        lost += sum(unit is None for unit in unit_of)
        merged += sum(shared[unit] > 1 for unit in unit_of if unit is not None)
        unknown += _unknown(model.tokenizer, side.ids, units, unit_of)
    if not found:
        why = skipped[0].reason if skipped else "the treebank is empty"
        raise InputError(f"expected at least one sentence that the model can read, got none ({why})")
    return Placed(found, index, skipped, sum(len(p.sentence) for p in found), lost, merged, unknown)


def _unknown(tokenizer: Any, ids: Any, units: Any, unit_of: tuple[int | None, ...]) -> int:
    mark = tokenizer.unk_token_id
    if mark is None:
        return 0
    known = set(units[np.asarray(ids) != mark].tolist())
    return sum(unit is not None and unit not in known for unit in unit_of)
