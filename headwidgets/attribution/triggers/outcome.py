"""What `attack` returns."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from headwidgets import statistics
from headwidgets.attribution.triggers.found import Trigger, Triggers
from headwidgets.errors import InputError
from headwidgets.scores import Interval, import_pandas
from headwidgets.wire.documents import SCHEMA, Provenance, TriggerRow, TriggersDocument

MEASURES = ("before", "after", "change", "random", "matched")
_PART = 200
"""Characters of a part of an example in a document; longer ones lose their middle."""


@dataclass(frozen=True)
class Changed:
    """A text whose prediction changed.

    Attributes:
        text: Its number among the attacked texts.
        parts: What was there and what was put in, in order.
        inserted: Which of the parts were put in.
        second: The part that begins the second text of a pair; -1 for one text.
        label: The right class.
        before: Predicted before.
        after: Predicted after.
    """

    text: int
    parts: tuple[str, ...]
    inserted: tuple[int, ...]
    second: int
    label: str
    before: str
    after: str

    def __str__(self) -> str:
        shown = [f"[{part}]" if i in self.inserted else part for i, part in enumerate(self.parts)]
        if self.second >= 0:
            shown.insert(self.second, "|")
        return f"{' '.join(shown)} ({self.label}; {self.before} -> {self.after})"


@dataclass(frozen=True)
class Effect:
    """What one trigger does.

    Attributes:
        trigger: Which.
        n: int64 [1 + classes], texts; first all of them, then by right class.
        outcomes: float64 [1 + classes, 3 measures, 3], accuracy before, after, and the paired change, each as value,
            low, high (95 %, for new data); NaN where a class has no text left.
        moves: int64 [classes of the model, the same], texts by predicted class before and after.
        names: Of the model's classes.
        skipped: Texts left out because the trigger made them too long.
        examples: Some changed predictions.
        draws: ``random`` and ``matched``: float64 [draws, 1 + classes], accuracy with other words in the same places;
            empty before they are drawn.
    """

    trigger: Trigger
    n: NDArray[np.int64]
    outcomes: NDArray[np.float64]
    moves: NDArray[np.int64]
    names: Sequence[str]
    skipped: int
    examples: Sequence[Changed]
    draws: Mapping[str, NDArray[np.float64]]

    @property
    def changed(self) -> int:
        """Texts whose prediction changed."""
        return int(self.moves.sum() - np.trace(self.moves))

    @property
    def moved(self) -> dict[str, int]:
        """Changed predictions by the class that they became, most frequent first."""
        arrived = self.moves.sum(0) - np.diag(self.moves)
        order = np.argsort(-arrived, kind="stable")
        return {self.names[i]: int(arrived[i]) for i in order if arrived[i]}

    def interval(self, measure: str, column: int = 0) -> Interval | None:
        """One of `MEASURES` for all texts (column 0) or a class; of draws, their mean, 2.5 and 97.5 %."""
        value, low, high = self.table()[column, MEASURES.index(measure)]
        return None if np.isnan(value) else Interval(float(value), float(low), float(high))

    def table(self) -> NDArray[np.float64]:
        """float64 [1 + classes, 5 measures, 3]: `outcomes` with the bands of the draws."""
        found = np.full((len(self.n), 5, 3), np.nan)
        found[:, :3] = self.outcomes
        for at, name in enumerate(("random", "matched")):
            if name in self.draws:
                drawn = self.draws[name]
                found[:, 3 + at] = np.array([drawn.mean(0), *np.quantile(drawn, (0.025, 0.975), axis=0)]).T
        return found


@dataclass
class Attack(Sequence[Effect]):
    """Effects of triggers on texts that they were put into.

    Attributes:
        effects: One per trigger, in their order.
        classes: Names of the right classes, in the order of the columns of `Effect.n`.
        controls: Draws of random and of matched words; 0 for none.
        notes: Sentences that a reader should know.
        provenance: How it was made.
        triggers: Where the triggers came from.
    """

    effects: list[Effect]
    classes: list[str]
    controls: int
    notes: list[str] = field(default_factory=list)
    provenance: Provenance | None = field(default=None, repr=False)
    triggers: Any = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.effects)

    def __iter__(self) -> Iterator[Effect]:
        return iter(self.effects)

    def __getitem__(self, index: Any) -> Any:
        return self.effects[index]

    def chance(self, control: str = "random", name: str | None = None) -> float:
        """The fall in accuracy that the best of as many control words reaches, in 97.5 % of the draws at most.

        The best of many triggers is compared with the best of many draws (a max statistic): one draw of each trigger's
        controls together, the largest fall among them; over all draws, its 97.5 % quantile.

        Args:
            control: ``random`` or ``matched``.
            name: Of a class; all texts by default.

        Returns:
            A share of texts; NaN while there are no draws of every trigger.
        """
        if control not in ("random", "matched"):
            raise InputError(f"expected control 'random' or 'matched', got {control!r}")
        column = self.column(name)
        if not self.effects or any(control not in effect.draws for effect in self.effects):
            return float("nan")
        falls = [effect.outcomes[column, 0, 0] - effect.draws[control][:, column] for effect in self.effects]
        return float(np.quantile(np.max(falls, axis=0), 0.975))

    def column(self, name: str | None) -> int:
        """The column of a class; 0 for all texts."""
        if name is not None and name not in self.classes:
            raise InputError(f"there is no class {name!r} among the labels: they are {', '.join(self.classes)}")
        return 0 if name is None else 1 + self.classes.index(name)

    def best(self, name: str | None = None) -> Effect:
        """The effect with the largest fall in accuracy on these texts, of all or of one class.

        Chosen here, it looks better than it is: attack other texts with it alone, or see `chance`.
        """
        column = self.column(name)
        return min(self.effects, key=lambda e: np.nan_to_num(e.outcomes[column, 2, 0], nan=np.inf))

    def __repr__(self) -> str:
        if not self.effects:
            return "Attack(no triggers)"
        best = self.best()
        before, after = best.outcomes[0, 0, 0], best.outcomes[0, 1, 0]
        return (
            f"Attack({len(self)} triggers; {best.trigger.text!r} takes accuracy from {100 * before:.1f} % to "
            f"{100 * after:.1f} %)"
        )

    def to_frame(self) -> Any:
        """A pandas DataFrame, one row per trigger and class (``""`` is all texts); how it was made is in ``.attrs``."""
        rows = []
        for effect in self.effects:
            table = effect.table()
            for column, name in enumerate(["", *self.classes]):
                row: dict[str, Any] = {
                    "trigger": effect.trigger.text,
                    "found_in": effect.trigger.found_in,
                    "class": name,
                    "n": int(effect.n[column]),
                }
                for at, measure in enumerate(MEASURES):
                    value, low, high = table[column, at]
                    row |= {measure: value, f"{measure}_low": low, f"{measure}_high": high}
                rows.append(row | {"changed": effect.changed, "skipped": effect.skipped})
        frame = import_pandas("attack.to_frame()").DataFrame(rows)
        frame.attrs = {"controls": self.controls, "notes": list(self.notes), "provenance": self.provenance}
        return frame

    def document(self, title: str = "Triggers under test") -> TriggersDocument:
        """The wire's form, for the table and for files."""
        source = self.triggers if isinstance(self.triggers, Triggers) else None
        columns = 1 + len(self.classes)
        counts = np.array([e.n for e in self.effects], dtype=np.int32).reshape(-1, columns)
        outcomes = np.array([e.table() for e in self.effects], dtype=np.float32).reshape(-1, columns, 5, 3)
        document = {
            "schema": SCHEMA,
            "document": "triggers",
            "title": title,
            "unit": source.unit if source else "",
            "classes": list(self.classes),
            "pairs": any(w.segment for e in self.effects for w in e.trigger.words) or bool(source and source.pairs),
            "rows": [_row(effect) for effect in self.effects],
            "counts": counts,
            "outcomes": outcomes,
            "draws": self.controls,
            "selected": -1,
            "sort": "",
            "searched": source.searched if source else 0,
            "skipped": sum(source.skipped.values()) if source else 0,
            "note": " ".join([*self.notes, *self._chosen_here()]),
            "provenance": self.provenance,
        }
        return cast(TriggersDocument, document)

    def _chosen_here(self) -> list[str]:
        """Whoever picks the best row should know what the best of random ones does."""
        fall = self.chance()
        if len(self.effects) < 2 or np.isnan(fall):
            return []
        return [
            f"Of {len(self.effects)} triggers the best looks better than it is: the best of as many random ones takes "
            f"up to {max(0.0, 100 * fall):.1f} points (97.5 % of {self.controls} draws)."
        ]

    def save(self, path: str | Path) -> Path:
        """Write a ``.heads`` file; JupyterLab shows it as a table, `headwidgets.read` gives its triggers."""
        from headwidgets.files import write

        return write(path, dict(self.document()))


def accuracies(
    before: NDArray[np.int64], after: NDArray[np.int64], gold: NDArray[np.int64], classes: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Numbers of texts [1 + classes], and accuracy before, after and its paired change [1 + classes, 3, 3]."""
    groups = [np.ones(len(gold), dtype=bool), *(gold == c for c in classes)]
    n = np.array([group.sum() for group in groups], dtype=np.int64)
    found = np.full((len(groups), 3, 3), np.nan)
    for column, group in enumerate(groups):
        count = int(n[column])
        if not count:
            continue
        was, now = before[group] == gold[group], after[group] == gold[group]
        for at, right in enumerate((was, now)):
            value = float(right.mean())
            found[column, at] = value, *statistics.wilson(value, count)
        gained, lost = int((now & ~was).sum()), int((was & ~now).sum())
        found[column, 2] = (gained - lost) / count, *statistics.paired_proportions(gained, lost, count)
    return n, found


def _row(effect: Effect) -> TriggerRow:
    row = effect.trigger.row()
    row["changed"] = effect.changed
    row["skipped"] = effect.skipped
    row["moved"] = [{"label": name, "n": count} for name, count in effect.moved.items()]
    row["examples"] = [
        {
            "parts": [part if i in e.inserted else _shortened(part) for i, part in enumerate(e.parts)],
            "inserted": list(e.inserted),
            "second": e.second,
            "label": e.label,
            "before": e.before,
            "after": e.after,
        }
        for e in effect.examples
    ]
    return row


def _shortened(part: str) -> str:
    """Both ends of a long part: what stands beside an inserted word is what a reader wants to see."""
    return part if len(part) <= _PART else f"{part[: _PART // 2]} … {part[-_PART // 2 :]}"
