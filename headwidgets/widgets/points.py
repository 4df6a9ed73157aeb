"""What boxes around a chart of heads share: the chart and a grid follow each other."""

import asyncio
import threading
from typing import Any

import ipywidgets
from numpy.typing import NDArray

from headwidgets.errors import InputError
from headwidgets.scores import KIND_ORDER, Head
from headwidgets.widgets.boxes import HeadBox
from headwidgets.widgets.grid import HeadGrid
from headwidgets.widgets.heads import Heads, to_wire
from headwidgets.widgets.linking import follow

MODE_NAMES = {
    "lasso": "draw around heads",
    "brush": "select a region",
    "hover": "point at heads",
    "pan": "pan and zoom",
}
_HINTS = {
    "lasso": "Draw a line around points",
    "brush": "Drag a rectangle over points",
    "hover": "The head under the pointer; a click keeps it, Ctrl and a click adds",
    "pan": "Drag to move, wheel to zoom",
}


_PATIENCE = 0.05
"""Seconds in which all marks have told what is chosen."""


class PointBox(HeadBox):
    """A box with a `PointFigure`, a switch for what the pointer does, and often a grid of the same heads.

    A subclass has a trait ``mode``, sets `_current` and `_figure`, and calls `_place_heads`, `_switch_of`, `_connect`.
    """

    selected: Any = Heads(help="Chosen heads, the first one leads.")
    mode: Any

    _figure: Any
    _current: dict[str, Any]
    grid: HeadGrid | None

    def _place_heads(self) -> None:
        """Take the heads of the document: a point for each."""
        self._heads = [Head(KIND_ORDER[k], int(layer), int(index)) for k, layer, index in self._current["heads"]]
        self._place = {head: place for place, head in enumerate(self._heads)}
        self._setting = threading.local()
        self._by_hover = False
        self._waiting = False

    def _switch_of(self, modes: tuple[str, ...], wanted: Any) -> Any:
        """Buttons for what the pointer does."""
        return ipywidgets.ToggleButtons(
            options=[(MODE_NAMES[mode], mode) for mode in modes],
            value=wanted if wanted in modes else modes[0],
            tooltips=[_HINTS[mode] for mode in modes],
            style={"button_width": "auto"},
        )

    def _connect(self, switch: Any) -> None:
        self._switch = switch
        if self.grid is not None:
            follow(self.grid, self, "selected", self._links, back=True)
        self.observe(self._selected_set, "selected")
        self.observe(self._mode_set, "mode")
        switch.observe(self._switched, "value")
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

    def _ranked(self, heads: list[Head]) -> list[Head]:
        """Heads chosen together, the one that leads first."""
        return heads

    def _points_chosen(self, places: NDArray[Any]) -> None:
        """The browser drew a region or clicked.

        It tells so of every mark in a message of its own; were each taken alone, the grid would answer to half of them.
        """
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # no messages are coming
            self._take(places)
            return
        if not self._waiting:
            self._waiting = True
            loop.call_later(_PATIENCE, self._take_all)

    def _take_all(self) -> None:
        self._waiting = False
        if self._figure is not None:
            self._take(self._figure.selected)

    def _take(self, places: NDArray[Any]) -> None:
        heads = [self._heads[place] for place in places]
        if set(heads) == {head for head in self.selected if head in self._place}:
            return
        self._choose(tuple(self._ranked(heads)), by_hover=False)

    def _point_hovered(self, place: int) -> None:
        """The pointer is on a point: it is chosen while nothing else is."""
        if self.mode != "hover" or not 0 <= place < len(self._heads):
            return
        if self._by_hover or not self.selected:
            self._choose((self._heads[place],), by_hover=True)

    def _choose(self, heads: tuple[Head, ...], *, by_hover: bool) -> None:
        self._setting.figure = not by_hover  # a region has marked the points already
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
        """Return the document with the heads chosen now."""
        return {**self._current, "selected": to_wire(self.selected)}

    def close(self) -> None:
        """Take everything from the page; a grid that was given stays."""
        figure, self._figure = self.__dict__.get("_figure"), None
        if figure is not None:
            figure.close()
        super().close()


def expect_grid(grid: Any) -> HeadGrid | None:
    """The grid that was given, None for True and False.

    Raises:
        InputError: anything else.
    """
    if isinstance(grid, HeadGrid):
        return grid
    if grid is not True and grid is not False:
        raise InputError(f"grid is True, False or a HeadGrid, got {type(grid).__name__}")
    return None
