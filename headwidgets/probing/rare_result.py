"""`RareWords`: how often every head points at a rare word, beside what needs no head."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headwidgets.citations import bibtex
from headwidgets.errors import InputError
from headwidgets.scores import Head, HeadScores, Interval, import_pandas
from headwidgets.statistics import t_value, wilson

LEAST = 20
"""Texts below which there is an interval and no verdict."""


@dataclass(frozen=True)
class RareWords:
    """Where heads look, and where the rare words are.

    Two measures, each for the rarest (``1``) and for one of the two rarest (``2``): ``token``, the fraction of queries
    whose largest weight is there, and ``sentence``, the fraction of sentences in which it gets most attention, averaged
    over the queries that can see it.

    Attributes:
        all_scores: By ``token1``, ``token2``, ``sentence1`` and ``sentence2``.
        gains: The same minus the strongest baseline, paired by text.
        baselines: By measure, a fraction by name: ``chance``, the best fixed offset or place, the longest candidate.
        frequencies: Where frequencies come from.
        notes: What was left out, in sentences.
    """

    all_scores: Mapping[str, HeadScores]
    gains: Mapping[str, HeadScores]
    baselines: Mapping[str, Mapping[str, float]]
    frequencies: str
    notes: tuple[str, ...]

    @property
    def n(self) -> int:
        """Texts that count."""
        return self.all_scores["sentence1"].n

    def scores(self, measure: str = "sentence", rarest: int = 1) -> HeadScores:
        """Fractions by head, for a `HeadGrid` or a ranking.

        Args:
            measure: ``token`` or ``sentence``.
            rarest: 1, or 2 for one of the two rarest.
        """
        return self.all_scores[_name(measure, rarest)]

    def strongest(self, measure: str = "sentence", rarest: int = 1) -> tuple[str, float]:
        """The best baseline and its fraction."""
        own = self.baselines[_name(measure, rarest)]
        best = max(own, key=lambda name: own[name])
        return best, own[best]

    def interval(self, head: Head, measure: str = "sentence", rarest: int = 1) -> Interval:
        """A head's fraction with its 95 % interval for new texts; a text's queries are a cluster."""
        scores = self.scores(measure, rarest)
        value = scores[head]
        error = float(scores.stderr[head.kind][head.layer, head.index]) if scores.stderr else math.nan
        if math.isnan(value):
            return Interval(math.nan, math.nan, math.nan)
        effective = min(scores.n * 1e3, value * (1 - value) / error**2) if error > 0 else scores.n
        return Interval(value, *wilson(value, effective))

    def heads(self, measure: str = "sentence", rarest: int = 1, *, level: float = 0.95) -> list[Head]:
        """Heads that are above the strongest baseline, best first.

        Differences are paired by text, and the level holds for all heads together (Bonferroni, Student's t). The paper
        has no rule of its own. Below 20 texts there is no verdict, so no head.

        Args:
            measure: ``token`` or ``sentence``.
            rarest: 1, or 2 for one of the two rarest.
            level: Of the verdict.
        """
        gains = self.gains[_name(measure, rarest)]
        if gains.n < LEAST or gains.stderr is None:
            return []
        measured = [(head, value) for head, value in gains if not math.isnan(value)]
        quantile = t_value(gains.n - 1, 1 - 2 * (1 - level) / max(1, len(measured)))  # one-sided
        found = [
            (value, head)
            for head, value in measured
            if value - quantile * float(gains.stderr[head.kind][head.layer, head.index]) > 0
        ]
        return [head for _, head in sorted(found, key=lambda item: -item[0])]

    def to_frame(self) -> Any:
        """A pandas DataFrame: measure, rarest, kind, layer, head, accuracy, low, high, n, chance, strongest, above.

        Raises:
            InputError: pandas is not installed.
        """
        pandas = import_pandas("rare.to_frame()")
        rows = []
        for name, scores in self.all_scores.items():
            measure, rarest = name[:-1], int(name[-1])
            strongest, value = self.strongest(measure, rarest)
            above = set(self.heads(measure, rarest))
            for head, _ in scores:
                interval = self.interval(head, measure, rarest)
                rows.append(
                    {
                        "measure": measure,
                        "rarest": rarest,
                        "kind": head.kind,
                        "layer": head.layer,
                        "head": head.index,
                        "accuracy": interval.value,
                        "low": interval.low,
                        "high": interval.high,
                        "n": scores.n,
                        "chance": self.baselines[name]["chance"],
                        "strongest": strongest,
                        "strongest_accuracy": value,
                        "above": head in above if scores.n >= LEAST else None,
                    }
                )
        frame = pandas.DataFrame(rows)
        frame.attrs = {"frequencies": self.frequencies, "notes": list(self.notes)}
        return frame

    def cite(self) -> str:
        """BibTeX of the paper behind the measure."""
        return bibtex(["rare-words"])

    def __repr__(self) -> str:
        best = self.scores().ranking()[0]
        name, value = self.strongest()
        return (
            f"RareWords({best.label()} gives most to the rarest in {self.scores()[best]:.0%} of {self.n} sentences; "
            f"strongest baseline {value:.0%}, {name})"
        )


def _name(measure: str, rarest: int) -> str:
    if measure not in ("token", "sentence") or rarest not in (1, 2):
        raise InputError(f"expected measure 'token' or 'sentence' and rarest 1 or 2, got {measure!r} and {rarest!r}")
    return f"{measure}{rarest}"
