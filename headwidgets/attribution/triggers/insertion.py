"""Where does a word go in another text? At the same relative position of the same segment (Hao et al. 2021).

The rule is that of the paper's code: a token that is the j-th of the n of its segment (special tokens not counted) has
the place j / n. In a text whose segment has L tokens, of which c were put in before, it is put in at
``round((L + c) * place)`` (halves to even), one further where that is taken. What we add: the words of a trigger
keep their order; a word is never put into the middle of another one but after it; its own pieces stay together, and its
place is that of its last piece. Special tokens stay where the tokenizer put them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headwidgets.errors import InputError
from headwidgets.text.examples import Example, Side
from headwidgets.text.offsets import names_of
from headwidgets.text.tokens import cleaned

_MARKS = ("Ġ", "▁")
"""What tokenizers write into a token that begins after a space."""


@dataclass(frozen=True)
class Word:
    """One word of a trigger.

    Attributes:
        ids: Token ids of its pieces.
        text: For a reader, as it stood in its source.
        segment: 0, or 1 in the second text of a pair.
        place: Relative position in the segment, 0 to 1.
    """

    ids: tuple[int, ...]
    text: str
    segment: int
    place: float


def names(tokenizer: Any, ids: Sequence[int]) -> list[str]:
    """Tokens as the tokenizer spells them."""
    return names_of(tokenizer, [int(i) for i in ids])


class Slots:
    """Where something may be put into a text: by segment, its tokens and the gaps between its words."""

    def __init__(self, example: Example, tokenizer: Any) -> None:
        side = example.source
        self.example = example
        self.length = len(side)
        self.positions: list[list[int]] = []
        self._open: list[list[bool]] = []
        self._spaced: list[list[bool]] = []
        spelled = names(tokenizer, side.ids.tolist())
        for segment in range(len(side.sources)):
            own = [i for i in range(len(side)) if side.segments[i] == segment and not side.special[i]]
            gaps = [_gap(side, own, at) for at in range(len(own) + 1)]
            self.positions.append(own)
            self._open.append(gaps)
            self._spaced.append([o and (at == len(own) or _after_space(spelled[own[at]])) for at, o in enumerate(gaps)])

    def offsets(self, words: Sequence[Word], spaced: Sequence[bool]) -> list[int]:
        """By word, before which token of its segment it goes (their number for the end).

        Args:
            words: In the order of the trigger: by segment and place.
            spaced: By word, whether its token says that it begins after a space.

        Raises:
            InputError: a word for the second text, and there is none.
        """
        found: list[int] = []
        done: dict[int, tuple[int, int]] = {}
        for word, after_space in zip(words, spaced, strict=True):
            if word.segment >= len(self.positions):
                raise InputError(
                    f"the trigger has a word ({word.text!r}) for the second text of a pair, and this is one text: "
                    "attack pairs with triggers of pairs"
                )
            length = len(self.positions[word.segment])
            before, count = done.get(word.segment, (0, 0))
            at = min(length, max(before, round((length + count) * word.place) - count))
            gaps = (self._spaced if after_space else self._open)[word.segment]
            while not gaps[at]:
                at += 1
            found.append(at)
            done[word.segment] = at, count + len(word.ids)
        return found

    def insert(self, words: Sequence[Word], offsets: Sequence[int]) -> Example:
        """The text with the words in it, as the model will see it."""
        ids, types = self.example.source.ids.tolist(), self.example.type_ids
        kinds = None if types is None else list(types)
        # From the end on, so that what comes before stays where it is; of words in one gap the last one first.
        for word, at in reversed(list(zip(words, offsets, strict=True))):
            own = self.positions[word.segment]
            where = own[at] if at < len(own) else own[-1] + 1
            ids[where:where] = word.ids
            if kinds is not None:
                kinds[where:where] = [kinds[own[0]]] * len(word.ids)
        side = Side(np.asarray(ids, dtype=np.int64), (), (), (), (), ())
        return Example(self.example.text, side, None, None if kinds is None else tuple(kinds))

    def reading(
        self, words: Sequence[Word], offsets: Sequence[int], tokenizer: Any
    ) -> tuple[list[str], list[int], int]:
        """For a reader: the parts of the text in order, which of them were put in, which one begins the second text."""
        parts: list[str] = []
        inserted: list[int] = []
        second = -1
        for segment, own in enumerate(self.positions):
            if segment == 1:
                second = len(parts)
            cut = _cutter(self.example.source, own, segment, tokenizer)
            start = 0
            for word, at in zip(words, offsets, strict=True):
                if word.segment != segment:
                    continue
                if kept := cut(start, at):
                    parts.append(kept)
                start = at
                inserted.append(len(parts))
                parts.append(word.text)
            if kept := cut(start, len(own)):
                parts.append(kept)
        return parts, inserted, second


def _gap(side: Side, own: Sequence[int], at: int) -> bool:
    """Whether a new word may stand before the token `at` of a segment: at its ends and between two words."""
    if at in (0, len(own)):
        return True
    here, before = side.words[own[at]], side.words[own[at - 1]]
    return here is None or here != before


def _after_space(name: str) -> bool:
    """Whether a token stands apart from one before it: it says so, or it is a sign of punctuation."""
    return name.startswith(_MARKS) or not name[:1].isalnum()


def _cutter(side: Side, own: Sequence[int], segment: int, tokenizer: Any) -> Callable[[int, int], str]:
    """Reads the tokens from one offset to another: from the source text, or spelled out where offsets are unknown."""
    source = side.sources[segment]
    spans = [side.offsets[i] for i in own]
    known = [span for span in spans if span is not None]

    def read(start: int, stop: int) -> str:
        if len(known) == len(spans):
            first = 0 if start == 0 else known[start][0] if start < len(known) else len(source)
            last = known[stop][0] if stop < len(known) else len(source)
            return source[first:last].strip()
        pieces = names(tokenizer, [int(side.ids[i]) for i in own[start:stop]])
        return "".join(cleaned(p) if p.startswith("##") else f" {cleaned(p)}" for p in pieces).strip()

    return read


def word_at(side: Side, position: int, labels: Sequence[Any], tokenizer: Any) -> tuple[Word, int]:
    """The word that a token belongs to, and the position of its first piece."""
    segment, number = side.segments[position], side.words[position]
    own = [i for i in range(len(side)) if side.segments[i] == segment and not side.special[i]]
    pieces = [i for i in own if number is not None and side.words[i] == number] or [position]
    spans = [span for i in pieces if (span := side.offsets[i]) is not None]
    if len(spans) == len(pieces):
        text = side.sources[segment][spans[0][0] : spans[-1][1]].strip()
    else:
        text = "".join(str(labels[i]["text"]) for i in pieces).strip()
    ids = [int(side.ids[i]) for i in pieces]
    ids[0] = _apart(ids[0], tokenizer)
    place = (own.index(pieces[-1]) + 1) / len(own)
    return Word(tuple(ids), text, segment, place), pieces[0]


def _apart(token: int, tokenizer: Any) -> int:
    """The token that means the same after a space; a text's first word has none before it."""
    name = names(tokenizer, [token])[0]
    if name.startswith(_MARKS) or not name[:1].isalnum():
        return token
    for mark in _MARKS:
        found = tokenizer.convert_tokens_to_ids(mark + name)
        if found is not None and names(tokenizer, [found])[0] == mark + name:  # unknown ones become another token
            return int(found)
    return token


def spaced(words: Sequence[Word], tokenizer: Any) -> list[bool]:
    """By word, whether its first token says that it begins after a space."""
    return [names(tokenizer, word.ids[:1])[0].startswith(_MARKS) for word in words]
