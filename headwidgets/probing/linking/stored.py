"""Links in a ``.heads`` file: everything that they hold, and back."""

import math
from typing import Any, cast

import numpy as np

from headwidgets.errors import InputError
from headwidgets.probing.linking.examples import DIRECTIONS
from headwidgets.probing.linking.result import LinkArc, LinkRow, Links, LinkSentence
from headwidgets.scores import KIND_ORDER, Head, Interval
from headwidgets.wire.documents import SCHEMA, KindName

_PLAIN = (
    "relation", "direction", "label", "n", "chosen_on", "impossible", "baseline", "offset", "strongest",
    "strongest_accuracy", "clark", "voita", "voita_relative", "better", "verdict",
)  # fmt: skip
_TABLES = ("accuracy", "stderr", "first")


def to_document(links: Links) -> dict[str, Any]:
    """See `Links.save`."""
    from headwidgets import __version__

    places = [(KIND_ORDER.index(head.kind), head.layer, head.index) for head in links.heads]
    predicted = [arc.predicted for arc in links.arcs]
    return {
        "schema": SCHEMA,
        "document": "links",
        "version": __version__,
        "fingerprint": links.fingerprint,
        "name": links.name,
        "shapes": {kind: list(shape) for kind, shape in links.shapes.items()},
        "heads": np.array(places, dtype=np.int32).reshape(-1, 3),
        "rows": [_row(row) for row in links.rows],
        **{name: getattr(links, name) for name in _TABLES},
        "passing": links.passing.astype(np.uint8),
        "sentences": [
            {"words": list(s.words), "glued": list(s.glued), "name": s.name, "second": s.second}
            for s in links.sentences
        ],
        "arcs": [{"sentence": a.sentence, "source": list(a.source), "target": list(a.target)} for a in links.arcs],
        "predicted": np.array(predicted, dtype=np.int32).reshape(len(predicted), len(links.heads)),
        "n": list(links.n),
        "notes": list(links.notes),
        "provenance": links.provenance,
    }


def _row(row: LinkRow) -> dict[str, Any]:
    return {
        **{name: getattr(row, name) for name in _PLAIN},
        "best": list(row.best) if row.best else None,
        "accuracy": _interval(row.accuracy),
        "difference": _interval(row.difference),
        "random": _interval(row.random) if row.random else None,
        "baselines": dict(row.baselines),
        "arcs": list(row.arcs),
    }


def _interval(own: Interval) -> list[float]:
    return [own.value, own.low, own.high]


def from_document(stored: dict[str, Any]) -> Links:
    """See `Links.from_document`.

    Raises:
        InputError: arrays or rows that do not fit each other; the message names the first.
        KeyError: a field that is missing.
    """
    heads = [Head(KIND_ORDER[int(k)], int(layer), int(i)) for k, layer, i in stored["heads"]]
    shape = [len(stored["rows"]), len(heads)]
    for name, own in [(name, shape) for name in (*_TABLES, "passing")] + [
        ("predicted", [len(stored["arcs"]), len(heads)])
    ]:
        got = stored[name]
        if not isinstance(got, np.ndarray) or list(got.shape) != own:
            raise InputError(f"expected {name!r} of shape {own}, got {list(np.shape(got))}")
    sentences = [
        LinkSentence(tuple(s["words"]), tuple(map(bool, s["glued"])), s["name"], int(s.get("second", 0)))
        for s in stored["sentences"]
    ]
    arcs = [
        LinkArc(int(own["sentence"]), _places(own["source"]), _places(own["target"]), np.asarray(found, np.int32))
        for own, found in zip(stored["arcs"], stored["predicted"], strict=True)
    ]
    for number, arc in enumerate(arcs):
        if not 0 <= arc.sentence < len(sentences):
            raise InputError(f"arc {number} names text {arc.sentence}, but there are {len(sentences)}")
    return Links(
        rows=tuple(_read_row(row, len(arcs)) for row in stored["rows"]),
        heads=tuple(heads),
        **{name: np.asarray(stored[name], dtype=np.float64) for name in _TABLES},
        passing=np.asarray(stored["passing"], dtype=bool),
        sentences=tuple(sentences),
        arcs=tuple(arcs),
        n=(int(stored["n"][0]), int(stored["n"][1])),
        notes=tuple(str(note) for note in stored["notes"]),
        name=str(stored["name"]),
        shapes={cast(KindName, kind): (int(own[0]), int(own[1])) for kind, own in stored["shapes"].items()},
        fingerprint=stored["fingerprint"],
        provenance=stored["provenance"],
    )


def _read_row(row: dict[str, Any], arcs: int) -> LinkRow:
    if row["direction"] not in DIRECTIONS:
        raise InputError(f"expected a direction of {', '.join(DIRECTIONS)}, got {row['direction']!r}")
    if any(not 0 <= arc < arcs for arc in row["arcs"]):
        raise InputError(f"the row {row['relation']!r} names an arc beyond the {arcs} that there are")
    plain = {name: row[name] for name in _PLAIN}
    for name in ("baseline", "strongest_accuracy"):
        plain[name] = _number(plain[name])
    return LinkRow(
        **plain,
        best=None if row["best"] is None else Head(*row["best"]),
        accuracy=_read_interval(row["accuracy"]),
        difference=_read_interval(row["difference"]),
        random=None if row["random"] is None else _read_interval(row["random"]),
        baselines={str(name): _number(value) for name, value in row["baselines"].items()},
        arcs=_places(row["arcs"]),
    )


def _number(value: Any) -> float:
    """JSON has no NaN: it is null in a file."""
    return math.nan if value is None else float(value)


def _read_interval(ends: list[Any]) -> Interval:
    value, low, high = (_number(end) for end in ends)
    return Interval(value, low, high)


def _places(given: list[Any]) -> tuple[int, ...]:
    return tuple(int(place) for place in given)
