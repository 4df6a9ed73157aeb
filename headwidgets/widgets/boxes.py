"""Widgets made of widgets: what the composed ones share."""

import threading
import weakref
from typing import Any

import ipywidgets

from headwidgets.widgets.base import LIVE, refuse_unknown
from headwidgets.widgets.linking import Quiet
from headwidgets.widgets.outputs import Pictured


class HeadBox(Quiet, Pictured, ipywidgets.VBox):
    """A column of widgets with a document of its own."""

    def __init__(self, children: Any, **options: Any) -> None:
        refuse_unknown(self, options)
        self._here = threading.local()
        self._links: list[Any] = []
        super().__init__(children=children, **options)
        self.observe(lambda _: self._refresh_soon(), [n for n in ("selected", "count") if self.has_trait(n)])
        LIVE.add(self)

    def set_state(self, sync_data: Any) -> None:
        """Take in state from the browser (called by ipywidgets)."""
        with self._receiving():
            super().set_state(sync_data)

    def _busy(self) -> bool:
        return _busy_inside(self)

    def close(self) -> None:
        """Cancel running work, free what is held and take everything from the page."""
        for link in self.__dict__.get("_links", ()):
            link.close()
        children = self.children if self.comm is not None else ()
        super().close()
        for child in children:
            _close(child)


def _close(widget: Any) -> None:
    for child in getattr(widget, "children", ()):
        _close(child)
    widget.close()


def _busy_inside(widget: Any) -> bool:
    """Whether any widget of ours inside a box is at work."""
    inside = getattr(widget, "children", ())
    return any(child._busy() if isinstance(child, Pictured) else _busy_inside(child) for child in inside)


def refresher(widget: Pictured) -> Any:
    """Return a callback that brings the saved output of `widget` up to date, without keeping it alive."""
    reference = weakref.ref(widget)

    def refresh() -> None:
        alive = reference()
        if alive is not None:
            alive._refresh_soon()

    return refresh
