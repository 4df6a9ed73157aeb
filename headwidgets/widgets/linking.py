"""How do widgets follow each other? Links that work in the browser alone and in Python alone.

In a page the browser links the models itself, so that a grid follows a slider without the kernel. Python
mirrors the same value without sending it: a late echo of an old value can then never make a handle jump back.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ipywidgets


class Quiet:
    """Mixed into a widget: traits that are set without being sent, and knowing what the browser sent."""

    _here: threading.local

    def set_quietly(self, **traits: Any) -> None:
        """Set traits without sending them; observers in Python are told."""
        before: frozenset[str] = getattr(self._here, "names", frozenset())
        self._here.names = before | frozenset(traits)
        try:
            for name, value in traits.items():
                self.set_trait(name, value)  # type: ignore[attr-defined]
        finally:
            self._here.names = before

    @property
    def from_browser(self) -> bool:
        """Whether this thread is taking in state that the browser sent."""
        return bool(getattr(self._here, "receiving", False))

    @contextmanager
    def _receiving(self) -> Iterator[None]:
        self._here.receiving = True
        try:
            yield
        finally:
            self._here.receiving = False

    def _should_send_property(self, key: str, value: Any) -> bool:
        here = self.__dict__.get("_here")
        if here is not None and key in getattr(here, "names", ()):
            return False
        return bool(super()._should_send_property(key, value))  # type: ignore[misc]


def follow(source: Any, target: Any, name: str, links: list[Any], back: bool = False) -> None:
    """Make trait `name` of `target` follow that of `source`, in the browser and in Python.

    Args:
        source: A widget of ours.
        target: Another.
        name: Of the trait on both.
        links: Gets the browser's link, to be closed with the widgets.
        back: Let `source` follow `target` too.
    """
    link = ipywidgets.jslink if back else ipywidgets.jsdlink
    links.append(link((source, name), (target, name)))
    _mirror(source, target, name)
    if back:
        source_of = target

        def set_back(change: Any) -> None:
            if getattr(source, name) != change["new"]:
                if source_of.from_browser:
                    source.set_quietly(**{name: change["new"]})
                else:
                    setattr(source, name, change["new"])

        target.observe(set_back, name)


def _mirror(source: Any, target: Any, name: str) -> None:
    def mirror(change: Any) -> None:
        if getattr(target, name) != change["new"]:
            target.set_quietly(**{name: change["new"]})

    source.observe(mirror, name)
    mirror({"new": getattr(source, name)})
