"""Are heads of one layer alike [Clark et al. 2019, section 6]? A permutation test over heads, intervals over texts."""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from headwidgets.errors import InputError
from headwidgets.provenance import checked_seed
from headwidgets.scores import Interval
from headwidgets.statistics import percentile_interval
from headwidgets.wire.documents import KindName

Floats = NDArray[np.float64]
Labels = NDArray[np.intp]

_FEWEST = 8
"""Groups of texts that an interval needs; a bootstrap of fewer is far too narrow."""


@dataclass(frozen=True)
class LayerTest:
    """How much nearer heads of one layer are to each other, in nats per token.

    Distance may simply grow with depth, so that heads of one layer are near because neighbouring layers are. So there
    are two tests: against all other layers, where every order of the heads is as likely as any, and against the
    neighbouring layers only, where heads change places between two neighbours. Intervals are over texts, for these
    heads; the bands and p are over heads.

    Attributes:
        kind: Which attention.
        within: Mean distance of two heads of one layer.
        between: Mean distance of two heads of different layers.
        difference: `between` less `within`.
        chance: The middle 95 % of `difference` when heads are dealt to layers at random.
        p: Share of such deals with a difference as large (one-sided).
        neighbours: Mean over pairs of neighbouring layers: distance across them less distance within them.
        neighbours_chance: The same as `chance`, heads dealt to the two layers of a pair only; at least as wide as it
            should be, since pairs share layers.
        neighbours_p: The same as `p`.
        by_gap: Mean distance of heads that are 0, 1, 2, ... layers apart.
        n: Texts.
        samples: Random deals, and bootstrap draws.
        seed: Of both.
    """

    kind: KindName
    within: float
    between: float
    difference: Interval
    chance: tuple[float, float]
    p: float
    neighbours: Interval
    neighbours_chance: tuple[float, float]
    neighbours_p: float
    by_gap: Floats = field(repr=False)
    n: int = 0
    samples: int = 0
    seed: int = 0

    def __str__(self) -> str:
        chance, near = (
            f"by chance {low:+.3f} to {high:+.3f}, p = {p:.2g}"
            for (low, high), p in ((self.chance, self.p), (self.neighbours_chance, self.neighbours_p))
        )
        return (
            f"LayerTest({self.kind}: within a layer {self.within:.3f}, between layers {self.between:.3f} nats: "
            f"{_known(self.difference)}, {chance}; to neighbouring layers {_known(self.neighbours)}, {near}; "
            f"n={self.n} texts)"
        )

    __repr__ = __str__


def _known(found: Interval) -> str:
    if math.isnan(found.low):
        return f"{found.value:+.3f}"
    return f"{found.value:+.3f} ({found.low:+.3f} to {found.high:+.3f})"


def layer_test(
    kind: KindName,
    square: Floats,
    layers: Labels,
    by_layer: Floats,
    weights: Floats,
    *,
    n: int,
    samples: int = 2000,
    seed: int = 0,
) -> LayerTest:
    """Compare distances within layers with those between layers; see `LayerTest`.

    Args:
        kind: Which attention.
        square: Distances [heads, heads].
        layers: Of each head, from 0 without gaps.
        by_layer: Sums over the tokens of a group of texts, by pair of layers, [groups, layers, layers].
        weights: Tokens of each group.
        n: Texts.
        samples: Permutations, and bootstrap draws.
        seed: Of both.

    Raises:
        InputError: numbers that do not fit; fewer than two layers, or no layer with two heads.
    """
    seed = checked_seed(seed)
    if isinstance(samples, bool) or not isinstance(samples, (int, np.integer)) or samples < 20:
        raise InputError(f"expected at least 20 samples (permutations), got {samples!r}")
    sizes = np.bincount(layers)
    if len(sizes) < 2 or sizes.max() < 2:
        raise InputError(
            f"expected at least two layers and a layer of two heads to compare, got {len(sizes)} layers of at most "
            f"{sizes.max()} heads"
        )
    pairs: Floats = (sizes[:, None] * sizes[None, :]).astype(np.float64)
    np.fill_diagonal(pairs, sizes * (sizes - 1) / 2)
    pairs = np.asarray(np.triu(pairs), dtype=np.float64)
    seen = _sums(square, layers)
    generator = np.random.default_rng(seed)
    drawn = _resampled(by_layer, weights, generator, samples)
    value = float(_apart(seen, pairs))
    chance = np.array([float(_apart(_sums(square, generator.permutation(layers)), pairs)) for _ in range(samples)])
    near = float(_neighbours(seen, pairs))
    near_chance = _dealt(square, layers, generator, samples)
    gaps = np.abs(np.arange(len(sizes))[:, None] - np.arange(len(sizes))[None, :])
    totals, counts = (np.bincount(gaps.ravel(), table.ravel()) for table in (seen, pairs))
    with np.errstate(invalid="ignore"):
        by_gap = totals / counts
    diagonal = np.eye(len(sizes), dtype=bool)
    return LayerTest(
        kind=kind,
        within=float(seen[diagonal].sum() / pairs[diagonal].sum()),
        between=float(seen[~diagonal].sum() / pairs[~diagonal].sum()),
        difference=Interval(value, *percentile_interval(_apart(drawn, pairs))),
        chance=percentile_interval(chance),
        p=_p(value, chance),
        neighbours=Interval(near, *percentile_interval(_neighbours(drawn, pairs))),
        neighbours_chance=percentile_interval(near_chance),
        neighbours_p=_p(near, near_chance),
        by_gap=by_gap,
        n=n,
        samples=samples,
        seed=seed,
    )


def _sums(square: Floats, layers: Labels) -> Floats:
    """Sums of distances by pair of layers, upper triangle [layers, layers]; each pair of heads once."""
    hot = np.eye(int(layers.max()) + 1)[layers]
    full = hot.T @ square @ hot
    full[np.diag_indices(len(full))] /= 2
    return np.triu(full)


def _resampled(by_layer: Floats, weights: Floats, generator: np.random.Generator, samples: int) -> Floats:
    """Sums by pair of layers per token, of groups of texts drawn anew, [samples, layers, layers]; NaN for few."""
    groups = len(weights)
    if groups < _FEWEST:
        return np.full((samples, *by_layer.shape[1:]), np.nan)
    counts = generator.multinomial(groups, np.full(groups, 1 / groups), samples).astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.tensordot(counts, by_layer, 1) / (counts @ weights)[:, None, None]


def _apart(sums: Floats, pairs: Floats) -> Floats:
    """Mean between layers less mean within layers, of sums [..., layers, layers]."""
    inner = np.eye(len(pairs), dtype=bool)
    found: Floats = sums[..., ~inner].sum(-1) / pairs[~inner].sum() - sums[..., inner].sum(-1) / pairs[inner].sum()
    return found


def _pairs_of_layers(pairs: Floats) -> NDArray[np.intp]:
    """First layers of the neighbours that have a pair of heads within them."""
    own = np.diag(pairs)
    return np.flatnonzero(own[:-1] + own[1:] > 0)


def _neighbours(sums: Floats, pairs: Floats) -> Floats:
    """Mean over neighbouring layers of: mean across them less mean within them."""
    low = _pairs_of_layers(pairs)
    across = sums[..., low, low + 1] / pairs[low, low + 1]
    inside = (sums[..., low, low] + sums[..., low + 1, low + 1]) / (pairs[low, low] + pairs[low + 1, low + 1])
    found: Floats = (across - inside).mean(-1)
    return found


def _dealt(square: Floats, layers: Labels, generator: np.random.Generator, samples: int) -> Floats:
    """`_neighbours` when the heads of two neighbouring layers change places at random, [samples].

    Pairs of layers that share one are not independent, and cannot be dealt together. So the draws of every second pair
    and those of the others are put together in order of size, which spreads their sum as wide as it can be.
    """
    totals, count = np.zeros((2, samples)), 0
    for low in range(int(layers.max())):
        places = np.flatnonzero((layers == low) | (layers == low + 1))
        first = int((layers == low).sum())
        second = len(places) - first
        inside = first * (first - 1) / 2 + second * (second - 1) / 2
        if inside == 0:
            continue
        own = square[np.ix_(places, places)]
        chosen = (np.argsort(generator.random((samples, len(places))), axis=1) < first).astype(np.float64)
        across = ((chosen @ own) * (1 - chosen)).sum(1)
        rest = own.sum() / 2 - across
        totals[low % 2] += across / (first * second) - rest / inside
        count += 1
    found: Floats = np.sort(totals, axis=1).sum(0)
    return found / count if count else np.full(samples, math.nan)


def _p(value: float, chance: Floats) -> float:
    return float((1 + np.sum(chance >= value - 1e-12)) / (1 + len(chance)))
