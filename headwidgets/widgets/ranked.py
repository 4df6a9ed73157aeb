"""In what order do heads go, and what is known of the curve? The state behind `PruningExplorer`."""

import threading
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from headwidgets.errors import InputError
from headwidgets.scores import Head, HeadScores
from headwidgets.widgets.heads import Shapes, as_heads, check_heads
from headwidgets.wire.documents import CurvePoint, EstimateData

GIVEN = "given order"


class Rankings:
    """Orders of pruning by method: least important first. Safe from any thread."""

    def __init__(self, shapes: Shapes, methods: Iterable[str], ranking: Any) -> None:
        self._lock = threading.Lock()
        self._shapes = shapes
        self._orders: dict[str, tuple[Head, ...]] = {}
        self.scores: dict[str, Any] = {}
        offered = list(methods)
        self.method = offered[0] if offered else GIVEN
        if isinstance(ranking, str):
            if ranking not in offered:
                raise InputError(f"ranking is one of {', '.join(offered)}, scores or a list of heads; got {ranking!r}")
            self.method = ranking
        elif ranking is not None:
            name = getattr(ranking, "name", None) if isinstance(getattr(ranking, "values", None), Mapping) else None
            self.method = str(name or GIVEN)
            offered = [self.method, *(method for method in offered if method != self.method)]
            self.learn(self.method, ranking)
        self.methods = tuple(offered)
        if not self.methods:
            raise InputError("this model offers no ranking of its own: pass ranking=, scores or a list of heads")

    def learn(self, method: str, ranking: Any) -> None:
        """Keep a ranking: `HeadScores`, or heads with the most important first."""
        scored = isinstance(getattr(ranking, "values", None), Mapping)
        heads = as_heads(ranking.ranking() if scored else ranking)
        check_heads(heads, self._shapes)
        if not heads:
            raise InputError("the ranking has no heads: pass scores or heads, most important first")
        with self._lock:
            self._orders[method] = heads[::-1]
            self.scores[method] = ranking if scored else self._places(heads[::-1])

    def _places(self, order: tuple[Head, ...]) -> HeadScores:
        """When each head goes, as a score to draw: larger is later, NaN is not in the ranking."""
        values = {kind: np.full(shape, np.nan) for kind, shape in self._shapes.items()}
        for place, head in enumerate(order):
            values[head.kind][head.layer, head.index] = place
        return HeadScores(values, name="place in the order of pruning")

    def order(self, method: str) -> tuple[Head, ...]:
        """Return the heads in the order of pruning; empty while the method has not been measured."""
        with self._lock:
            return self._orders.get(method, ())


class Curve:
    """Known points by (method, ablation); the full model is a point with count 0. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._points: dict[tuple[str, str], dict[int, EstimateData]] = {}
        self.baseline: EstimateData | None = None

    def learn(self, method: str, ablation: str, count: int, estimate: EstimateData) -> None:
        """Keep an estimate; one from fewer examples never replaces one from more."""
        with self._lock:
            points = self._points.setdefault((method, ablation), {})
            before = points.get(count)
            if before is None or estimate["exact"] or estimate["n"] >= before["n"]:
                points[count] = estimate
            if count == 0 and (self.baseline is None or estimate["exact"] or estimate["n"] >= self.baseline["n"]):
                self.baseline = estimate

    def get(self, method: str, ablation: str, count: int) -> EstimateData | None:
        """Return what is known of one point."""
        with self._lock:
            if count == 0:
                return self.baseline
            return self._points.get((method, ablation), {}).get(count)

    def points(self, method: str, ablation: str, also: int = 0) -> list[CurvePoint]:
        """Return the exact points by count ascending; the point `also` and the full model as far as they are known."""
        with self._lock:
            known = self._points.get((method, ablation), {})
            points = {count: e for count, e in known.items() if e["exact"] or count == also}
            if self.baseline is not None:
                points[0] = self.baseline
        return [CurvePoint(count=count, estimate=points[count]) for count in sorted(points)]
