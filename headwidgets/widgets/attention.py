"""Where do heads look in one text?"""

from typing import Any, cast

import traitlets as t

from headwidgets.widgets.heads import Heads, as_heads
from headwidgets.widgets.lane import Task
from headwidgets.widgets.maps import TextWidget
from headwidgets.wire.source import TextSource


class AttentionView(TextWidget):
    """Attention of one text: an overview of all heads, and token-to-token lines or a matrix of chosen heads.

    Example:
        >>> view = AttentionView(model, "The cat sat on the mat.", selected=[Head("encoder", 3, 7)])
        >>> view.save("head.pdf")
    """

    _script = "attention.js"

    selected: Any = Heads(help="Chosen heads; the first one leads.")
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
            generate: Tokens to generate behind a prompt, at most.
            **options: Other traits, for example ``theme="dark"``.

        Raises:
            InputError: the text cannot be used, or a head does not exist.
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
            **options,
        )
        for head_map in self._current["maps"]:
            self._remember(head_map, words)

    def _load(self, task: Task, words: bool) -> None:
        document = cast(dict[str, Any], self._look().attention(words))
        if task.stopped:
            return
        for head_map in document["maps"]:
            self._remember(head_map, words)
        if self.selected:
            document = {**document, "maps": [self._head_map("attention", self.selected[0], words)]}
        self._show(document, words=words, status="")

    def picture(self) -> dict[str, Any]:
        """Return the attention document with the maps of the chosen heads."""
        return {
            **super().picture(),
            "maps": self._pictured_maps("attention"),
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
        return f"AttentionView({sizes} {what}; {len(self.selected)} selected)"
