"""What every live widget does: one document in, view state out, work in the background, answers by number."""

import difflib
import logging
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import anywidget
import traitlets as t

from headwidgets.errors import Cancelled, HeadwidgetsError, InputError
from headwidgets.widgets import assets
from headwidgets.widgets.heads import Shapes
from headwidgets.widgets.lane import Lane, Task
from headwidgets.widgets.linking import Quiet
from headwidgets.widgets.outputs import Pictured
from headwidgets.wire.arrays import pack
from headwidgets.wire.source import Source

log = logging.getLogger("headwidgets")

_VIEW_STATE = ("selected", "pruned", "words", "hide_special", "mode", "view", "score", "kind", "count")

LIVE: "weakref.WeakSet[Any]" = weakref.WeakSet()
"""Widgets that were made and not collected yet; `headwidgets.doctor` lists those still open."""


def as_source(model: Any) -> Source:
    """Return what widgets ask about `model`; imports the engine only for a real model.

    Raises:
        InputError: it is not a model.
    """
    if isinstance(model, Source):
        return model
    if hasattr(model, "maps") and hasattr(model, "labels"):  # AttentionMaps or an Attribution
        from headwidgets import studio

        result: Source = studio.result(model)
        return result
    if not hasattr(model, "attend"):
        raise InputError(f"expected a model from hw.load(...) or hw.wrap(model, tokenizer), got {type(model).__name__}")
    from headwidgets import studio

    source: Source = studio.source(model)
    return source


def refuse_unknown(widget: Any, options: dict[str, Any]) -> None:
    """Raise `TypeError` for a keyword that is no trait of the widget (traitlets would swallow a typo)."""
    names = widget.trait_names()
    for name in options:
        if name not in names:
            near = difflib.get_close_matches(name, [n for n in names if not n.startswith("_")], 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"{type(widget).__name__} has no option {name!r}{hint}")


def sentence(error: BaseException) -> str:
    """Return an error as a sentence for the reader of a widget."""
    if isinstance(error, HeadwidgetsError):
        return str(error)
    return f"unexpected {type(error).__name__}: {error}"


class Reply(NamedTuple):
    """Work that answers a request."""

    work: Callable[[Task], None]
    replaces: str = ""
    """The word by which a newer request replaces an older one; empty for never."""
    about: Any = None


class HeadWidget(Quiet, Pictured, anywidget.AnyWidget):
    """Base of the live widgets: the document, its arrays and the requests about it.

    Messages from the browser may arrive on another thread than cells run on, and work reports from its own:
    traits that Python owns change through `_publish` only, which never blocks.
    """

    _script: ClassVar[str] = ""

    _esm = t.Unicode(help="The component's code.").tag(sync=True)
    _css = t.Unicode(help="The components' style sheet.").tag(sync=True)
    document = t.Dict(help="What is drawn: a document of headwidgets.wire, arrays by offset into `buffer`.").tag(
        sync=True
    )
    buffer = t.Bytes(help="The document's arrays, one after the other.").tag(sync=True)
    version = t.Int(help="Grows by one with every change of the document; sent last.").tag(sync=True)
    theme = t.Enum(("auto", "light", "dark"), "auto", help="Colours; auto follows the page.").tag(sync=True)
    status = t.Unicode(help="What is running, in words; empty when idle. An error ends here too.").tag(sync=True)
    kept = t.Bool(help="The page keeps this view when the saved output changes; our JupyterLab extension says so.").tag(
        sync=True, echo_update=False
    )

    shapes: Shapes

    def __init__(self, current: dict[str, Any], **options: Any) -> None:
        refuse_unknown(self, options)
        self._current = current
        self._guard = threading.RLock()
        self._outbox: deque[dict[str, Any]] = deque()
        self._here = threading.local()
        self._lane = Lane(f"headwidgets {type(self).__name__}", self._refresh_soon)
        document, buffer = pack(self._shown(current))
        super().__init__(document=document, buffer=buffer, version=1, **options)
        self.on_msg(self._receive)
        names = [name for name in _VIEW_STATE if self.has_trait(name)]
        self.observe(lambda _: self._refresh_soon(), names)
        LIVE.add(self)

    @t.default("_esm")
    def _default_esm(self) -> str:
        return assets.read(self._script)

    @t.default("_css")
    def _default_css(self) -> str:
        return assets.read("widgets.css")

    # ---- what is shown

    def _shown(self, current: dict[str, Any]) -> dict[str, Any]:
        """The document as the live widget needs it (the picture may need more)."""
        return current

    def _show(self, current: dict[str, Any], **traits: Any) -> None:
        """Replace the document, together with view state that belongs to it; safe from any thread."""
        self._current = current
        document, buffer = pack(self._shown(current))
        self._publish(document=document, buffer=buffer, **traits)

    def _publish(self, **traits: Any) -> None:
        """Set traits and send them in one message. Never blocks: whoever holds the turn sends it."""
        self._outbox.append(traits)
        self._flush()

    def _flush(self) -> None:
        while self._outbox and self._guard.acquire(blocking=False):
            try:
                changes: dict[str, Any] = {}
                while self._outbox:
                    changes.update(self._outbox.popleft())
                if "document" in changes:
                    changes["version"] = self.version + 1
                self.set_quietly(**changes)
                if self.comm is not None:
                    self.send_state(list(changes))
            finally:
                self._guard.release()

    def set_state(self, sync_data: Any) -> None:
        """Take in state from the browser (called by ipywidgets)."""
        with self._guard, self._receiving():
            super().set_state(sync_data)
        self._flush()

    # ---- requests

    def _receive(self, _: Any, content: Any, buffers: Any) -> None:
        """Queue a request of the browser; never blocks, never raises."""
        number = content.get("id") if isinstance(content, dict) else None
        if not isinstance(number, int) or isinstance(number, bool):
            log.warning("%s got a message without a number: %.80r", type(self).__name__, content)
            return
        try:
            request = self._work_for(content)
        except (HeadwidgetsError, KeyError, TypeError, ValueError) as error:
            self._answer_error(number, error)
            return
        work = self._answering(number, request.work)
        self._lane.submit(work, name=str(content.get("ask")), replaces=request.replaces, about=request.about)

    def _work_for(self, request: Any) -> "Reply":
        """Return the work that answers `request`."""
        raise InputError(f"{type(self).__name__} has no answer to {request.get('ask')!r}")

    def _answering(self, number: int, work: Callable[[Task], None]) -> Callable[[Task], None]:
        def run(task: Task) -> None:
            try:
                work(task)
            except Cancelled:
                raise
            except Exception as error:  # noqa: BLE001 - travels back to the reader as a sentence
                if not task.stopped:
                    self._answer_error(number, error)

        return run

    def _answer(self, answer: dict[str, Any], array_of: dict[str, Any] | None = None) -> None:
        """Send an answer; a head map's array goes into the message's one buffer."""
        if self.comm is None:
            return
        if array_of is None:
            self.send(answer)
            return
        head_map, buffer = pack(array_of)
        self.send({**answer, "map": head_map}, buffers=[buffer])

    def _answer_error(self, number: int, error: BaseException) -> None:
        if not isinstance(error, HeadwidgetsError):
            log.error("a request of %s failed", type(self).__name__, exc_info=error)
        self._answer({"id": number, "answer": "error", "message": sentence(error)})

    # ---- life

    def wait(self, timeout: float | None = None, *, background: bool = True) -> bool:
        """Block until the widget's running work is done; see `Pictured.wait`."""
        ended = self._lane.wait(timeout, background=background)
        self._settle_outputs()
        return ended

    def _busy(self) -> bool:
        return self._lane.busy

    def _first(self, seconds: float) -> None:
        """Give work that was just begun a moment, so that the first picture is whole and errors surface here."""
        try:
            self._lane.wait(seconds, background=False)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Cancel running work, free what the widget holds and take its views from the page."""
        lane = self.__dict__.get("_lane")
        if lane is not None:
            lane.close()
            self._free()
        super().close()

    def _free(self) -> None:
        """Let go of what the engine holds for this widget."""
