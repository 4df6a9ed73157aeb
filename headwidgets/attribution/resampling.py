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
_SPLITS = 20
_BLOCKS = 500
"""Of heads, left out one at a time; each is one head where there are no more."""
_CHUNK = 500_000
"""Numbers drawn at a time."""


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


def intervals(
    wanted: Sequence[Statistic],
    measured: Sequence[Measured],
    layers: NDArray[np.intp],
    *,
    seed: int,
    samples: int,
    bounded: bool = True,
) -> list[Interval]:
    """Statistics of several measurements of the same heads, each with its 95 % interval.

    Args:
        wanted: What is asked.
        measured: The measurements.
        layers: Number of each head's layer, [heads]; kinds of attention have layers of their own.
        seed: Of the draws.
        samples: Draws of heads; of examples at most 400 are made.
        bounded: The statistics lie between -1 and 1 (correlations): they are spread on Fisher's z scale.
    """
    values = np.stack([one.values for one in measured])
    heads = values.shape[1]
    everyone = np.arange(heads)
    generator = np.random.default_rng(seed)
    drawn = generator.integers(0, heads, (samples, heads))
    without = _without(heads, generator)
    other = [_other_examples(measured, seed, min(samples, _EXAMPLE_SAMPLES), own) for own in (False, True)]
    noisy = any(one.groups is not None for one in measured)
    found = []
    for statistic in wanted:
        value = float(statistic(values[:, everyone[None]], layers[None])[0])
        if not math.isfinite(value):
            found.append(Interval(value, math.nan, math.nan))
            continue
        parts = np.array_split(drawn, 1 + samples * heads // _CHUNK)
        draws = np.concatenate([statistic(values[:, part], layers[part]) for part in parts])
        left_out = statistic(values[:, without], layers[without])
        low, high = statistics.bca_interval(value, draws, left_out)
        by_heads = _variance(_scaled(draws, bounded))
        if noisy and by_heads > 0:
            together, apart = (
                _variance(_scaled(statistic(one, np.broadcast_to(layers, one.shape[1:])), bounded)) for one in other
            )
            low, high = _widened((value, low, high), math.sqrt(max(1.0, 1 + (together - apart) / by_heads)), bounded)
        found.append(Interval(value, low, high))
    return found


def _without(heads: int, generator: np.random.Generator) -> NDArray[np.intp]:
    """Numbers of the heads that stay when one is left out, or one block of many, [blocks, heads that stay]."""
    size = -(-heads // _BLOCKS)
    order = generator.permutation(heads)
    whole = heads // size
    return np.stack([np.concatenate([order[: i * size], order[(i + 1) * size :]]) for i in range(whole)])


def _widened(ends: tuple[float, float, float], factor: float, bounded: bool) -> tuple[float, float]:
    """The ends of an interval, moved away from its value by a factor."""
    scaled = _scaled(np.array(ends), bounded)
    moved = scaled[0] + factor * (scaled - scaled[0])
    if bounded:
        moved = np.tanh(moved)
    return float(moved[1]), float(moved[2])


def _scaled(values: Floats, bounded: bool) -> Floats:
    return np.arctanh(np.clip(values, -1 + 1e-9, 1 - 1e-9)) if bounded else values


def _variance(draws: Floats) -> float:
    kept = draws[np.isfinite(draws)]
    return float(kept.var()) if len(kept) > 1 else 0.0


def _other_examples(measured: Sequence[Measured], seed: int, samples: int, own: bool) -> Floats:
    """Scores as other examples might have given them, [measurements, samples, heads].

    A multiplier bootstrap: the deviations of the groups, each times a normal number. With `own` every head has numbers
    of its own, so that only what heads do not share is left.
    """
    heads = len(measured[0].values)
    found = np.stack([np.broadcast_to(one.values, (samples, heads)) for one in measured])
    together: dict[str, list[int]] = {}
    for place, one in enumerate(measured):
        if one.groups is not None:
            together.setdefault(one.examples, []).append(place)
    for number, places in enumerate(together.values()):
        generator = np.random.default_rng((seed, 1 + own, number))
        off = np.stack([_deviations(measured[place]) for place in places])  # [measurements, groups, heads]
        if own:
            each = off.transpose(2, 0, 1)
            size, direction = np.linalg.eigh(each @ each.transpose(0, 2, 1))
            root = direction * np.sqrt(np.maximum(size, 0))[:, None, :]
            noise = np.einsum("hmk,shk->msh", root, generator.normal(size=(samples, heads, len(places))))
        else:
            noise = np.einsum("sg,mgh->msh", generator.normal(size=(samples, off.shape[1])), off, optimize=True)
        found[places] += noise
    return found


def _deviations(one: Measured) -> Floats:
    """How far each group moves the scores, [groups, heads]: their squares add up to the squared standard errors."""
    assert one.groups is not None, "only measurements with groups have deviations"
    assert one.sizes is not None, "groups have sizes"
    share = one.sizes / one.sizes.sum()
    middle = share @ one.groups
    count = len(share)
    found: Floats = share[:, None] * (one.groups - middle) * math.sqrt(count / (count - 1))
    return found


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
    places = np.concatenate([np.arange(heads)[None], generator.integers(0, heads, (min(samples, 200), heads))])
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
