"""What did patching find? Effects of heads, raw and as a share, and how far an approximation agrees with exact runs."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwidgets import statistics
from headwidgets.errors import InputError
from headwidgets.models.tally import GROUPS
from headwidgets.scores import Head, HeadScores, Interval, import_pandas
from headwidgets.wire.documents import KindName, Provenance

Floats = NDArray[np.float64]
_SAMPLES = 1000
SHARE = "share of the difference"
"""Unit of effects that are divided by the difference of the two runs."""

_ZERO = 1e-6
"""A mean difference of the two runs, relative to the metric's size, below which effects are not divided by it."""


@dataclass(frozen=True)
class Agreement:
    """How far approximate effects agree with exact ones, over heads; intervals are 95 %, over pairs (bootstrap spread).

    Attributes:
        pearson: Of the heads' mean effects.
        spearman: The same of their ranks.
        slope: Of the exact effects on the approximate ones, through the origin: 1 is the right size.
        worst: The head whose two mean effects differ most.
        exact: Its exact effect, raw.
        gradient: Its approximate effect, raw.
        n: Pairs.
        heads: Heads.
        several_kinds: Whether heads are of several kinds, so that names say which.
    """

    pearson: Interval
    spearman: Interval
    slope: Interval
    worst: Head
    exact: float
    gradient: float
    n: int
    heads: int
    several_kinds: bool = False

    def __str__(self) -> str:
        def shown(name: str, interval: Interval) -> str:
            if math.isnan(interval.low):
                return f"{name} {interval.value:.3f}"
            return f"{name} {interval.value:.3f} ({interval.low:.3f} to {interval.high:.3f})"

        numbers = (("r", self.pearson), ("rho", self.spearman), ("slope", self.slope))
        name = self.worst.label(with_kind=self.several_kinds)
        return (
            f"{', '.join(shown(*each) for each in numbers)} over {self.heads} heads and "
            f"{'1 pair (which gives no interval)' if self.n == 1 else f'{self.n} pairs'}; they differ "
            f"most at {name}: exact {self.exact:+.4f}, approximate {self.gradient:+.4f}"
        )


class Patching:
    """Effects of putting each head's output of one run into another.

    An effect is the metric of the patched run less that of the run it was patched into. As a share it is divided by
    the difference of the two unpatched runs, the ratio of the means over pairs: 0 is no effect, 1 the whole difference.

    Attributes:
        heads: The heads, in the order of the columns of `effects`.
        effects: By method (``exact``, ``gradient``), raw effects [pairs, heads].
        clean: The metric of the clean texts, [pairs].
        corrupted: The metric of the corrupted texts, [pairs].
        numbers: Of the pairs, as the user counted them.
        skipped: By number of a pair that was left out, why.
        metric: Its name.
        metric_unit: Its unit; empty for the user's own.
        direction: ``denoising`` (into the corrupted text) or ``noising`` (into the clean one).
        provenance: How it was made.
        fingerprint: Of the model.
        seed: Of the bootstrap.
        notes: What to know: pairs left out, a difference that is hardly one, halved batches.
    """

    def __init__(
        self,
        *,
        heads: Sequence[Head],
        shapes: Mapping[KindName, tuple[int, int]],
        effects: Mapping[str, Floats],
        clean: Floats,
        corrupted: Floats,
        numbers: Sequence[int],
        skipped: Mapping[int, str],
        metric: str,
        metric_unit: str,
        direction: str,
        provenance: Provenance,
        fingerprint: str,
        seed: int = 0,
        notes: Sequence[str] = (),
    ) -> None:
        self.heads = list(heads)
        self._shapes = dict(shapes)
        self.effects = dict(effects)
        self.clean, self.corrupted = clean, corrupted
        self.numbers = list(numbers)
        self.skipped = dict(skipped)
        self.metric, self.metric_unit = metric, metric_unit
        self.direction = direction
        self.provenance, self.fingerprint = provenance, fingerprint
        self.seed = seed
        self.notes = [*self._about_the_difference(), *self._about_skipped(), *notes]

    @property
    def n(self) -> int:
        """Pairs."""
        return len(self.numbers)

    @property
    def difference(self) -> Floats:
        """What patching everything would bring: the donor's metric less that of the run patched into, [pairs]."""
        found = self.clean - self.corrupted
        return found if self.direction == "denoising" else -found

    @property
    def normalised(self) -> bool:
        """Whether effects can be given as a share of the difference."""
        size = float(np.abs(self.clean).sum() + np.abs(self.corrupted).sum())
        return abs(float(self.difference.sum())) > _ZERO * size

    def _about_the_difference(self) -> list[str]:
        mean = float(self.difference.mean())
        if not self.normalised:
            return [
                f"The metric of the clean and of the corrupted runs does not differ ({mean:+.2g} on average), so "
                "effects as a share of the difference are not defined."
            ]
        low, high = self._interval(self.difference)
        if self.n > 1 and low <= 0 <= high:
            return [
                f"Over {self.n} pairs the metric of clean and corrupted runs differs by {mean:+.3g} ({low:+.3g} to "
                f"{high:+.3g}), which may be no difference: shares of it are unstable; read the raw effects."
            ]
        return []

    def _about_skipped(self) -> list[str]:
        reasons: dict[str, list[int]] = {}
        for number, why in self.skipped.items():
            reasons.setdefault(re.sub(r"\d+", "", why), []).append(number)  # lengths differ from pair to pair
        found = []
        for numbers in reasons.values():
            first = numbers[0]
            plural = f"{len(numbers)} pairs were" if len(numbers) > 1 else "One pair was"
            found.append(f"{plural} left out, the first is pair {first}: {self.skipped[first]}.")
        return found

    @staticmethod
    def _interval(values: Floats) -> tuple[float, float]:
        return statistics.mean(values, np.ones(len(values)), len(values))[0]

    # ---- views ----------------------------------------------------------------------------------------

    @cached_property
    def exact(self) -> HeadScores | None:
        """Exact effects as a share of the difference; None where not measured, NaN where not defined."""
        return self._share("exact")

    @cached_property
    def gradient(self) -> HeadScores | None:
        """The approximation, as a share of the difference; None where not measured, NaN where not defined."""
        return self._share("gradient")

    @cached_property
    def exact_raw(self) -> HeadScores | None:
        """Exact effects in the metric's own unit."""
        return self._raw("exact")

    @cached_property
    def gradient_raw(self) -> HeadScores | None:
        """The approximation in the metric's own unit."""
        return self._raw("gradient")

    def _share(self, method: str) -> HeadScores | None:
        effects = self.effects.get(method)
        if effects is None:
            return None
        if not self.normalised:
            return self._scores(method, np.full_like(effects, np.nan), None, SHARE)
        total = float(self.difference.sum())
        residuals = effects - effects.sum(0) / total * self.difference[:, None]
        n = self.n
        error = np.sqrt(n / (n - 1) * (residuals**2).sum(0)) / abs(total) if n > 1 else None
        return self._scores(method, effects / (total / n), error, SHARE)

    def _raw(self, method: str) -> HeadScores | None:
        effects = self.effects.get(method)
        if effects is None:
            return None
        error = effects.std(0, ddof=1) / math.sqrt(self.n) if self.n > 1 else None
        return self._scores(method, effects, error, self.metric_unit)

    def _scores(self, method: str, effects: Floats, errors: Floats | None, unit: str) -> HeadScores:
        """Scores of effects [pairs, heads]: their means, over all pairs and over random groups of them."""
        count = min(GROUPS, self.n // 2)
        group = np.random.default_rng(self.seed).permutation(self.n) % max(1, count)
        grids = [self._grids(effects[group == g].mean(0)) for g in range(count)]
        return HeadScores(
            self._grids(effects.mean(0)),
            stderr=None if errors is None else self._grids(errors),
            n=self.n,
            groups={kind: np.stack([grid[kind] for grid in grids]) for kind in self._shapes} if count > 1 else None,
            group_sizes=np.bincount(group) if count > 1 else None,
            name="patching" if method == "exact" else "attribution patching",
            unit=unit,
            provenance=self.provenance,
            fingerprint=self.fingerprint,
        )

    def _grids(self, values: Floats) -> dict[KindName, Floats]:
        grids: dict[KindName, Floats] = {kind: np.full(shape, np.nan) for kind, shape in self._shapes.items()}
        for head, value in zip(self.heads, values, strict=True):
            grids[head.kind][head.layer, head.index] = value
        return grids

    # ---- agreement ------------------------------------------------------------------------------------

    @cached_property
    def agreement(self) -> Agreement:
        """How far the approximation agrees with the exact effects.

        Raises:
            InputError: only one of the two was measured.
        """
        missing = [name for name in ("exact", "gradient") if name not in self.effects]
        if missing:
            raise InputError(
                f"the agreement needs both methods; {missing[0]} was not measured: patch(..., method='both')"
            )
        exact, gradient = self.effects["exact"], self.effects["gradient"]
        own, other = exact.mean(0), gradient.mean(0)
        worst = int(np.argmax(np.abs(own - other)))
        draws = np.full((3, _SAMPLES), np.nan)
        if self.n > 1:
            generator = np.random.default_rng(self.seed)
            drawn = [np.bincount(generator.integers(0, self.n, self.n), minlength=self.n) for _ in range(_SAMPLES)]
            share = np.array(drawn) / self.n
            draws = _compared(share @ exact, share @ gradient)
        values = _compared(own[None], other[None])[:, 0].tolist()
        pearson, spearman, slope = (
            Interval(value, *_around(value, some, self.n, bounded=i < 2))
            for i, (value, some) in enumerate(zip(values, draws, strict=True))
        )
        return Agreement(
            pearson=pearson,
            spearman=spearman,
            slope=slope,
            worst=self.heads[worst],
            exact=float(own[worst]),
            gradient=float(other[worst]),
            n=self.n,
            heads=len(self.heads),
            several_kinds=len(self._shapes) > 1,
        )

    def to_frame(self) -> Any:
        """A pandas DataFrame, a row per head: its effects by method, as a share and raw, with standard errors.

        Raises:
            InputError: pandas is not installed.
        """
        pandas = import_pandas("patching.to_frame()")
        rows = []
        for head in self.heads:
            row: dict[str, Any] = {"kind": head.kind, "layer": head.layer, "head": head.index}
            for method in self.effects:
                for suffix, scores in (("", self._share(method)), ("_raw", self._raw(method))):
                    assert scores is not None
                    row[method + suffix] = scores[head]
                    error = scores.stderr[head.kind][head.layer, head.index] if scores.stderr else math.nan
                    row[f"{method}{suffix}_stderr"] = float(error)
            rows.append(row)
        frame = pandas.DataFrame(rows)
        frame.attrs = {
            "metric": self.metric,
            "unit": self.metric_unit,
            "n": self.n,
            "skipped": len(self.skipped),
            "fingerprint": self.fingerprint,
            "provenance": self.provenance,
        }
        return frame

    def __repr__(self) -> str:
        left = f", {len(self.skipped)} left out" if self.skipped else ""
        return (
            f"Patching({' and '.join(self.effects)}, {self.direction}: {self.metric} {self.corrupted.mean():.4g} "
            f"(corrupted), {self.clean.mean():.4g} (clean), {self.n} pairs{left})"
        )


def _around(value: float, draws: Floats, n: int, *, bounded: bool) -> tuple[float, float]:
    """The interval about a value by the spread of its bootstrap draws and Student's t of n pairs.

    Draws of a correlation do not lie about the value: what single pairs add to heads' effects is shared by both
    methods, and drawing pairs anew adds it once more. So their quantiles are not used (nor a correction
    of their bias, which covers too little then), only their spread; that of correlations on Fisher's z scale.
    """
    kept = draws[np.isfinite(draws)]
    if len(kept) < 2 or not math.isfinite(value):
        return math.nan, math.nan
    most = 1 - 1e-12
    wide = np.arctanh(np.clip([value, *kept], -most, most)) if bounded else np.array([value, *kept])
    half = statistics.t_value(n - 1) * float(wide[1:].std(ddof=1))
    low, high = float(wide[0]) - half, float(wide[0]) + half
    return (min(value, math.tanh(low)), max(value, math.tanh(high))) if bounded else (low, high)


def _compared(exact: Floats, gradient: Floats) -> Floats:
    """Pearson, Spearman and slope [3, draws] of effects [draws, heads]."""
    square = (gradient**2).sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = np.where(square > 0, (exact * gradient).sum(-1) / square, np.nan)
    ranked = statistics.ranks(exact), statistics.ranks(gradient)
    return np.stack([statistics.pearson_rows(exact, gradient), statistics.pearson_rows(*ranked), slope])
