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


CASES = {"grid": grid, "scores": scores, "attention": attention}


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
    return out


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for file_name, content in files().items():
        (FOLDER / file_name).write_bytes(content)
