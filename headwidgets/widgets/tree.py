"""How does information flow to the prediction? The attribution tree of one text."""

from typing import Any, cast

import numpy as np
import traitlets as t

from headwidgets.errors import InputError
from headwidgets.widgets.base import HeadWidget, as_source, sentence
from headwidgets.widgets.lane import Task
from headwidgets.wire.documents import SCHEMA
from headwidgets.wire.growth import ORDERS, Grown, TreeEdge, grow
from headwidgets.wire.source import TextSource

_STATE = ("threshold", "penalty", "collapsed")


class AttributionTree(HeadWidget):
    """The attribution tree (Hao et al. 2021, Algorithm 1): tokens below, layers upward, edges as wide as they weigh.

    The tree is grown anew in the browser while the sliders move; `edges`, `save` and the saved output follow.

    Example:
        >>> tree = AttributionTree(model, "A funny, touching film.")
        >>> tree.threshold = 0.2; tree.edges; tree.save("tree.svg")
    """

    _script = "tree.js"

    threshold = t.Float(0.4, help="tau: an edge exceeds this share of the largest entry of its layer.").tag(
        sync=True, echo_update=False
    )
    penalty = t.Float(0.0, help="lambda: an edge weighs more than this share of the heaviest one.").tag(
        sync=True, echo_update=False
    )
    collapsed = t.Bool(False, help="Positions are words instead of tokens.").tag(sync=True, echo_update=False)
    selected_edge = t.List(
        t.Int(), default_value=[], help="The edge chosen in the picture, [layer, query, key]; empty for none."
    ).tag(sync=True, echo_update=False)

    def __init__(
        self,
        attribution: Any,
        text: Any = None,
        *,
        target: Any = None,
        output: str | None = None,
        threshold: float = 0.4,
        penalty: float = 0.0,
        collapsed: bool = False,
        kind: str | None = None,
        root: Any = "auto",
        order: str = "strongest",
        position: Any = None,
        tolerance: float | None = None,
        wait: float | None = 2.0,
        **options: Any,
    ) -> None:
        """Grow and show the tree of one text.

        Args:
            attribution: An `Attribution`, a `Tree` (with its own numbers), or a model from `hw.load` or `hw.wrap`.
            text: With a model: a text, or a pair as a tuple.
            target: With a model: what is attributed, as for `hw.attribution.attribute`.
            output: With a model: name of the quantity, as there.
            threshold: tau, from 0 to below 1.
            penalty: lambda, from 0 to 1, as a share of the heaviest edge.
            collapsed: Words instead of tokens.
            kind: Which attention, for encoder-decoders.
            root: Where the prediction is read, as for `hw.attribution.tree`.
            order: In which edges of a layer are tried, as there.
            position: With a model: where it predicts, as for `hw.attribution.attribute`.
            tolerance: With a model: of the integration, as there.
            wait: Seconds to wait for the result before showing progress instead; None waits for it.
            **options: Other traits, for example ``theme="dark"``.

        Raises:
            InputError: the text or a number cannot be used.
            UnsupportedError: the model gives no attribution, or the kind has no tree.
            TypeError: an option is not known.
        """
        self._text: TextSource | None = None
        if order not in ORDERS:
            raise InputError(f"expected order 'strongest' or 'published', got {order!r}")
        self._options: dict[str, Any] = {"root": root, "order": order} | ({"kind": kind} if kind is not None else {})
        finished = hasattr(attribution, "document") and hasattr(attribution, "terminals")
        if finished:
            if text is not None:
                raise InputError("a tree is about its own text: leave the text out, or pass the model with it")
            current = cast(dict[str, Any], attribution.document())
            threshold, penalty, collapsed = (current[name] for name in _STATE)
        else:
            how = {"target": target, "output": output, "position": position, "tolerance": tolerance}
            given = {name: value for name, value in how.items() if value is not None}
            self._text = as_source(attribution).text(text, **given)
            current = _pending("" if text is None else str(text), order)
        try:
            super().__init__(
                current,
                threshold=_checked("threshold", threshold),
                penalty=_checked("penalty", penalty),
                collapsed=bool(collapsed),
                status="" if finished else "Attribution begins.",
                **options,
            )
        except BaseException:
            self._free()
            raise
        self.observe(lambda _: self._refresh_soon(), list(_STATE))
        if not finished:
            self._lane.submit(self._load, name="tree", replaces="tree")
            self._first(1e9 if wait is None else wait)
        self._raise_to_floor()

    @t.validate("threshold", "penalty")
    def _check_share(self, proposal: Any) -> float:
        return _checked(proposal["trait"].name, proposal["value"])

    def _load(self, task: Task) -> None:
        try:
            self._grow(task)
        except Exception as error:
            if not task.stopped:
                self._publish(status=sentence(error))
            raise

    def _grow(self, task: Task) -> None:
        text = self._text
        if text is None:
            raise InputError("this AttributionTree is closed: make a new one")

        def progress(done: int, total: int) -> None:
            if not task.stopped:
                self._publish(status=f"Attribution: layer {done} of {total}.")

        options = {**self._options, "threshold": self.threshold, "penalty": self.penalty}
        document = cast(dict[str, Any], text.tree(options, progress, task.cancelled))
        if not task.stopped:
            self._show(document, status="")
            self._raise_to_floor()

    def _raise_to_floor(self) -> None:
        """Edges below the floor were left out, so tau begins there."""
        floor = max((level["floor"] for level in self._current["levels"]), default=0.0)
        if self.threshold < floor:
            self._publish(threshold=floor)

    # ---- the tree as it is now

    def _level(self) -> dict[str, Any]:
        levels = self._current["levels"]
        if not levels:
            raise InputError(f"there is no tree yet: {self.status or 'call wait() first'}")
        return cast(dict[str, Any], levels[-1] if self.collapsed else levels[0])

    def _grown(self) -> Grown:
        level = self._level()
        return grow(level, max(self.threshold, level["floor"]), self.penalty, self._current["order"])

    @property
    def edges(self) -> tuple[TreeEdge, ...]:
        """The edges on show, (layer, query, key, weight, share), in the order in which they were taken.

        Raises:
            InputError: the attribution is still being computed.
        """
        return self._grown().edges

    @property
    def terminals(self) -> tuple[TreeEdge, ...]:
        """The ties from the root to every node in the last layer; the first is the top node's."""
        return self._grown().terminals

    @property
    def top(self) -> int | None:
        """The top node's position; None when there is no other position than the root."""
        found = self._grown().top
        return found if found >= 0 else None

    @property
    def root(self) -> int | None:
        """The position that the prediction is read at; None when it is read nowhere in particular."""
        found = int(self._level()["root"])
        return found if found >= 0 else None

    @property
    def objective(self) -> float:
        """Sum of the weights of `edges`, less the penalty for each, in the unit of the output."""
        return self._grown().objective

    @property
    def labels(self) -> list[str]:
        """The text of every position, tokens or words."""
        document, count = self._current, int(self._level()["count"])
        if count == len(document["tokens"]):
            return [token["text"] for token in document["tokens"]]
        out = [""] * count
        for token, word in zip(document["tokens"], document["words"], strict=True):
            out[word] += "" if token["continued"] else token["text"]
        return out

    def picture(self) -> dict[str, Any]:
        """Return the document with tau, lambda and the level of now."""
        return {**self._current, **{name: getattr(self, name) for name in _STATE}}

    def summary(self) -> str:
        """Return one line: what was attributed, and the size of the tree."""
        document = self._current
        if not document["levels"]:
            return f"AttributionTree({self.status or 'no result yet'})"
        return (
            f"AttributionTree({document['output']} of {document['target']!r}; {len(self.edges)} edges in"
            f" {document['layers']} layers; threshold {self.threshold:g}, penalty {self.penalty:g})"
        )

    def _free(self) -> None:
        text, self._text = self._text, None
        if text is not None:
            text.close()


def _checked(name: str, value: Any) -> float:
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not number or not 0 <= value <= 1 or (name == "threshold" and value == 1):
        most = "below 1" if name == "threshold" else "1"
        raise InputError(f"expected {name} to be a number from 0 to {most}, got {value!r}")
    return float(value)


def _pending(text: str, order: str) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "document": "tree",
        "title": "Attribution tree",
        "text": text,
        "target": "",
        "output": "",
        "unit": "",
        "value": 0.0,
        "kind": "encoder",
        "layers": 0,
        "tokens": [],
        "words": [],
        "levels": [],
        "order": order,
        "threshold": 0.4,
        "penalty": 0.0,
        "collapsed": False,
        "notes": [],
        "provenance": None,
    }
