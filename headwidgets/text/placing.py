"""Where are a treebank's words among the model's tokens? Matched by characters; what cannot be matched is listed."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwidgets.errors import InputError
from headwidgets.text.encoding import encode_side, with_markers
from headwidgets.text.examples import Example, Spans
from headwidgets.text.treebank import Sentence
from headwidgets.text.words import Span, assign_words


@dataclass(frozen=True)
class PlacedSentence:
    """A sentence as the model sees it.

    Attributes:
        sentence: From the treebank.
        example: Its tokens; of an encoder-decoder only the source, since only the encoder is looked at.
        units: Per token the position at the word level that it belongs to, int64 [tokens]; -1 for special tokens and
            tokens of no word.
        unit_of: Per word its position at the word level, from 0; None for a word of which no token is left. Words that
            the tokens cannot tell apart (of one multiword token, or of one token) have the same one.
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


@dataclass(frozen=True, repr=False)
class Placed:
    """The sentences of a treebank that a model can be asked about.

    Attributes:
        sentences: Those that could be placed.
        index: Where each stands in the treebank.
        skipped: Those that could not.
        words: Words in `sentences`.
        lost: Words of them none of whose characters is in a token.
        merged: Words of them at a position that another word has too, so that maps cannot tell them apart.
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

    def __repr__(self) -> str:
        total = len(self.sentences) + len(self.skipped)
        return " ".join([f"Placed({len(self)} of {total} sentences, {self.words} words)", *self.notes()])

    def notes(self) -> list[str]:
        """What was left out, in sentences."""
        found = []
        reasons = Counter(skip.reason.split(":")[0] for skip in self.skipped)
        total = len(self.sentences) + len(self.skipped)
        for reason, count in reasons.items():
            found.append(f"{count} of {total} sentences were left out: {reason}.")
        for count, what in (
            (self.lost, "have no token of the model"),
            (self.merged, "share their tokens with another word and are one position with it"),
            (self.unknown, "are nothing but unknown tokens"),
        ):
            if count:
                found.append(f"{count} of {self.words} words {what}.")
        if 2 * self.unknown > self.words:
            found.append("The tokenizer does not know this script: what heads do here says little about its words.")
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
    if not hasattr(model, "max_positions"):
        raise InputError(f"expected a HeadModel, got {type(model).__name__}: hw.wrap(model, tokenizer) makes one")
    if isinstance(sentences, (str, bytes)) or not isinstance(sentences, Iterable):
        raise InputError(
            f"expected a Treebank or its sentences, got {type(sentences).__name__}: read a file with Treebank.read, or "
            "parse texts with Treebank.parse"
        )
    most = model.max_positions
    for number, sentence in enumerate(sentences):
        if not isinstance(sentence, Sentence):
            raise InputError(
                f"expected a Treebank or its sentences, got a {type(sentence).__name__}: read a file with "
                "Treebank.read, or parse texts with Treebank.parse"
            )
        placed = _placed(model, sentence, limit, most)
        if isinstance(placed, str):
            skipped.append(Skipped(number, sentence.name, placed))
            continue
        found.append(placed)
        index.append(number)
        shared = Counter(unit for unit in placed.unit_of if unit is not None)
        lost += sum(unit is None for unit in placed.unit_of)
        merged += sum(shared[unit] > 1 for unit in placed.unit_of if unit is not None)
        unknown += _unknown(model.tokenizer, placed)
    if not found:
        why = skipped[0].reason if skipped else "the treebank is empty"
        raise InputError(f"expected at least one sentence that the model can read, got none ({why})")
    return Placed(found, index, skipped, sum(len(p.sentence) for p in found), lost, merged, unknown)


def _placed(model: Any, sentence: Sentence, limit: int | None, most: int | None) -> "PlacedSentence | str":
    """The sentence among the model's tokens, or why not."""
    if limit is not None and len(sentence) > limit:
        return f"more than {limit} words: {len(sentence)}"
    if not sentence.text.strip():
        return "no characters but white space"
    side, encoding = encode_side(model.tokenizer, [sentence.text])
    if most is not None and len(side) > most:
        return f"longer than the model's {most} positions: {len(side)}"
    _check(sentence)
    units, unit_of, n_units = units_of(sentence.text, [word.span for word in sentence.words], side.offsets)
    if not n_units:
        return "none of its words has a token"
    types = encoding.get("token_type_ids")
    known = getattr(model.model.config, "type_vocab_size", 0) or 0
    type_ids = tuple(types) if types is not None and max(types) < known else None
    return PlacedSentence(sentence, Example(sentence.text, side, None, type_ids), units, unit_of, n_units)


def units_of(text: str, spans: Sequence[Span], offsets: Spans) -> tuple[NDArray[np.int64], tuple[int | None, ...], int]:
    """Which word is each token of, and where is each word?

    Args:
        text: The source text.
        spans: Start and end of every word in it, disjoint or the same.
        offsets: Start and end of every token; None for special tokens.

    Returns:
        As `PlacedSentence.units`, `PlacedSentence.unit_of` and `PlacedSentence.n_units`.
    """
    apart = sorted({span for span in spans if span[0] < span[1]})
    numbers = with_markers(text, offsets, assign_words(apart, offsets, given=True)[1])
    rank = {n: i for i, n in enumerate(sorted({n for n in numbers if n is not None}))}
    place_of: dict[Span, int | None] = {span: rank.get(i) for i, span in enumerate(apart)}
    for span in apart:
        if place_of[span] is None:
            place_of[span] = _shared(span, offsets, numbers, rank)
    units = np.array([-1 if n is None else rank[n] for n in numbers], dtype=np.int64)
    return units, tuple(place_of.get(span) for span in spans), len(rank)


def _check(sentence: Sentence) -> None:
    """Sentences may be made by hand."""
    where = f"sentence {sentence.name!r}"
    n, length = len(sentence), len(sentence.text)
    for number, word in enumerate(sentence.words):
        if not 0 <= word.span[0] <= word.span[1] <= length:
            raise InputError(f"{where}: word {number} has the span {word.span}, but the text has {length} characters")
        if word.head is not None and not -1 <= word.head < n:
            raise InputError(f"{where}: word {number} has the head {word.head}: expected -1 to {n - 1}, or None")
    for one, two in pairwise(sorted({word.span for word in sentence.words if word.span[0] < word.span[1]})):
        if two[0] < one[1]:
            raise InputError(
                f"{where}: two words have the spans {one} and {two}: expected spans that are apart or the same"
            )


def _shared(span: Span, offsets: Spans, numbers: Sequence[int | None], rank: dict[int, int]) -> int | None:
    """The position of the word that a token with characters of this word was given to, the largest share first."""
    best, place = 0, None
    for own, number in zip(offsets, numbers, strict=True):
        if own is not None and number is not None:
            overlap = min(own[1], span[1]) - max(own[0], span[0])
            if overlap > best:
                best, place = overlap, rank[number]
    return place


def _unknown(tokenizer: Any, placed: PlacedSentence) -> int:
    """Words of which every token is the unknown one."""
    mark = tokenizer.unk_token_id
    if mark is None:
        return 0
    side = placed.example.source
    written = [span is not None and bool(placed.sentence.text[span[0] : span[1]].strip()) for span in side.offsets]
    known = set(placed.units[(side.ids != mark) & np.array(written)].tolist())
    return sum(unit is not None and unit not in known for unit in placed.unit_of)
