"""The integral of one layer, for all texts of a batch: as many points as each text needs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headwidgets.attribution.integration import quadrature
from headwidgets.attribution.integration.panels import bisect
from headwidgets.attribution.integration.passes import Clean
from headwidgets.attribution.integration.quadrature import Rule
from headwidgets.errors import Cancelled, InputError
from headwidgets.models.memory import free_bytes, halving
from headwidgets.models.sites import Site
from headwidgets.models.staircase import Entry

Floats = NDArray[np.float64]
FLOOR = 0.1
"""The tolerance is relative to a layer's change, or to this where the change is smaller."""
NEAR = 8.0
"""Between kinks, bisection is tried where a rule over the whole path came within so many times the bound."""
LARGEST = 10.0
"""No entry may be off by more than this many tolerances of its layer's largest entry."""
_TOKENS = {"cpu": 1536, "mps": 8192, "cuda": 65536}
"""Positions per pass at most: on a processor, more do not fit in its caches; on a GPU, more do not make it faster."""
_CLIMB = {"cpu": 2048, "mps": 8192, "cuda": 65536}
"""Positions, of all layers together, up to which they are integrated in one pass."""
_SMALL = 5
"""A pass that fills no more than this part of `_TOKENS` is small."""


@dataclass
class Layer:
    """One layer of a batch.

    Attributes:
        maps: Attribution, float32 [rows, heads, query, key]; zero where there is padding.
        change: F(A) - F(0), float64 [rows].
        total: Sum of the entries, float64 [rows].
        steps: Points evaluated, int64 [rows].
        settled: Whether the error is known to be within the tolerance, bool [rows]; always True for fixed rules.
    """

    maps: Tensor
    change: Floats
    total: Floats
    steps: NDArray[np.int64]
    settled: NDArray[np.bool_]

    @property
    def gap(self) -> Floats:
        """|total - change|."""
        return np.abs(self.total - self.change)


class Integrand:
    """dF/d(heads' outputs) of one layer at points between 0 and 1, many texts and points per pass."""

    def __init__(self, clean: Clean, site: Site, cancel: Callable[[], bool] | None, notes: list[str]) -> None:
        self.clean = clean
        self.site = site
        self.start = clean.start(site)
        self.cancel = cancel
        self._notes = notes
        self._chunk = _chunk(clean, site)
        self.zero: Tensor | None = None
        self._first = True

    def at_zero(self) -> Tensor:
        """F(0), float32 [rows]; a pass of its own unless the points' first pass had room for it."""
        if self.zero is not None:
            return self.zero
        rows = torch.arange(len(self.clean), device=self.start.device)

        def work(some: Sequence[int]) -> Tensor:
            chosen = rows[list(some)]
            with torch.no_grad():
                return self.clean.run(self.site, chosen, torch.zeros_like(self.start.index_select(0, chosen)))

        return torch.cat(self.halved(work, range(len(rows))))

    def change(self) -> Floats:
        """F(A) - F(0), float64 [rows]."""
        full, zero = self.clean.values.cpu().numpy(), self.at_zero().cpu().numpy()
        return np.asarray(full.astype(np.float64) - zero.astype(np.float64))

    def each(self, rows: Sequence[int], points: Floats, take: Callable[[Tensor, Tensor, Tensor], None]) -> None:
        """Call ``take(row, point, gradient)`` with chunks of all pairs of `rows` and `points` (as index tensors)."""
        device = self.start.device
        pairs = [(row, k) for row in rows for k in range(len(points))]
        # a small pass costs its weights' way through the caches, whatever its rows: F(0) rides along
        ride = self._first and len(pairs) + len(self.clean) <= self._chunk // _SMALL and device.type == "cpu"
        self._first = False
        if ride:
            pairs = [(row, len(points)) for row in range(len(self.clean))] + pairs
            points = np.append(points, 0.0)
            zero = torch.empty_like(self.clean.values)
        scale = torch.as_tensor(points, dtype=self.start.dtype, device=device)

        def work(some: Sequence[tuple[int, int]]) -> None:
            if self.cancel is not None and self.cancel():
                raise Cancelled("the attribution was cancelled")
            row, point = torch.tensor(some, device=device).T
            leaf = (self.start.index_select(0, row) * scale[point].view(-1, 1, 1)).requires_grad_()
            values = self.clean.run(self.site, row, leaf)
            (gradient,) = torch.autograd.grad(values.sum(), leaf)
            if ride:
                own = point < len(points) - 1
                zero[row[~own]] = values.detach()[~own].to(zero.dtype)
                row, point, gradient = row[own], point[own], gradient[own]
            take(row, point, gradient.float())

        self.halved(work, pairs)
        if ride:
            self.zero = zero

    def halved(self, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Do the work in chunks; when memory runs out, in smaller ones from then on."""
        before, done = len(self._notes), [0]

        def counted(some: Any) -> Any:
            result = work(some)
            done.append(len(some))
            return result

        found = halving(
            counted, items, chunk=self._chunk, device=self.start.device, notes=self._notes, what="integration points"
        )
        if len(self._notes) > before:
            self._chunk = max(done)
        return found

    def stored(self, rows: Sequence[int], points: Floats) -> Tensor:
        """The gradients themselves, float32 [points, all rows, query, width]; zero for other rows."""
        kept = self.room(len(points))

        def take(row: Tensor, point: Tensor, gradient: Tensor) -> None:
            kept[point, row] = gradient

        self.each(rows, points, take)
        return kept

    def room(self, points: int) -> Tensor:
        """Zeros [points, all rows, query, width]."""
        return self.start.new_zeros((points, *self.start.shape), dtype=torch.float32)

    def summed(self, rows: Sequence[int], rule: Rule) -> Tensor:
        """The weighted sum over a rule's points, float32 [all rows, query, width]; nothing is kept per point."""
        total = torch.zeros_like(self.start, dtype=torch.float32)
        weights = torch.as_tensor(rule.weights, dtype=torch.float32, device=total.device)

        def take(row: Tensor, point: Tensor, gradient: Tensor) -> None:
            total.index_add_(0, row, gradient * weights[point].view(-1, 1, 1))

        self.each(rows, rule.points, take)
        return total


def _chunk(clean: Clean, site: Site) -> int:
    """Pairs of text and point per pass."""
    inputs = clean.batch.inputs
    length = inputs["input_ids"].shape[1]
    if "decoder_input_ids" in inputs:
        length = max(length, inputs["decoder_input_ids"].shape[1])
    device = clean.model.device
    fit = max(1, _TOKENS.get(device.type, _TOKENS["cpu"]) // length)
    free = free_bytes(device)
    if free is None:
        return fit
    width = max(s.n_heads * s.head_dim for s in clean.model.sites)
    heads = max(s.n_heads for s in clean.model.sites)
    deep = sum(1 for s in clean.model.sites if s.layer >= site.layer)
    per_row = 4.0 * deep * length * (30 * width + 3 * heads * length)
    return int(min(fit, max(1, 0.5 * free // per_row)))


def _valid(clean: Clean, site: Site, like: Tensor) -> Tensor | None:
    """Bool [rows, 1, query, key]: entries of the true maps; None when there is no padding."""
    lengths = clean.lengths(site)
    if all(tuple(like.shape[-2:]) == pair for pair in lengths):
        return None
    query = torch.arange(like.shape[-2], device=like.device)
    key = torch.arange(like.shape[-1], device=like.device)
    rows = [(query < q)[:, None] & (key < k)[None, :] for q, k in lengths]
    return torch.stack(rows).unsqueeze(1)


@dataclass
class Request:
    """Gradients of one layer that are wanted: at all pairs of `rows` and `points`."""

    integrand: Integrand
    rows: list[int]
    points: Floats


def gather(requests: list[Request]) -> list[Tensor]:
    """Gradients of several layers, as `Integrand.stored` gives them; in one pass where that is a small one."""
    requests = [r for r in requests if r.rows]
    clean = requests[0].integrand.clean if requests else None
    if clean is not None and clean.climbs and len(requests) > 1:
        zeros = sum(len(clean) for r in requests if r.integrand.zero is None)
        pairs = zeros + sum(len(r.rows) * len(r.points) for r in requests)
        if pairs <= climbable(clean):
            try:
                return _climb(clean, requests)
            except (ValueError, IndexError, TypeError, RuntimeError):
                clean.climbs = False  # a block that takes rows apart in its own way, or too little memory
    return [r.integrand.stored(r.rows, r.points) for r in requests]


def climbable(clean: Clean) -> int:
    """Pairs of text and point, of all layers together, that one pass may take."""
    length = max(value.shape[1] for value in clean.batch.inputs.values() if value.dim() == 2)
    return _CLIMB.get(clean.model.device.type, _CLIMB["cpu"]) // length


def _climb(clean: Clean, requests: list[Request]) -> list[Tensor]:
    device = clean.values.device
    leaves, entries, places = [], [], []
    for request in requests:
        integrand = request.integrand
        pairs = [(row, k) for row in request.rows for k in range(len(request.points))]
        if integrand.zero is None:
            pairs += [(row, len(request.points)) for row in range(len(clean))]
        row, point = torch.tensor(pairs, device=device).T
        scale = torch.as_tensor(np.append(request.points, 0.0), dtype=integrand.start.dtype, device=device)
        leaf = (integrand.start.index_select(0, row) * scale[point].view(-1, 1, 1)).requires_grad_()
        leaves.append(leaf)
        entries.append(Entry(integrand.site, row, leaf))
        places.append((row, point))
    values = clean.climb(entries)
    gradients = torch.autograd.grad(values.sum(), leaves)
    found = []
    parts = torch.split_with_sizes(values.detach(), [len(row) for row, _ in places])
    for request, gradient, value, (row, point) in zip(requests, gradients, parts, places, strict=True):
        n = len(request.points)
        kept = request.integrand.room(n)
        own = point < n
        kept[point[own], row[own]] = gradient.float()[own]
        found.append(kept)
        if request.integrand.zero is None:
            request.integrand.zero = value[~own]
    return found


def integrate(
    clean: Clean,
    sites: list[Site],
    *,
    rule: Rule | None,
    tolerance: float,
    cancel: Callable[[], bool] | None,
    notes: list[str],
) -> Iterator[tuple[Site, Layer]]:
    """Attribute the layers of a batch.

    Args:
        clean: The batch after its clean pass.
        sites: The layers, in the order in which they run.
        rule: A fixed rule, or None to choose the number of points by the error.
        tolerance: Relative to ``max(|F(A) - F(0)|, 0.1)``.
        cancel: Says whether to stop.
        notes: Gets a sentence for every halving of the work.

    Raises:
        Cancelled: told to stop.
        InputError: gradients that are not finite; the message names the layer.
    """
    points = (quadrature.first_points(tolerance) if rule is None else len(rule)) + 1
    together = clean.climbs and len(sites) * len(clean) * points <= climbable(clean)
    for group in [sites] if together else [[site] for site in sites]:
        if cancel is not None and cancel():
            raise Cancelled("the attribution was cancelled")
        works = [_Work(Integrand(clean, site, cancel, notes), tolerance) for site in group]
        if rule is None:
            _raise_points(works)
        elif together:
            slopes = gather([Request(w.integrand, list(range(len(clean))), rule.points) for w in works])
            for work, own in zip(works, slopes, strict=True):
                work.take(rule, torch.tensordot(_like(rule.weights, own), own, 1))
        else:
            for work in works:
                work.take(rule, work.integrand.summed(range(len(clean)), rule))
        for work in works:
            yield work.integrand.site, work.layer()


def _raise_points(works: list["_Work"]) -> None:
    """First few points for every layer, then more for those texts and layers that need them."""
    requests = [Request(w.integrand, w.open(), w.first.points) for w in works]
    for work, slopes in zip(works, gather(requests), strict=True):
        work.begin(slopes)
    waiting = [w for w in works if w.open()]
    requests = [Request(w.integrand, w.open(), w.longer.points[len(w.first) :]) for w in waiting]
    for work, slopes in zip(waiting, gather(requests), strict=True):
        work.extend(slopes)
    for work in works:
        work.finish()


def _like(weights: Floats, tensor: Tensor) -> Tensor:
    return torch.as_tensor(weights, dtype=torch.float32, device=tensor.device)


class _Work:
    """One layer of a batch while the number of points is raised for those rows whose error is not yet small enough."""

    def __init__(self, integrand: Integrand, tolerance: float) -> None:
        self.integrand = integrand
        self.clean = integrand.clean
        self.tolerance = tolerance
        start = quadrature.first_points(tolerance)
        if self.clean.reading is not None and self.clean.reading.site is integrand.site:
            start = max(start, 8)  # one position of one block: more points cost nothing
        self.first, self.longer = quadrature.gauss(start), quadrature.kronrod(start)
        self.steps = np.zeros(len(self.clean), dtype=np.int64)
        self.settled = np.zeros(len(self.clean), dtype=np.bool_)
        self.change: Floats = np.zeros(len(self.clean))
        self.maps = torch.empty(0)
        self.slopes: Tensor | None = None
        self.valid = _valid(self.clean, integrand.site, self.clean.maps[integrand.site])

    def layer(self) -> Layer:
        """What was found."""
        return Layer(self.maps, self.change, totals(self.maps), self.steps, self.settled)

    def open(self) -> list[int]:
        """Rows that need more points."""
        return [int(i) for i in np.flatnonzero(~self.settled)]

    def spread(self, gradient: Tensor) -> Tensor:
        """An integrated gradient as entries of the map, zero where there is padding."""
        entries = self.clean.spread(self.integrand.site, gradient)
        return entries if self.valid is None else torch.where(self.valid, entries, entries.new_zeros(()))

    def take(self, rule: Rule, gradient: Tensor) -> None:
        """A fixed rule's result."""
        self.maps = self.spread(gradient)
        check_finite(self.maps, self.integrand.site)
        self.change = self.integrand.change()
        self.steps[:] = len(rule)
        self.settled[:] = True

    def begin(self, slopes: Tensor) -> None:
        """The first rule, for all rows."""
        self.change = self.integrand.change()
        self.slopes = slopes
        self.maps = self._level(self.open(), slopes, self.first)

    def extend(self, slopes: Tensor) -> None:
        """Its Kronrod rule, for the open rows."""
        assert self.slopes is not None
        rows = self.open()
        self.put(rows, self._level(rows, torch.cat([self.slopes, slopes]), self.longer))

    def finish(self) -> None:
        """More points, for rows that are still open."""
        self.slopes = None
        if not self.clean.kinked:
            bisect(self, self.open())
            return
        near = self._larger_rules()
        bisect(self, [row for row in self.open() if near[row]], careful=True)

    def _larger_rules(self) -> NDArray[np.bool_]:
        """Rules over the whole path; returns, by row, whether the error came near the bound."""
        before = np.full(len(self.change), np.inf)
        near = np.zeros(len(self.change), dtype=np.bool_)
        for n in quadrature.LARGE:
            rows = [row for row in self.open() if before[row] > 0]
            if not rows:
                break
            rule = quadrature.gauss(n)
            maps = self.spread(self.integrand.summed(rows, rule))
            self.steps[rows] += n
            error = sizes(maps - self.maps)
            bound = self.judge(rows, maps, error)
            self.put(rows, maps)
            near[rows] = (error <= NEAR * bound)[rows]
            # where errors fall too slowly for the next rule to reach the bound, no more points are spent
            hopeless = error * error / np.maximum(np.maximum(before, error), 1e-30) > bound
            before = np.where(hopeless & np.isfinite(before), 0.0, error)
        return near

    def put(self, rows: list[int], maps: Tensor) -> None:
        """Take the result of some rows."""
        where = torch.zeros(len(self.change), 1, 1, 1, dtype=torch.bool, device=maps.device)
        where[rows] = True
        self.maps = torch.where(where, maps, self.maps)

    def _level(self, rows: list[int], slopes: Tensor, rule: Rule) -> Tensor:
        """The rule's result for the rows whose gradients are in `slopes` [points, rows, query, width]."""
        n = len(rule)
        maps = self.spread(torch.tensordot(_like(rule.weights, slopes), slopes, 1))
        self.steps[rows] = n
        matrix = quadrature.to_legendre(rule.points)
        found = []
        for k in (1, n - 2, n - 1):
            found.append(sizes(self.spread(torch.tensordot(_like(matrix[k], slopes), slopes, 1))))
        first, before, last = found
        self.judge(rows, maps, quadrature.unseen(first, before, last, n, rule.degree))
        return maps

    @property
    def allowed(self) -> Floats:
        """The largest error of a row's total."""
        return np.asarray(self.tolerance * np.maximum(np.abs(self.change), FLOOR))

    @property
    def noise(self) -> Floats:
        """What rounding may add to it."""
        eps = torch.finfo(self.integrand.start.dtype).eps
        return np.asarray(8 * eps * np.maximum(1, self.clean.values.abs().cpu().numpy()))

    def judge(self, rows: list[int], maps: Tensor, error: Floats) -> Floats:
        """Settle the rows whose error is small enough; returns what is, [all rows]."""
        check_finite(maps[rows], self.integrand.site)
        allowed, noise = self.allowed, self.noise
        bound = np.minimum(allowed, LARGEST * self.tolerance * sizes(maps)) + noise
        gap = np.abs(totals(maps) - self.change)
        good = (error <= bound) & (gap <= allowed + noise)
        self.settled[rows] = good[rows]
        return np.asarray(bound)


def sizes(maps: Tensor) -> Floats:
    """Each row's largest entry, float64 [rows]."""
    found: Floats = maps.abs().flatten(1).amax(1).double().cpu().numpy()
    return found


def totals(maps: Tensor) -> Floats:
    """Each row's sum, float64 [rows]."""
    wide = maps.float() if maps.device.type == "mps" else maps.double()
    found: Floats = wide.flatten(1).sum(1).cpu().numpy().astype(np.float64)
    return found


def check_finite(maps: Tensor, site: Site) -> None:
    """Refuse gradients that are not finite, by layer."""
    if not bool(torch.isfinite(maps).all()):
        raise InputError(
            f"the gradients at {site.kind} layer {site.layer} are not finite (NaN or infinite), although the model's "
            "outputs are; attribute in float32, or look at the weights after that layer"
        )
