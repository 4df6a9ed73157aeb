"""How much would an agreement of scores change with other heads and other examples? A bootstrap over both.

Heads are drawn with repetition, the same for all scores. Drawing examples on top would count the noise of every single
score twice (it already differs from head to head), so the two are put together as two-way clustered variances are
(Cameron, Gelbach and Miller 2011, J. Bus. Econ. Stat. 29, 238): what heads contribute, plus what examples contribute,
less what examples would contribute if every head had examples of its own.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headwidgets import statistics
from headwidgets.scores import Interval

Floats = NDArray[np.float64]
Statistic = Callable[[Floats, NDArray[np.intp]], Floats]
"""Of scores [measurements, draws, heads] and the heads' layers [draws, heads], to [draws]."""

_EXAMPLE_SAMPLES = 400
_SPLITS = 40
_CHUNK = 100


@dataclass(frozen=True)
class Measured:
    """The scores of the heads that are compared.

    Attributes:
        values: [heads].
        groups: Scores of random groups of the examples, [groups, heads]; None when not kept.
        sizes: Examples in each group, [groups].
        examples: What examples were grouped how; measurements with the same word share their draws.
        variance: Squared standard errors, [heads]; None when not known.
    """

    values: Floats
    groups: Floats | None
    sizes: Floats | None
    examples: str
    variance: Floats | None


def of_layers(values: Floats, layers: NDArray[np.intp]) -> Floats:
    """Take each layer's mean off, along the last axis.

    Args:
        values: [draws, heads].
        layers: Number of each head's layer, [draws, heads].
    """
    most = int(layers.max()) + 1
    flat = (layers + most * np.arange(len(layers))[:, None]).ravel()
    size = len(layers) * most
    counts = np.bincount(flat, minlength=size)
    sums = np.bincount(flat, weights=values.ravel(), minlength=size)
    means: Floats = (sums / np.maximum(counts, 1))[flat].reshape(values.shape)
    return values - means


def pearson(pair: Floats, _: NDArray[np.intp]) -> Floats:
    """Pearson's r of two measurements, for every draw."""
    return statistics.pearson_rows(pair[0], pair[1])


def spearman(pair: Floats, _: NDArray[np.intp]) -> Floats:
    """Spearman's rank correlation, for every draw."""
    return statistics.pearson_rows(statistics.ranks(pair[0]), statistics.ranks(pair[1]))


def within(pair: Floats, layers: NDArray[np.intp]) -> Floats:
    """Pearson's r after each layer's mean was taken off, for every draw; NaN where heads of a layer never differ."""
    left = [of_layers(one, layers) for one in pair]
    size = [np.abs(one).max(-1, keepdims=True) for one in pair]
    # what is left of heads that are equal within every layer is rounding, not a score
    kept = [np.where(np.abs(one) > 1e-12 * whole, one, 0.0) for one, whole in zip(left, size, strict=True)]
    return statistics.pearson_rows(kept[0], kept[1])


def interval(
    statistic: Statistic,
    measured: Sequence[Measured],
    layers: NDArray[np.intp],
    *,
    seed: int,
    samples: int,
    bounded: bool = True,
) -> Interval:
    """A statistic of several measurements of the same heads, with its 95 % interval.

    Args:
        statistic: What is asked.
        measured: The measurements.
        layers: Number of each head's layer, [heads]; kinds of attention have layers of their own.
        seed: Of the draws.
        samples: Draws of heads; of examples at most 400 are made.
        bounded: The statistic lies between -1 and 1 (a correlation): it is spread on Fisher's z scale.
    """
    values = np.stack([one.values for one in measured])
    heads = values.shape[1]
    everyone = np.arange(heads)

    def of(places: NDArray[np.intp]) -> Floats:
        return statistic(values[:, places], layers[places])

    value = float(of(everyone[None])[0])
    if not math.isfinite(value):
        return Interval(value, math.nan, math.nan)
    generator = np.random.default_rng(seed)
    draws = of(generator.integers(0, heads, (samples, heads)))
    left_out = of(np.stack([np.delete(everyone, i) for i in range(heads)]))
    low, high = statistics.bca_interval(value, draws, left_out)
    if all(one.groups is None for one in measured):
        return Interval(value, low, high)
    by_heads = _variance(_scaled(draws, bounded))
    by_examples = [
        _variance(_scaled(_with_other_examples(statistic, measured, layers, seed, samples, own), bounded))
        for own in (False, True)
    ]
    wider = math.sqrt(max(1.0, (by_heads + by_examples[0] - by_examples[1]) / by_heads)) if by_heads > 0 else 1.0
    ends = _scaled(np.array([value, low, high]), bounded)
    moved = ends[0] + wider * (ends - ends[0])
    if bounded:
        moved = np.tanh(moved)
    return Interval(value, float(min(moved[1], value)), float(max(moved[2], value)))


def _scaled(values: Floats, bounded: bool) -> Floats:
    return np.arctanh(np.clip(values, -1 + 1e-9, 1 - 1e-9)) if bounded else values


def _variance(draws: Floats) -> float:
    kept = draws[np.isfinite(draws)]
    return float(kept.var()) if len(kept) > 1 else 0.0


def _with_other_examples(
    statistic: Statistic,
    measured: Sequence[Measured],
    layers: NDArray[np.intp],
    seed: int,
    samples: int,
    own: bool,
) -> Floats:
    """The statistic with groups of examples drawn anew; with `own`, for every head by itself."""
    heads = len(layers)
    generators: dict[str, np.random.Generator] = {}
    for one in measured:
        generators[one.examples] = np.random.default_rng((seed, 1 + own, len(generators)))
    found = []
    total = min(samples, _EXAMPLE_SAMPLES)
    for start in range(0, total, _CHUNK):
        rows = min(_CHUNK, total - start)
        weights: dict[str, Floats] = {}
        drawn = []
        for one in measured:
            if one.groups is None or one.sizes is None:
                drawn.append(np.broadcast_to(one.values, (rows, heads)))
                continue
            count = len(one.sizes)
            if one.examples not in weights:
                shape = (rows, heads) if own else (rows, 1)
                times = generators[one.examples].multinomial(count, np.full(count, 1 / count), size=shape)
                weights[one.examples] = times.astype(np.float64)
            share = weights[one.examples] * one.sizes
            share /= share.sum(-1, keepdims=True)
            other = np.einsum("rhg,gh->rh", np.broadcast_to(share, (rows, heads, count)), one.groups)
            # a sample of few groups varies less than it should, by (count - 1) / count
            drawn.append(one.values + (other - one.values) * math.sqrt(count / (count - 1)))
        found.append(statistic(np.stack(drawn), np.broadcast_to(layers, (rows, heads))))
    return np.concatenate(found)


def reliability(one: Measured, *, seed: int, samples: int) -> tuple[float, Floats] | None:
    """How far a measurement would agree with itself on other examples, as a squared correlation.

    With groups: the mean correlation of random halves, stepped up to all examples (Spearman 1910, Brown 1910). With
    standard errors alone: the share of the variance between heads that is not error, which takes what examples do to
    all heads alike for error and so may be too low.

    Returns:
        The reliability and bootstrap draws of it over heads; None when nothing is known of the examples.
    """
    heads = len(one.values)
    generator = np.random.default_rng((seed, 3))
    places = np.concatenate([np.arange(heads)[None], generator.integers(0, heads, (min(samples, 400), heads))])
    if one.groups is not None and one.sizes is not None and len(one.sizes) >= 4:
        halves = _halves(one.groups, one.sizes, generator)
        r = np.concatenate([statistics.pearson_rows(*halves[:, :, rows]).mean(0) for rows in np.array_split(places, 8)])
        stepped = np.where(r > 0, 2 * r / (1 + np.maximum(r, 0)), 0.0)
        return float(stepped[0]), stepped[1:]
    if one.variance is None:
        return None
    error, spread = one.variance[places].mean(-1), one.values[places].var(-1, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.clip(1 - error / spread, 0.0, 1.0)
    return float(share[0]), share[1:]


def _halves(groups: Floats, sizes: Floats, generator: np.random.Generator) -> Floats:
    """Scores of random halves of the groups, [2, splits, heads]."""
    found = []
    for _ in range(_SPLITS):
        order = generator.permutation(len(sizes))
        parts = order[: len(sizes) // 2], order[len(sizes) // 2 :]
        found.append([np.average(groups[part], axis=0, weights=sizes[part]) for part in parts])
    return np.swapaxes(np.array(found), 0, 1)
