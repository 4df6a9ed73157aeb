"""What a summary of patterns holds: a score per head for each statistic, and what an indifferent head would have."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from headwidgets.citations import bibtex
from headwidgets.errors import InputError
from headwidgets.scores import KIND_ORDER, Head, HeadScores, import_pandas
from headwidgets.wire.documents import SCHEMA, KindName

CHARTS = {
    "offset": ("Attention to neighbours", "attention weight"),
    "tokens": ("Attention to special tokens and punctuation", "attention weight"),
    "entropy": ("Entropy", "nats"),
    "relative": ("Entropy, share of the largest possible", ""),
    "confidence": ("Confidence", "attention weight"),
    "peak": ("Where the largest weight stands", "share of tokens"),
    "distance": ("Mean distance", "positions"),
    "gradient": ("Slope of the loss in attention weights", ""),
}
"""By name, the axis and the unit of each chart; Clark et al. 2019, figures 2 to 4, come first."""


class PatternSummary:
    """Where heads look.

    Attributes:
        scores: By name of the statistic, a number per head with its standard error.
        labels: By name, what it is in words.
        charts: By name, the chart that it belongs to.
        uniform: By name and kind, what a head that looks at all visible keys alike would have; NaN where that has no
            meaning.
    """

    def __init__(
        self,
        scores: Mapping[str, HeadScores],
        *,
        labels: Mapping[str, str],
        charts: Mapping[str, str],
        uniform: Mapping[str, Mapping[KindName, float]],
    ) -> None:
        self.scores = dict(scores)
        self.labels, self.charts = dict(labels), dict(charts)
        self.uniform = {name: dict(own) for name, own in uniform.items()}

    @property
    def names(self) -> tuple[str, ...]:
        """The statistics that were measured."""
        return tuple(self.scores)

    @property
    def n(self) -> int:
        """Texts that any statistic was measured on."""
        return max((own.n for own in self.scores.values()), default=0)

    @property
    def kinds(self) -> tuple[KindName, ...]:
        """The kinds of attention that were measured."""
        return next(iter(self.scores.values())).kinds

    def __getitem__(self, name: str) -> HeadScores:
        try:
            return self.scores[name]
        except (KeyError, TypeError):
            raise InputError(f"expected a statistic out of {', '.join(self.names)}, got {name!r}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    def __contains__(self, name: object) -> bool:
        return name in self.scores

    def __repr__(self) -> str:
        heads = sum(array.size for array in next(iter(self.scores.values())).values.values())
        return f"PatternSummary({len(self)} statistics of {heads} heads, n={self.n})"

    def head(self, head: Head) -> dict[str, float]:
        """Every statistic of one head."""
        return {name: own[head] for name, own in self.scores.items()}

    def to_frame(self) -> Any:
        """A pandas DataFrame: statistic, kind, layer, head, value, stderr, n, uniform; its record is in ``.attrs``.

        Raises:
            InputError: pandas is not installed.
        """
        pandas = import_pandas("summary.to_frame()")
        rows = []
        for name, own in self.scores.items():
            for head, value in own:
                error = own.stderr[head.kind][head.layer, head.index] if own.stderr else math.nan
                uniform = self.uniform.get(name, {}).get(head.kind, math.nan)
                rows.append((name, head.kind, head.layer, head.index, value, float(error), own.n, uniform))
        columns = ["statistic", "kind", "layer", "head", "value", "stderr", "n", "uniform"]
        frame = pandas.DataFrame(rows, columns=columns)
        first = next(iter(self.scores.values()))
        frame.attrs = {"fingerprint": first.fingerprint, "provenance": first.provenance}
        return frame

    def document(self) -> dict[str, Any]:
        """What `headwidgets.PatternView` draws (wire `PatternsDocument`, with NumPy arrays)."""
        first = next(iter(self.scores.values()))
        heads = [head for head, _ in first if any(math.isfinite(own[head]) for own in self.scores.values())]
        statistics = [self._statistic(name, heads) for name in self.scores]
        model = first.provenance["model"] if first.provenance else ""
        return {
            "schema": SCHEMA,
            "document": "patterns",
            "title": f"Where heads look: {model}" if model else "Where heads look",
            "heads": np.array([[KIND_ORDER.index(h.kind), h.layer, h.index] for h in heads], dtype=np.int32).reshape(
                -1, 3
            ),
            "statistics": statistics,
            "charts": self._charts(statistics),
            "shown": 0,
            "selected": [],
            "note": "",
            "provenance": first.provenance,
        }

    def _statistic(self, name: str, heads: list[Head]) -> dict[str, Any]:
        own = self.scores[name]
        errors = own.stderr
        uniform = self.uniform.get(name, {})
        return {
            "name": name,
            "label": self.labels.get(name, name),
            "unit": own.unit,
            "values": np.array([own[head] for head in heads], dtype=np.float32),
            "stderr": None
            if errors is None
            else np.array([errors[h.kind][h.layer, h.index] for h in heads], dtype=np.float32),
            "reference": {kind: value for kind, value in uniform.items() if math.isfinite(value)},
            "n": own.n,
        }

    def _charts(self, statistics: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Statistics by chart; those without the first key and the special tokens come after all others."""
        found = []
        for content in (False, True):
            for chart, (label, unit) in CHARTS.items():
                members = [
                    place
                    for place, one in enumerate(statistics)
                    if self.charts.get(one["name"]) == chart
                    and one["name"].endswith("_content") == content
                    and np.isfinite(one["values"]).any()
                ]
                if members:
                    name, title = (f"{chart}_content", f"{label}, content only") if content else (chart, label)
                    units = {statistics[place]["unit"] for place in members}
                    own = units.pop() if len(units) == 1 else unit
                    found.append({"name": name, "label": title, "unit": own, "statistics": members})
        return found

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "PatternSummary":
        """What `save` wrote, read again (arrays already decoded)."""
        result = document["result"]
        uniform = {
            name: {kind: math.nan if value is None else float(value) for kind, value in own.items()}
            for name, own in result["uniform"].items()
        }
        scores = {str(name): HeadScores.from_document(own) for name, own in result["scores"].items()}
        if not scores:
            raise InputError("it holds no statistics")
        return cls(scores, labels=result["labels"], charts=result["charts"], uniform=uniform)

    def save(self, path: str | Path) -> Path:
        """Write a ``.heads`` file; `headwidgets.read` reads it, and JupyterLab draws it.

        Returns:
            The path; ``.heads`` is added to a name without an extension.
        """
        from headwidgets import __version__
        from headwidgets.files import write

        result = {
            "version": __version__,
            "labels": self.labels,
            "charts": self.charts,
            "uniform": {n: {k: _or_none(v) for k, v in own.items()} for n, own in self.uniform.items()},
            "scores": {name: own.document() for name, own in self.scores.items()},
        }
        return write(path, {**self.document(), "result": result})

    def cite(self) -> str:
        """BibTeX of the papers that the statistics come from."""
        return bibtex(["confidence", "patterns"])


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
