"""How sure is it? Intervals for proportions, means and paired differences; NumPy and the standard library only.

All intervals are 95 % unless `level` says otherwise. An example may carry a weight (words of a sentence, tokens of
a text): then examples are clusters and the value is a ratio of sums, with the linearised variance of a ratio
(Cochran 1977, section 6.4). While only n of N examples were seen, an interval for the value on all N uses the finite
population correction (Cochran 1977, section 2.6), so it shrinks to a point at n = N. Partial intervals are valid at
each n, not for the best-looking of many looks.
"""

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.95

Floats = NDArray[np.float64]
Range = tuple[float, float]


def z_value(level: float = LEVEL) -> float:
    """Two-sided normal quantile: 1.96 for 0.95."""
    return NormalDist().inv_cdf(0.5 + level / 2)


def t_value(freedom: int, level: float = LEVEL) -> float:
    """Two-sided quantile of Student's t; exact for 1 and 2 degrees of freedom.

    Above them within 1 % at 0.95 and 0.99, and from 9 degrees on at every level up to 0.99999.

    Source: Abramowitz and Stegun 1964, 26.7.5 (expansion in 1/freedom).
    """
    if freedom < 1:
        return math.inf
    p = 0.5 + level / 2
    if freedom == 1:
        return float(math.tan(math.pi * (p - 0.5)))
    if freedom == 2:
        return float((2 * p - 1) / math.sqrt(2 * p * (1 - p)))
    z = z_value(level)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return float(z + sum(term / freedom ** (i + 1) for i, term in enumerate(terms)))


def t_tail(value: float, freedom: int) -> float:
    """Chance that Student's t is as far from 0 as `value`, on either side; exact up to rounding (some 1e-14).

    Above 2,000 degrees of freedom it is the normal distribution's at a value a little nearer (Wallace 1959). 1 without
    any degree of freedom.

    Source: Abramowitz and Stegun 1964, 26.7.3 and 26.7.4.
    """
    if freedom < 1:
        return 1.0
    if freedom > 2000:
        nearer = (8 * freedom + 1) / (8 * freedom + 3) * math.sqrt(freedom * math.log1p(value * value / freedom))
        return 2 * NormalDist().cdf(-nearer)
    angle = math.atan(abs(value) / math.sqrt(freedom))
    square, odd = math.cos(angle) ** 2, freedom % 2
    term = total = math.cos(angle) if odd else 1.0
    for i in range(2 + odd, freedom - 1, 2):
        term *= square * (i - 1) / i
        total += term
    if freedom == 1:
        total = 0.0
    inside = math.sin(angle) * total
    return max(0.0, 1 - (2 / math.pi * (angle + inside) if odd else inside))


def wilson(value: float, n: float, quantile: float | None = None) -> Range:
    """Wilson's score interval for a proportion (Wilson 1927).

    Args:
        value: The proportion seen, 0 to 1.
        n: Examples, or an effective number of examples; infinite gives a point.
        quantile: Of the reference distribution; 1.96 by default.
    """
    if n <= 0:
        return 0.0, 1.0
    if math.isinf(n):
        return value, value
    z = z_value() if quantile is None else quantile
    centre = (value + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(value * (1 - value) / n + z * z / (4 * n * n))
    return max(0.0, min(value, centre - half)), min(1.0, max(value, centre + half))


def ratio(numerators: Floats, weights: Floats) -> float:
    """Sum of `numerators` over sum of `weights`; NaN when nothing has weight."""
    total = float(weights.sum())
    return float(numerators.sum()) / total if total > 0 else math.nan


def ratio_variance(numerators: Floats, weights: Floats) -> float:
    """Linearised sampling variance of `ratio` over examples drawn at random; NaN below two examples."""
    n, total = len(weights), float(weights.sum())
    if n < 2 or total <= 0:
        return math.nan
    residuals = numerators - ratio(numerators, weights) * weights
    return float(n / (n - 1) * np.sum(residuals**2) / total**2)


def proportion(numerators: Floats, weights: Floats, total: int) -> tuple[Range, Range]:
    """Intervals of a proportion.

    Args:
        numerators: Right answers per example seen, [n].
        weights: Answers per example seen, [n]; all 1 when an example is one answer.
        total: Examples in the set.

    Returns:
        The interval for new data, and the one for the value on the whole set.
    """
    n = len(weights)
    value = ratio(numerators, weights)
    if math.isnan(value):
        return (0.0, 1.0), (0.0, 1.0)
    if np.all(weights == 1):
        new = wilson(value, n)
        if n >= total:
            return new, (value, value)
        low, high = wilson(value, n * (total - 1) / (total - n))
        right = float(numerators.sum())
        return new, (max(low, right / total), min(high, (right + total - n) / total))
    variance = ratio_variance(numerators, weights)
    answers = float(weights.sum())
    spread = value * (1 - value)
    effective = min(answers, spread / variance) if variance > 0 else float(n)
    if math.isnan(variance):
        effective = 1.0
    quantile = min(t_value(n - 1), 2 * z_value())
    new = wilson(value, effective, quantile)
    return new, ((value, value) if n >= total else wilson(value, effective / (1 - n / total), quantile))


def mean(numerators: Floats, weights: Floats, total: int) -> tuple[Range, Range]:
    """Intervals of a mean (of losses, say) by Student's t; arguments as in `proportion`. NaN below two examples."""
    n = len(weights)
    value = ratio(numerators, weights)
    half = t_value(n - 1) * math.sqrt(ratio_variance(numerators, weights)) if n > 1 else math.nan
    part = half * math.sqrt(1 - n / total) if n < total else 0.0
    return (value - half, value + half), (value - part, value + part)


def paired_proportions(gained: int, lost: int, n: int) -> Range:
    """Interval for the difference of two proportions on the same examples.

    The adjusted Wald interval of Bonett and Price (2012, J. Educ. Behav. Stat. 37, 479): one is added to each
    discordant count. It is never of width 0: no difference in 100 examples does not mean that there is none.

    Args:
        gained: Examples right now and wrong before.
        lost: Examples wrong now and right before.
        n: Examples.
    """
    more, fewer = (gained + 1) / (n + 2), (lost + 1) / (n + 2)
    difference = more - fewer
    half = z_value() * math.sqrt((more + fewer - difference**2) / (n + 2))
    value = (gained - lost) / n
    return max(-1.0, min(value, difference - half)), min(1.0, max(value, difference + half))


def paired_change(now: Floats, before: Floats, weights: Floats, *, bounded: bool) -> Range:
    """Interval, for new data, of the change of a ratio on the same examples.

    Args:
        now: Numerators per example, [n].
        before: The same for what is compared with.
        weights: Per example, [n].
        bounded: The ratio is a proportion (0 to 1), else a mean.
    """
    n = len(weights)
    difference = now - before
    if bounded and np.all(weights == 1):
        return paired_proportions(int(np.sum(difference > 0)), int(np.sum(difference < 0)), n)
    value = ratio(difference, weights)
    if bounded and not difference.any():
        return paired_proportions(0, 0, n)
    half = t_value(n - 1) * math.sqrt(ratio_variance(difference, weights)) if n > 1 else math.nan
    return value - half, value + half


def jackknife(statistic: Callable[[NDArray[np.intp]], float], n: int, groups: int = 20) -> float:
    """Half width of the interval of any smooth statistic, by deleting one group of examples at a time.

    Source: Shao and Tu 1995, The Jackknife and Bootstrap, section 2.3 (grouped jackknife), with Student's t.

    Args:
        statistic: Of the examples with the given numbers (in random order).
        n: Examples.
        groups: At most this many.

    Returns:
        NaN where the statistic cannot be computed without some group.
    """
    groups = min(groups, n)
    if groups < 2:
        return math.nan
    everyone = np.arange(n)
    try:
        left_out = np.array([statistic(everyone[everyone % groups != g]) for g in range(groups)], dtype=np.float64)
    except (ValueError, ZeroDivisionError):
        return math.nan
    variance = (groups - 1) / groups * float(np.sum((left_out - left_out.mean()) ** 2))
    return t_value(groups - 1) * math.sqrt(variance)


def ranks(values: Floats) -> Floats:
    """Ranks from 1, along the last axis; equal values share the mean of their ranks."""
    given = np.asarray(values, dtype=np.float64)
    order = np.argsort(given, axis=-1, kind="stable")
    ascending = np.take_along_axis(given, order, -1)
    place = np.arange(given.shape[-1])
    new = np.concatenate([np.ones_like(ascending[..., :1], dtype=bool), np.diff(ascending, axis=-1) != 0], axis=-1)
    first = np.maximum.accumulate(np.where(new, place, 0), axis=-1)
    ends = np.concatenate([new[..., 1:], np.ones_like(new[..., :1])], axis=-1)
    last = np.minimum.accumulate(np.where(ends, place, len(place))[..., ::-1], axis=-1)[..., ::-1]
    found = np.empty_like(given)
    np.put_along_axis(found, order, (first + last) / 2 + 1, -1)
    return found


def pearson_rows(x: Floats, y: Floats) -> Floats:
    """Pearson's r along the last axis; NaN below two values, and where one side is constant (or almost)."""
    with np.errstate(invalid="ignore", divide="ignore"):
        own, other = x - x.mean(-1, keepdims=True), y - y.mean(-1, keepdims=True)
        spread = np.sqrt((own**2).sum(-1)), np.sqrt((other**2).sum(-1))
        found: Floats = np.clip((own * other).sum(-1) / (spread[0] * spread[1]), -1.0, 1.0)
        for values, size in ((x, spread[0]), (y, spread[1])):
            rounding = 8 * np.finfo(np.float64).eps * np.abs(values).max(-1) * math.sqrt(values.shape[-1])
            found = np.where(size <= rounding, np.nan, found)
    return found


def pearson(x: Floats, y: Floats) -> float:
    """Pearson's r of two lists of numbers; NaN below two of them, or where one list is constant."""
    if len(x) < 2:
        return math.nan
    return float(pearson_rows(np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)))


def spearman(x: Floats, y: Floats) -> float:
    """Spearman's rank correlation: Pearson's r of the ranks, ties at the mean of their ranks; NaN as in `pearson`."""
    return pearson(ranks(x), ranks(y))


def percentile_interval(draws: Floats, level: float = LEVEL) -> Range:
    """The middle `level` of bootstrap draws; draws that could not be computed (NaN) are left out."""
    kept = draws[np.isfinite(draws)]
    if not len(kept):
        return math.nan, math.nan
    low, high = np.quantile(kept, [0.5 - level / 2, 0.5 + level / 2])
    return float(low), float(high)


def bca_interval(value: float, draws: Floats, left_out: Floats, level: float = LEVEL) -> Range:
    """Bootstrap interval corrected for bias and acceleration.

    Source: Efron 1987, Better bootstrap confidence intervals, JASA 82, 171.

    Args:
        value: The statistic of the sample.
        draws: Of resamples, [samples].
        left_out: Of the sample without one of its members each time, [n]; says how skewed the statistic is.
        level: Of the interval.
    """
    kept, jack = draws[np.isfinite(draws)], left_out[np.isfinite(left_out)]
    if not len(kept) or not math.isfinite(value):
        return math.nan, math.nan
    normal = NormalDist()
    below = (np.sum(kept < value) + 0.5 * np.sum(kept == value)) / len(kept)
    bias = normal.inv_cdf(min(max(float(below), 0.5 / len(kept)), 1 - 0.5 / len(kept)))
    off = jack.mean() - jack if len(jack) else np.zeros(1)
    size = float(np.sum(off**2)) ** 1.5
    acceleration = float(np.sum(off**3)) / (6 * size) if size > 0 else 0.0
    ends = []
    for sign in (-1, 1):
        moved = bias + sign * z_value(level)
        ends.append(normal.cdf(bias + moved / max(1e-6, 1 - acceleration * moved)))
    low, high = np.quantile(kept, ends)
    return float(low), float(high)


def bootstrap(
    statistic: Callable[[NDArray[np.intp]], float],
    n: int,
    *,
    seed: int = 0,
    samples: int = 2000,
    bca: bool = True,
    level: float = LEVEL,
) -> Range:
    """Interval of any statistic of n independent members, by drawing them anew with repetition.

    Args:
        statistic: Of the members with the given numbers (0 to n - 1, some of them several times).
        n: Members.
        seed: Of the draws.
        samples: Draws.
        bca: Correct for bias and skewness (needs n further evaluations), else plain percentiles.
        level: Of the interval.

    Returns:
        NaN ends below two members.
    """
    if n < 2:
        return math.nan, math.nan
    generator = np.random.default_rng(seed)
    draws = np.array([statistic(generator.integers(0, n, n)) for _ in range(samples)], dtype=np.float64)
    if not bca:
        return percentile_interval(draws, level)
    everyone = np.arange(n)
    left_out = np.array([statistic(np.delete(everyone, i)) for i in range(n)], dtype=np.float64)
    return bca_interval(statistic(everyone), draws, left_out, level)
