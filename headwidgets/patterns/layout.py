"""Heads laid out by their distances, and in groups (scikit-learn)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from headwidgets.errors import InputError
from headwidgets.provenance import checked_seed
from headwidgets.scores import Head
from headwidgets.statistics import pearson
from headwidgets.wire.documents import KindName

Floats = NDArray[np.float64]

_MANY = 600
"""Heads from which random starts are left out: they take minutes and end where classical scaling begins."""


@dataclass(frozen=True)
class Layout:
    """Heads as points in a plane.

    Attributes:
        kind: Which attention.
        heads: In the order of `x` and `y`.
        x: In the unit of the distances; the direction in which the points spread most, later layers to the right.
        y: Across it.
        stress: Kruskal's stress-1, the root of the squared misfit over the squared distances in the plane: 0 is a
            perfect picture.
        fit: Squared correlation of the distances in the plane with those of the heads.
        root: Whether square roots of divergences were laid out.
        seed: Of the random starts.
    """

    kind: KindName
    heads: tuple[Head, ...] = field(repr=False)
    x: Floats = field(repr=False)
    y: Floats = field(repr=False)
    stress: float
    fit: float
    root: bool
    seed: int

    def __str__(self) -> str:
        what = "roots of divergences" if self.root else "divergences"
        return (
            f"Layout({len(self.heads)} {self.kind} heads, {what}: stress {self.stress:.2f}, {100 * self.fit:.0f} % of "
            "the variance of their distances)"
        )

    __repr__ = __str__

    def place(self, head: Head) -> tuple[float, float]:
        """Where a head stands."""
        at = self.heads.index(Head(*head))
        return float(self.x[at]), float(self.y[at])


def laid_out(
    kind: KindName, heads: Sequence[Head], square: Floats, *, root: bool = False, starts: int = 4, seed: int = 0
) -> Layout:
    """Metric MDS by majorisation (SMACOF): the layout with the least raw stress of several starts.

    Args:
        kind: Which attention.
        heads: As many as rows.
        square: Distances [heads, heads].
        root: Lay out their square roots.
        starts: Random starts beside the one from classical scaling.
        seed: Of the starts.

    Raises:
        InputError: fewer than three heads, heads that are all the same, numbers that do not fit.
    """
    from sklearn.manifold import smacof

    seed = checked_seed(seed)
    if isinstance(starts, bool) or not isinstance(starts, (int, np.integer)) or starts < 0:
        raise InputError(f"expected starts= as a whole number from 0 on, got {starts!r}")
    wanted = np.sqrt(square) if root else square
    upper = np.triu_indices(len(heads), 1)
    if len(heads) < 3 or not wanted[upper].max() > 0:
        what = "heads that attend differently" if len(heads) >= 3 else f"{len(heads)} of them"
        raise InputError(f"expected at least three heads to lay out, and some distance between them; got {what}")
    generator = np.random.default_rng(seed)
    spread = float(wanted[upper].mean())
    begin = [_classical(wanted)]
    if len(heads) <= _MANY:
        begin += [generator.normal(0, spread, (len(heads), 2)) for _ in range(starts)]
    best: Floats | None = None
    least = math.inf
    for points in begin:
        found, raw = smacof(wanted, metric=True, n_components=2, init=points, n_init=1, max_iter=500, eps=1e-8)[:2]
        if raw < least:
            best, least = np.asarray(found, dtype=np.float64), float(raw)
        if least < 1e-9 * (wanted**2).sum():
            break  # as good as perfect
    assert best is not None
    points = _turned(best, np.array([head.layer for head in heads], dtype=np.float64))
    drawn = np.sqrt(((points[:, None] - points[None]) ** 2).sum(-1))[upper]
    return Layout(
        kind, tuple(heads), points[:, 0], points[:, 1],
        stress=float(np.sqrt(((drawn - wanted[upper]) ** 2).sum() / (drawn**2).sum())),
        fit=pearson(drawn, wanted[upper]) ** 2,
        root=root,
        seed=seed,
    )  # fmt: skip


def _classical(wanted: Floats) -> Floats:
    """Classical scaling (Torgerson 1952): the two leading directions of the centred squared distances."""
    squared = wanted**2
    centred = -(squared - squared.mean(0) - squared.mean(1)[:, None] + squared.mean()) / 2
    values, vectors = np.linalg.eigh(centred)
    found: Floats = vectors[:, [-1, -2]] * np.sqrt(np.maximum(values[[-1, -2]], 1e-12))
    return found


def _turned(points: Floats, layers: Floats) -> Floats:
    """The same picture with its longest direction across, later layers to the right, the farthest point up."""
    points = points - points.mean(0)
    points = points @ np.linalg.svd(points, full_matrices=False)[2].T
    if ((layers - layers.mean()) * points[:, 0]).sum() < 0:
        points[:, 0] *= -1
    if points[np.abs(points[:, 1]).argmax(), 1] < 0:
        points[:, 1] *= -1
    return points


@dataclass(frozen=True)
class Clusters:
    """Groups of heads that attend alike.

    Attributes:
        kind: Which attention.
        heads: In the order of `labels`.
        labels: Per head the number of its group, from 0; the largest group is 0.
        silhouette: Mean over heads of how much nearer their own group is than the next one, -1 to 1. Where the number
            of groups was chosen by it, it is the best of several and a little high.
        stability: Agreement (adjusted Rand index) of the same clustering on two halves of the texts: 1 is the same
            groups, 0 is chance; NaN for a single text.
    """

    kind: KindName
    heads: tuple[Head, ...] = field(repr=False)
    labels: NDArray[np.intp] = field(repr=False)
    silhouette: float
    stability: float

    def __str__(self) -> str:
        sizes = ", ".join(str(size) for size in np.bincount(self.labels))
        return (
            f"Clusters({len(self.heads)} {self.kind} heads in {len(self)} groups of {sizes}: silhouette "
            f"{self.silhouette:.2f}, stability {self.stability:.2f})"
        )

    __repr__ = __str__

    def __len__(self) -> int:
        return int(self.labels.max()) + 1

    def groups(self) -> list[list[Head]]:
        """The heads of every group, largest group first."""
        return [[h for h, own in zip(self.heads, self.labels, strict=True) if own == i] for i in range(len(self))]


def clustered(
    kind: KindName,
    heads: Sequence[Head],
    square: Floats,
    halves: Sequence[Floats] | None,
    *,
    count: int | None = None,
    most: int = 12,
) -> Clusters:
    """Hierarchical clusters by Ward's rule: two groups join where that adds least to the divergences inside groups.

    Args:
        kind: Which attention.
        heads: As many as rows.
        square: Distances [heads, heads].
        halves: The same from two halves of the texts.
        count: Groups; by default the number from 2 to `most` with the largest silhouette.
        most: Largest number tried.

    Raises:
        InputError: fewer than three heads, or a count that does not fit.
    """
    from sklearn.metrics import adjusted_rand_score, silhouette_score

    if len(heads) < 3:
        raise InputError(f"expected at least three heads to group, got {len(heads)}")
    for name, given in (("count", count), ("most", most)):
        if given is not None and (isinstance(given, bool) or not isinstance(given, (int, np.integer)) or given < 2):
            raise InputError(f"expected {name}= as a whole number of at least 2, got {given!r}")
    if count is not None and count >= len(heads):
        raise InputError(f"expected count= below the number of heads ({len(heads)}), got {count}")
    tried = [count] if count is not None else range(2, min(most, len(heads) - 1) + 1)
    best: tuple[float, int, NDArray[np.intp]] | None = None
    for number in tried:
        labels = _cut(square, number)
        value = float(silhouette_score(square, labels, metric="precomputed"))
        if best is None or value > best[0]:
            best = value, number, labels
    assert best is not None
    value, number, labels = best
    again = math.nan
    if halves is not None:
        again = float(adjusted_rand_score(*(_cut(half, number) for half in halves)))
    return Clusters(kind, tuple(heads), labels, value, again)


def _cut(square: Floats, count: int) -> NDArray[np.intp]:
    from sklearn.cluster import AgglomerativeClustering

    found = AgglomerativeClustering(n_clusters=count, linkage="ward").fit_predict(_embedded(square))
    sizes = np.bincount(found)
    first = [int(np.flatnonzero(found == i)[0]) for i in range(count)]
    rank = np.empty(count, dtype=np.intp)
    rank[sorted(range(count), key=lambda i: (-sizes[i], first[i]))] = np.arange(count)
    return np.asarray(rank[found], dtype=np.intp)


def _embedded(square: Floats) -> Floats:
    """Points whose squared distances are the divergences.

    There are such points (Fuglede and Topsoe 2004), and a mean over tokens keeps them.
    """
    centred = -(square - square.mean(0) - square.mean(1)[:, None] + square.mean()) / 2
    values, vectors = np.linalg.eigh(centred)
    found: Floats = vectors * np.sqrt(np.maximum(values, 0))
    return found
