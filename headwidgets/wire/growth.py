"""The attribution tree, grown from a `TreeLevel`. ``js/components/tree/grow.ts`` does the same, number by number.

Both sides compare float32 numbers as doubles and break ties the same way, so that a slider in the browser and the
property in Python speak of the same edges.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ORDERS = ("strongest", "published")


class TreeEdge(NamedTuple):
    """The query attends to the key in a layer: information of the key flows to the query."""

    layer: int
    query: int
    key: int
    weight: float
    """Attribution summed over the layer's heads, in the unit of the output."""
    share: float
    """The same, divided by the largest entry of the layer."""


class Grown(NamedTuple):
    """A tree."""

    top: int
    """The top node; -1 when there is no position but the root."""
    edges: tuple[TreeEdge, ...]
    """In the order in which they were taken: layers from above, so that a query is always there before its edges."""
    terminals: tuple[TreeEdge, ...]
    """From the root to every node, in the last layer; empty without a root. The first is the top node's."""
    objective: float
    """Sum of the weights of `edges`, less the penalty for each."""


def grow(level: Any, threshold: float, penalty: float, order: str = "strongest") -> Grown:
    """Grow the tree of a level: Algorithm 1 of Hao et al. 2021, with the penalty as a price that each edge has to earn.

    The top node is the position that takes most from others over all layers. Layers come from above; in each, an edge
    (query, key) is taken when its query is in the tree and its key is not. The root is tied to the others in the last
    layer only and takes no part below it.

    Args:
        level: A `TreeLevel` with NumPy arrays.
        threshold: tau, share of the largest entry of a layer that an edge has to exceed.
        penalty: lambda, as a share of the level's heaviest edge.
        order: Inside a layer, ``strongest`` edge first, or ``published``: row by row. It decides which of several
            edges brings a token in, and whether a token that enters in a layer can bring in others in the same layer.
    """
    count, root = int(level["count"]), int(level["root"])
    flat = np.asarray(level["edges"], dtype=np.int64)
    weight = np.asarray(level["weight"], dtype=np.float32).astype(np.float64)
    peak = np.asarray(level["peak"], dtype=np.float32).astype(np.float64)
    top = _top(np.asarray(level["gathered"], dtype=np.float32), root)
    price = penalty * float(level["heaviest"])
    size = max(1, count)
    layer, query, key = flat // (size * size), flat // size % size, flat % size
    fits = (weight > 0) & (weight > threshold * peak[layer]) & (weight > price) & (query != key)
    if root >= 0:
        fits &= (query != root) & (key != root) & (layer < len(peak) - 1)
    chosen = np.flatnonzero(fits)
    within = flat[chosen] if order == "published" else -weight[chosen]
    chosen = chosen[np.lexsort((flat[chosen], within, -layer[chosen]))]
    placed = [False] * count
    if top >= 0:
        placed[top] = True
    edges: list[TreeEdge] = []
    for at in chosen.tolist():
        i, j = int(query[at]), int(key[at])
        if placed[i] and not placed[j]:
            placed[j] = True
            height = int(layer[at])
            edges.append(TreeEdge(height, i, j, float(weight[at]), float(weight[at] / peak[height])))
    return Grown(top, tuple(edges), _terminals(level, root, top, edges, peak), _objective(edges, price))


def _top(gathered: NDArray[np.float32], root: int) -> int:
    best = -1
    for position, value in enumerate(gathered.tolist()):
        if position != root and (best < 0 or value > gathered[best]):
            best = position
    return best


def _terminals(level: Any, root: int, top: int, edges: list[TreeEdge], peak: NDArray[Any]) -> tuple[TreeEdge, ...]:
    if root < 0 or top < 0:
        return ()
    last = len(peak) - 1
    weights = np.asarray(level["terminal"], dtype=np.float32).astype(np.float64)
    largest = float(peak[last])
    return tuple(
        TreeEdge(last, root, node, float(weights[node]), float(weights[node] / largest) if largest > 0 else 0.0)
        for node in (top, *(edge.key for edge in edges))
    )


def _objective(edges: list[TreeEdge], price: float) -> float:
    total = 0.0
    for edge in edges:
        total += edge.weight - price
    return total
