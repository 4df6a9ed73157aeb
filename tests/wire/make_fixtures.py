"""Writes the fixtures that both sides of the wire read: ``python -m tests.wire.make_fixtures``.

Each case is a document in three forms: as in files (arrays inline), as in a live widget (arrays by offset,
with a ``.bin`` beside it), and what its arrays hold, as plain numbers.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from headwidgets.wire.arrays import inline, pack
from headwidgets.wire.documents import SCHEMA
from headwidgets.wire.growth import ORDERS, grow

FOLDER = Path(__file__).parent / "fixtures"
HOSTILE = "</script><img src=x onerror=alert(1)>"


def _provenance() -> dict[str, Any]:
    settings = {"seed": 0, "method": "confidence", "kind": None}
    return {"model": "tiny", "version": "0.1.0", "settings": settings}


def _token(text: str, special: bool = False) -> dict[str, Any]:
    return {"text": text, "special": special, "continued": False, "joined": False}


def grid() -> dict[str, Any]:
    """Two kinds, a NaN, a standard error, a hostile name."""
    values = np.array([[0.25, np.nan, -1.5], [3.0e-5, 1.0e7, 0.0]], dtype=np.float32)
    arrays = {"values": values, "stderr": np.abs(values) / 8}
    layer = {"name": HOSTILE, "unit": "nats", "n": 7, "signed": True, **arrays}
    panels = [
        {"kind": kind, "label": kind, "layers": 2, "heads": 3, "kv_heads": kv, "scores": scores}
        for kind, kv, scores in (("encoder", 3, [layer]), ("cross", 1, []))
    ]
    return {
        "schema": SCHEMA,
        "document": "grid",
        "title": "żółć 漢字 😀",
        "panels": panels,
        "selected": [["encoder", 1, 2]],
        "pruned": [["encoder", 0, 0], ["cross", 1, 1]],
        "provenance": _provenance(),
    }


def scores() -> dict[str, Any]:
    """A ``.heads`` file with float64 values."""
    values = {"encoder": np.array([[1 / 3, np.nan]]), "cross": np.array([[-2.0, 1e-300]])}
    return {
        "schema": SCHEMA,
        "document": "scores",
        "version": "0.1.0",
        "fingerprint": None,
        "name": "entropy",
        "unit": "nats",
        "n": 100,
        "values": values,
        "stderr": {"encoder": np.array([[0.5, np.nan]])},
        "provenance": None,
    }


def attention() -> dict[str, Any]:
    """An overview of one byte per weight and one map, whose sizes force padding between arrays."""
    thumbnails = np.arange(2 * 1 * 3 * 3, dtype=np.uint8).reshape(2, 1, 3, 3)
    weights = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.2, 0.3, 0.5]], dtype=np.float32)
    tokens = [_token("[CLS]", True), _token(HOSTILE), _token("b")]
    panel = {"kind": "decoder", "label": "d", "layers": 2, "heads": 1, "query": tokens, "key": tokens}
    one_map = {"head": ["decoder", 1, 0], "view": "attention", "values": weights, "low": 0.0, "high": 1.0}
    return {
        "schema": SCHEMA,
        "document": "attention",
        "title": "",
        "text": HOSTILE,
        "panels": [{**panel, "thumbnails": thumbnails}],
        "maps": [{**one_map, "query_step": 1, "key_step": 1}],
        "selected": [["decoder", 1, 0]],
        "words": False,
        "hide_special": False,
        "mode": "lines",
        "provenance": None,
    }


def tree() -> dict[str, Any]:
    """Candidates of tokens and of words, with ties, an unmeasured layer and one whose entries oppose."""
    rng = np.random.default_rng(7)
    matrix = np.round(rng.exponential(size=(6, 7, 7)) ** 2 * 4) / 16 - 0.25  # sixteenths tie, and are exact in float32
    matrix[2] = np.nan
    matrix[1] = -np.abs(matrix[1])
    words = [0, 1, 2, 2, 3, 4, 5]
    joined = np.zeros((6, 6, 6))
    for i, row in enumerate(words):
        for j, column in enumerate(words):
            joined[:, row, column] += matrix[:, i, j]
    tokens = [_token("[CLS]", True), _token(HOSTILE), _token("un"), {**_token("told"), "joined": True}]
    tokens += [_token("שלום"), _token("."), _token("[SEP]", True)]
    return {
        "schema": SCHEMA,
        "document": "tree",
        "title": HOSTILE,
        "text": "a",
        "target": "positive",
        "output": "log-odds",
        "unit": "nats",
        "value": 1.25,
        "kind": "encoder",
        "layers": 6,
        "tokens": tokens,
        "words": words,
        "levels": [_level(matrix, 0), _level(joined, 0)],
        "order": "strongest",
        "threshold": 0.2,
        "penalty": 0.0,
        "collapsed": False,
        "notes": ["Layer 2 was not measured and has no edges."],
        "provenance": _provenance(),
    }


def _level(matrix: np.ndarray, root: int) -> dict[str, Any]:
    layers, n, _ = matrix.shape
    clean = np.nan_to_num(matrix).astype(np.float32)
    edges = np.flatnonzero((clean > 0) & ~np.eye(n, dtype=bool))
    return {
        "count": n,
        "root": root,
        "floor": 0.0,
        "edges": edges.astype(np.int32),
        "weight": clean.ravel()[edges],
        "heaviest": float(clean.ravel()[edges].max()),
        "peak": matrix.reshape(layers, -1).max(1).astype(np.float32),
        "gathered": (clean.sum((0, 2)) - clean.sum(0).diagonal()).astype(np.float32),
        "terminal": clean[-1, root] if root >= 0 else np.zeros(n, dtype=np.float32),
    }


def grown() -> list[dict[str, Any]]:
    """What Python grows from the levels of `tree`, with and without a root."""
    out = []
    for at, level in enumerate(tree()["levels"]):
        for root in (level["root"], -1):
            for order in ORDERS:
                for threshold in (0.0, 0.05, 0.2, 0.4, 0.75):
                    for penalty in (0.0, 0.1, 0.5, 1.0):
                        one = grow({**level, "root": root}, threshold, penalty, order)
                        asked = {"level": at, "root": root, "order": order, "threshold": threshold, "penalty": penalty}
                        out.append(
                            {
                                **asked,
                                "top": one.top,
                                "objective": one.objective,
                                "edges": [list(edge) for edge in one.edges],
                                "terminals": [list(edge) for edge in one.terminals],
                            }
                        )
    return out


CASES = {"grid": grid, "scores": scores, "attention": attention, "tree": tree}


def _plain(value: Any, path: str = "") -> dict[str, list[Any]]:
    """Every array by its path, NaN as null."""
    if isinstance(value, np.ndarray):
        return {path: [None if np.isnan(x) else x for x in value.astype(float).ravel().tolist()]}
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found: dict[str, list[Any]] = {}
    for key, item in items:
        found.update(_plain(item, f"{path}.{key}" if path else str(key)))
    return found


def _text(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()


def files() -> dict[str, bytes]:
    """Return every fixture file by name."""
    out = {}
    for name, make in CASES.items():
        document = make()
        header, buffer = pack(document)
        out[f"{name}.json"] = _text(inline(document))
        out[f"{name}.live.json"] = _text(header)
        out[f"{name}.live.bin"] = buffer
        out[f"{name}.arrays.json"] = _text(_plain(document))
    out["tree.grown.json"] = (json.dumps(grown(), allow_nan=False) + "\n").encode()
    return out


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for file_name, content in files().items():
        (FOLDER / file_name).write_bytes(content)
