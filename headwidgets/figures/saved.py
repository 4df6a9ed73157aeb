"""What a notebook keeps of a widget: data, picture and a line of text, within a budget."""

import base64
import json
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwidgets.figures.engine import Drawing, DrawingError, draw
from headwidgets.figures.formats import png
from headwidgets.figures.palette_png import in_palette
from headwidgets.wire.arrays import decode, inline
from headwidgets.wire.documents import MIME_PREFIX

LIMIT = 200_000
"""Bytes that the saved output of a cell may take in the notebook file."""
_DOCUMENT_SHARE = 0.55
_PNG_DPI = 96.0
_LEAST_DPI = 24.0
_MOST_PIXELS = 1_000_000
_PNG_TRIES = 3
_PNG_LIMIT = 60_000
_MOST_LINES = 64
"""Positions of a text whose attention is drawn as lines in the static picture (the data keeps the user's choice)."""
_INDENT = 14
"""Deepest indentation of a document inside the outputs of a cell inside a notebook, with the line's end."""


def bundle(document: Any, summary: str, view: dict[str, Any] | None = None, limit: int = LIMIT) -> dict[str, Any]:
    """Return the MIME bundle of a widget's output; its size in a notebook file is below `limit`.

    The data comes first (maps as 8-bit, the least needed ones left out where they do not fit, which the title
    then says), then a PNG (notebooks that are not trusted show it), then the SVG if it still fits.

    Args:
        document: What the widget shows, with NumPy arrays or `ArrayRef`.
        summary: One line of text.
        view: The live widget's view, shown while its kernel runs.
        limit: In bytes.
    """
    data: dict[str, Any] = {"text/plain": summary}
    if view is not None:
        data["application/vnd.jupyter.widget-view+json"] = view
    kept = reduced(document, int(limit * _DOCUMENT_SHARE))
    if size(kept) <= limit - 20_000:
        data[f"{MIME_PREFIX}{document['document']}+json"] = inline(kept)
    try:
        drawing = draw(_light(kept))
        svg = drawing.svg
        picture = _small_png(drawing)
        if picture:
            data["image/png"] = picture
    except DrawingError as error:  # showing the live widget matters more than its picture
        warnings.warn(f"the output is saved without a picture: {error}", stacklevel=2)
        return data
    if size(data) + size(svg) <= limit:
        data["image/svg+xml"] = svg
    return data


def _small_png(drawing: Drawing) -> str:
    """The picture as base64 of a PNG that fits; coarser where it must be, empty where even that is too large."""
    dpi = _PNG_DPI * min(1.0, (_MOST_PIXELS / (drawing.width * drawing.height)) ** 0.5)
    for _ in range(_PNG_TRIES):
        picture = base64.b64encode(in_palette(png(drawing.svg, dpi))).decode("ascii")
        if len(picture) <= _PNG_LIMIT:
            return picture
        dpi = max(_LEAST_DPI, 0.9 * dpi * (_PNG_LIMIT / len(picture)) ** 0.5)
    return ""


def _light(document: Any) -> Any:
    """The document as its static picture shows it: many lines are slow to draw and large, so a matrix instead."""
    changed = dict(document)
    if "parts" in changed:
        changed["parts"] = [_light(part) for part in changed["parts"]]
    longest = max((len(panel.get("key", ())) for panel in changed.get("panels", ())), default=0)
    if changed.get("mode") == "lines" and longest > _MOST_LINES:
        changed["mode"] = "matrix"
    return changed


def size(value: Any) -> int:
    """Bytes that `value` takes at most in a notebook file: JSON with a line, indented, for every entry."""
    text = json.dumps(inline(value))
    lines = text.count(",") + 2 * text.count("{") + 2 * text.count("[")
    return len(text) + _INDENT * lines


def reduced(document: Any, limit: int) -> Any:
    """Return `document` with 8-bit maps, made to fit `limit` bytes by leaving out what is needed least."""
    kept = _quantised(document)
    maps = _count_maps(kept)
    while size(kept) > limit:
        smaller = _without_last_map(kept)
        if smaller is None:
            smaller = _coarser(kept)
        if smaller is None:
            break
        kept = smaller
    lost = maps - _count_maps(kept)
    if _evidence(document) and not _evidence(kept):
        kept = {**kept, "title": f"{kept.get('title', '')} (evidence left out of the saved notebook)".strip()}
    if lost:
        word = "map" if lost == 1 else "maps"
        kept = {**kept, "title": f"{kept.get('title', '')} ({lost} {word} left out of the saved notebook)".strip()}
    return kept


def quantised(head_map: Any) -> Any:
    """Return a `HeadMap` with its values as uint8, where 0..255 stand for low..high."""
    values = _array(head_map["values"])
    if values.dtype == np.uint8:
        return head_map
    low, high = float(head_map["low"]), float(head_map["high"])
    span = high - low if high > low else 1.0
    levels = np.clip(np.rint((values - low) * (255 / span)), 0, 255)
    return {**head_map, "values": np.nan_to_num(levels).astype(np.uint8)}


def _array(value: Any) -> NDArray[Any]:
    return value if isinstance(value, np.ndarray) else decode(value)


def _quantised(document: Any) -> Any:
    changed = dict(document)
    if "maps" in changed:
        changed["maps"] = [quantised(item) for item in changed["maps"]]
    if "parts" in changed:
        changed["parts"] = [_quantised(part) for part in changed["parts"]]
    return changed


def _count_maps(document: Any) -> int:
    return len(document.get("maps", ())) + sum(_count_maps(part) for part in document.get("parts", ()))


def _without_last_map(document: Any) -> Any | None:
    """Take one map out, the last one of the part that has most; the first map of a part stays."""
    if len(document.get("maps", ())) > 1:
        return {**document, "maps": document["maps"][:-1]}
    parts = list(document.get("parts", ()))
    most = max(range(len(parts)), key=lambda i: _count_maps(parts[i]), default=None)
    if most is not None and (smaller := _without_last_map(parts[most])) is not None:
        parts[most] = smaller
        return {**document, "parts": parts}
    return None


def _coarser(document: Any) -> Any | None:
    """Halve thumbnails, then take the remaining maps out; of a tree, what is not needed for the picture of now; of
    roles, first intervals, then all evidence.
    """
    if document.get("levels"):
        return _smaller_tree(document)
    if any("n" in e or e["about"] for role in document.get("roles", ()) for e in role["heads"]):
        return {**document, "roles": [_shorter(role) for role in document["roles"]]}
    for panel in document.get("panels", ()):
        thumbnails = _array(panel["thumbnails"]) if "thumbnails" in panel else None
        if thumbnails is not None and thumbnails.shape[-1] > 4:
            return {**document, "panels": [_halved(panel) for panel in document["panels"]]}
    if document.get("maps"):
        return {**document, "maps": []}
    parts = list(document.get("parts", ()))
    for i in sorted(range(len(parts)), key=lambda i: -size(parts[i])):
        if (smaller := _coarser(parts[i])) is not None:
            parts[i] = smaller
            return {**document, "parts": parts}
    return None


def _smaller_tree(document: Any) -> Any | None:
    """Leave out the level that is not on show, then the candidates that the present tau rules out."""
    levels = document["levels"]
    if len(levels) > 1:
        return {**document, "levels": levels[-1:] if document["collapsed"] else levels[:1]}
    (level,) = levels
    edges, weight = _array(level["edges"]), _array(level["weight"])
    largest = _array(level["peak"]).astype(np.float64)[edges // max(1, level["count"] ** 2)]
    floor = max(float(level["floor"]), float(document["threshold"]))
    kept = weight.astype(np.float64) > floor * largest
    if kept.all():
        return None
    return {**document, "levels": [{**level, "floor": floor, "edges": edges[kept], "weight": weight[kept]}]}


def _evidence(document: Any) -> bool:
    """Whether any role says what it rests on."""
    return any(e["about"] for role in document.get("roles", ()) for e in role["heads"])


def _shorter(role: Any) -> Any:
    exact = any("n" in e for e in role["heads"])
    heads = []
    for e in role["heads"]:
        short = {"head": e["head"], "value": round(float(e["value"]), 3), "about": e["about"] if exact else ""}
        heads.append({**short, "certain": e["certain"]} if "certain" in e else short)
    return {**role, "heads": heads}


def _halved(panel: Any) -> Any:
    thumbnails = _array(panel["thumbnails"])
    t = thumbnails.shape[-1] // 2 * 2
    even = thumbnails[:, :, :t, :t]
    layers, heads = even.shape[:2]
    return {**panel, "thumbnails": even.reshape(layers, heads, t // 2, 2, t // 2, 2).max((3, 5))}
