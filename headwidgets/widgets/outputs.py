"""What does a notebook keep, and how does a widget become a figure? Mixed into every widget, boxes too."""

import os
import threading
import uuid
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headwidgets.errors import HeadwidgetsError, InputError

_KEPT_OUTPUTS = 8
_CALM = 1.0
"""Seconds without a change after which the saved output follows what the user chose."""


class Pictured:
    """A widget with a document behind it: `save`, and an output that still shows its picture when reopened."""

    comm: Any
    model_id: str

    def picture(self) -> Any:
        """Return the document of what is shown now, view state included, with NumPy arrays."""
        raise NotImplementedError

    def summary(self) -> str:
        """Return one line of text that says what is shown."""
        raise NotImplementedError

    def wait(self, timeout: float | None = None) -> bool:
        """Block until the widget's running work is done.

        Args:
            timeout: In seconds; None waits as long as it takes. An interrupt ends the wait, not the work.

        Returns:
            False if `timeout` passed first.

        Raises:
            The error of work that failed since the last call.
        """
        self._settle_outputs()
        return True

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        theme: str | None = None,
        width: int | None = None,
        dpi: float = 192,
        background: bool = True,
        provenance: bool = False,
        wait: bool = True,
    ) -> Path:
        """Write what is shown as a figure; needs no browser.

        Args:
            path: Ends in ``.svg``, ``.png``, ``.pdf`` (vectors) or ``.html`` (interactive, one file, no network).
            theme: ``light`` or ``dark``; None is light, and the reader's own choice for HTML.
            width: In CSS pixels; None lets the component choose.
            dpi: Dots per inch of a PNG.
            background: Paint the theme's background; False leaves it transparent.
            provenance: Print how the result was made as a foot line.
            wait: Wait for the widget's running work first; False saves what is there now.

        Returns:
            The path written. The file appears whole or not at all.

        Raises:
            InputError: the suffix or an option cannot be used.
            DrawingError: the front end is not built, or a package for the format is missing.
        """
        from headwidgets.figures import formats

        if not isinstance(path, (str, os.PathLike)):
            raise InputError(f"expected the path of a figure, such as 'figure.pdf', got {type(path).__name__}")
        target = Path(path).expanduser()
        formats.check(target)
        if wait:
            self.wait()
        content = formats.encode(
            self.picture(),
            target.suffix.lower(),
            theme=theme,
            width=width,
            dpi=dpi,
            background=background,
            provenance=provenance,
        )
        return formats.write(target, content)

    def __repr__(self) -> str:
        return self.summary()

    def _bundle(self) -> dict[str, Any]:
        from headwidgets.figures.saved import bundle

        live = getattr(self, "comm", None) is not None
        view = {"version_major": 2, "version_minor": 0, "model_id": self.model_id} if live else None
        return bundle(self.picture(), self.summary(), view)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None, **_: Any) -> dict[str, Any]:
        data = self._bundle()
        return {
            mime: value
            for mime, value in data.items()
            if (not include or mime in include) and not (exclude and mime in exclude)
        }

    def _ipython_display_(self, **_: Any) -> None:
        """Show the widget in an output that can be brought up to date when its work is done."""
        from IPython.display import publish_display_data

        identity = uuid.uuid4().hex
        data = self._bundle()
        publish_display_data(data, transient={"display_id": identity})
        if getattr(self, "comm", None) is not None:
            shown = self.__dict__.setdefault("_outputs", _Outputs())
            shown.remember(identity, data)

    def _busy(self) -> bool:
        """Whether the widget's work runs or waits."""
        return False

    def _refresh_soon(self) -> None:
        """Bring the saved output up to date when nothing has happened for a moment; never blocks.

        Where a page would build the live view anew (any but JupyterLab with our extension, which says so by `kept`),
        this happens once, when the first work is done: later it would take the focus from under the user's hand.
        """
        shown: _Outputs | None = self.__dict__.get("_outputs")
        if shown is not None and getattr(self, "comm", None) is not None and shown.may_update(_any_kept(self)):
            shown.later(weakref.WeakMethod(self._refresh_outputs))

    def _refresh_outputs(self) -> None:
        """Replace what the notebook keeps of the widget by its present state; safe from any thread."""
        shown: _Outputs | None = self.__dict__.get("_outputs")
        if shown is None or getattr(self, "comm", None) is None:
            return
        if self._busy():  # drawing would be in the way of an answer; the end of the work calls again
            return
        try:
            data = self._bundle()
        except HeadwidgetsError:  # closed meanwhile, or nothing to draw: the first state stays
            return
        if getattr(self, "comm", None) is not None:
            shown.update(data)

    def _settle_outputs(self) -> None:
        """Do now what `_refresh_soon` planned; for whoever waits."""
        shown: _Outputs | None = self.__dict__.get("_outputs")
        if shown is not None and shown.forget_plan():
            self._refresh_outputs()


class _Outputs:
    """The outputs of one widget in its notebook."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._identities: list[str] = []
        self._last: dict[str, Any] = {}
        self._updates = 0
        self._timer: threading.Timer | None = None

    def remember(self, identity: str, data: dict[str, Any]) -> None:
        with self._lock:
            self._identities = [*self._identities, identity][-_KEPT_OUTPUTS:]
            self._last = data
            self._updates = 0

    def may_update(self, kept: bool) -> bool:
        with self._lock:
            return kept or self._updates == 0

    def forget_plan(self) -> bool:
        """Whether an update was planned; it is no more."""
        with self._lock:
            planned, self._timer = self._timer, None
            if planned is not None:
                planned.cancel()
            return planned is not None

    def later(self, refresh: Callable[[], Callable[[], None] | None]) -> None:
        """Call what `refresh` refers to, if it is still there, once nothing has asked for a moment."""

        def run() -> None:
            self.forget_plan()
            function = refresh()
            if function is not None:
                function()

        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(_CALM, run)
            self._timer.daemon = True
            self._timer.start()

    def update(self, data: dict[str, Any]) -> None:
        from IPython.display import publish_display_data

        with self._lock:
            if data == self._last:
                return
            self._last = data
            self._updates += 1
            # The message names the cell that runs now as its parent, not the one that showed the widget: JupyterLab
            # finds the output by its display_id anyway, and runners without a browser drop what is not of this cell.
            for identity in self._identities:
                publish_display_data(data, transient={"display_id": identity}, update=True)


def _any_kept(widget: Any) -> bool:
    return bool(getattr(widget, "kept", False)) or any(_any_kept(child) for child in getattr(widget, "children", ()))
