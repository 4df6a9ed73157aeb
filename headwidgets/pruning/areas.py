"""How high is a curve on the whole? Areas under curves over the share of heads pruned, with paired intervals."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from headwidgets import statistics
from headwidgets.scores import Interval

Floats = NDArray[np.float64]
_ROUNDING = 1e-12


def mean_height(counts: Sequence[int], heights: Floats) -> Floats:
    """Area under a curve by the trapezoid rule, over its width: a mean height in the unit of the curve.

    Args:
        counts: Heads pruned, ascending, [points].
        heights: [points, ...].

    Returns:
        [...]
    """
    x = np.asarray(counts, dtype=np.float64)
    middle = (heights[1:] + heights[:-1]) / 2
    found: Floats = np.tensordot(np.diff(x) / (x[-1] - x[0]), middle, axes=1)
    return found


class Table:
    """Curves on the same examples: what each example adds, so that areas and differences are paired.

    A metric that is a sum over examples (accuracy, loss) has an area that is one too, so the standard error of an area
    or of a difference of two is that of a mean over examples (a ratio of sums where examples carry weights). Of other
    metrics it comes from the jackknife.

    Attributes:
        counts: Heads pruned, ascending.
    """

    def __init__(self, counts: Sequence[int], weights: Floats) -> None:
        """Begin without curves.

        Args:
            counts: Heads pruned, [points].
            weights: Of the examples, [examples].
        """
        self.counts = list(counts)
        self._weights = weights
        self._sums: dict[str, list[Floats]] = {}
        self._values: dict[str, list[Callable[[NDArray[np.intp]], Floats]]] = {}

    def add(self, name: str, numerators: Floats) -> None:
        """A curve, or one more draw of it: what each example adds, [points, examples]."""
        self._sums.setdefault(name, []).append(numerators)

    def add_function(self, name: str, heights: Callable[[NDArray[np.intp]], Floats]) -> None:
        """The same of a metric that is no sum: its heights [points] on some of the examples."""
        self._values.setdefault(name, []).append(heights)

    def draws(self, name: str) -> Floats:
        """Heights of all draws of a curve, [draws, points]."""
        if name in self._values:
            everyone = np.arange(len(self._weights))
            return np.stack([heights(everyone) for heights in self._values[name]])
        found: Floats = np.stack([one.sum(1) for one in self._sums[name]]) / self._weights.sum()
        return found

    def areas(self, name: str) -> Floats:
        """The area of every draw, [draws]."""
        return mean_height(self.counts, self.draws(name).T)

    def area(self, name: str, other: str | None = None) -> Interval:
        """The area under a curve, or its paired difference to another; the interval is for new data.

        The mean of several draws has the spread between them over their number added.
        """

        def height(places: NDArray[np.intp]) -> float:
            return float(mean_height(self.counts, self._heights(places, name, other)))

        def added() -> Floats:
            return mean_height(self.counts, self._added(name, other))

        spread = sum(self._between(self.areas(one)) for one in (name, other) if one is not None)
        return self._interval(height, added, spread)

    def differences(self, name: str, other: str) -> list[Interval]:
        """How far a curve lies above another at each count, paired; each interval is for that count alone."""
        spreads = [self._between(draws) for one in (name, other) for draws in self.draws(one).T]
        points = len(self.counts)
        found = []
        for i in range(points):

            def height(places: NDArray[np.intp], i: int = i) -> float:
                return float(self._heights(places, name, other)[i])

            def added(i: int = i) -> Floats:
                found: Floats = self._added(name, other)[i]
                return found

            found.append(self._interval(height, added, spreads[i] + spreads[points + i]))
        return found

    def _heights(self, places: NDArray[np.intp], name: str, other: str | None) -> Floats:
        """Of a metric that is no sum: [points] on some of the examples."""
        found: Floats = np.mean([heights(places) for heights in self._values[name]], axis=0)
        return found if other is None else found - self._heights(places, other, None)

    def _added(self, name: str, other: str | None) -> Floats:
        """Of a metric that is a sum: what each example adds, [points, examples]."""
        found: Floats = np.mean(self._sums[name], axis=0)
        if other is None:
            return found
        apart = found - self._added(other, None)
        # a mean of equal draws differs from them by rounding
        return np.where(np.abs(apart) > _ROUNDING * np.abs(found).max(), apart, 0.0)

    @staticmethod
    def _between(draws: Floats) -> float:
        """Squared standard error of a mean of draws."""
        if len(draws) < 2 or float(np.ptp(draws)) <= _ROUNDING * float(np.abs(draws).max()):
            return 0.0
        return float(draws.var(ddof=1) / len(draws))

    def _interval(
        self, height: Callable[[NDArray[np.intp]], float], added: Callable[[], Floats], spread: float
    ) -> Interval:
        n = len(self._weights)
        if self._values:
            value = height(np.arange(n))
            half = math.sqrt(statistics.jackknife(height, n) ** 2 + (statistics.z_value() ** 2) * spread)
        else:
            numbers = added()
            value = statistics.ratio(numbers, self._weights)
            variance = statistics.ratio_variance(numbers, self._weights) + spread
            half = statistics.t_value(n - 1) * math.sqrt(variance)
        return Interval(value, value - half, value + half)
