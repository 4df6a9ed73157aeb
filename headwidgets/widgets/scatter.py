"""Do two measurements agree on which heads matter? A point is a head (Hao et al. 2021, figure 4)."""

import threading
from typing import Any

import ipywidgets
import numpy as np
import traitlets as t
from numpy.typing import NDArray

from headwidgets.errors import InputError
from headwidgets.scores import KIND_ORDER, Head, HeadScores
from headwidgets.widgets.boxes import HeadBox
from headwidgets.widgets.grid import HeadGrid, shown_unit
from headwidgets.widgets.heads import Heads, Shapes, to_wire
from headwidgets.widgets.linking import follow

MODES = ("brush", "hover", "pan")
_MODE_NAMES = {"brush": "select a region", "hover": "point at heads", "pan": "pan and zoom"}


class ImportanceScatter(HeadBox):
    """Two scores of the same heads against each other, with r and its interval, linked to a grid of the heads.

    Drag a rectangle to choose heads; they are marked in the grid, and heads chosen there are marked here. In the mode
    ``hover`` the pointer chooses the head under it, and a click keeps it (with Ctrl: adds it). The grid is the way by
    keyboard and screen reader; the saved picture takes arrow keys itself.

    Example:
        >>> scatter = ImportanceScatter(scores_sst2, scores_mrpc, names=("SST-2", "MRPC"))
        >>> scatter.correlation; scatter.selected
    """

    selected: Any = Heads(help="Chosen heads, the first one leads.")
    mode = t.Enum(MODES, "brush", help="What the pointer does: brush, hover or pan.")

    def __init__(
        self,
        scores_a: Any,
        scores_b: Any = None,
        *,
        grid: Any = True,
        names: tuple[str, str] | None = None,
        kind: Any = None,
        seed: int = 0,
        samples: int = 2000,
        title: str = "",
        theme: str = "auto",
        selected: Any = (),
        **options: Any,
    ) -> None:
        """Show two scores of the same heads.

        Args:
            scores_a: `HeadScores` (or an array [layers, heads]) for the x axis; or a `Correlation`, alone.
            scores_b: The other measurement, for the y axis.
            grid: True adds a grid of both scores; a `HeadGrid` of your own is linked instead; False for none.
            names: What to call the two, for example the tasks; by default the scores' names.
            kind: Only heads of this kind of attention.
            seed: Of the bootstrap.
            samples: Bootstrap draws.
            title: Heading; empty for none.
            theme: ``auto``, ``light`` or ``dark``, of the grid.
            selected: Chosen heads.
            **options: Other traits, for example ``mode="hover"``.

        Raises:
            InputError: scores that cannot be compared, or a head that does not exist.
            TypeError: an option is not known.
        """
        self.correlation = _correlation(scores_a, scores_b, names=names, kind=kind, seed=seed, samples=samples)
        units = dict(zip(("x_unit", "y_unit"), map(shown_unit, self.correlation.scores), strict=True))
        self._current = {**self.correlation.document(), **units, "title": title}
        self._heads = [Head(KIND_ORDER[k], int(layer), int(index)) for k, layer, index in self._current["heads"]]
        self._place = {head: place for place, head in enumerate(self._heads)}
        self.shapes = _shapes(self.correlation.scores, {head.kind for head in self._heads})
        self._setting = threading.local()
        self._by_hover = False
        self.grid: HeadGrid | None = grid if isinstance(grid, HeadGrid) else None
        self._own_grid = grid is True
        if self._own_grid:
            self.grid = HeadGrid(_named(self.correlation, self.shapes), theme=theme)
        elif self.grid is None and grid is not False:
            raise InputError(f"grid is True, False or a HeadGrid, got {type(grid).__name__}")
        from headwidgets.widgets.scatter_figure import ScatterFigure

        self._figure: Any = ScatterFigure(self._current)
        self._switch = ipywidgets.ToggleButtons(
            options=[(_MODE_NAMES[mode], mode) for mode in MODES],
            value=options.get("mode", "brush") if options.get("mode") in MODES else "brush",
            tooltips=[
                "Drag a rectangle over points",
                "The head under the pointer; a click keeps it, Ctrl and a click adds",
                "Drag to move, wheel to zoom",
            ],
            style={"button_width": "auto"},
        )
        row = ipywidgets.HBox(
            [self._figure.figure, *([self.grid] if self._own_grid else [])],
            layout={"flex_flow": "row wrap", "align_items": "center"},
        )
        heading = ipywidgets.HTML(self._figure.heading(self._current))
        super().__init__([heading, self._switch, row], **options)
        self._connect()
        if selected:
            self.selected = selected

    def _connect(self) -> None:
        if self.grid is not None:
            follow(self.grid, self, "selected", self._links, back=True)
        self.observe(self._selected_set, "selected")
        self.observe(self._mode_set, "mode")
        self._switch.observe(self._switched, "value")
        self._figure.on_select(self._points_chosen)
        self._figure.on_hover(self._point_hovered)
        self._figure.set_mode(self.mode)
        self._selected_set({"new": self.selected})

    # ---- who chose what

    def _selected_set(self, change: Any) -> None:
        """Mark the chosen heads; those that have no point are chosen all the same."""
        if self._figure is None or getattr(self._setting, "figure", False):
            return
        self._by_hover = False
        self._figure.select([self._place[head] for head in change["new"] if head in self._place])

    def _points_chosen(self, places: NDArray[np.int64]) -> None:
        """The browser brushed or clicked."""
        heads = [self._heads[place] for place in places]
        if set(heads) == {head for head in self.selected if head in self._place}:
            return
        y = self._current["y"]
        heads.sort(key=lambda head: -float(y[self._place[head]]))  # those that matter most lead
        self._choose(tuple(heads), by_hover=False)

    def _point_hovered(self, place: int) -> None:
        """The pointer is on a point: it is chosen while nothing else is."""
        if self.mode != "hover" or not 0 <= place < len(self._heads):
            return
        if self._by_hover or not self.selected:
            self._choose((self._heads[place],), by_hover=True)

    def _choose(self, heads: tuple[Head, ...], *, by_hover: bool) -> None:
        self._setting.figure = not by_hover  # brushing has marked the points already
        try:
            self.selected = heads
        finally:
            self._setting.figure = False
        self._by_hover = by_hover and bool(heads)

    def _switched(self, change: Any) -> None:
        self.mode = change["new"]

    def _mode_set(self, change: Any) -> None:
        self._switch.value = change["new"]
        if self._figure is not None:
            self._figure.set_mode(change["new"])

    # ---- what is kept

    def picture(self) -> dict[str, Any]:
        """Return the scatter document with the heads chosen now."""
        return {**self._current, "selected": to_wire(self.selected)}

    def summary(self) -> str:
        """Return one line: r with its interval."""
        return f"ImportanceScatter({self.correlation}; {len(self.selected)} selected)"

    def close(self) -> None:
        """Take everything from the page; a grid that was given stays."""
        figure, self._figure = self.__dict__.get("_figure"), None
        if figure is not None:
            figure.close()
        super().close()


def _correlation(first: Any, second: Any, **options: Any) -> Any:
    """The correlation of two scores; imports the engine when it has to be computed."""
    if second is None and hasattr(first, "pearson") and hasattr(first, "document"):
        return first
    if second is None:
        raise InputError(
            "expected two scores of the same heads, or what hw.attribution.correlate returned; got "
            f"{type(first).__name__} alone"
        )
    from headwidgets import studio

    return studio.correlate(first, second, **options)


def _shapes(scores: Any, kinds: set[Any]) -> Shapes:
    shapes: Shapes = {}
    for kind, values in scores[0].values.items():
        if kind in kinds:
            shapes[kind] = (int(values.shape[0]), int(values.shape[1]))
    return shapes


def _named(correlation: Any, shapes: Shapes) -> list[HeadScores]:
    """Both scores under the names of the axes, for the grid's menu."""
    found = []
    for name, own in zip(_apart(correlation.names), correlation.scores, strict=True):
        values = {kind: own.values[kind] for kind in shapes}
        errors = {kind: own.stderr[kind] for kind in shapes} if own.stderr is not None else None
        found.append(HeadScores(values, name=name, unit=own.unit, n=own.n, stderr=errors, provenance=own.provenance))
    return found


def _apart(names: tuple[str, str]) -> tuple[str, str]:
    return names if names[0] != names[1] else (f"{names[0]} (x)", f"{names[1]} (y)")
