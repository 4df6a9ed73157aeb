"""Random links that are like given ones in attention weight and offset: the control of the deletion check."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headwidgets.attribution.result import Attribution
from headwidgets.wire.documents import KindName

Floats = NDArray[np.float64]
Keys = NDArray[np.int64]

FINE = (*np.linspace(0.05, 0.95, 19), 0.97, 0.98, 0.99, 0.995, 0.998)
COARSE = (0.25, 0.5, 0.75, 0.9, 0.96, 0.99)
"""Quantiles between the bins of the attention weight, finer where few links carry much."""
LEVELS = (
    "weight, offset and layer",
    "weight, about the offset, and layer",
    "weight and offset",
    "weight and about the offset",
    "weight and layer",
    "weight",
    "about the weight",
    "kind of attention",
)
"""In what a drawn link may be like the one it stands for, the strictest first."""
WITH_OFFSET = 4
"""Of the levels, the first so many are alike in weight and (about) offset."""


@dataclass
class Links:
    """Every link that can be cut, of all kinds and layers.

    Attributes:
        kinds: The kinds, by number.
        kind: Number of the kind, int64 [links].
        layer: int64 [links].
        head: int64 [links].
        query: int64 [links].
        key: int64 [links].
        value: Attribution, float64 [links].
        weight: Attention, float64 [links].
    """

    kinds: tuple[KindName, ...]
    kind: Keys
    layer: Keys
    head: Keys
    query: Keys
    key: Keys
    value: Floats
    weight: Floats

    def __len__(self) -> int:
        return len(self.value)


def links_of(found: Attribution) -> Links:
    """Links between different positions that have a weight and that the output depends on.

    What the output does not read at all (all rows but one in the last layer of a classifier) is left out, so that the
    control is not made weak by links that cannot matter.
    """
    parts: list[list[Keys]] = []
    values: list[Floats] = []
    weights: list[Floats] = []
    for number, kind in enumerate(found.kinds):
        maps, attention = found.maps[kind], found.attention[kind]
        good = np.isfinite(maps) & (maps != 0) & (attention > 0)
        if kind != "cross":
            good &= ~np.eye(maps.shape[2], maps.shape[3], dtype=bool)
        places = np.nonzero(good)
        parts.append([np.full(len(places[0]), number), *places])
        values.append(maps[good].astype(np.float64))
        weights.append(attention[good].astype(np.float64))
    kind_of, layer, head, query, key = (np.concatenate([p[i] for p in parts]).astype(np.int64) for i in range(5))
    return Links(found.kinds, kind_of, layer, head, query, key, np.concatenate(values), np.concatenate(weights))


def codes(links: Links) -> list[Keys]:
    """By level, a number per link; links of like number may stand for each other."""
    offset = links.key - links.query
    about = np.sign(offset) * np.ceil(np.log2(np.abs(offset) + 1)).astype(np.int64)
    fine, coarse = _bins(links.weight, FINE), _bins(links.weight, COARSE)
    layer = np.stack([links.kind, links.layer])
    columns = (
        [*layer, fine, offset],
        [*layer, fine, about],
        [links.kind, fine, offset],
        [links.kind, fine, about],
        [*layer, fine],
        [links.kind, fine],
        [links.kind, coarse],
        [links.kind],
    )
    return [np.unique(np.stack(own), axis=1, return_inverse=True)[1].reshape(-1) for own in columns]


def _bins(weight: Floats, quantiles: tuple[float, ...]) -> Keys:
    edges = np.quantile(weight, quantiles)
    return np.searchsorted(edges, weight, side="right").astype(np.int64)


def matched(coded: list[Keys], chosen: Keys, generator: np.random.Generator) -> tuple[Keys, NDArray[np.int64]]:
    """As many other links as `chosen`, each like one of them at the strictest level that has any left.

    Args:
        coded: See `codes`.
        chosen: Numbers of the links.
        generator: Of the draw.

    Returns:
        Numbers of the links drawn (fewer when there are not so many others), and how many at each level.
    """
    free = np.ones(len(coded[0]), dtype=bool)
    free[chosen] = False
    open_ends = generator.permutation(chosen)
    drawn: list[Keys] = []
    counts = np.zeros(len(coded), dtype=np.int64)
    for level, code in enumerate(coded):
        if not len(open_ends):
            break
        pool = generator.permutation(np.flatnonzero(free))
        size = int(code.max()) + 1
        wanted = np.bincount(code[open_ends], minlength=size)
        there = np.bincount(code[pool], minlength=size)
        taken = pool[_place_in_group(code[pool]) < wanted[code[pool]]]
        free[taken] = False
        drawn.append(taken)
        counts[level] = len(taken)
        open_ends = open_ends[_place_in_group(code[open_ends]) >= there[code[open_ends]]]
    return np.concatenate(drawn), counts


def _place_in_group(code: Keys) -> Keys:
    """How many of the same number stand before each, int64 [n]."""
    order = np.argsort(code, kind="stable")
    ordered = code[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(code) else np.zeros(0, dtype=np.int64)
    sizes = np.diff(np.r_[starts, len(code)])
    places = np.empty(len(code), dtype=np.int64)
    places[order] = np.arange(len(code)) - np.repeat(starts, sizes)
    return places
