"""What is left when heads are pruned? Slider, curve and grid."""

import threading
import time
import warnings
from collections.abc import Callable
from typing import Any, cast

import ipywidgets
import traitlets as t

from headwidgets.errors import Cancelled, InputError
from headwidgets.scores import Head
from headwidgets.widgets.base import as_source, sentence
from headwidgets.widgets.boxes import HeadBox, refresher
from headwidgets.widgets.grid import HeadGrid, grid_document
from headwidgets.widgets.heads import Heads, to_wire
from headwidgets.widgets.lane import Task
from headwidgets.widgets.linking import follow
from headwidgets.widgets.panel import PruningPanel
from headwidgets.widgets.ranked import Curve, Rankings
from headwidgets.wire.documents import SCHEMA, CurvePoint, EstimateData, HeadRef

SAME_TEXTS = "measured on the evaluation texts"

_CALM = 0.5
"""Least seconds between two documents while the curve fills."""


class PruningExplorer(HeadBox):
    """Prune heads, least important first, and watch the metric: a slider, its curve and the grid.

    The slider answers at once with an interval that narrows until all texts were seen. While nothing is asked,
    the curve fills in. `count` and `pruned` can be set and observed; `wait()` blocks until all is computed.

    Example:
        >>> explorer = PruningExplorer(model, texts, labels)
        >>> explorer.count = 20; explorer.wait(); explorer.estimate["value"]
    """

    count = t.Int(0, help="Number of pruned heads.").tag(sync=True, echo_update=False)
    selected: Any = Heads(help="Heads chosen in the grid.")
    pruned: Any = Heads(help="The pruned heads: the first `count` of the order.")

    def __init__(
        self,
        model: Any,
        texts: Any,
        labels: Any = None,
        ranking: Any = None,
        *,
        rank_on: Any = None,
        metric: Any = "accuracy",
        ablation: str | None = None,
        count: int = 0,
        points: int = 17,
        wait: float | None = 2.0,
        theme: str = "auto",
        title: str = "",
        **options: Any,
    ) -> None:
        """Prune a model while watching a metric on labelled texts.

        Args:
            model: From `hw.load` or `hw.wrap`.
            texts: To evaluate on, or a `datasets.Dataset`.
            labels: Class indices or names; see `HeadModel.evaluate`.
            ranking: `HeadScores`, heads with the most important first, or the name of a method; None takes the
                model's first method.
            rank_on: ``(texts, labels)`` to measure importance on; None takes `texts` and `labels` themselves, which
                the picture then says: a ranking measured and judged on the same texts looks better than it is.
            metric: Name of the metric or a function, as for `HeadModel.evaluate`.
            ablation: What a pruned head's output becomes; None takes the model's first.
            count: Heads pruned at first.
            points: How many points of the curve to compute while nothing is asked; 0 for none.
            wait: Seconds to wait for ranking and full model before showing progress; None waits for them.
            theme: ``auto``, ``light`` or ``dark``.
            title: Heading; empty names the model.
            **options: Other traits of the box.

        Raises:
            InputError: texts, labels, ranking or an option's value cannot be used.
            TypeError: an option is not known.
        """
        source = self._source = as_source(model)
        self.shapes = {kind: source.shape(kind) for kind in source.kinds}
        self._rankings = Rankings(self.shapes, source.methods, ranking)
        self._ablation = ablation or source.ablations[0]
        if self._ablation not in source.ablations:
            raise InputError(f"ablation is one of {', '.join(source.ablations)}, got {ablation!r}")
        self._evaluator = source.evaluator(texts, labels, metric)
        self._rank_on = (texts, labels) if rank_on is None else tuple(rank_on)
        self._same_texts = self._judges_itself(rank_on)
        self._title = title or f"Pruning {source.name}"
        if self._same_texts:
            warnings.warn(
                "the ranking is measured on the texts that it is judged on, so the curve looks better than it is: pass"
                " rank_on=(other_texts, other_labels), or a ranking measured elsewhere",
                stacklevel=2,
            )
        self._curve = Curve()
        self._points = points
        self._last_show = 0.0
        self._showing = threading.Lock()
        self._settled = threading.Event()
        self._figure: Any = None
        self.panel = PruningPanel(
            self, self._document(), theme=theme, method=self._rankings.method, ablation=self._ablation
        )
        self.panel._lane.on_idle = refresher(self)
        self.grid = HeadGrid(self._grid_scores(), theme=theme)
        from headwidgets.widgets.curve import CurveFigure

        self._figure = CurveFigure(self._evaluator.metric, self._n_heads())
        row = ipywidgets.HBox(
            [self._figure.figure, self.grid], layout={"flex_flow": "row wrap", "align_items": "flex-start"}
        )
        super().__init__([self.panel, row], **options)
        self._connect()
        self.panel._lane.submit(self._begin, name="ranking", replaces="choose")
        try:
            self._first(time.monotonic() + (1e9 if wait is None else wait))
            if count:
                self.count = count
        except BaseException:
            self.close()
            raise

    def _first(self, deadline: float) -> None:
        """Wait a moment for the ranking and the full model, so that the first picture is whole."""
        self.panel._lane.wait(deadline - time.monotonic(), background=False)
        while not self._settled.is_set() and (left := deadline - time.monotonic()) > 0:
            self._settled.wait(min(left, 0.1))
        self.panel._lane.wait(0, background=False)

    def _judges_itself(self, rank_on: Any) -> bool:
        """Whether the ranking was, or will be, measured on the texts that it is evaluated on."""
        if not self._rankings.order(self._rankings.method):
            return rank_on is None
        made_how = getattr(self._rankings.scores[self._rankings.method], "provenance", None) or {"settings": {}}
        measured_on = made_how["settings"].get("data")
        return measured_on is not None and measured_on == getattr(self._evaluator, "data", None)

    # ---- what is known

    @property
    def order(self) -> tuple[Head, ...]:
        """The heads in the order of pruning; empty until the ranking is measured."""
        return self._rankings.order(self._rankings.method)

    @property
    def estimate(self) -> EstimateData | None:
        """What is known now of the metric with `count` heads pruned."""
        return self._curve.get(self._rankings.method, self._ablation, self.count)

    @property
    def status(self) -> str:
        """What is running, in words."""
        return str(self.panel.status)

    def _n_heads(self) -> int:
        return len(self.order) or sum(layers * heads for layers, heads in self.shapes.values())

    def _known(self) -> list[CurvePoint]:
        return self._curve.points(self._rankings.method, self._ablation, also=self.count)

    def _grid_scores(self) -> Any:
        scores = list(self._rankings.scores.values())
        leading = self._rankings.scores.get(self._rankings.method)
        scores.sort(key=lambda item: item is not leading)
        return scores or self._source

    def _document(self) -> dict[str, Any]:
        settings = dict(self._source.provenance["settings"])
        if self._same_texts:
            settings["ranking"] = SAME_TEXTS
        return {
            "schema": SCHEMA,
            "document": "pruning",
            "title": f"{self._title} (ranking {SAME_TEXTS})" if self._same_texts else self._title,
            "metric": self._evaluator.metric,
            "method": self._rankings.method,
            "methods": list(self._rankings.methods),
            "ablation": self._ablation,
            "ablations": list(self._source.ablations),
            "order": to_wire(self.order),
            "count": 0,
            "baseline": self._curve.baseline,
            "points": self._known(),
            "status": "",
            "grid": grid_document(self._grid_scores()),
            "provenance": {**self._source.provenance, "settings": settings},
        }

    # ---- what happens (in the panel's lane)

    def _begin(self, task: Task) -> None:
        try:
            self._measure(self._rankings.method, task)
        except Cancelled:
            raise
        except Exception as error:
            self._tell(sentence(error))
            raise
        self._fill_idly()

    def _measure(self, method: str, task: Task) -> None:
        if self._rankings.order(method):
            return
        self._tell(f"Ranking heads by {method}.")

        def progress(done: int, total: int) -> None:
            self._tell(f"Ranking heads by {method}: {done} of {total}.")

        def partial(scores: Any) -> None:
            if not self.order and method == self._rankings.method and not task.cancelled():
                self.grid.show(scores)

        texts, labels = self._rank_on
        scores = self._source.importance(method, texts, labels, progress, task.cancelled, partial)
        if task.cancelled():
            raise Cancelled(f"the ranking by {method} was cancelled")
        self._rankings.learn(method, scores)
        if method == self._rankings.method:
            self.grid.show(self._grid_scores())
            count = min(self.count, len(self.order))
            self._show(status="", count=count, pruned=self.order[:count])
            if count:  # it was set before there was an order
                self._ask(count)

    def _estimates(self, count: int, task: Task) -> Any:
        heads = cast(list[HeadRef], [tuple(head) for head in self.order[:count]])
        return self._evaluator.estimates(heads, self._ablation, task.cancelled)

    def estimate_now(self, count: int, task: Task, tell: Callable[[Any], None]) -> None:
        """Estimate with `count` heads pruned, telling every step; runs in a job."""
        method, ablation = self._rankings.method, self._ablation
        if count and not self.order:
            raise InputError("the heads are not ranked yet: wait until the ranking is measured")
        for estimate in self._estimates(count, task):
            if task.cancelled():
                return
            self._curve.learn(method, ablation, count, estimate)
            tell(estimate)
            self._draw_curve(CurvePoint(count=count, estimate=estimate))
            if estimate["exact"]:
                break
        if not task.cancelled():
            self._show()

    def choose(self, method: str, ablation: str, task: Task) -> None:
        """Rank by another method, or prune by another ablation; runs in a job."""
        if method not in self._rankings.methods:
            raise InputError(f"method is one of {', '.join(self._rankings.methods)}, got {method!r}")
        if ablation not in self._source.ablations:
            raise InputError(f"ablation is one of {', '.join(self._source.ablations)}, got {ablation!r}")
        self.panel._lane.cancel("fill")
        try:
            self._measure(method, task)
        except BaseException:
            self._tell("")
            raise
        self._rankings.method, self._ablation = method, ablation
        self.grid.show(self._grid_scores())
        count = min(self.count, len(self.order))
        self._show(method=method, ablation=ablation, count=count, pruned=self.order[:count], status="")
        self._ask(count)
        self._fill_idly()

    def _fill_idly(self) -> None:
        self.panel._lane.submit(self._fill, name="curve", replaces="fill", background=True)

    def _fill(self, task: Task) -> None:
        """Compute the full model, then points of the curve; steps aside when something is asked."""
        from headwidgets.widgets.curve import fill_order

        method, ablation = self._rankings.method, self._ablation
        try:
            for count in [0, *fill_order(len(self.order), self._points)]:
                known = self._curve.get(method, ablation, count)
                if known is not None and known["exact"]:
                    continue
                self._tell("Evaluating the full model." if count == 0 else "Filling in the curve.")
                for estimate in self._estimates(count, task):
                    if task.cancelled():
                        return
                    if count == 0 or estimate["exact"]:
                        self._curve.learn(method, ablation, count, estimate)
                        self._show(calm=not estimate["exact"])
                if task.cancelled():
                    return
                if count == 0:
                    self._settled.set()
        except Cancelled:
            raise
        except Exception as error:
            self._tell(sentence(error))
            self._settled.set()
            raise
        self._show(status="")

    # ---- what is shown

    def _tell(self, status: str) -> None:
        self.panel._publish(status=status)

    def _show(self, calm: bool = False, **traits: Any) -> None:
        now = time.monotonic()
        if calm and now - self._last_show < _CALM:
            return
        self._last_show = now
        self.panel._show(self._document(), **traits)
        self._draw_curve()

    def _draw_curve(self, current: CurvePoint | None = None) -> None:
        estimate = self.estimate
        if current is None and estimate is not None:
            current = CurvePoint(count=self.count, estimate=estimate)
        with self._showing:
            if self._figure is not None and self.comm is not None:
                self._figure.show(self._known(), current, self._n_heads())

    # ---- view state

    def _connect(self) -> None:
        panel, grid = self.panel, self.grid
        follow(panel, grid, "pruned", self._links)
        follow(panel, self, "pruned", self._links)
        follow(panel, self, "count", self._links, back=True)
        follow(grid, self, "selected", self._links, back=True)
        panel.observe(self._count_moved, "count")
        self.observe(self._pruned_set, "pruned")

    def _count_moved(self, change: Any) -> None:
        """Keep `pruned` in step; ask for the estimate unless the browser, which moved it, asks itself."""
        heads = self.order[: change["new"]]
        if self.panel.from_browser or self.from_browser:  # the browser has computed the same
            self.panel.set_quietly(pruned=heads)
        else:
            self.panel.pruned = heads
        if not self.panel.from_browser:
            self._ask(change["new"])
        self._draw_curve()

    def _ask(self, count: int) -> None:
        """Queue the estimate, unless it is asked for already."""
        running = self.panel._lane.unfinished("estimate")
        if self.order and (running is None or running.about != count):
            self.panel._lane.submit(
                lambda task: self.estimate_now(count, task, lambda _: None),
                name="estimate",
                replaces="estimate",
                about=count,
            )

    def _pruned_set(self, change: Any) -> None:
        """Move the slider to what was set on the box itself; what came from the panel is already there."""
        heads = change["new"]
        if self.from_browser or self.panel.pruned == heads:
            return
        if set(heads) != set(self.order[: len(heads)]):
            raise InputError(
                "pruned follows the order of the ranking: set count, or make the explorer with ranking=[...],"
                " most important head first"
            )
        self.panel.count = len(heads)

    # ---- outputs and life

    def picture(self) -> dict[str, Any]:
        """Return the pruning document with slider and grid as they stand."""
        return {
            **self.panel.picture(),
            "points": self._known(),
            "baseline": self._curve.baseline,
            "status": self.status,
            "grid": self.grid.picture(),
        }

    def summary(self) -> str:
        """Return one line: how many heads are pruned and what is left."""
        known = self.estimate
        what = "" if known is None else f"; {self._evaluator.metric} {known['value']:.4g}"
        exact = "" if known is None or known["exact"] else f" on {known['n']} of {known['total']} texts so far"
        return (
            f"PruningExplorer({self.count} of {self._n_heads()} heads pruned by {self._rankings.method}{what}{exact})"
        )

    def wait(self, timeout: float | None = None, *, background: bool = True) -> bool:
        """Block until ranking, estimate and (with `background`) the curve are computed; see `Pictured.wait`."""
        ended = self.panel.wait(timeout, background=background)
        self._settle_outputs()
        return ended

    def close(self) -> None:
        """Cancel running work, free what is held and take everything from the page."""
        if self.comm is not None:
            self.panel.close()
            with self._showing:
                figure, self._figure = self._figure, None
            if figure is not None:
                figure.close()
        super().close()
