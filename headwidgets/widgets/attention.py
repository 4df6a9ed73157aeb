"""Where do heads look in one text?"""

from collections.abc import Callable
from typing import Any, cast

import traitlets as t

from headwidgets.errors import Cancelled
from headwidgets.widgets.heads import Heads, as_heads
from headwidgets.widgets.lane import Task
from headwidgets.widgets.maps import VIEWS, TextWidget
from headwidgets.wire.source import TextSource

_FIRST_SECONDS = 2.0
"""What another view than attention may take before progress is shown instead."""


class AttentionView(TextWidget):
    """Attention of one text: an overview of all heads, and token-to-token lines or a matrix of chosen heads.

    The same heads can be seen in two more views: ``norm``, how large a vector each weight carries (Kobayashi et al.
    2020), and ``attribution``, what each link adds to the model's prediction (computed when it is first asked for,
    with the defaults of `hw.attribution.attribute`; `AttributionView` has its options).

    Example:
        >>> view = AttentionView(model, "The cat sat on the mat.", selected=[Head("encoder", 3, 7)])
        >>> view.save("head.pdf")
    """

    _script = "attention.js"
    _departures = 0  # how often a view other than attribution was chosen

    selected: Any = Heads(help="Chosen heads; the first one leads.")
    view = t.Enum(VIEWS, "attention", help="Which maps of chosen heads are shown.").tag(sync=True, echo_update=False)
    mode = t.Enum(("lines", "matrix"), "lines", help="How a chosen head is drawn.").tag(sync=True, echo_update=False)

    def __init__(
        self,
        model: Any,
        text: Any = None,
        *,
        selected: Any = None,
        words: bool = False,
        hide_special: bool = False,
        mode: str = "lines",
        view: str = "attention",
        generate: int | None = None,
        **options: Any,
    ) -> None:
        """Look at one text.

        Args:
            model: From `hw.load` or `hw.wrap`; or `AttentionMaps`, what `HeadModel.attend` returned.
            text: A text, or a pair as a tuple; left out with maps.
            selected: Chosen heads; None chooses the first head.
            words: Positions are words (attention to a split word summed, from it averaged).
            hide_special: Leave out tokens that the tokenizer added.
            mode: ``lines`` or ``matrix``.
            view: ``attention``, ``norm`` or ``attribution``.
            generate: Tokens to generate behind a prompt, at most.
            **options: Other traits, for example ``theme="dark"``.

        Raises:
            InputError: the text cannot be used, a head does not exist, or the view cannot be shown.
            UnsupportedError: the model gives no attention maps.
            TypeError: an option is not known.
        """
        chosen: list[Any] = [] if selected is None else list(as_heads(selected))

        def first(source: TextSource) -> dict[str, Any]:
            document = cast(dict[str, Any], source.attention(words))
            if selected is None:
                chosen.extend(document["selected"])
            return document

        super().__init__(
            model,
            text,
            first,
            {"generate": generate},
            selected=chosen,
            words=words,
            hide_special=hide_special,
            mode=mode,
            view=view,
            **options,
        )
        for head_map in self._current["maps"]:
            self._remember(head_map, words)
        self.observe(self._follow_view, "view")
        if view != "attention":
            self._follow_view(None)
            self._first(_FIRST_SECONDS)

    # ---- views

    def _follow_view(self, _: Any) -> None:
        """Fetch what is shown now; the browser asks for maps too, a script does not."""
        if self.view != "attribution":
            self._departures += 1

        def fetch(task: Task) -> None:
            if self.status:
                self._publish(status="")
            view = self.view
            self._prepare(task, view, self.words, lambda: False)
            if not task.stopped:
                self._pictured_maps(view)

        self._lane.submit(self._guarded(fetch), name="view", replaces="view")

    def _leaving(self, view: str) -> Callable[[], bool]:
        before = self._departures  # not `self.view`: the browser may send a request before the trait that goes with it
        return lambda: view == "attribution" and self._departures > before

    def _prepare(self, task: Task, view: str, words: bool, left: Callable[[], bool]) -> None:
        """Attribute the model's prediction once, saying how far it is."""
        text = self._look()
        if view != "attribution" or text.attributed:
            return

        def cancelled() -> bool:
            return task.cancelled() or left()

        if cancelled():
            raise Cancelled("another view was chosen before the attribution was there")

        def progress(done: int, total: int) -> None:
            if not task.stopped:
                self._publish(status=f"Attribution: layer {done} of {total}.")

        self._publish(status="Attribution begins.")
        try:
            text.attribution(words, progress, cancelled)
        finally:
            self._publish(status="")

    def _view(self) -> str:
        """The view whose maps are there."""
        return self.view if self.view != "attribution" or self._look().attributed else "attention"

    def _load(self, task: Task, words: bool) -> None:
        document = cast(dict[str, Any], self._look().attention(words))
        if task.stopped:
            return
        for head_map in document["maps"]:
            self._remember(head_map, words)
        if self.selected:
            document = {**document, "maps": [self._head_map(self._view(), self.selected[0], words)]}
        self._show(document, words=words, status="")

    def picture(self) -> dict[str, Any]:
        """Return the attention document with the maps of the chosen heads."""
        view = self._view()
        return {
            **super().picture(),
            "view": view,
            "maps": self._pictured_maps(view),
            "hide_special": self.hide_special,
            "mode": self.mode,
        }

    def summary(self) -> str:
        """Return one line: sizes and what is chosen."""
        sizes = ", ".join(
            f"{panel['kind']} {panel['layers']} x {panel['heads']} heads, {len(panel['query'])} x {len(panel['key'])}"
            for panel in self._current["panels"]
        )
        what = "words" if self._current["words"] else "tokens"
        view = "" if self.view == "attention" else f", view {self.view}"
        return f"AttentionView({sizes} {what}; {len(self.selected)} selected{view})"
