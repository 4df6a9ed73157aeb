"""Links as a table and as what is drawn."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwidgets.probing.linking.result import LinkRow, Links
from headwidgets.scores import KIND_ORDER, import_pandas
from headwidgets.wire.documents import SCHEMA

_LARGE = 8_000
"""Entries of a table above which it is sent in one byte each, so that a saved picture stays small."""
_MOST = 40_000
"""Entries of the table of arcs by heads, at most; fewer arcs are sent then."""


def frame(links: Links, rows: Iterable[LinkRow]) -> Any:
    """See `Links.to_frame`."""
    pandas = import_pandas("links.to_frame()")
    table = pandas.DataFrame([_record(row) for row in rows], columns=list(_COLUMNS))
    table.attrs = {"name": links.name, "notes": list(links.notes), "provenance": links.provenance}
    return table


_COLUMNS = (
    "relation", "direction", "kind", "layer", "head", "accuracy", "low", "high", "n", "baseline", "offset", "strongest",
    "strongest_accuracy", "difference", "difference_low", "difference_high", "random", "random_high", "clark", "voita",
    "voita_relative", "better", "verdict", "chosen_on", "impossible",
)  # fmt: skip


def _record(row: LinkRow) -> tuple[Any, ...]:
    kind, layer, index = row.best or (None, None, None)
    band = (row.random.value, row.random.high) if row.random else (math.nan, math.nan)
    accuracy, change = row.accuracy, row.difference
    return (
        row.relation, row.label, kind, layer, index, accuracy.value, accuracy.low, accuracy.high, row.n, row.baseline,
        row.offset, row.strongest, row.strongest_accuracy, change.value, change.low, change.high, *band, row.clark,
        row.voita, row.voita_relative, row.better, row.verdict, row.chosen_on, row.impossible,
    )  # fmt: skip


def document(links: Links) -> dict[str, Any]:
    """See `Links.document`."""
    per_row = max((len(row.arcs) for row in links.rows), default=0)
    used = len(links.heads) * sum(len(row.arcs) for row in links.rows)
    if used > _MOST:
        per_row = max(1, per_row * _MOST // used)
    shown = list(dict.fromkeys(arc for row in links.rows for arc in row.arcs[:per_row]))
    place = {arc: i for i, arc in enumerate(shown)}
    texts = list(dict.fromkeys(links.arcs[arc].sentence for arc in shown))
    known = {text: i for i, text in enumerate(texts)}
    places = [(KIND_ORDER.index(head.kind), head.layer, head.index) for head in links.heads]
    predicted = np.array([links.arcs[arc].predicted for arc in shown], dtype=np.int32).reshape(
        len(shown), len(links.heads)
    )
    return {
        "schema": SCHEMA,
        "document": "probe",
        "title": links.name,
        "measure": "accuracy",
        "heads": np.array(places, dtype=np.int32).reshape(-1, 3),
        "rows": [_row(row, [place[arc] for arc in row.arcs[:per_row]]) for row in links.rows],
        "table": _table(links.accuracy),
        "sentences": [
            {"words": list(s.words), "glued": list(s.glued), "name": s.name, "second": s.second}
            for s in (links.sentences[text] for text in texts)
        ],
        "arcs": [
            {"sentence": known[arc.sentence], "source": list(arc.source), "target": list(arc.target)}
            for arc in (links.arcs[i] for i in shown)
        ],
        "predicted": _small(predicted),
        "trees": [],
        "scores": [],
        "shown": 0,
        "head": None,
        "selected": [],
        "note": " ".join(links.notes),
        "provenance": links.provenance,
    }


def _row(row: LinkRow, arcs: list[int]) -> dict[str, Any]:
    return {
        "relation": row.relation,
        "direction": row.label,
        "n": row.n,
        "best": list(row.best) if row.best else None,
        "accuracy": {name: _known(getattr(row.accuracy, name)) for name in ("value", "low", "high")},
        "baseline": _known(row.baseline),
        "offset": row.offset,
        "strongest": row.strongest,
        "strongest_accuracy": _known(row.strongest_accuracy),
        "verdict": row.verdict,
        "verdict_good": row.better,
        "arcs": arcs,
    }


def _known(value: float) -> float:
    return value if math.isfinite(value) else -1.0


def _table(values: NDArray[np.float64]) -> NDArray[Any]:
    if values.size <= _LARGE:
        return values.astype(np.float32)
    known = np.isfinite(values)
    return np.where(known, np.rint(np.where(known, values, 0) * 254), 255).astype(np.uint8)


def _small(predicted: NDArray[np.int32]) -> NDArray[Any]:
    if predicted.size <= _LARGE or predicted.max(initial=0) >= 255:
        return predicted
    return np.where(predicted < 0, 255, predicted).astype(np.uint8)
