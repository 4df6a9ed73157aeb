"""Which words move predictions? A table of triggers and of what they do."""

from typing import Any

import numpy as np
import traitlets as t

from headwidgets.errors import InputError
from headwidgets.figures.saved import size
from headwidgets.widgets.base import HeadWidget

_COLUMNS = ("trigger", "found_in", "score", "support", "worst", "moved")
_LIVE, _SAVED = 140_000, 90_000
"""Bytes that the document may take in the browser, and in a saved notebook as it is counted there."""


class TriggerTable(HeadWidget):
    """Triggers to browse: words with their places, accuracy before and after per class, changed texts.

    A row is chosen by a click or with Enter; the texts whose prediction it changed stand below, with the inserted words
    underlined and in brackets. For testing one's own model.

    Example:
        >>> table = TriggerTable(hw.attribution.attack(model, triggers, texts, labels))
        >>> table.sort = "outcome:1"; table.selected = 0; table.save("triggers.pdf")
    """

    _script = "triggers.js"

    selected = t.Int(-1, help="Row (as in the result, from 0) whose texts are shown; -1 for none.").tag(
        sync=True, echo_update=False
    )
    sort = t.Unicode(help="Column that rows are sorted by, '-' in front for largest first; empty for none.").tag(
        sync=True, echo_update=False
    )

    def __init__(self, triggers: Any, *, title: str = "", selected: int = -1, sort: str = "", **options: Any) -> None:
        """Show triggers, or what they did.

        Args:
            triggers: From `hw.attribution.find_triggers` or `hw.attribution.attack`.
            title: Heading; the result's own by default.
            selected: Row whose changed texts are shown.
            sort: ``trigger``, ``found_in``, ``score``, ``support``; after an attack also ``moved`` (predictions that
                changed), ``worst``, and ``outcome:0`` (change of accuracy on all texts), ``outcome:1`` (on the first
                class) and so on; ``-`` in front for largest first.
            **options: Other traits, for example ``theme="dark"``.

        Raises:
            InputError: not triggers, or no such row or column.
            TypeError: an option is not known.
        """
        self._whole = _document(triggers, title)
        self._rows = len(self._whole["rows"])
        super().__init__(_fitted(self._whole, _LIVE, selected), selected=selected, sort=sort, **options)
        self.observe(lambda _: self._refresh_soon(), "sort")

    @t.validate("selected")
    def _check_selected(self, proposal: Any) -> int:
        row = int(proposal["value"])
        if not -1 <= row < self._rows:
            raise InputError(f"there is no row {row} here: rows are 0 to {self._rows - 1}, -1 for none")
        return row

    @t.validate("sort")
    def _check_sort(self, proposal: Any) -> str:
        sort = str(proposal["value"])
        classes = self._whole["classes"]
        known = [*_COLUMNS, *(f"outcome:{i}" for i in range(1 + len(classes)) if classes)]
        if sort and sort.removeprefix("-") not in known:
            raise InputError(f"there is no column {sort!r} here: the columns are {', '.join(known)}")
        return sort

    def show(self, triggers: Any, *, title: str = "") -> None:
        """Show other triggers in place, such as a partial result; the chosen row stays where there is one."""
        self._whole = _document(triggers, title or self._whole["title"])
        self._rows = len(self._whole["rows"])
        selected = self.selected if self.selected < self._rows else -1
        self._show(_fitted(self._whole, _LIVE, selected), selected=selected)

    def picture(self) -> dict[str, Any]:
        """Return the document with the row chosen and the order now."""
        document = _fitted(self._whole, _SAVED, self.selected)
        return {**document, "selected": self.selected, "sort": self.sort}

    def summary(self) -> str:
        """Return one line: how many triggers, and the largest fall."""
        document = self._whole
        if document["outcomes"] is None or not self._rows:
            return f"TriggerTable({self._rows} triggers found in {document['searched']} texts)"
        changes = np.asarray(document["outcomes"])[:, 0, 2, 0]
        return (
            f"TriggerTable({self._rows} triggers in {int(np.asarray(document['counts'])[:, 0].max())} texts; largest "
            f"change of accuracy {100 * float(np.nanmin(changes)):+.1f} points)"
        )


def _document(triggers: Any, title: str) -> dict[str, Any]:
    make = getattr(triggers, "document", None)
    document = make() if callable(make) else None
    if not isinstance(document, dict) or document.get("document") != "triggers":
        raise InputError(
            "expected what hw.attribution.find_triggers or hw.attribution.attack returned, got "
            f"{type(triggers).__name__}"
        )
    return {**document, "title": title or document["title"]}


def _fitted(document: dict[str, Any], limit: int, selected: int) -> dict[str, Any]:
    """The document within `limit` bytes: without the texts of rows not chosen, then without the last rows."""
    if size(document) <= limit:
        return document
    rows = [
        row if i == selected else {**row, "examples": row["examples"][:1]} for i, row in enumerate(document["rows"])
    ]
    if size({**document, "rows": rows}) <= limit:
        return {**document, "rows": rows, "note": _noted(document, "one text per row")}
    rows = [row if i == selected else {**row, "examples": []} for i, row in enumerate(document["rows"])]
    kept = len(rows)
    smaller = _first(document, rows, kept)
    while kept > 1 and size(smaller) > limit:
        kept = max(1, min(kept - 1, int(kept * 0.9 * limit / size(smaller))))
        smaller = _first(document, rows, max(kept, selected + 1))
        if kept <= selected:
            break
    shown = len(smaller["rows"])
    what = "the texts of the chosen row only" if shown == len(rows) else f"the first {shown} of {len(rows)} triggers"
    return {**smaller, "note": _noted(document, what)}


def _first(document: dict[str, Any], rows: list[Any], count: int) -> dict[str, Any]:
    arrays = {
        name: None if document[name] is None else np.asarray(document[name])[:count] for name in ("counts", "outcomes")
    }
    return {**document, **arrays, "rows": rows[:count]}


def _noted(document: dict[str, Any], what: str) -> str:
    return f"{document['note']} Shown here: {what}; the result has all.".strip()
