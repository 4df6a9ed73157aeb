"""What heads find: a table of relations by heads, the best head of every row, and what it has to beat."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from headwidgets.citations import bibtex, method_of
from headwidgets.errors import InputError
from headwidgets.probing.linking.examples import Direction
from headwidgets.scores import Head, HeadScores, Interval
from headwidgets.wire.documents import KindName, Provenance

Floats = NDArray[np.float64]
Rule = Literal["strongest", "offset", "clark", "voita", "voita relative"]
RULES: tuple[Rule, ...] = ("strongest", "offset", "clark", "voita", "voita relative")
_ASKED: dict[Rule, tuple[Direction, ...]] = {
    "clark": ("forward", "received"),
    "voita": ("forward", "backward"),
    "voita relative": ("forward", "backward"),
}
"""Directions that the papers look at."""


@dataclass(frozen=True, repr=False)
class LinkRow:
    """One relation in one direction. Heads and rules were chosen on the first split; figures are of the second.

    Attributes:
        relation: Its label.
        direction: What was asked of the heads; see `headwidgets.probing.linking.examples.DIRECTIONS`.
        label: The same in words.
        n: Instances in the second split, of those that a head can find at all.
        chosen_on: Instances in the first.
        impossible: Instances in the second that no head can find: of a causal model, those to the right.
        best: The head chosen; None where the first split has no instance.
        accuracy: Of it, 0 to 1, with an interval over clusters.
        baseline: Accuracy of the best fixed offset [Clark et al. 2019, Voita et al. 2019].
        offset: That offset, in words.
        baselines: Accuracy of every baseline, by name.
        strongest: Name of the other baseline that is strongest on the second split, which errs on its side; a rule's
            parts of speech are chosen on the first.
        strongest_accuracy: Its accuracy; NaN when there is none.
        difference: Accuracy of the head less that of the strongest of all baselines, on the same instances; the
            interval holds for all rows together.
        random: Best head of the same architecture with random weights: mean and the middle 95 % of draws; None when
            not measured.
        clark: Whether the head beats the best fixed offset, as Clark et al. compare.
        voita: Whether it does by at least 10 points.
        voita_relative: Whether it does by at least a tenth of the offset's accuracy.
        better: Whether it beats every baseline beyond chance; never with fewer than 20 instances.
        verdict: In a few words.
        arcs: Numbers of its examples in `Links.arcs`.
    """

    relation: str
    direction: Direction
    label: str
    n: int
    chosen_on: int
    impossible: int
    best: Head | None
    accuracy: Interval
    baseline: float
    offset: int
    baselines: dict[str, float]
    strongest: str
    strongest_accuracy: float
    difference: Interval
    random: Interval | None
    clark: bool
    voita: bool
    voita_relative: bool
    better: bool
    verdict: str
    arcs: tuple[int, ...] = ()

    def __repr__(self) -> str:
        own = self.accuracy
        found = "not measured"
        if self.best is not None:
            found = f"{self.best.label()} {own.value:.3f} ({own.low:.3f} to {own.high:.3f})"
        return f"LinkRow({self.relation}, {self.label}: {found}, n={self.n}; {self.verdict})"


@dataclass(frozen=True)
class LinkArc:
    """One instance that is kept to be looked at.

    Attributes:
        sentence: Its number in `Links.sentences`.
        source: Words that the row asks about.
        target: Words that it should find.
        predicted: By head, the word found; -1 for none. int32 [heads].
    """

    sentence: int
    source: tuple[int, ...]
    target: tuple[int, ...]
    predicted: NDArray[np.int32]


@dataclass(frozen=True)
class LinkSentence:
    """A text that arcs are drawn over: its words, which of them have no space before them, and its name.

    Of a pair both texts, one behind the other; `second` is where the second begins, 0 where there is one text.
    """

    words: tuple[str, ...]
    glued: tuple[bool, ...]
    name: str = ""
    second: int = 0


@dataclass(frozen=True)
class LinkHead:
    """A head that finds a relation by some rule: where, how well, and by how much it beats what it has to beat."""

    head: Head
    row: LinkRow
    accuracy: float
    above: float


@dataclass(frozen=True, repr=False)
class Links:
    """A table of relations (in every direction) by heads.

    Attributes:
        rows: One per relation and direction, by number of instances, then direction.
        heads: The columns of the tables.
        accuracy: Of every head on the second split, 0 to 1, float64 [rows, heads]; NaN where there is no instance.
        stderr: Its standard error over clusters, [rows, heads].
        first: Of every head on the first split, where heads and rules were chosen, [rows, heads].
        passing: Which heads beat every baseline of their row when all rows and heads are judged together, bool
            [rows, heads].
        sentences: Texts of the instances that are kept.
        arcs: Instances that are kept, with what every head finds.
        n: Examples of the second split, and clusters among them.
        notes: Sentences on what was left out.
        name: What was measured, for titles.
        shapes: By kind, layers and heads.
        fingerprint: Of the model.
        provenance: How it was made.
    """

    rows: tuple[LinkRow, ...]
    heads: tuple[Head, ...]
    accuracy: Floats = field(repr=False)
    stderr: Floats = field(repr=False)
    first: Floats = field(repr=False)
    passing: NDArray[np.bool_] = field(repr=False)
    sentences: tuple[LinkSentence, ...] = field(repr=False)
    arcs: tuple[LinkArc, ...] = field(repr=False)
    n: tuple[int, int]
    notes: tuple[str, ...]
    name: str
    shapes: dict[KindName, tuple[int, int]]
    fingerprint: str | None = None
    provenance: Provenance | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[LinkRow]:
        return iter(self.rows)

    def __str__(self) -> str:
        relations = _counted(len({row.relation for row in self.rows}), "relation")
        good = sum(row.better for row in self.rows)
        return (
            f"Links({self.name}: {relations}, {_counted(len(self.heads), 'head')}, {_counted(self.n[0], 'example')}; "
            f"in {good} of {_counted(len(self.rows), 'row')} the best head beats every baseline)"
        )

    __repr__ = __str__

    def row(self, relation: str, direction: str | None = None) -> LinkRow:
        """One row.

        Args:
            relation: Its label.
            direction: As in `LinkRow.direction` or `LinkRow.label`; the one with the best head by default (by the first
                split).

        Raises:
            InputError: there is no such row; the message names those that there are.
        """
        return self.rows[self.number(relation, direction)]

    def number(self, relation: str, direction: str | None = None) -> int:
        """Where a row stands in the tables; arguments as in `row`."""
        own = [i for i, row in enumerate(self.rows) if row.relation == relation]
        if not own:
            known = ", ".join(dict.fromkeys(row.relation for row in self.rows))
            raise InputError(f"there is no relation {relation!r}; there are {known}")
        if direction is None:
            return max(own, key=lambda i: float(np.nan_to_num(self.first[i], nan=-1.0).max(initial=-1.0)))
        fitting = [i for i in own if direction in (self.rows[i].direction, self.rows[i].label)]
        if not fitting:
            known = ", ".join(repr(self.rows[i].label) for i in own)
            raise InputError(f"there is no direction {direction!r} of {relation!r}; there are {known}")
        return fitting[0]

    def per_relation(self, directions: Collection[str] | None = None) -> tuple[LinkRow, ...]:
        """One row per relation, in the direction whose best head is best on the first split.

        Args:
            directions: Those to choose from; all by default. ``("forward", "received")`` are those of Clark et al.
                2019, table 1 (where the choice is made on the figures that are shown).
        """
        if directions is not None and not isinstance(directions, Iterable):
            raise InputError(f"expected directions as a list of names, got {directions!r}")
        wanted = None if directions is None else {directions} if isinstance(directions, str) else set(directions)
        best: dict[str, tuple[float, LinkRow]] = {}
        for row, values in zip(self.rows, self.first, strict=True):
            if wanted is not None and not {row.direction, row.label} & wanted:
                continue
            value = float(np.nan_to_num(values, nan=-1.0).max(initial=-1.0))
            if row.relation not in best or value > best[row.relation][0]:
                best[row.relation] = (value, row)
        return tuple(row for _, row in best.values())

    def specialists(self, rule: Rule = "strongest") -> list[LinkHead]:
        """Heads that find a relation, best first.

        Args:
            rule: ``strongest``: beats every baseline beyond chance, all rows and heads judged together. ``offset``: is
                better than the best fixed offset; ``clark``: the same, in the directions that Clark et al. look at
                (``forward`` and ``received``); ``voita``: by at least 10 points (``forward`` and ``backward``); ``voita
                relative``: by at least a tenth of it. These look at figures alone, for every head.

        Raises:
            InputError: an unknown rule.
        """
        if rule not in RULES:
            raise InputError(f"expected a rule of {', '.join(RULES)}, got {rule!r}")
        found = []
        for i, row in enumerate(self.rows):
            if row.direction not in _ASKED.get(rule, (row.direction,)):
                continue
            floor = row.baseline
            if rule == "strongest":
                floor = max([*row.baselines.values(), row.random.value if row.random else 0.0])
            needed = {"voita": floor + 0.1, "voita relative": floor * 1.1}.get(rule, floor)
            for j, value in enumerate(self.accuracy[i].tolist()):
                ok = bool(self.passing[i, j]) if rule == "strongest" else row.n > 0 and _reaches(rule, value, needed)
                if ok:
                    found.append(LinkHead(self.heads[j], row, value, value - floor))
        return sorted(found, key=lambda one: -one.accuracy)

    def scores(self, relation: str, direction: str | None = None) -> HeadScores:
        """The accuracy of every head in one row, to be drawn on a `headwidgets.HeadGrid`; arguments as in `row`."""
        number = self.number(relation, direction)
        row = self.rows[number]
        values = {kind: np.full(shape, np.nan) for kind, shape in self.shapes.items()}
        errors = {kind: np.full(shape, np.nan) for kind, shape in self.shapes.items()}
        for j, head in enumerate(self.heads):
            values[head.kind][head.layer, head.index] = self.accuracy[number, j]
            errors[head.kind][head.layer, head.index] = self.stderr[number, j]
        return HeadScores(
            values,
            stderr=errors,
            n=row.n,
            name=f"{row.relation}, {row.label}",
            unit="accuracy",
            provenance=self.provenance,
            fingerprint=self.fingerprint,
        )

    def cite(self) -> str:
        """BibTeX of the papers behind the measurement."""
        return bibtex([method_of(self.provenance)])

    def to_frame(self, *, best_direction: bool = False, directions: Collection[str] | None = None) -> Any:
        """A pandas DataFrame, one row per relation and direction.

        Args:
            best_direction: One row per relation; see `per_relation`.
            directions: Only these, as in `LinkRow.direction` or `LinkRow.label`.
        """
        from headwidgets.probing.linking.shown import frame

        rows = self.per_relation(directions) if best_direction else self.rows
        return frame(self, [r for r in rows if directions is None or {r.direction, r.label} & set(directions)])

    def document(self) -> dict[str, Any]:
        """What is drawn (wire `ProbeDocument`)."""
        from headwidgets.probing.linking.shown import document

        return document(self)

    def save(self, path: str | Path) -> Path:
        """Write a ``.heads`` file, which `headwidgets.read` reads; returns its path."""
        from headwidgets.files import write
        from headwidgets.probing.linking.stored import to_document

        return write(path, to_document(self))

    @classmethod
    def from_document(cls, stored: dict[str, Any]) -> "Links":
        """From what a ``.heads`` file holds.

        Raises:
            InputError: arrays or rows that do not fit each other.
        """
        from headwidgets.probing.linking.stored import from_document

        return from_document(stored)


def _reaches(rule: Rule, value: float, needed: float) -> bool:
    """The papers say "better" and "at least 10 % better"."""
    return value > needed if rule in ("offset", "clark") else value >= needed > 0


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
