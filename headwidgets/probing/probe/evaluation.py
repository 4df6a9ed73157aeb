"""What a probe reaches on a treebank: attachment scores, relation by relation, beside every control."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwidgets.citations import bibtex
from headwidgets.probing.probe.judging import ENOUGH
from headwidgets.scores import Interval, import_pandas
from headwidgets.text.treebank import Sentence
from headwidgets.wire.documents import Provenance


@dataclass(frozen=True)
class ProbeResult:
    """One probe, or one control, on one treebank; its seeds averaged.

    Attributes:
        name: Which.
        uas: Share of words whose head is found (unlabelled attachment score), 0 to 1, with an interval by sentence.
        without_punct: The same without the words whose relation is ``punct``.
        seeds: `without_punct` of each seed, or of each draw of random weights; empty for a fixed rule.
        parameters: Numbers that were learned.
        control: Whether it is there to be beaten.
    """

    name: str
    uas: Interval
    without_punct: Interval
    seeds: tuple[float, ...]
    parameters: int
    control: bool


@dataclass(frozen=True, repr=False)
class ProbeRelation:
    """One relation.

    Attributes:
        relation: Its label.
        n: Words.
        accuracy: Share of them whose head the probe finds, with an interval by sentence.
        offset: The best fixed offset for this relation on the training set. It is told the relation, which the probe
            is not; for the root, the best offset of all words.
        baseline: Its accuracy; where it leaves the sentence, it guesses the root.
        strongest: Of the other controls the best on this relation, here, which makes it hard to beat; empty for none.
        strongest_accuracy: Its accuracy; NaN for none.
        difference: Accuracy of the probe less that of the best of all controls, on the same words.
        better: Whether that is above 0 beyond chance, the false discovery rate over all relations at 5 %; never with
            fewer than 20 words.
    """

    relation: str
    n: int
    accuracy: Interval
    offset: int
    baseline: float
    strongest: str
    strongest_accuracy: float
    difference: Interval
    better: bool

    def __repr__(self) -> str:
        own = self.accuracy
        return (
            f"ProbeRelation({self.relation}: {own.value:.3f} ({own.low:.3f} to {own.high:.3f}), n={self.n}; best fixed "
            f"offset {self.offset:+d} {self.baseline:.3f}; {self.verdict})"
        )

    @property
    def verdict(self) -> str:
        """In a few words."""
        if self.n < ENOUGH:
            return f"too few to say (n = {self.n})"
        if self.better:
            return "above every control"
        if self.difference.high >= 0:
            return "not above every control"
        return "below the best fixed offset" if self.baseline >= self.strongest_accuracy else "below a control"


@dataclass(frozen=True, repr=False)
class ProbeTrees:
    """Trees of a sentence: the gold one, and the one that a probe predicts.

    Attributes:
        sentence: From the treebank.
        predicted: Per word the position of its head; -1 for the root.
    """

    sentence: Sentence
    predicted: tuple[int, ...]

    def __repr__(self) -> str:
        right = sum(word.head == head for word, head in zip(self.sentence.words, self.predicted, strict=True))
        return f"ProbeTrees({self.sentence.name}: {right} of {len(self.predicted)} words have the right head)"


@dataclass(frozen=True, repr=False)
class ProbeEvaluation:
    """A trained probe on a treebank.

    Attributes:
        results: The probe first, then its controls.
        relations: By number of words.
        difference: `ProbeResult.without_punct` of the probe less that of its strongest control, paired by sentence.
        selectivity: `ProbeResult.uas` less the accuracy on the control task [Hewitt and Liang 2019]; None without it.
        control_task: That accuracy; None without it.
        random: Random weights: mean and the range of draws, without punctuation; None without them.
        trees: Of some sentences, for a picture.
        n: Words with a head.
        sentences: Sentences.
        title: Of a picture.
        notes: What was left out, and what a reader should know.
        provenance: How it was made.
    """

    results: tuple[ProbeResult, ...]
    relations: tuple[ProbeRelation, ...]
    difference: Interval | None
    selectivity: Interval | None
    control_task: Interval | None
    random: Interval | None
    trees: tuple[ProbeTrees, ...] = field(repr=False)
    n: int
    sentences: int
    title: str
    notes: tuple[str, ...]
    provenance: Provenance | None = field(default=None, repr=False)

    @property
    def uas(self) -> Interval:
        """Of the probe, punctuation included."""
        return self.results[0].uas

    @property
    def without_punct(self) -> Interval:
        """Of the probe, without punctuation."""
        return self.results[0].without_punct

    @property
    def controls(self) -> Mapping[str, ProbeResult]:
        """By name."""
        return {result.name: result for result in self.results if result.control}

    @property
    def strongest(self) -> ProbeResult | None:
        """The control of the highest attachment score without punctuation."""
        return max(self.controls.values(), key=lambda result: result.without_punct.value, default=None)

    def __str__(self) -> str:
        lines = [f"{self.title}: {self.n} words in {self.sentences} sentences", ""]
        lines.append(f"{'':44} {'UAS':>7}  {'without punctuation':24} {'seeds':15} {'learned':>8}")
        for result in self.results:
            ends = result.without_punct
            spread = f"{min(result.seeds):.3f} to {max(result.seeds):.3f}" if len(result.seeds) > 1 else ""
            lines.append(
                f"{result.name:44} {result.uas.value:7.3f}  "
                f"{f'{ends.value:.3f} ({ends.low:.3f} to {ends.high:.3f})':24} {spread:15} {result.parameters or '':>8}"
            )
        if self.selectivity is not None and self.control_task is not None:
            lines.append(
                f"control task {self.control_task.value:.3f}, selectivity {self.selectivity.value:.3f} "
                f"({self.selectivity.low:.3f} to {self.selectivity.high:.3f})"
            )
        return "\n".join([*lines, *self.notes])

    def __repr__(self) -> str:
        found = self.results[0]
        uas = found.uas
        best = self.strongest
        against = f"; {best.name} {best.uas.value:.3f}" if best is not None else ""
        return (
            f"ProbeEvaluation({found.name}: UAS {uas.value:.3f} ({uas.low:.3f} to {uas.high:.3f}){against}; "
            f"{self.n} words in {self.sentences} sentences)"
        )

    def to_frame(self) -> Any:
        """A pandas DataFrame, one row per relation; the scores of probe and controls are in ``.attrs``."""
        frame = import_pandas("evaluation.to_frame()").DataFrame(
            [
                {
                    "relation": row.relation,
                    "n": row.n,
                    "accuracy": row.accuracy.value,
                    "low": row.accuracy.low,
                    "high": row.accuracy.high,
                    "baseline": row.baseline,
                    "offset": row.offset,
                    "strongest": row.strongest,
                    "strongest_accuracy": row.strongest_accuracy,
                    "difference": row.difference.value,
                    "difference_low": row.difference.low,
                    "difference_high": row.difference.high,
                    "better": row.better,
                    "verdict": row.verdict,
                }
                for row in self.relations
            ]
        )
        frame.attrs = {
            "results": {result.name: (result.uas.value, result.without_punct.value) for result in self.results},
            "provenance": self.provenance,
        }
        return frame

    def document(self, title: str = "") -> dict[str, Any]:
        """The wire's form, for `headwidgets.ProbeView`."""
        from headwidgets.probing.probe.drawing import document

        return document(self, title or self.title)

    def cite(self) -> str:
        """BibTeX of the papers behind it."""
        return bibtex(["probe"])


def tree_of(heads: NDArray[np.int64]) -> tuple[int, ...]:
    """From candidates (0 the root) to positions (-1 the root)."""
    return tuple((heads - 1).tolist())
