"""Do the heads with the largest attribution carry the prediction? Prune each text's own heads and look (Hao 4.1)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from headwidgets import statistics
from headwidgets.attribution import targets
from headwidgets.attribution.integration.integrate import Layer
from headwidgets.attribution.integration.passes import Clean
from headwidgets.attribution.paths import Output, Plan, walk
from headwidgets.errors import Cancelled, InputError, UnsupportedError
from headwidgets.jobs import Cancel, Progress, blocking
from headwidgets.models.handlers import blend
from headwidgets.models.model import HeadModel, expect_model
from headwidgets.models.outcomes import Questions
from headwidgets.models.sampling import Pace
from headwidgets.models.sites import Site
from headwidgets.provenance import checked_seed, made
from headwidgets.scores import Estimate, Interval, import_pandas
from headwidgets.wire.documents import SCHEMA, CurvePoint, CurvesDocument, KindName, NamedCurve, Provenance

ORDERS = ("attribution", "attention", "random")
_NAMES = {"attribution": "attribution", "attention": "attention weight", "random": "random order"}

Floats = NDArray[np.float64]
Strengths = dict[KindName, Floats]
"""By kind, a number per text and head, [texts, layers, heads]; NaN where a layer has no such head."""


@dataclass(frozen=True)
class EffectivenessCurve:
    """A metric while each text's own heads are pruned, the same number of them in every layer.

    Attributes:
        order: ``attribution``, ``attention`` or ``random``.
        strongest_first: Whether the strongest heads went first; else the weakest.
        counts: Heads pruned in every layer, ascending.
        estimates: By count; each with its paired change to the full model.
        area: Mean height over the share of heads pruned, with its interval over texts.
    """

    order: str
    strongest_first: bool
    counts: list[int]
    estimates: list[Estimate]
    area: Interval

    @property
    def name(self) -> str:
        """For a legend."""
        if self.order == "random":
            return _NAMES["random"]
        return f"{_NAMES[self.order]}, {'strongest' if self.strongest_first else 'weakest'} first"


@dataclass(frozen=True)
class Effectiveness:
    """Curves of one metric for several orders of pruning, all on the same texts.

    Attributes:
        curves: One for every order and direction.
        n: Texts.
        heads: Heads of a layer, the largest count.
        metric: Name of the metric.
        provenance: How it was made.
    """

    curves: list[EffectivenessCurve]
    n: int
    heads: int
    metric: str
    provenance: Provenance

    def __repr__(self) -> str:
        areas = "; ".join(f"{c.name}: {c.area.value:.3f}" for c in self.curves)
        return f"Effectiveness({self.metric} of {self.n} texts, area under the curve: {areas})"

    def to_frame(self) -> Any:
        """A pandas DataFrame, one row per curve and count; how it was made is in ``.attrs``."""
        pandas = import_pandas("effectiveness.to_frame()")
        rows = [
            {
                "order": curve.order,
                "first": "strongest" if curve.strongest_first else "weakest",
                "pruned per layer": count,
                "value": estimate.value,
                "low": estimate.low,
                "high": estimate.high,
                "change": 0.0 if estimate.change is None else estimate.change.value,
                "n": estimate.n,
                "area": curve.area.value,
                "area_low": curve.area.low,
                "area_high": curve.area.high,
            }
            for curve in self.curves
            for count, estimate in zip(curve.counts, curve.estimates, strict=True)
        ]
        frame = pandas.DataFrame(rows)
        frame.attrs = {"metric": self.metric, "provenance": self.provenance}
        return frame

    def document(self) -> CurvesDocument:
        """All curves on one chart (wire `CurvesDocument`)."""
        curves: list[NamedCurve] = []
        for curve in self.curves:
            points: list[CurvePoint] = [
                {"count": c, "estimate": e.data()} for c, e in zip(curve.counts, curve.estimates, strict=True)
            ]
            curves.append(
                {
                    "name": curve.name,
                    "points": points,
                    "control": curve.order == "random",
                    "area": curve.area.data(),
                    "draws": 1,
                }
            )
        return {
            "schema": SCHEMA,
            "document": "curves",
            "title": "Pruning each text's own heads",
            "metric": self.metric,
            "x_label": "heads pruned in every layer",
            "total": self.heads,
            "baseline": self.curves[0].estimates[0].data() if self.curves and self.curves[0].counts[0] == 0 else None,
            "curves": curves,
            "note": f"{self.n} texts; the order of pruning is each text's own.",
            "provenance": self.provenance,
        }


@blocking
def effectiveness(
    model: HeadModel,
    texts: Any,
    labels: Any,
    orders: Sequence[str] = ORDERS,
    counts: Iterable[int] | None = None,
    *,
    output: Output = "probability",
    tolerance: float = 1e-2,
    metric: str = "accuracy",
    seed: int = 0,
    on_progress: Progress | None = None,
    on_partial: Callable[[Effectiveness], None] | None = None,
    cancel: Cancel | None = None,
) -> Effectiveness:
    """Prune every text's own heads, the same number in each layer, by different orders.

    The paper's section 4.1 and Fig. 2: the order differs from text to text. By attribution a head's strength is the
    largest entry of its map for the right class; by attention it is its largest weight per query, averaged over queries
    (the plain mean of a map is the same for every head, since rows sum to 1). If attribution finds what carries the
    prediction, accuracy falls at once when the strongest heads go first and holds when the weakest do. This looks at
    the right answer of the very texts it evaluates: it tests attribution, it is no way to prune a model.

    Args:
        model: A classifier of texts.
        texts: A list of texts, or a dataset.
        labels: The right classes.
        orders: Out of ``attribution``, ``attention`` and ``random`` (drawn per text).
        counts: Heads pruned in every layer; by default each number from none to all.
        output: What is attributed, see `attribute`.
        tolerance: As for `importance`.
        metric: ``accuracy`` or ``loss``.
        seed: Of the random orders.
        on_progress: Called with steps done and steps in all.
        on_partial: Gets the curves that are done.
        cancel: Says whether to stop.

    Returns:
        An `Effectiveness`: a curve for every order and direction, with the area under each; `hw.CurveView` shows it.

    Raises:
        InputError: an unknown order, a count that does not exist, labels that do not fit.
        UnsupportedError: a model that gives no class per text.
        Cancelled: told to stop.

    Reference:
        Hao, Dong, Wei, Xu: Self-Attention Attribution, AAAI 2021, effectiveness analysis, Fig. 2.
    """
    expect_model(model)
    wanted, seed = _orders(orders), checked_seed(seed)
    task = targets.task_of(model)
    if task != "classes":
        raise UnsupportedError(
            f"expected a classifier of texts, got {type(model.model).__name__}: the order of pruning follows the right "
            "class of each text"
        )
    if metric not in ("accuracy", "loss"):
        raise InputError(f"expected metric 'accuracy' or 'loss', got {metric!r}")
    questions = Questions(model, texts, labels, metric, seed=seed)
    most = max(site.n_heads for site in model.sites)
    steps = _counts(counts, most)
    listed = [(order, strongest) for order in wanted for strongest in ((True, False) if order != "random" else (True,))]
    runs = len(listed) * len([c for c in steps if 0 < c < most]) + 2
    plan = Plan.of(model, output, "gauss-legendre", "auto", tolerance, None, None)
    n = len(questions.examples)
    total = n * (len(plan.sites) + runs)

    def tell(done: int) -> None:
        if on_progress is not None:
            on_progress(done, total)

    strengths = _measured(model, questions, plan, wanted, seed, tell, cancel)
    table = _Table(model, questions, most, lambda done: tell(n * len(plan.sites) + done), cancel)
    provenance = made(model, questions.given, method="effectiveness", seed=seed, metric=metric, **plan.settings)
    curves: list[EffectivenessCurve] = []
    found = Effectiveness(curves, n, most, metric, provenance)
    for order, strongest in listed:
        own = strengths[order]
        curves.append(table.curve(order, strongest, {k: v if strongest else -v for k, v in own.items()}, steps))
        if on_partial is not None:
            on_partial(Effectiveness(list(curves), n, most, metric, provenance))
    return found


def _orders(orders: Sequence[str]) -> list[str]:
    listed = [orders] if isinstance(orders, str) or not isinstance(orders, Iterable) else list(orders)
    for order in listed:
        if order not in ORDERS:
            raise InputError(f"expected orders out of {', '.join(ORDERS)}, got {order!r}")
    if not listed:
        raise InputError(f"expected at least one order out of {', '.join(ORDERS)}, got none")
    return list(dict.fromkeys(listed))


def _counts(counts: Iterable[int] | None, most: int) -> list[int]:
    given = range(most + 1) if counts is None else counts
    listed = list(given) if isinstance(given, Iterable) else [given]
    for count in listed:
        whole = isinstance(count, (int, np.integer)) and not isinstance(count, bool)
        if not whole or not 0 <= count <= most:
            raise InputError(f"expected whole numbers of heads from 0 to {most} (a layer's heads), got {count!r}")
    found = sorted({int(count) for count in listed})
    if len(found) < 2:
        raise InputError(f"expected at least two counts of pruned heads, got {len(found)}")
    return found


def _measured(
    model: HeadModel,
    questions: Questions,
    plan: Plan,
    orders: list[str],
    seed: int,
    tell: Callable[[int], None],
    cancel: Cancel | None,
) -> dict[str, Strengths]:
    """How strong each head is in each text, by every order."""
    n = len(questions.examples)
    empty = {kind: np.full((n, *model.shape(kind)), np.nan) for kind in model.kinds}
    found: dict[str, Strengths] = {order: {k: v.copy() for k, v in empty.items()} for order in orders}
    if "random" in orders:
        generator = np.random.default_rng(seed)
        for site in model.sites:
            found["random"][site.kind][:, site.layer, : site.n_heads] = generator.random((n, site.n_heads))
    if "attribution" not in orders and "attention" not in orders:
        return found

    def take(done: Clean, layer: Layer, site: Site, _: list[str]) -> None:
        own = next(s for s in done.maps if (s.kind, s.layer) == (site.kind, site.layer))
        weights = done.maps[own].detach()
        for row, (query, key) in enumerate(done.lengths(own)):
            place = done.batch.index[row], site.layer, slice(0, site.n_heads)
            if "attribution" in orders:
                found["attribution"][site.kind][place] = layer.maps[row, :, :query, :key].amax((1, 2)).cpu().numpy()
            if "attention" in orders:
                largest = weights[row, :, :query, :key].float().amax(2).mean(1)
                found["attention"][site.kind][place] = largest.cpu().numpy()

    right = [int(label[0]) for label in questions.labels]
    goals = targets.goals(model, plan.task, questions.examples, right, None)
    walk(model, questions.examples, goals, plan, take, lambda done, _: tell(done), cancel)
    return found


class _Table:
    """Outcomes per text of sets of heads that differ from text to text; none and all are computed once."""

    def __init__(
        self, model: HeadModel, questions: Questions, most: int, tell: Callable[[int], None], cancel: Cancel | None
    ) -> None:
        self.model, self.questions, self.most = model, questions, most
        self._tell, self._cancel = tell, cancel
        self._pace = Pace(model, 16384)
        self._done = 0
        self._ends: dict[int, tuple[Floats, Floats]] = {}

    def curve(self, order: str, strongest: bool, strength: Strengths, counts: list[int]) -> EffectivenessCurve:
        """The metric by count, heads with the largest `strength` first."""
        # NaN (no such head) sorts last; ties by index
        ranks = {
            kind: np.argsort(np.argsort(-values, axis=2, kind="stable"), axis=2) for kind, values in strength.items()
        }
        full, weights = self._ask(ranks, 0)
        outcomes = [self._ask(ranks, count)[0] for count in counts]
        estimates = [self._estimate(now, full, weights, count) for now, count in zip(outcomes, counts, strict=True)]
        heights = _mean_height(np.array(counts, dtype=np.float64), np.array(outcomes))
        (low, high), _ = statistics.mean(heights, weights, len(weights))
        return EffectivenessCurve(
            order, strongest, counts, estimates, Interval(statistics.ratio(heights, weights), low, high)
        )

    def _ask(self, ranks: dict[KindName, NDArray[np.intp]], count: int) -> tuple[Floats, Floats]:
        ends = count in (0, self.most)
        if not ends or count not in self._ends:
            answer = self._run(ranks, count)
            if not ends:
                return answer
            self._ends[count] = answer
        return self._ends[count]

    def _run(self, ranks: dict[KindName, NDArray[np.intp]], count: int) -> tuple[Floats, Floats]:
        n = len(self.questions.examples)
        numerators, weights = np.zeros(n), np.zeros(n)
        for batch in self.model.batches(self.questions.examples, max_tokens=self._pace.tokens):
            if self._cancel is not None and self._cancel():
                raise Cancelled("the effectiveness curves were cancelled")
            gates: dict[KindName, Any] = {k: (r[batch.index] >= count).astype(np.float32) for k, r in ranks.items()}
            with self.model.lock:
                handlers = {site: blend(gate) for site, gate in self.model.gate_tensors((), gates).items()}
                with self.model.visit(outputs=handlers if count else {}), torch.inference_mode():
                    outcome = self.questions.ask(batch)
            numerators[batch.index], weights[batch.index] = outcome.numerators, outcome.weights
            self._done += len(batch)
            self._tell(self._done)
        return numerators, weights

    def _estimate(self, now: Floats, full: Floats, weights: Floats, count: int) -> Estimate:
        bounded, n = self.questions.bounded, len(weights)
        value = statistics.ratio(now, weights)
        (low, high), _ = (statistics.proportion if bounded else statistics.mean)(now, weights, n)
        change = None
        if count:
            ends = statistics.paired_change(now, full, weights, bounded=bounded)
            change = Interval(value - statistics.ratio(full, weights), *ends)
        return Estimate(value, low, high, n, n, True, value, value, change, metric=self.questions.metric)


def _mean_height(counts: Floats, outcomes: Floats) -> Floats:
    """Area under each text's own curve by the trapezoid rule, over its width; [texts] from [counts, texts]."""
    middle = (outcomes[1:] + outcomes[:-1]) / 2
    found: Floats = np.diff(counts) @ middle / (counts[-1] - counts[0])
    return found
