"""Where do heads look, layer by layer? A point is a head (Clark et al. 2019, figures 2 to 4)."""

from typing import Any

import ipywidgets
import numpy as np
import traitlets as t
from numpy.typing import NDArray

from headwidgets.errors import InputError
from headwidgets.scores import Head, HeadScores
from headwidgets.widgets.grid import HeadGrid
from headwidgets.widgets.heads import Shapes
from headwidgets.widgets.points import PointBox, expect_grid

MODES = ("brush", "hover", "pan")
_KEPT = 84_000
"""Bytes of arrays that a saved output keeps at most: base64 and the pictures come on top."""


class PatternView(PointBox):
    """Statistics of where heads look against their layer, one chart at a time, linked to a grid of the heads.

    The menu chooses the chart. Drag a rectangle to choose heads: they are ringed at each of their points and marked in
    the grid, and heads chosen there are ringed here. In the mode ``hover`` the pointer chooses the head under it, and a
    click keeps it. The grid is the way by keyboard and screen reader; the saved picture takes arrow keys itself.

    Example:
        >>> view = PatternView(hw.patterns.summary(model, texts), chart="entropy")
        >>> view.selected; view.save("entropy.pdf")
    """

    mode = t.Enum(MODES, "brush", help="What the pointer does: brush, hover or pan.")
    chart = t.Unicode(help="Name of the chart on show.")

    def __init__(
        self,
        summary: Any,
        *,
        chart: str = "",
        grid: Any = True,
        title: str | None = None,
        theme: str = "auto",
        selected: Any = (),
        **options: Any,
    ) -> None:
        """Show a summary.

        Args:
            summary: From `headwidgets.patterns.summary` or `headwidgets.patterns.gradient`.
            chart: Name of the chart to begin with, for example ``entropy``; the first by default.
            grid: True adds a grid of the chart's statistics; a `HeadGrid` of your own is linked instead; False for
                none.
            title: Heading; empty for none, None for the summary's own.
            theme: ``auto``, ``light`` or ``dark``, of the grid.
            selected: Chosen heads.
            **options: Other traits, for example ``mode="hover"``.

        Raises:
            InputError: something else than a summary, or a chart or a head that does not exist.
            TypeError: an option is not known.
        """
        self._title = None if title is None else str(title)
        self._current = _document(summary, self._title)
        self._summary = summary
        self._place_heads()
        self.shapes = _shapes(summary)
        self.grid = expect_grid(grid)
        self._own_grid = grid is True
        self._number = self._chart_number(chart) if chart else 0
        if self._own_grid:
            self.grid = HeadGrid(self._scores(), theme=theme)
        from headwidgets.widgets.patterns_figure import PatternFigure

        self._figure: Any = PatternFigure(self._current, self._number)
        self._menu = ipywidgets.Dropdown(
            description="Chart",
            options=[(own["label"], own["name"]) for own in self._current["charts"]],
            value=self._current["charts"][self._number]["name"],
            style={"description_width": "initial"},
            layout={"width": "auto", "max_width": "100%"},
        )
        switch = self._switch_of(MODES, options.get("mode"))
        self._heading = ipywidgets.HTML(self._figure.heading(self._current, self._number))
        self._legend = ipywidgets.HTML(self._figure.legend(self._current, self._number))
        own = [self.grid] if self._own_grid else []
        # the top of the chart beside the top of the grid: many layers make the grid higher than a window
        row = ipywidgets.HBox(
            [self._figure.figure, *own], layout={"flex_flow": "row wrap", "align_items": "flex-start"}
        )
        bar = ipywidgets.HBox([self._menu, switch], layout={"flex_flow": "row wrap", "align_items": "center"})
        super().__init__([self._heading, bar, row, self._legend], **options)
        self.chart = self._menu.value
        self._connect(switch)
        self.observe(self._chart_set, "chart")
        self._menu.observe(self._menu_chosen, "value")
        if selected:
            self.selected = selected

    @property
    def charts(self) -> tuple[str, ...]:
        """Names of the charts that there are."""
        return tuple(own["name"] for own in self._current["charts"])

    def show(self, summary: Any) -> None:
        """Show another summary of the same heads in place, for example what a job has so far.

        Args:
            summary: As in the constructor.

        Raises:
            InputError: something else than a summary, or one of other heads.
        """
        document = _document(summary, self._title)
        if not np.array_equal(document["heads"], self._current["heads"]):
            raise InputError(
                "expected a summary of the heads that are shown, got one of others: make a new PatternView"
            )
        self._current, self._summary = document, summary
        chart = self.chart if self.chart in self.charts else self.charts[0]
        self._menu.unobserve(self._menu_chosen, "value")
        self._menu.options = [(own["label"], own["name"]) for own in document["charts"]]
        self._menu.value = chart
        self._menu.observe(self._menu_chosen, "value")
        if chart == self.chart:
            self._draw()
        else:
            self.chart = chart
        self._refresh_soon()

    @t.validate("chart")
    def _check_chart(self, proposal: Any) -> str:
        name = str(proposal["value"])
        self._chart_number(name)
        return name

    def _chart_number(self, name: str) -> int:
        names = [own["name"] for own in self._current["charts"]]
        if name not in names:
            raise InputError(f"there is no chart {name!r} here: the charts are {', '.join(names)}")
        return names.index(name)

    def _menu_chosen(self, change: Any) -> None:
        if change["new"]:
            self.chart = change["new"]

    def _chart_set(self, change: Any) -> None:
        self._menu.value = change["new"]
        self._draw()
        self._refresh_soon()

    def _draw(self) -> None:
        self._number = self._chart_number(self.chart)
        if self._figure is None:
            return
        self._heading.value = self._figure.heading(self._current, self._number)
        self._legend.value = self._figure.legend(self._current, self._number)
        self._figure.show(self._current, self._number)
        self._figure.select([self._place[head] for head in self.selected if head in self._place])
        if self._own_grid and self.grid is not None:
            self.grid.show(self._scores())

    def _scores(self) -> list[HeadScores]:
        """The statistics of the chart on show, under their labels."""
        found = []
        for number in self._current["charts"][self._number]["statistics"]:
            one = self._current["statistics"][number]
            own = self._summary.scores[one["name"]]
            found.append(
                HeadScores(
                    own.values,
                    name=one["label"],
                    unit=own.unit,
                    n=own.n,
                    stderr=own.stderr,
                    provenance=own.provenance,
                    fingerprint=own.fingerprint,
                )
            )
        return found

    def _points_chosen(self, places: NDArray[Any]) -> None:
        """The browser chose points; a head may have several."""
        super()._points_chosen(np.unique(places))
        if self._figure is not None:
            self._figure.ring([self._place[head] for head in self.selected if head in self._place])

    def _ranked(self, heads: list[Head]) -> list[Head]:
        """The highest of the chart's first statistic lead."""
        first = self._current["charts"][self._number]["statistics"][0]
        values = np.nan_to_num(self._current["statistics"][first]["values"], nan=-np.inf)
        return sorted(heads, key=lambda head: -float(values[self._place[head]]))

    def picture(self) -> dict[str, Any]:
        """Return the document with the chart and the heads chosen now; of very many heads, fewer charts."""
        return _fitting({**super().picture(), "shown": self._number})

    def summary(self) -> str:
        """Return one line: what is shown."""
        own = self._current["charts"][self._number]
        n = max(self._current["statistics"][number]["n"] for number in own["statistics"])
        return f"PatternView({own['label']} of {len(self._heads)} heads, n={n}; {len(self.selected)} selected)"


def _document(summary: Any, title: str | None) -> dict[str, Any]:
    document: Any = summary.document() if hasattr(summary, "document") else None
    if not isinstance(document, dict) or document.get("document") != "patterns" or not hasattr(summary, "scores"):
        raise InputError(
            "expected what hw.patterns.summary or hw.patterns.gradient returned, got "
            f"{type(summary).__name__}; one score per head is shown by HeadGrid(scores)"
        )
    if not document["charts"]:
        raise InputError("there is nothing to show: none of the statistics has a number")
    return document if title is None else {**document, "title": title}


def _shapes(summary: Any) -> Shapes:
    first = next(iter(summary.scores.values()))
    return {kind: (int(values.shape[0]), int(values.shape[1])) for kind, values in first.values.items()}


def _fitting(document: dict[str, Any]) -> dict[str, Any]:
    """A document whose arrays fit in a saved output: the chart on show stays, others while there is room."""

    def size(one: dict[str, Any]) -> int:
        return sum(array.nbytes for array in (one["values"], one["stderr"]) if array is not None)

    statistics = document["statistics"]
    if document["heads"].nbytes + sum(map(size, statistics)) <= _KEPT:
        return document
    shown = document["charts"][document["shown"]]
    bare = [{**one, "stderr": None} for one in statistics]
    kept: list[int] = []
    charts: list[dict[str, Any]] = []
    room = _KEPT - document["heads"].nbytes
    for chart in sorted(document["charts"], key=lambda own: own is not shown):
        own = list(chart["statistics"])
        while len(own) > 1 and chart is shown and sum(size(bare[number]) for number in own) > room:
            own.pop()
        new = [number for number in own if number not in kept]
        cost = sum(size(bare[number]) for number in new)
        if cost > room and charts:
            continue
        room -= cost
        kept += new
        charts.append({**chart, "statistics": [kept.index(number) for number in own]})
    left = len(statistics) - len(kept)
    what = f"{left} statistics are" if left > 1 else "1 statistic is"
    return {
        **document,
        "statistics": [bare[number] for number in kept],
        "charts": charts,
        "shown": 0,
        "note": f"{what if left else 'Standard errors are'} in the live view only. {document['note']}".strip(),
    }
