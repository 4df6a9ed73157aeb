"""Which links between tokens carry a prediction?"""

from typing import Any, cast

import traitlets as t

from headwidgets.widgets.heads import Heads, as_heads
from headwidgets.widgets.lane import Task
from headwidgets.widgets.maps import TextWidget
from headwidgets.wire.documents import SCHEMA


class AttributionView(TextWidget):
    """Attribution of one text: tokens shaded by what they carry, per layer, per head or summed.

    The computation runs in the background; `status` says how far it is, `wait()` blocks until it is done.

    Example:
        >>> view = AttributionView(model, "A funny, touching film.")
        >>> view.wait(); view.save("attribution.svg")
    """

    _script = "attribution.js"

    selected: Any = Heads(whole_layers=True, help="The first one is shown; index -1 is the sum over a layer's heads.")
    view = t.Enum(
        ("attribution", "attention", "norm", "both"),
        "attribution",
        help="Which maps are shown; both puts attribution and attention side by side.",
    ).tag(sync=True, echo_update=False)

    def __init__(
        self,
        model: Any,
        text: Any = None,
        *,
        target: Any = None,
        output: str | None = None,
        position: Any = None,
        tolerance: float | None = None,
        selected: Any = None,
        view: str = "attribution",
        words: bool = False,
        hide_special: bool = False,
        wait: float | None = 2.0,
        **options: Any,
    ) -> None:
        """Attribute the model's prediction for one text.

        Args:
            model: From `hw.load` or `hw.wrap`; or an `Attribution`, what `hw.attribution.attribute` returned.
            text: A text, or a pair as a tuple; left out with an attribution.
            target: What is attributed, as for `hw.attribution.attribute`; None is what the model predicts.
            output: Name of the quantity, as there.
            position: Where the model predicts, as there.
            tolerance: Of the integration, as there.
            selected: The head to show (index -1: the sum over its layer); None shows what carries most.
            view: ``attribution``, ``attention``, ``norm`` (how large a vector each weight carries, Kobayashi et al.
                2020), or ``both``: attribution and attention side by side.
            words: Positions are words instead of tokens.
            hide_special: Leave out tokens that the tokenizer added.
            wait: Seconds to wait for the result before showing progress instead; None waits for it.
            **options: Other traits, for example ``theme="dark"``.

        Raises:
            InputError: the text cannot be used, or a head does not exist.
            UnsupportedError: the model gives no attribution.
            TypeError: an option is not known.
        """
        super().__init__(
            model,
            text,
            lambda _: _pending("" if text is None else str(text), words),
            {"target": target, "output": output, "position": position, "tolerance": tolerance},
            selected=as_heads(selected),
            view=view,
            words=words,
            hide_special=hide_special,
            status="Attribution begins.",
            **options,
        )
        self._reload()
        self._first(1e9 if wait is None else wait)

    def _load(self, task: Task, words: bool) -> None:
        text = self._look()

        def progress(done: int, total: int) -> None:
            if not task.stopped:
                self._publish(status=f"Attribution: layer {done} of {total}.")

        document = cast(dict[str, Any], text.attribution(words, progress, task.cancelled))
        if task.stopped:
            return
        for head_map in document["maps"]:
            self._remember(head_map, words)
        traits: dict[str, Any] = {"words": words, "status": ""}
        if not self.selected:
            traits["selected"] = document["selected"]
        elif not self._has_map(document):
            document = {**document, "maps": [self._head_map("attribution", self.selected[0], words)]}
        self._show({**document, "words": words}, **traits)

    def _has_map(self, document: dict[str, Any]) -> bool:
        first = list(self.selected[0])
        return any(list(head_map["head"]) == first for head_map in document["maps"])

    def _shown(self, current: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in current.items() if key != "words"}

    def picture(self) -> dict[str, Any]:
        """Return the attribution document with the maps of what is shown."""
        document = self._shown(super().picture())
        if not document["panels"]:
            return document
        views = ["attribution"]  # the shaded tokens are always of the attribution
        if self.view != "attribution":
            views.append("attention" if self.view == "both" else self.view)
        maps = [found for view in views for found in self._pictured_maps(view)[:1]]
        return {**document, "view": self.view, "maps": maps}

    def summary(self) -> str:
        """Return one line: what was attributed, and the largest integration error."""
        document = self._current
        if not document["panels"]:
            return f"AttributionView({self.status or 'no result yet'})"
        gap = max(float(panel["gap"].max()) for panel in document["panels"])
        return (
            f"AttributionView({document['output']} of {document['target']} = {document['value']:.4g};"
            f" largest integration error {gap:.2g})"
        )


def _pending(text: str, words: bool) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "document": "attribution",
        "title": "Attribution",
        "text": text,
        "target": "",
        "output": "",
        "unit": "",
        "value": 0.0,
        "rule": "",
        "tolerance": 0.0,
        "panels": [],
        "maps": [],
        "selected": [],
        "words": words,
        "provenance": None,
    }
