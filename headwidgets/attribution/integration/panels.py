"""Integration by bisection: where the integrand turns sharply in places, points go to those places.

In language models whose first layers switch a large activation on or off, the integrand is smooth but has turns of a
hundredth of the path; no rule over the whole path finds them with few points. Here the path is halved until
Gauss-Legendre with 10 points and its Kronrod rule with 21 agree on every piece (the strategy of QUADPACK: Piessens et
al. 1983). One piece per text is open at a time, so memory does not grow with the number of pieces.
"""

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headwidgets.attribution.integration import quadrature
from headwidgets.errors import Cancelled

if TYPE_CHECKING:
    from headwidgets.attribution.integration.integrate import Integrand, _Work

Floats = NDArray[np.float64]
Span = tuple[float, float]
POINTS = 10
"""Of the Gauss rule; its Kronrod rule has 2n + 1."""
MOST = 1260
"""Points that one layer of one text gets at most, 60 pieces; half of it between kinks."""
_SHARE = 1 / 32
"""A piece may have this part of the error at least, however short it is."""
_LARGEST = 10.0
_TRIED, _AHEAD, _FAR = 10, 1 / 8, 2.0
"""Between kinks, a row is given up when so many pieces have settled no more than this part of the path, and the error
over the whole of it was more than so many times the bound: kinks then stand too close for the points that there are."""


def bisect(work: "_Work", rows: list[int], careful: bool = False) -> None:
    """Integrate rows of a layer anew, piece by piece, until each piece's error is small enough.

    Args:
        work: The layer.
        rows: Which.
        careful: Take the difference of the two rules for the error, as kinks want it.
    """
    from headwidgets.attribution.integration.integrate import check_finite, sizes, totals

    if not rows:
        return
    waiting: dict[int, list[Span]] = {row: [(0.0, 1.0)] for row in rows}
    total = torch.zeros_like(work.maps)
    error = np.zeros(len(work.change))
    spent = np.zeros(len(work.change), dtype=np.int64)
    ahead, whole = np.zeros(len(work.change)), np.zeros(len(work.change))
    hopeless: list[int] = []
    largest = sizes(work.maps)
    allowed, noise = work.allowed, work.noise
    while waiting:
        spans = {row: stack.pop() for row, stack in waiting.items()}
        fine, coarse = _sums(work.integrand, spans)
        maps = work.spread(fine)
        check_finite(maps[list(spans)], work.integrand.site)
        off, size = sizes(work.spread(fine - coarse)), sizes(maps)
        for row, (low, high) in spans.items():
            spent[row] += 2 * POINTS + 1
            # the finer rule is far better than the difference of the two says, once that is small (QUADPACK's estimate)
            own = off[row] * (1.0 if careful else min(1.0, (200 * off[row] / max(size[row], 1e-30)) ** 0.5))
            bound = min(allowed[row], _LARGEST * work.tolerance * largest[row]) + noise[row]
            if high - low == 1.0:
                whole[row] = own / bound
            if own <= bound / 2 * max(high - low, _SHARE) or spent[row] >= (MOST // 2 if careful else MOST):
                total[row] += maps[row]
                error[row] += own
                ahead[row] += high - low
            else:
                middle = (low + high) / 2
                waiting[row] += [(middle, high), (low, middle)]
            late = careful and spent[row] == _TRIED * (2 * POINTS + 1) and ahead[row] <= _AHEAD and whole[row] > _FAR
            if late and waiting[row]:
                hopeless.append(row)
                waiting[row].clear()
                error[row] = np.inf
            if not waiting[row]:
                del waiting[row]
    work.steps[rows] += spent[rows]
    work.judge(rows, total, error)
    # where the points ran out, the pieces done last are coarse: what was there before may be the better result
    off, before = np.abs(totals(total) - work.change), np.abs(totals(work.maps) - work.change)
    better = (row for row in rows if work.settled[row] or off[row] <= before[row])
    work.put([row for row in better if row not in hopeless], total)


def _sums(integrand: "Integrand", spans: dict[int, Span]) -> tuple[Tensor, Tensor]:
    """The integrals over one span per row by both rules, float32 [all rows, query, width]."""
    start = integrand.start
    device = start.device
    outer, inner = quadrature.kronrod(POINTS), quadrature.gauss(POINTS)
    fine, coarse = (torch.zeros_like(start, dtype=torch.float32) for _ in range(2))
    low = torch.zeros(len(start), dtype=torch.float64, device=device)
    width = torch.zeros_like(low)
    for row, (begin, end) in spans.items():
        low[row], width[row] = begin, end - begin
    points = torch.as_tensor(outer.points, device=device)
    weights = torch.as_tensor(outer.weights, device=device)
    fewer = torch.as_tensor(np.append(inner.weights, np.zeros(POINTS + 1)), device=device)

    def part(some: list[tuple[int, int]]) -> None:
        if integrand.cancel is not None and integrand.cancel():
            raise Cancelled("the attribution was cancelled")
        row, point = torch.tensor(some, device=device).T
        scale = (low[row] + width[row] * points[point]).to(start.dtype)
        leaf = (start.index_select(0, row) * scale.view(-1, 1, 1)).requires_grad_()
        (gradient,) = torch.autograd.grad(integrand.clean.run(integrand.site, row, leaf).sum(), leaf)
        gradient = gradient.float()
        for kept, rule in ((fine, weights), (coarse, fewer)):
            kept.index_add_(0, row, gradient * (rule[point] * width[row]).float().view(-1, 1, 1))

    integrand.halved(part, [(row, k) for row in spans for k in range(len(outer))])
    return fine, coarse
