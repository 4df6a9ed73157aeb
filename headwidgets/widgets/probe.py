"""What do heads find? A table of relations, and for each the heads, example sentences and trees."""

import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import traitlets as t
from numpy.typing import NDArray

from headwidgets.errors import InputError
from headwidgets.figures.saved import size
from headwidgets.scores import KIND_ORDER, Head
from headwidgets.widgets.base import HeadWidget
from headwidgets.widgets.heads import Heads, Shapes, to_wire
from headwidgets.widgets.linking import follow
from headwidgets.wire.arrays import decode, pack

_COLUMNS = ("relation", "direction", "n", "best", "accuracy", "baseline", "strongest", "verdict")
_LIVE, _SAVED, _TREES = 140_000, 105_000, 45_000
"""Bytes that the document may take in the browser, and in a saved notebook as counted there; of these the trees."""
_LEVELS = ((8, 6), (6, 3), (5, 2), (5, 1), (4, 0), (2, 0), (1, 0))
"""Examples of the chosen row and of every other row, from many to few."""
_NONE = 255
"""In 8 bits: not measured, or no word."""


class ProbeView(HeadWidget):
    """What heads find: relations with their best head, interval and baselines; examples with the head's arc; trees.

    A row is chosen by a click or with Enter: its best head becomes `selected`, all its heads stand in a grid, and
    example sentences show the annotated arc above the words and the head's arc below. Another head is chosen in that
    grid, or in a `HeadGrid` beside it. Of a trained probe the predicted trees are drawn against the annotated ones.

    Example:
        >>> found = hw.probing.syntax(model, treebank)
        >>> grid = hw.HeadGrid(model)
        >>> view = hw.ProbeView(found, grid, row="nsubj")
        >>> view.save("nsubj.pdf")
    """

    _script = "probe.js"

    row = t.Int(
        -1, help="Row (as in the result, from 0) that is shown; -1 for none. It selects the row's best head."
    ).tag(sync=True, echo_update=False)
    selected: Any = Heads(help="Chosen heads; the arcs are those of the first that was measured.")
    sort = t.Unicode(help="Column that rows are sorted by, '-' in front for largest first; empty for none.").tag(
        sync=True, echo_update=False
    )
    tree = t.Int(0, help="Number of the tree on show.").tag(sync=True, echo_update=False)

    def __init__(
        self,
        result: Any,
        grid: Any = None,
        *,
        row: int | str | tuple[str, str] | None = None,
        selected: Any = None,
        sort: str = "",
        tree: int = 0,
        title: str = "",
        **options: Any,
    ) -> None:
        """Show what heads or a probe find.

        Args:
            result: From `hw.probing.syntax`, `hw.probing.links` or another call that looks at every head, or a trained
                probe: whatever has a `document()` of the kind ``probe``.
            grid: A widget with a trait `selected`, for example a `HeadGrid`: it and this view follow each other.
            row: The row to show: its number, a relation, or a relation and a direction; -1 for none; by default what
                the result shows first.
            selected: Chosen heads; by default the best of the row.
            sort: ``relation``, ``direction``, ``n``, ``best``, ``accuracy``, ``baseline`` (the best fixed offset),
                ``strongest`` (the strongest other baseline) or ``verdict``; ``-`` in front for largest first.
            tree: Number of the tree to show.
            title: Heading; the result's own by default.
            **options: Other traits, for example ``theme="dark"``.

        Raises:
            InputError: not such a result, or no such row, head, column or tree.
            TypeError: an option is not known.
        """
        self._links: list[Any] = []
        self._whole = _document(result, title)
        self.shapes = _shapes(self._whole)
        number = int(self._whole["shown"]) if row is None else _row_number(self._whole, row)
        heads = _best(self._whole, number) if selected is None else selected
        super().__init__(_fitted_live(self._whole, number), row=number, selected=heads, sort=sort, tree=tree, **options)
        self.observe(self._follow_row, "row")
        self.observe(lambda _: self._refresh_soon(), ["row", "sort", "tree"])
        if grid is not None:
            if not hasattr(grid, "has_trait") or not grid.has_trait("selected"):
                self.close()
                raise InputError(
                    f"expected a widget with heads to choose, for example hw.HeadGrid, got {type(grid).__name__}"
                )
            follow(self, grid, "selected", self._links, back=True)

    # ---- what is on show

    @t.validate("row")
    def _check_row(self, proposal: Any) -> int:
        row, count = int(proposal["value"]), len(self._whole["rows"])
        if not -1 <= row < count:
            raise InputError(f"there is no row {row} here: rows are 0 to {count - 1}, -1 for none")
        return row

    @t.validate("tree")
    def _check_tree(self, proposal: Any) -> int:
        tree, count = int(proposal["value"]), len(self._whole["trees"])
        if not 0 <= tree < max(1, count):
            raise InputError(
                f"there is no tree {tree} here: trees are 0 to {count - 1}" if count else "there are no trees here"
            )
        return tree

    @t.validate("sort")
    def _check_sort(self, proposal: Any) -> str:
        sort = str(proposal["value"])
        if sort and sort.removeprefix("-") not in _COLUMNS:
            raise InputError(f"there is no column {sort!r} here: the columns are {', '.join(_COLUMNS)}")
        return sort

    def _follow_row(self, change: Any) -> None:
        # The browser sends the row's best head together with the row.
        if not self.from_browser:
            self.selected = _best(self._whole, change["new"])
        self._refit()

    def _refit(self) -> None:
        """Where not everything fits, send the examples of what is chosen now."""
        if self._current is not self._whole:
            self._show(_fitted_live(self._whole, self.row))

    @property
    def rows(self) -> list[tuple[str, str]]:
        """Relation and direction of every row, in the order of `row`."""
        return [(row["relation"], row["direction"]) for row in self._whole["rows"]]

    def show(self, result: Any, *, title: str = "") -> None:
        """Show another result in place, such as a partial one; the chosen row stays where there is one of its name."""
        before = self.rows[self.row] if self.row >= 0 else None
        self._whole = _document(result, title or self._whole["title"])
        self.shapes = _shapes(self._whole)
        names = self.rows
        row = names.index(before) if before in names else -1 if before is None else int(self._whole["shown"])
        tree = min(self.tree, max(0, len(self._whole["trees"]) - 1))
        heads = tuple(head for head in self.selected if _number(self._whole, head) >= 0) or _best(self._whole, row)
        self._show(_fitted_live(self._whole, row), row=row, tree=tree, selected=heads)

    def picture(self) -> dict[str, Any]:
        """Return the document with the row, heads, order and tree of now."""
        document = _fitted(self._whole, self.row)
        head = next((head for head in self.selected if _number(self._whole, head) >= 0), None)
        return {
            **document,
            "shown": self.row,
            "head": None if head is None else to_wire([head])[0],
            "selected": to_wire(self.selected),
            "sort": self.sort,
            "tree": self.tree,
        }

    def summary(self) -> str:
        """Return one line: how much was looked at, and what the chosen row says."""
        document = self._whole
        parts = [f"{len(document['rows'])} rows"] if document["rows"] else []
        parts += [f"{len(document['trees'])} trees"] if document["trees"] else []
        parts += [f"{name['name']} {_percent(name['accuracy'])}" for name in document["scores"][:1]]
        if self.row >= 0:
            row = document["rows"][self.row]
            best = _best(document, self.row)
            head = f" {best[0].label(len(self.shapes) > 1)}" if best else ""
            name = " ".join(filter(None, (row["relation"], row["direction"])))
            parts.append(f"{name}:{head} {_percent(row['accuracy'])}, n = {row['n']}")
        return f"ProbeView({'; '.join(parts) or 'nothing found'})"

    def _free(self) -> None:
        for link in self._links:
            link.close()
        self._links.clear()


def _percent(interval: Any) -> str:
    return f"{100 * interval['value']:.1f} % ({100 * interval['low']:.1f} to {100 * interval['high']:.1f})"


# ---- reading a document


def _document(result: Any, title: str) -> dict[str, Any]:
    make = getattr(result, "document", None)
    document = make() if callable(make) else None
    if not isinstance(document, dict) or document.get("document") != "probe":
        raise InputError(
            "expected what hw.probing.syntax or hw.probing.links returned, or a trained probe, got "
            f"{type(result).__name__}"
        )
    arrays = {name: _array(document[name]) for name in ("heads", "table", "predicted")}
    rows = [_finite(row) for row in document["rows"]]
    scores = [_finite(score) for score in document["scores"]]
    document = {**document, **arrays, "rows": rows, "scores": scores, "title": title or document["title"]}
    return _first_trees(document)


def _array(value: Any) -> NDArray[Any]:
    return value if isinstance(value, np.ndarray) else decode(value)


def _finite(part: Any) -> Any:
    """A part of a document with -1 for NaN, which JSON does not have."""
    if isinstance(part, dict):
        return {key: _finite(value) for key, value in part.items()}
    return -1.0 if isinstance(part, float) and not math.isfinite(part) else part


def _heads(document: dict[str, Any]) -> Iterable[Head]:
    for kind, layer, index in document["heads"].tolist():
        yield Head(KIND_ORDER[kind], layer, index)


def _number(document: dict[str, Any], head: Head) -> int:
    return next((at for at, one in enumerate(_heads(document)) if one == head), -1)


def _shapes(document: dict[str, Any]) -> Shapes:
    shapes: Shapes = {}
    for head in _heads(document):
        layers, heads = shapes.get(head.kind, (0, 0))
        shapes[head.kind] = (max(layers, head.layer + 1), max(heads, head.index + 1))
    return shapes


def _best(document: dict[str, Any], row: int) -> tuple[Head, ...]:
    best = document["rows"][row]["best"] if 0 <= row < len(document["rows"]) else None
    return () if best is None else (Head(*best),)


def _row_number(document: dict[str, Any], row: int | str | tuple[str, str]) -> int:
    if isinstance(row, int):
        return row
    if not isinstance(row, str) and not (isinstance(row, (tuple, list)) and len(row) == 2):
        raise InputError(f"expected row= as its number, its relation or (relation, direction), got {row!r}")
    relation, direction = (row, None) if isinstance(row, str) else row
    for at, found in enumerate(document["rows"]):
        if found["relation"] == relation and direction in (None, found["direction"]):
            return at
    known = ", ".join(dict.fromkeys(found["relation"] for found in document["rows"]))
    what = repr(relation) if direction is None else f"{relation!r} in the direction {direction!r}"
    raise InputError(f"there is no row for {what}: the relations are {known}")


# ---- keeping a document small


def _first_trees(document: dict[str, Any]) -> dict[str, Any]:
    """The document with as many trees as there is room for."""
    trees = document["trees"]
    kept = len(trees)
    while kept > 1 and _size_of_trees(document, kept) > _TREES:
        kept = max(1, int(kept * 0.9))
    if kept == len(trees):
        return document
    note = f"{document['note']} Shown here: the first {kept} of {len(trees)} trees."
    return _renumbered({**document, "trees": trees[:kept], "note": note.strip()})


def _size_of_trees(document: dict[str, Any], count: int) -> int:
    trees = document["trees"][:count]
    return size([trees, [document["sentences"][tree["sentence"]] for tree in trees]])


def _fitted(document: dict[str, Any], row: int) -> dict[str, Any]:
    """The document as a notebook keeps it: numbers in 8 bits, then fewer examples, then fewer rows (the note says)."""
    if size(document) <= _SAVED:
        return document
    document = _in_bytes(document)
    smaller = document
    for own, others in ((1_000, 1_000), *_LEVELS):
        smaller = _with_examples(document, own, others, row)
        if size(smaller) <= _SAVED:
            what = "fewer examples" if others else "examples of the chosen row only"
            return smaller if others == 1_000 else _noted(smaller, what)
    smaller = _of_one_row(smaller, row)
    if size(smaller) <= _SAVED:
        return _noted(smaller, "heads and examples of the chosen row only")
    kept = len(document["rows"])
    while kept > row + 1 and kept > 1 and size(smaller) > _SAVED:
        kept = max(1, row + 1, min(kept - 1, int(kept * 0.9 * _SAVED / size(smaller))))
        smaller = _with_examples({**smaller, "rows": smaller["rows"][:kept]}, 1, 0, row)
    return _noted(
        smaller, f"the first {kept} of {len(document['rows'])} rows, heads and examples of the chosen row only"
    )


def _fitted_live(document: dict[str, Any], row: int) -> dict[str, Any]:
    """The document as the browser gets it; what is left out of rows that are not shown follows when they are chosen."""
    if _weight(document) <= _LIVE:
        return document
    document = _in_bytes(document)
    smaller = document
    for own, others in ((1_000, 1_000), *_LEVELS):
        smaller = _with_examples(document, own, others, row)
        if _weight(smaller) <= _LIVE:
            return smaller
    return _of_one_row(smaller, row)


def _of_one_row(document: dict[str, Any], row: int) -> dict[str, Any]:
    """The document with the accuracies of one row's heads only."""
    at = max(0, row)
    return {**document, "table": document["table"][at : at + 1], "shown": at if row < 0 else row}


def _weight(document: dict[str, Any]) -> int:
    header, buffer = pack(document)
    return len(json.dumps(header)) + len(buffer)


def _in_bytes(document: dict[str, Any]) -> dict[str, Any]:
    """Accuracies to a quarter of a percent, and words of sentences that are short enough, in 8 bits."""
    table, predicted = document["table"], document["predicted"]
    if table.dtype != np.uint8:
        levels = np.rint(np.clip(np.nan_to_num(table), 0, 1) * (_NONE - 1))
        table = np.where(np.isfinite(table), levels, _NONE).astype(np.uint8)
    if predicted.dtype != np.uint8 and all(len(s["words"]) <= _NONE for s in document["sentences"]):
        predicted = np.where(predicted < 0, _NONE, predicted).astype(np.uint8)
    return {**document, "table": table, "predicted": predicted}


def _with_examples(document: dict[str, Any], own: int, others: int, row: int) -> dict[str, Any]:
    """The document with at most so many examples of the chosen row and of every other row."""
    kept: list[int] = []
    rows = []
    for at, one in enumerate(document["rows"]):
        arcs = one["arcs"][: own if at == row else others]
        rows.append({**one, "arcs": list(range(len(kept), len(kept) + len(arcs)))})
        kept += arcs
    arcs = [document["arcs"][at] for at in kept]
    return _renumbered({**document, "rows": rows, "arcs": arcs, "predicted": document["predicted"][kept]})


def _renumbered(document: dict[str, Any]) -> dict[str, Any]:
    """The document with those sentences that something is drawn over."""
    parts = [*document["arcs"], *document["trees"]]
    new = {at: number for number, at in enumerate(dict.fromkeys(part["sentence"] for part in parts))}
    moved = [{**part, "sentence": new[part["sentence"]]} for part in parts]
    arcs = len(document["arcs"])
    sentences = [document["sentences"][at] for at in new]
    return {**document, "arcs": moved[:arcs], "trees": moved[arcs:], "sentences": sentences}


def _noted(document: dict[str, Any], what: str) -> dict[str, Any]:
    return {**document, "note": f"{document['note']} Shown here: {what}; the result has all.".strip()}
