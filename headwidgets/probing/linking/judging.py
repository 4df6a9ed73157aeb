"""Does a head beat what it has to beat? Choices on one split, figures on another, all rows and heads judged together.

A difference of accuracies is paired: on the same instances, summed by cluster. Whether it is more than chance is read
from the largest of all standardised differences under a multiplier bootstrap over clusters, so that a table of many
relations and heads calls none of them good by luck in 95 of 100 tables (a max statistic: Westfall and Young 1993,
Resampling-Based Multiple Testing; the bootstrap: Chernozhukov, Chetverikov and Kato 2013, Annals of Statistics 41,
2786). A head has to beat every baseline, which needs no further correction.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from headwidgets import statistics
from headwidgets.probing.linking.asking import Asked
from headwidgets.probing.linking.examples import Direction
from headwidgets.probing.linking.guesses import Guesses
from headwidgets.probing.linking.looking import Seen, unpack
from headwidgets.probing.linking.placed import PlacedExamples
from headwidgets.probing.linking.result import LinkRow
from headwidgets.scores import Head, Interval

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FEWEST = 20
"""Instances below which there is an interval and no verdict."""
FEWEST_CLUSTERS = 10
DRAWS = 1000
OWN = "own offsets"
"""The baseline of a head that looked by its own profile of offsets alone."""


@dataclass(frozen=True)
class Split:
    """One half of the examples: what was asked, what heads found, what could be guessed."""

    placed: PlacedExamples
    asked: Mapping[Direction, Asked]
    seen: Seen
    guesses: Mapping[Direction, Guesses]


@dataclass(frozen=True)
class RowKey:
    """A row of the table: its label, its direction, its instances in the two splits, and how many links of the second
    no head can find.
    """

    relation: str
    direction: Direction
    first: Ints
    second: Ints
    impossible: int = 0


@dataclass(frozen=True)
class Judged:
    """The table, as in `headwidgets.probing.linking.result.Links`."""

    rows: list[LinkRow]
    accuracy: Floats
    stderr: Floats
    first: Floats
    passing: NDArray[np.bool_]


@dataclass
class _Measured:
    """One row, measured on the second split."""

    key: RowKey
    n: int
    clusters: int
    freedom: int
    chosen: Floats
    best: int | None
    values: Floats
    errors: Floats
    interval: Interval
    names: list[str]
    offset: int
    baselines: list[Floats]
    differences: list[Floats]
    spreads: list[Floats]

    @property
    def judged(self) -> bool:
        return _judged(self.best, self.n, self.clusters)


class Largest:
    """The largest standardised differences that chance makes: over rows with their best head, and over rows and heads.

    Under the bootstrap a difference is the sum of its residuals by cluster, each times a normal number that all rows
    and heads share. Only the maxima are kept, by draw.
    """

    def __init__(self, clusters: int, seed: int) -> None:
        """Draw the numbers, [draws, clusters]."""
        self._noise = np.random.default_rng(seed).standard_normal((DRAWS, clusters), dtype=np.float32)
        self._rows, self._cells = np.zeros(DRAWS), np.zeros(DRAWS)

    def add(self, clusters: Ints, residuals: Floats, spreads: Floats, best: int) -> None:
        """Take in one row against one baseline.

        Args:
            clusters: Which clusters it has instances in.
            residuals: Over its instances, [clusters, heads].
            spreads: Standard errors, [heads].
            best: The head that was chosen.
        """
        drawn = np.abs(self._noise[:, clusters] @ residuals.astype(np.float32)) / spreads
        np.maximum(self._cells, drawn.max(1), out=self._cells)
        np.maximum(self._rows, drawn[:, best], out=self._rows)

    @property
    def of_rows(self) -> float:
        """What 95 of 100 tables stay below, for best heads."""
        return self._quantile(self._rows)

    @property
    def of_cells(self) -> float:
        """The same for all heads."""
        return self._quantile(self._cells)

    def _quantile(self, drawn: Floats) -> float:
        return float(np.quantile(drawn, statistics.LEVEL)) if drawn.any() else statistics.z_value()


def _judged(best: int | None, n: int, clusters: int) -> bool:
    return best is not None and n >= FEWEST and clusters >= FEWEST_CLUSTERS


def row_keys(first: Mapping[Direction, Asked], second: Mapping[Direction, Asked], total: str | None) -> list[RowKey]:
    """Rows by relation, those with most instances first, then by direction.

    Args:
        first: Questions of the first split, by direction.
        second: Of the second.
        total: Label of a row of all relations together; None for none.
    """
    found: dict[tuple[str, Direction], RowKey] = {}
    sizes: dict[str, int] = {}
    for direction, asked in second.items():
        one, two = _by_relation(first[direction], total), _by_relation(asked, total)
        never = dict(asked.impossible)
        if total in two:
            never[str(total)] = sum(never.values())
        for relation in dict.fromkeys([*one, *two, *never]):
            none = np.zeros(0, dtype=np.int64)
            key = RowKey(relation, direction, one.get(relation, none), two.get(relation, none), never.get(relation, 0))
            found[relation, direction] = key
            sizes[relation] = max(sizes.get(relation, 0), len(key.second))
    order = list(second)
    return sorted(found.values(), key=lambda k: (-sizes[k.relation], k.relation, order.index(k.direction)))


def _by_relation(asked: Asked, total: str | None) -> dict[str, Ints]:
    found: dict[str, list[int]] = {}
    for number, link in enumerate(asked.links):
        found.setdefault(link.relation, []).append(number)
    own = {relation: np.array(numbers, dtype=np.int64) for relation, numbers in found.items()}
    if total is not None and len(own) > 1:
        own[total] = np.arange(len(asked), dtype=np.int64)
    return own


def judge(
    keys: Sequence[RowKey],
    first: Split,
    second: Split,
    heads: Sequence[Head],
    labels: Mapping[Direction, str],
    *,
    random: Mapping[int, Interval],
    arcs: Mapping[int, tuple[int, ...]],
    seed: int,
) -> Judged:
    """Choose on the first split, report on the second, and judge all rows together.

    Args:
        keys: The rows.
        first: The split for choosing.
        second: The split for reporting.
        heads: The columns.
        labels: Directions in words.
        random: By row, the best head of models with random weights.
        arcs: By row, numbers of the instances that are kept.
        seed: Of the bootstrap.
    """
    cluster = _clusters(second.placed)
    largest = Largest(int(cluster.max(initial=0)) + 1, seed)
    measured = [_measure(key, first, second, cluster, len(heads), largest) for key in keys]
    of_rows, of_cells = largest.of_rows, largest.of_cells
    rows, passing = [], np.zeros((len(keys), len(heads)), dtype=bool)
    for i, own in enumerate(measured):
        band = random.get(i)
        if own.judged:
            wide = _of_few(of_cells, own.freedom)
            lowest = np.min([d - wide * s for d, s in zip(own.differences, own.spreads, strict=True)], axis=0)
            passing[i] = (lowest > 0) & (own.values > (band.high if band else -1.0))
        rows.append(_row(own, heads, labels, of_rows, band, arcs.get(i, ())))
    return Judged(
        rows,
        np.array([own.values for own in measured]).reshape(len(keys), len(heads)),
        np.array([own.errors for own in measured]).reshape(len(keys), len(heads)),
        np.array([own.chosen for own in measured]).reshape(len(keys), len(heads)),
        passing,
    )


def _clusters(placed: PlacedExamples) -> Ints:
    """By example the number of its cluster; an example without a name for it is one of its own."""
    known: dict[object, int] = {}
    found = [known.setdefault(own.given.cluster or i, len(known)) for i, own in enumerate(placed.examples)]
    return np.array(found, dtype=np.int64)


def _measure(key: RowKey, first: Split, second: Split, cluster: Ints, heads: int, largest: Largest) -> _Measured:
    direction, n = key.direction, len(key.second)
    nothing = np.full(heads, np.nan)
    chosen = unpack(first.seen.hits[direction], key.first).mean(0) if len(key.first) else nothing
    best = int(np.argmax(chosen)) if len(key.first) else None
    names, offset, guessed = _baselines(key, first.guesses[direction], second.guesses[direction])
    interval = Interval(math.nan, math.nan, math.nan)
    if not n:
        rates = [nothing] * len(names)
        return _Measured(key, 0, 0, 0, chosen, best, nothing, nothing, interval, names, offset, rates, [], [])
    which, own = np.unique(cluster[second.asked[direction].example[key.second]], return_inverse=True)
    weights = np.bincount(own).astype(np.float64)
    sums = _by_cluster(unpack(second.seen.hits[direction], key.second), own)
    values, residuals = _residuals(sums, weights)
    others = [_by_cluster(guess[:, None], own) for guess in guessed]
    if second.seen.by_offset:
        names = [*names, OWN]
        others.append(_by_cluster(unpack(second.seen.by_offset[direction], key.second), own))
    rates, differences, spreads = [], [], []
    for other in others:
        rate, its_residuals = _residuals(other, weights)
        left = residuals - its_residuals
        spread = np.maximum(_spread(left), 1 / n)  # no difference in n instances does not mean that there is none
        rates.append(np.broadcast_to(rate, (heads,)))
        differences.append(values - rate)
        spreads.append(spread)
        if best is not None and _judged(best, n, len(which)):
            largest.add(which, left, spread, best)
    if best is not None:
        (low, high), _ = statistics.proportion(sums[:, best].astype(np.float64), weights, len(which))
        interval = Interval(float(values[best]), low, high)
    return _Measured(
        key, n, len(which), _freedom(weights), chosen, best, values, _spread(residuals), interval, names, offset,
        rates, differences, spreads,
    )  # fmt: skip


def _baselines(key: RowKey, first: Guesses, second: Guesses) -> tuple[list[str], int, list[NDArray[np.bool_]]]:
    """Names, the offset, and by baseline which instances of the second split it finds; chosen on the first."""
    names, found, offset = [], [], 0
    if len(key.first) and first.offsets:
        rates = first.fixed[key.first].mean(0)
        at = max(range(len(rates)), key=lambda i: (rates[i], -abs(first.offsets[i])))
        offset = first.offsets[at]
        names.append("offset")
        found.append(second.fixed[key.second, second.offsets.index(offset)])
        if first.nearest is not None and second.nearest is not None:
            for rule in dict.fromkeys(first.nearest.best(key.first)):
                names.append(str(rule))
                found.append(second.nearest.found(rule, key.second))
    for name, hits in second.own.items():
        names.append(name)
        found.append(hits[key.second])
    return names, offset, found


def _by_cluster(hits: NDArray[np.bool_], own: Ints) -> Ints:
    """Sums of the columns, [clusters, columns]."""
    order = np.argsort(own, kind="stable")
    starts = np.flatnonzero(np.diff(own[order], prepend=-1))
    found: Ints = np.add.reduceat(hits[order], starts, axis=0, dtype=np.int64)
    return found


def _residuals(sums: Ints, weights: Floats) -> tuple[Floats, Floats]:
    """The mean of every column over all instances, and by cluster what is left of it, over the number of instances."""
    n = weights.sum()
    mean = sums.sum(0) / n
    return mean, (sums - mean * weights[:, None]) / n


def _spread(residuals: Floats) -> Floats:
    """Standard error of every column over clusters [Cochran 1977, section 6.4]; NaN for a single one."""
    clusters = len(residuals)
    if clusters < 2:
        return np.full(residuals.shape[1], np.nan)
    found: Floats = np.sqrt(clusters / (clusters - 1) * (residuals**2).sum(0))
    return found


def _freedom(weights: Floats) -> int:
    """Degrees of freedom of a standard error over clusters of these sizes: as many equal ones would tell as much.

    Source: Carter, Schnepel and Steigerwald 2017, Review of Economics and Statistics 99, 698 (effective clusters).
    """
    return max(0, int(weights.sum() ** 2 / (weights**2).sum() + 1e-9) - 1)


def _of_few(critical: float, freedom: int) -> float:
    """A critical value of the normal distribution as one of Student's t, as far out in its tail.

    Few clusters tell a standard error badly, which matters the more the farther out one looks: where a normal
    distribution has 4, Student's t has 6.2 with 12 clusters.
    """
    return statistics.t_value(freedom, 2 * NormalDist().cdf(min(critical, 7.0)) - 1)


def _row(
    own: _Measured,
    heads: Sequence[Head],
    labels: Mapping[Direction, str],
    critical: float,
    band: Interval | None,
    arcs: tuple[int, ...],
) -> LinkRow:
    key, top = own.key, own.best if own.best is not None else 0
    rates = {name: float(values[top]) for name, values in zip(own.names, own.baselines, strict=True)}
    others = {name: rate for name, rate in rates.items() if name != "offset"}
    if band is not None:
        others["random weights"] = band.value
    strongest = max(others, key=lambda name: others[name], default="")
    fixed = rates.get("offset", math.nan)
    value = own.interval.value
    difference, better = Interval(math.nan, math.nan, math.nan), False
    if own.best is not None and own.differences and own.n:
        wide = _of_few(critical, own.freedom)
        against = [(d[top], s[top]) for d, s in zip(own.differences, own.spreads, strict=True)]
        low = min(d - wide * s for d, s in against)
        least, spread = min(against)
        difference = Interval(float(least), max(-1.0, float(low)), min(1.0, float(least + wide * spread)))
        better = own.judged and low > 0 and (band is None or value > band.high)
    return LinkRow(
        relation=key.relation,
        direction=key.direction,
        label=labels[key.direction],
        n=own.n,
        chosen_on=len(key.first),
        impossible=key.impossible,
        best=None if own.best is None else heads[own.best],
        accuracy=own.interval,
        baseline=fixed,
        offset=own.offset,
        baselines=rates,
        strongest=strongest,
        strongest_accuracy=others[strongest] if strongest else math.nan,
        difference=difference,
        random=band,
        clark=value > fixed,
        voita=value >= fixed + 0.1,
        voita_relative=value >= 1.1 * fixed and value > 0,
        better=better,
        verdict=_verdict(own, value, fixed, strongest, others, better),
        arcs=arcs,
    )


def _verdict(
    own: _Measured, value: float, fixed: float, strongest: str, others: Mapping[str, float], better: bool
) -> str:
    if own.best is None:
        return "no instance to choose a head on"
    if not own.n:
        return "no instance to report on"
    if own.n < FEWEST:
        return f"too few instances ({own.n}) for a verdict"
    if own.clusters < FEWEST_CLUSTERS:
        return f"too few texts ({own.clusters}) for a verdict"
    if better:
        return "beats every baseline"
    floor, name = fixed, "the best offset"
    if strongest and others[strongest] >= fixed:
        floor, name = others[strongest], strongest
    return f"not beyond chance above {name}" if value > floor else f"not above {name}"
