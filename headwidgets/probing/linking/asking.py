"""What is asked of every map: which row or column, which words may be chosen, and which of them are right."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headwidgets.probing.linking.examples import Direction, Link
from headwidgets.probing.linking.placed import PlacedExample, PlacedExamples, WordSide

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Part:
    """The questions of one example in one direction. A link is one question, or several where other words may stand
    for its source.

    Attributes:
        start: Number of the example's first instance among all of the direction.
        instance: By question, the instance it belongs to, counted in the example, ascending; [questions].
        asked: Pairs of question and position asked: whose rows are averaged, or columns summed; [pairs, 2].
        first: The first position asked, [questions].
        last: The last, [questions].
        allowed: What may be chosen, [questions, positions].
        right: What should be, [questions, positions].
        listed: Whether candidates were given, so that offsets count candidates, [questions].
    """

    start: int
    instance: Ints
    asked: Ints
    first: Ints
    last: Ints
    allowed: Bools
    right: Bools
    listed: Bools


@dataclass(frozen=True)
class Asked:
    """All questions of one direction.

    Attributes:
        direction: Which.
        by_row: Rows of maps are asked, else columns.
        parts: By example; None where it has no question.
        links: By instance its link.
        example: By instance its example, [instances].
        impossible: By relation, links that no head can find: the target cannot be seen, or has no tokens.
    """

    direction: Direction
    by_row: bool
    parts: list[Part | None]
    links: list[Link]
    example: Ints
    impossible: dict[str, int]

    def __len__(self) -> int:
        return len(self.links)


def ask(placed: PlacedExamples, direction: Direction) -> Asked:
    """Make the questions of one direction."""
    by_row = direction in ("forward", "backward")
    parts: list[Part | None] = []
    links: list[Link] = []
    numbers: list[int] = []
    impossible: dict[str, int] = {}
    for number, own in enumerate(placed.examples):
        builder = _Builder(len(links), own, direction, by_row, placed.causal, placed.cross)
        for link in own.given.links:
            if link.candidates is not None and not builder.from_source:
                continue  # they say what could stand in place of the target, nothing about the source
            if builder.add(link):
                links.append(link)
                numbers.append(number)
            else:
                impossible[link.relation] = impossible.get(link.relation, 0) + 1
        parts.append(builder.part())
    return Asked(direction, by_row, parts, links, np.array(numbers, dtype=np.int64), impossible)


class _Builder:
    def __init__(
        self, start: int, own: PlacedExample, direction: Direction, by_row: bool, causal: bool, cross: bool
    ) -> None:
        self.start, self.causal, self.cross, self.by_row = start, causal, cross, by_row
        self.from_source = direction in ("forward", "received")
        self.sides = (own.query, own.key)
        self.chosen = own.key if by_row else own.query
        """The side whose words are chosen from."""
        self.count = 0
        self.instance: list[int] = []
        self.asked: list[tuple[int, int]] = []
        self.ends: list[tuple[int, int]] = []
        self.allowed: list[Bools] = []
        self.right: list[Bools] = []
        self.listed: list[bool] = []

    def add(self, link: Link) -> bool:
        """Whether the link can be found at all; its questions are kept then."""
        if self.from_source:
            sources = [link.source, *((word,) for word in link.also)]
            found = [self._question(words, link.target, link.candidates) for words in sources]
        else:
            found = [self._question(link.target, link.source + link.also, None)]
        kept = [one for one in found if one is not None]
        for units, allowed, right in kept:
            question = len(self.instance)
            self.instance.append(self.count)
            self.asked += [(question, unit) for unit in units]
            self.ends.append((units[0], units[-1]))
            self.allowed.append(allowed)
            self.right.append(right)
            self.listed.append(link.candidates is not None)
        self.count += bool(kept)
        return bool(kept)

    def _question(
        self, ask: Sequence[int], find: Sequence[int], candidates: Sequence[int] | None
    ) -> tuple[list[int], Bools, Bools] | None:
        # a source is a word of the rows' text, a target one of the columns'; without cross-attention they are the same
        source_side, target_side = self.sides
        asked = _units(ask, source_side if self.from_source else target_side)
        right = _units(find, target_side if self.from_source else source_side)
        if not asked or not right:
            return None
        n = self.chosen.n
        allowed = np.zeros(n, dtype=bool)
        allowed[_units(candidates, self.chosen) + right if candidates is not None else slice(None)] = True
        if not self.cross:
            allowed[asked] = False
        if self.causal:
            if self.by_row:
                allowed[asked[-1] :] = False
            else:
                allowed[: asked[0] + 1] = False
        hits = np.zeros(n, dtype=bool)
        hits[right] = True
        hits &= allowed
        return (asked, allowed, hits) if hits.any() else None

    def part(self) -> Part | None:
        if not self.instance:
            return None
        ends = np.array(self.ends, dtype=np.int64)
        return Part(
            self.start,
            np.array(self.instance, dtype=np.int64),
            np.array(self.asked, dtype=np.int64),
            ends[:, 0],
            ends[:, 1],
            np.stack(self.allowed),
            np.stack(self.right),
            np.array(self.listed, dtype=bool),
        )


def _units(words: Iterable[int] | None, side: WordSide) -> list[int]:
    """Positions of words at the word level, ascending; words without a token are not among them."""
    return sorted({unit for word in words or () if (unit := side.unit_of[word]) is not None})


def any_of(found: Bools, part: Part) -> Bools:
    """From questions to instances: found where one of its questions is; [questions, ...] to [instances, ...]."""
    starts = np.flatnonzero(np.diff(part.instance, prepend=-1))
    return np.logical_or.reduceat(found, starts, axis=0)
