"""What live charts of heads share: who chose which points in the browser."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

SELECTED = "#e0559b"
FONT = 'Helvetica, Arial, "Liberation Sans", sans-serif'

Places = NDArray[np.int64]


class PointFigure:
    """A bqplot figure whose points are heads, in one mark or several.

    Attributes:
        figure: The bqplot figure.
    """

    figure: Any

    def __init__(self) -> None:
        self._points: list[tuple[Places, Any]] = []
        self._tools: dict[str, Any] = {}
        self._setting = False
        self._mode = ""
        self._drawn = False  # the browser has drawn a region since the last choice from elsewhere
        self._chosen: Callable[[Places], None] | None = None
        self._hovered: Callable[[int], None] | None = None

    def on_select(self, chosen: Callable[[Places], None]) -> None:
        """Tell which points the browser selects, as numbers of points."""
        self._chosen = chosen

    def on_hover(self, hovered: Callable[[int], None]) -> None:
        """Tell on which point the pointer is."""
        self._hovered = hovered

    def _follow(self, places: Places, mark: Any) -> None:
        """Listen to a mark; `places` are the numbers of its points."""

        def selected(_: Any) -> None:
            if not self._setting and self._chosen is not None:
                self._drawn = True
                self._chosen(self.selected)

        def hovered(_: Any, content: Any) -> None:
            index = (content.get("data") or {}).get("index")
            if isinstance(index, int) and 0 <= index < len(places) and self._hovered is not None:
                self._hovered(int(places[index]))

        self._points.append((places, mark))
        mark.observe(selected, "selected")
        mark.on_hover(hovered)

    @property
    def selected(self) -> Places:
        """Numbers of the selected points."""
        found = [np.empty(0, dtype=np.int64)]
        for places, mark in self._points:
            if mark.selected is not None:
                own = np.asarray(mark.selected, dtype=np.int64).ravel()
                found.append(places[own[(own >= 0) & (own < len(places))]])
        return np.concatenate(found)

    def select(self, wanted: list[int]) -> None:
        """Mark points."""
        self._setting = True
        try:
            for places, mark in self._points:
                own = np.flatnonzero(np.isin(places, wanted))
                # other marks fade too, although none of theirs is chosen
                mark.selected = own if len(own) or wanted else None
        finally:
            self._setting = False

    def set_mode(self, mode: str) -> None:
        """What the pointer does: the name of a tool; any other only points."""
        self._mode = mode
        self.figure.interaction = self._tools.get(mode)

    def close(self) -> None:
        """Take the figure and everything in it from the page."""
        for _, mark in self._points:
            if mark.tooltip is not None:
                mark.tooltip.close()
            mark.close()
        for tool in self._tools.values():
            tool.close()
        self.figure.close()


def point_names(heads: Any) -> list[str]:
    """Names of heads [points, 3], with their kind where there are several."""
    rows = np.asarray(heads)
    kinds = ("encoder", "decoder", "cross")
    several = len(np.unique(rows[:, 0])) > 1
    return [(f"{kinds[kind]}." if several else "") + f"L{layer}H{index}" for kind, layer, index in rows.tolist()]
