"""Which ranking prunes best? Several pruning curves on the same texts, against random orders, with their areas."""

import itertools
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from headwidgets.citations import bibtex, method_of
from headwidgets.errors import InputError
from headwidgets.files import write
from headwidgets.jobs import Cancel, Progress, blocking
from headwidgets.models.evaluate import Evaluator
from headwidgets.models.outcomes import Metric
from headwidgets.pruning.areas import Table
from headwidgets.pruning.curves import PruningCurve, checked_counts, pruning_order, warn_if_same_data
from headwidgets.scores import Estimate, Head, HeadScores, Interval, import_pandas
from headwidgets.wire.documents import SCHEMA, CurvePoint, NamedCurve, Provenance

RANDOM = "random orders"
"""What the mean of the random orders is called."""

_POINTS = 13


@dataclass(frozen=True)
class RandomOrders:
    """Curves of random orders of pruning: the control.

    Attributes:
        counts: Heads pruned, ascending.
        mean: By count, over the draws.
        low: By count, 2.5 % of the draws lie below (between draws: linear).
        high: By count, 2.5 % lie above.
        areas: Under the curve of each draw.
    """

    counts: list[int]
    mean: list[float]
    low: list[float]
    high: list[float]
    areas: list[float]

    @property
    def draws(self) -> int:
        """How many orders were drawn."""
        return len(self.areas)


@dataclass(frozen=True)
class Comparison:
    """Several rankings on the same texts.

    Attributes:
        counts: Heads pruned, ascending; the same for all.
        curves: By name of the ranking.
        areas: By name, the mean height of the curve over the share of heads pruned, in the unit of the metric, with
            its 95 % interval for new data; ``random orders`` is the mean of them.
        differences: By pair of names, how much larger the area of the first is, paired on the same texts.
        to_random: By name, how far the curve lies above the mean of the random orders at each count, paired.
        random: The random orders; None when none were drawn.
        heads: How many there are to prune.
        n: Texts.
        metric: Name of the metric.
        ablation: What pruned heads' outputs became.
        notes: What a reader should know, as sentences.
        provenance: How it was made.
    """

    counts: list[int]
    curves: dict[str, PruningCurve]
    areas: dict[str, Interval]
    differences: dict[tuple[str, str], Interval]
    to_random: dict[str, list[Interval]]
    random: RandomOrders | None
    heads: int
    n: int
    metric: str
    ablation: str
    notes: list[str] = field(default_factory=list)
    provenance: Provenance | None = field(default=None, repr=False)

    def __str__(self) -> str:
        listed = "; ".join(f"{name} {a.value:.3f} ({a.low:.3f} to {a.high:.3f})" for name, a in self.areas.items())
        return f"Comparison(area under {self.metric} by share of heads pruned, n={self.n}: {listed})"

    __repr__ = __str__

    def worse_than_random(self, name: str) -> list[int]:
        """Counts at which a ranking is worse than the mean of the random orders by more than the paired interval.

        Each interval is for one count alone, so of twenty counts one may be here by chance.
        """
        if name not in self.curves:
            raise InputError(f"expected a ranking out of {', '.join(self.curves)}, got {name!r}")
        if self.random is None:
            raise InputError("no random orders were drawn: compare with random=20")
        found = zip(self.counts, self.to_random[name], strict=True)
        return [c for c, d in found if (d.low > 0 if self.metric == "loss" else d.high < 0)]

    def cite(self) -> str:
        """BibTeX of the papers behind the rankings compared, each once; empty when none is known."""
        settings = self.provenance["settings"] if self.provenance else {}
        return bibtex(str(settings.get("methods") or "").split(", "))

    def to_frame(self) -> Any:
        """A pandas DataFrame, one row per ranking and count; areas and how it was made are in ``.attrs``."""
        pandas = import_pandas("comparison.to_frame()")
        rows = []
        for name, curve in self.curves.items():
            above = self.to_random.get(name)
            for i, (count, e) in enumerate(zip(curve.counts, curve.estimates, strict=True)):
                row = {"ranking": name, "count": count, "share": count / self.heads}
                row |= {"value": e.value, "low": e.low, "high": e.high, "n": e.n}
                if above is not None:
                    d = above[i]
                    row |= {"to_random": d.value, "to_random_low": d.low, "to_random_high": d.high}
                rows.append(row)
        if self.random is not None:
            r = self.random
            for count, value, low, high in zip(r.counts, r.mean, r.low, r.high, strict=True):
                row = {"ranking": RANDOM, "count": count, "share": count / self.heads}
                rows.append(row | {"value": value, "low": low, "high": high, "n": self.n})
        frame = pandas.DataFrame(rows)
        frame.attrs = {
            "metric": self.metric,
            "ablation": self.ablation,
            "areas": {name: (a.value, a.low, a.high) for name, a in self.areas.items()},
            "provenance": self.provenance,
        }
        return frame

    def document(self) -> dict[str, Any]:
        """What is drawn (wire `CurvesDocument`)."""
        curves: list[NamedCurve] = []
        if self.random is not None:
            curves.append(self._random_curve(self.random))
        for name, curve in self.curves.items():
            area = self.areas.get(name)
            curves.append(
                {
                    "name": name,
                    "points": curve.data(),
                    "control": False,
                    "area": area.data() if area else None,
                    "draws": 1,
                }
            )
        full = next((c.estimates[0] for c in self.curves.values() if c.counts and c.counts[0] == 0), None)
        return {
            "schema": SCHEMA,
            "document": "curves",
            "title": "Pruning heads by ranking",
            "metric": self.metric,
            "x_label": "heads pruned",
            "total": self.heads,
            "baseline": full.data() if full else None,
            "curves": curves,
            "note": " ".join(self.notes),
            "provenance": self.provenance,
        }

    def _random_curve(self, random: RandomOrders) -> NamedCurve:
        points: list[CurvePoint] = []
        for count, value, low, high in zip(random.counts, random.mean, random.low, random.high, strict=True):
            found = Estimate(value, low, high, self.n, self.n, True, value, value, metric=self.metric)
            points.append({"count": count, "estimate": found.data()})
        area = self.areas.get(RANDOM)
        return {
            "name": RANDOM,
            "points": points,
            "control": True,
            "area": area.data() if area else None,
            "draws": random.draws,
        }

    def save(self, path: str | Path) -> Path:
        """Write the curves as a ``.heads`` file that opens in JupyterLab; numbers for further work: `to_frame`."""
        return write(path, self.document())


@blocking
def compare(
    model: Any,
    rankings: Mapping[str, Any],
    texts: Any,
    labels: Any = None,
    counts: Iterable[int] | None = None,
    *,
    random: int = 20,
    seed: int = 0,
    metric: Metric = "accuracy",
    ablation: str = "zero",
    reference: Any = None,
    column: Any = None,
    on_progress: Progress | None = None,
    on_partial: Callable[[Comparison], None] | None = None,
    cancel: Cancel | None = None,
) -> Comparison:
    """Prune by several rankings on the same texts, least important heads first, and compare the curves.

    A set of pruned heads that two curves share is computed once. The area is the mean height of a curve over the share
    of heads pruned (trapezoid rule between the counts); it and all differences are paired on the same texts. The
    random orders are a control: their mean, and the band that holds 95 % of them.

    Args:
        model: A HeadModel.
        rankings: By name, `HeadScores` or heads with the most important first; all of the same heads.
        texts: To evaluate on; not those that the rankings were measured on.
        labels: See `HeadModel.evaluate`.
        counts: Numbers of heads *pruned*, two or more; 13 from none to all by default.
        random: Random orders to draw; 0 for none.
        seed: Of the random orders and of everything else that is drawn.
        metric: See `HeadModel.evaluate`.
        ablation: ``zero``, ``mean`` or ``resample``.
        reference: Texts for ``mean`` and ``resample``.
        column: The column of texts of a dataset.
        on_progress: Gets texts evaluated and to evaluate, over all curves.
        on_partial: Gets what is known after each curve.
        cancel: Says whether to stop.

    Returns:
        A `Comparison`: curves, areas in the unit of the metric, and paired differences, each with a 95 % interval.

    Raises:
        InputError: rankings of different heads, counts, texts or labels that do not fit.
        Cancelled: told to stop.
    """
    orders = _orders(model, rankings)
    if isinstance(random, bool) or not isinstance(random, int) or random < 0:
        raise InputError(f"expected random as the number of random orders to draw (0 or more), got {random!r}")
    heads = sorted(next(iter(orders.values())))
    wanted = checked_counts(counts, len(heads), _POINTS)
    if len(wanted) < 2:
        raise InputError(f"expected at least two counts of pruned heads (a curve has an area), got {len(wanted)}")
    measure = Evaluator(model, texts, labels, metric, seed=seed, reference=reference, column=column)
    same = [name for name, ranking in rankings.items() if _same_data(name, ranking, measure.questions.given)]
    run = _Run(measure, wanted, ablation, len(orders) + random, on_progress, cancel)
    notes = [f"The ranking {name} was measured on the texts that it is judged on." for name in same]
    made = measure.provenance
    settings = {**made["settings"], "ablation": ablation, "random": random, "rankings": ", ".join(orders)}
    methods = [method_of(r.provenance) for r in rankings.values() if isinstance(r, HeadScores)]
    settings |= {"ranking_on_same_texts": ", ".join(same), "methods": ", ".join(filter(None, methods))}
    provenance: Provenance = {**made, "settings": settings}

    def so_far() -> Comparison:
        return run.comparison([*notes, *measure.notes], provenance)

    for name, order in orders.items():
        run.curve(name, order)
        if on_partial is not None:
            on_partial(so_far())
    for draw in range(random):
        generator = np.random.default_rng((seed, draw))
        run.draw([heads[i] for i in generator.permutation(len(heads))])
        if on_partial is not None and draw + 1 < random:
            on_partial(so_far())
    return so_far()


class _Run:
    """What was evaluated so far."""

    def __init__(
        self,
        measure: Evaluator,
        counts: list[int],
        ablation: str,
        n_curves: int,
        on_progress: Progress | None,
        cancel: Cancel | None,
    ) -> None:
        self._measure, self._counts, self._ablation = measure, counts, ablation
        self._points = n_curves * len(counts)
        self._on_progress, self._cancel = on_progress, cancel
        self._done = 0
        self._curves: dict[str, PruningCurve] = {}
        self._table: Table | None = None
        self._drawn = 0
        self._heads = 0

    def curve(self, name: str, order: list[Head]) -> None:
        estimates = self._evaluate(name, order)
        metric = self._measure.metric
        made = estimates[-1].provenance
        self._heads = len(order)
        self._curves[name] = PruningCurve(self._counts, estimates, order[::-1], name, metric, self._ablation, made)

    def draw(self, order: list[Head]) -> None:
        self._evaluate(RANDOM, order)
        self._drawn += 1

    def _evaluate(self, name: str, order: list[Head]) -> list[Estimate]:
        measure, total = self._measure, self._measure.total
        found = []
        for count in self._counts:

            def progress(n: int, of: int, done: int = self._done) -> None:
                if self._on_progress is not None:
                    self._on_progress(done * total + n * total // max(1, of), self._points * total)

            found.append(measure.exact(order[:count], self._ablation, self._cancel, progress))
            self._done += 1
        if self._on_progress is not None:
            self._on_progress(self._done * total, self._points * total)
        sets = [order[:count] for count in self._counts]
        if measure.questions.function is not None:
            if self._table is None:
                self._table = Table(self._counts, np.ones(total))
            self._table.add_function(
                name, lambda places: np.array([measure.on(places.tolist(), heads, self._ablation) for heads in sets])
            )
            return found
        outcomes = np.stack([measure.outcomes(heads, self._ablation) for heads in sets])
        if self._table is None:
            self._table = Table(self._counts, outcomes[0, 1])
        self._table.add(name, outcomes[:, 0])
        return found

    def comparison(self, notes: list[str], provenance: Provenance) -> Comparison:
        """What is known so far."""
        table = self._table
        assert table is not None, "a comparison is asked for after its first curve"
        names = [*self._curves, *([RANDOM] if self._drawn else [])]
        random = None
        if self._drawn:
            draws = table.draws(RANDOM)
            low, high = np.quantile(draws, [0.025, 0.975], axis=0)
            areas = table.areas(RANDOM).tolist()
            random = RandomOrders(self._counts, draws.mean(0).tolist(), low.tolist(), high.tolist(), areas)
        return Comparison(
            counts=self._counts,
            curves=dict(self._curves),
            areas={name: table.area(name) for name in names},
            differences={(a, b): table.area(a, b) for a, b in itertools.combinations(names, 2)},
            to_random={name: table.differences(name, RANDOM) for name in self._curves} if self._drawn else {},
            random=random,
            heads=self._heads,
            n=self._measure.total,
            metric=self._measure.metric,
            ablation=self._ablation,
            notes=notes,
            provenance=provenance,
        )


def _orders(model: Any, rankings: Any) -> dict[str, list[Head]]:
    """By name, heads in the order of pruning."""
    if not isinstance(rankings, Mapping) or not rankings:
        raise InputError(
            "expected rankings by name, for example {'attribution': scores, 'taylor': other_scores}, got "
            f"{'none' if isinstance(rankings, Mapping) else type(rankings).__name__}"
        )
    if RANDOM in rankings:
        raise InputError(f"the name {RANDOM!r} is taken by the control: call the ranking otherwise")
    found = {str(name): pruning_order(model, ranking) for name, ranking in rankings.items()}
    first = next(iter(found))
    for name, order in found.items():
        if set(order) != set(found[first]):
            other = sorted(set(order) ^ set(found[first]))[0]
            raise InputError(
                f"expected rankings of the same heads; {other.label(True)} is in only one of {first} "
                f"({len(found[first])} heads) and {name} ({len(order)} heads)"
            )
    return found


def _same_data(name: str, ranking: Any, texts: Any) -> bool:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        same = warn_if_same_data(ranking if isinstance(ranking, HeadScores) else None, texts)
    for warning in caught:
        warnings.warn(f"{name}: {warning.message}", stacklevel=4)
    return same
