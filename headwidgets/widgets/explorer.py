"""Everything about one model on a page: grid, text, attribution and pruning, linked."""

from typing import Any

import ipywidgets
import traitlets as t

from headwidgets.errors import InputError, UnsupportedError
from headwidgets.widgets.attention import AttentionView
from headwidgets.widgets.attribution import AttributionView
from headwidgets.widgets.base import as_source, sentence
from headwidgets.widgets.boxes import HeadBox, refresher
from headwidgets.widgets.grid import HeadGrid
from headwidgets.widgets.heads import Heads
from headwidgets.widgets.lane import Task
from headwidgets.widgets.linking import follow
from headwidgets.widgets.pruning import PruningExplorer
from headwidgets.wire.documents import SCHEMA

_MOST_CHOICES = 200
_CHOICE_LENGTH = 90


class Explorer(HeadBox):
    """The linked dashboard: a head chosen in the grid is the one that the views of the text show.

    Its parts are widgets of their own: `grid`, `attention`, `attribution` and, with labels, `pruning`.

    Example:
        >>> dashboard = explore(model, texts, labels)
        >>> dashboard.selected = [Head("encoder", 3, 7)]; dashboard.text = texts[4]
    """

    selected: Any = Heads(help="Chosen heads, in the grid and in the views.")
    text = t.Any(help="The text that the views show.")

    def __init__(
        self,
        model: Any,
        texts: Any,
        labels: Any = None,
        *,
        theme: str = "auto",
        wait: float | None = 2.0,
        pruning: Any = None,
        **options: Any,
    ) -> None:
        """Explore a model on texts.

        Args:
            model: From `hw.load` or `hw.wrap`.
            texts: A list of texts (or one text); the first is shown.
            labels: For pruning; None leaves pruning out.
            theme: ``auto``, ``light`` or ``dark``.
            wait: Seconds to wait for first results before showing progress; None waits for them.
            pruning: Keyword arguments for `PruningExplorer`, for example ``{"ranking": scores}``.
            **options: Other traits of the box.

        Raises:
            InputError: texts or labels cannot be used.
            TypeError: an option is not known.
        """
        source = as_source(model)
        self.shapes = {kind: source.shape(kind) for kind in source.kinds}
        self._texts = source.texts(texts)
        first = self._texts[0]
        shown = _alone(first)
        self.missing: dict[str, str] = {}
        self.attention = self._part("attention", lambda: AttentionView(source, shown, theme=theme))
        self.attribution = self._part(
            "attribution",
            lambda: AttributionView(source, shown, theme=theme, wait=wait),
            (UnsupportedError, InputError),  # a model that predicts at every token has to be told where
        )
        self.pruning: PruningExplorer | None = None
        if labels is not None:
            self.pruning = PruningExplorer(source, texts, labels, theme=theme, wait=wait, **(pruning or {}))
        self.grid = self.pruning.grid if self.pruning is not None else HeadGrid(source, theme=theme)
        self.chooser = ipywidgets.Dropdown(
            options=[(_short(text, i), i) for i, text in enumerate(self._texts[:_MOST_CHOICES])],
            index=0,
            description="Text",
            style={"description_width": "initial"},
            layout={"width": "auto", "max_width": "900px", "margin": "20px 0 0 0"},
        )
        self._chosen_text = first
        notes = [ipywidgets.Label(f"No {name}: {why}") for name, why in self.missing.items()]
        views: list[Any] = [view for view in (self.attention, self.attribution) if view is not None]
        for view in views:
            view.layout.margin = "20px 0 0 0"
        if self.pruning is not None:
            parts = [self.pruning, self.chooser, *views, *notes]
        else:
            parts = [self.grid, self.chooser, *views, *notes]
        super().__init__(parts, text=first, **options)
        self._connect()
        self._source = source
        if self.pruning is None and "confidence" in source.methods:
            self.grid._lane.submit(self._measure, name="confidence", background=True)

    def _measure(self, task: Task) -> None:
        """Colour a grid that has no ranking by how confident heads are; looks at the texts alone."""
        scores = self._source.importance("confidence", self._texts, None, lambda done, total: None, task.cancelled)
        if not task.cancelled():
            self.grid.show(scores)

    def _part(self, name: str, make: Any, excused: tuple[type[Exception], ...] = (UnsupportedError,)) -> Any:
        """A part that the model may be unable to fill; then a line says why. The text itself was checked before."""
        try:
            return make()
        except excused as error:
            self.missing[name] = sentence(error)
            return None

    def _connect(self) -> None:
        if self.attention is not None:
            if not self.grid.selected:
                self.grid.selected = self._first_head()
            follow(self.grid, self.attention, "selected", self._links, back=True)
        if self.attribution is not None:
            # one way: the sum over a layer, which that view can show, is no head of the grid
            follow(self.grid, self.attribution, "selected", self._links)
        follow(self.grid, self, "selected", self._links, back=True)
        self.chooser.observe(self._text_chosen, "value")
        self.observe(self._text_set, "text")
        refresh = refresher(self)
        for part in (self.grid, self.attention, self.attribution):
            if part is not None:
                part._lane.on_idle = refresh
        if self.pruning is not None:
            self.pruning.panel._lane.on_idle = refresh

    def _first_head(self) -> Any:
        """The head that carries most of the first text, if that is known, else the first."""
        carried = self.attribution.selected if self.attribution is not None else ()
        heads = [head for head in carried if head.index >= 0]
        return heads[:1] or self.attention.selected

    def _text_chosen(self, change: Any) -> None:
        if change["new"] is not None:
            self.text = self._texts[change["new"]]

    def _text_set(self, change: Any) -> None:
        text = change["new"]
        for view in (self.attention, self.attribution):
            if view is not None:
                view.show(_alone(text))
        self._chosen_text = text
        places = [i for i, other in enumerate(self._texts[:_MOST_CHOICES]) if other == text]
        if self.chooser.value not in places:
            self.chooser.value = places[0] if places else None

    def _parts(self) -> list[Any]:
        views = [self.pruning or self.grid, self.attention, self.attribution]
        return [part for part in views if part is not None]

    def picture(self) -> dict[str, Any]:
        """Return a dashboard document of all parts."""
        return {
            "schema": SCHEMA,
            "document": "dashboard",
            "title": "",
            "parts": [part.picture() for part in self._parts()],
        }

    def summary(self) -> str:
        """Return one line: the parts' own."""
        return f"Explorer({'; '.join(part.summary() for part in self._parts())})"

    def wait(self, timeout: float | None = None) -> bool:
        """Block until all parts have done their work; see `Pictured.wait`."""
        ended = [part.wait(timeout) for part in self._parts()]
        self._settle_outputs()
        return all(ended)


def explore(model: Any, texts: Any, labels: Any = None, **options: Any) -> Explorer:
    """Return the linked dashboard of a model on texts; arguments as for `Explorer`."""
    return Explorer(model, texts, labels, **options)


def _alone(text: Any) -> Any:
    """One text of a list as a view takes it: words already split stand inside a list."""
    return [text] if isinstance(text, list) else text


def _short(text: Any, number: int) -> str:
    line = " | ".join(map(str, text)) if isinstance(text, (tuple, list)) else str(text)
    line = " ".join(line.split())
    return f"{number}: {line if len(line) <= _CHOICE_LENGTH else line[: _CHOICE_LENGTH - 1] + '…'}"
