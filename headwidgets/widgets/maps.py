"""One text, heads on demand: what `AttentionView` and `AttributionView` share."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, cast

import traitlets as t

from headwidgets.errors import Cancelled, InputError
from headwidgets.scores import Head
from headwidgets.widgets.base import HeadWidget, Reply, as_source, sentence
from headwidgets.widgets.heads import as_head, check_heads, to_wire
from headwidgets.widgets.lane import Task
from headwidgets.wire.documents import HeadMap
from headwidgets.wire.source import TextSource

VIEWS = ("attention", "norm", "attribution")
"""What a map shows: weights; how large a vector each weight carries; what each link adds to the output."""

_KEPT_MAPS = 32
_PICTURED_MAPS = 4

_Key = tuple[str, Head, bool]


class TextWidget(HeadWidget):
    """A widget about one text: holds the engine's `TextSource` and the maps sent so far."""

    words = t.Bool(False, help="Positions are words instead of tokens.").tag(sync=True, echo_update=False)
    hide_special = t.Bool(False, help="Leave out tokens that the tokenizer added.").tag(sync=True, echo_update=False)

    selected: Any
    view: Any

    def __init__(
        self,
        model: Any,
        text: Any,
        current: Callable[[TextSource], dict[str, Any]],
        how: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self._source = as_source(model)
        self._how = {name: value for name, value in (how or {}).items() if value is not None}
        self._text: TextSource | None = self._source.text(text, **self._how)
        self._maps: OrderedDict[_Key, HeadMap] = OrderedDict()
        self._maps_lock = threading.Lock()
        self.shapes = {kind: self._source.shape(kind) for kind in self._source.kinds}
        try:
            super().__init__(current(self._text), **options)
        except BaseException:
            self._free()
            raise
        self.observe(self._follow_words, "words")

    # ---- the text

    def _look(self) -> TextSource:
        if self._text is None:
            raise InputError(f"this {type(self).__name__} is closed: make a new one")
        return self._text

    def show(self, text: Any) -> None:
        """Look at another text in place; the selection stays.

        Args:
            text: A text, or a pair as a tuple.

        Raises:
            InputError: the text cannot be used.
        """
        self._look()
        before, self._text = self._text, self._source.text(text, **self._how)
        with self._maps_lock:
            self._maps.clear()
        self._reload()
        if before is not None:
            before.close()

    def _reload(self) -> None:
        """Queue the work that makes the document anew for the present text and `words`."""
        self._lane.submit(self._guarded(lambda task: self._load(task, self.words)), name="text", replaces="text")

    def _load(self, task: Task, words: bool) -> None:
        """Make the document of the present text and show it, together with `words`."""
        raise NotImplementedError

    def _guarded(self, work: Callable[[Task], None]) -> Callable[[Task], None]:
        """Say in `status` what went wrong, and let `wait` raise it."""

        def run(task: Task) -> None:
            try:
                work(task)
            except Exception as error:
                if not task.stopped:
                    self._publish(status=sentence(error))
                raise

        return run

    def _follow_words(self, _: Any) -> None:
        if bool(self._current.get("words", self.words)) != self.words:
            self._reload()

    # ---- views

    @t.validate("view")
    def _check_view(self, proposal: Any) -> str:
        view = str(proposal["value"])
        self._refuse_lacking("attention" if view == "both" else view)
        return view

    def _refuse_lacking(self, view: str) -> None:
        """Raise `InputError` with the reason where a view cannot be shown."""
        reason = self._current.get("lacking", {}).get(view, "")
        if reason:
            raise InputError(reason)

    def _prepare(self, task: Task, view: str, words: bool, left: Callable[[], bool]) -> None:
        """Compute what the maps of a view need first; stops with `Cancelled` once `left()`."""

    def _leaving(self, view: str) -> Callable[[], bool]:
        """Return a function that says whether the user has left for another view since now."""
        return lambda: False

    # ---- maps

    def head_map(self, view: str, head: Head) -> HeadMap:
        """Return one head's map as it is drawn (index -1: of the whole layer).

        Args:
            view: ``attention``, ``norm`` or ``attribution``.
            head: Which one.

        Raises:
            InputError: no such view, or one that cannot be shown; the message says why.
        """
        if view not in VIEWS:
            raise InputError(f"a view is {', '.join(map(repr, VIEWS))}, got {view!r}")
        self._refuse_lacking(view)
        if view == "attribution" and not self._look().attributed:
            raise InputError("the attribution is not there yet: choose view='attribution' and call wait() first")
        return self._head_map(view, head, self.words)

    def _head_map(self, view: str, head: Head, words: bool) -> HeadMap:
        key = (view, head, words)
        text = self._look()
        with self._maps_lock:
            if key in self._maps:
                self._maps.move_to_end(key)
                return self._maps[key]
        found = text.head_map(view, (head.kind, head.layer, head.index), words)
        if text is self._text:
            self._remember(found, words)
        return found

    def _remember(self, found: HeadMap, words: bool) -> None:
        with self._maps_lock:
            self._maps[(found["view"], as_head(found["head"]), words)] = found
            while len(self._maps) > _KEPT_MAPS:
                self._maps.popitem(last=False)

    def _pictured_maps(self, view: str) -> list[HeadMap]:
        """The maps of the first selected heads, the leading one first."""
        words = bool(self._current.get("words", self.words))
        return [self._head_map(view, head, words) for head in self.selected[:_PICTURED_MAPS]]

    # ---- requests

    def _work_for(self, request: Any) -> Reply:
        number = request["id"]
        if request.get("ask") == "head_map":
            head, view = as_head(request["head"]), str(request["view"])
            check_heads((head,), self.shapes, whole_layers=True)
            if view not in VIEWS:
                raise InputError(f"a view is {', '.join(map(repr, VIEWS))}, got {view!r}")
            self._refuse_lacking(view)

            left = self._leaving(view)

            def send_map(task: Task) -> None:
                try:
                    self._prepare(task, view, bool(request["words"]), left)
                except Cancelled:
                    if task.stopped or not left():
                        raise
                    self._answer({"id": number, "answer": "done"})  # without a map: whoever still wants it asks again
                    return
                found = self._head_map(view, head, bool(request["words"]))
                if not task.stopped:
                    self._answer({"id": number, "answer": "head_map"}, cast(dict[str, Any], found))

            return Reply(send_map)
        if request.get("ask") == "words":
            words = bool(request["words"])

            def switch(task: Task) -> None:
                if bool(self._current.get("words")) != words:
                    self._load(task, words)
                if not task.stopped:
                    self._answer({"id": number, "answer": "done"})

            return Reply(switch, "text")
        return super()._work_for(request)

    def picture(self) -> dict[str, Any]:
        """Return the document with the view state of now."""
        return {**self._current, "selected": to_wire(self.selected)}

    def _free(self) -> None:
        text, self._text = getattr(self, "_text", None), None
        if text is not None:
            text.close()
        with self._maps_lock:
            self._maps.clear()
