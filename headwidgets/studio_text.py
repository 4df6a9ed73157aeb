"""What is there to see in one text? The documents and maps of one text, for widgets that look at it from close by."""

import json
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from headwidgets.errors import Cancelled, InputError, MemoryLimitError, UnsupportedError
from headwidgets.models import HeadModel
from headwidgets.models.attention import AttentionMaps
from headwidgets.models.overview import MAX_CELLS, THUMBNAIL, pooled
from headwidgets.scores import KIND_LABELS, Head
from headwidgets.text.examples import Side
from headwidgets.wire.documents import (
    SCHEMA,
    AttentionDocument,
    AttributionDocument,
    HeadMap,
    HeadRef,
    KindName,
    Provenance,
    Token,
    TreeDocument,
)

FIRST_PAINT = 140_000
"""Bytes of the first picture of a text: tokens, thumbnails and one map."""
_THUMBNAILS = 40_000
_EXACT_CELLS = 16_384
_LEAST_CELLS = 4_096
_NO_MODEL = "Attribution needs the model: use AttentionView(model, text) instead of maps."


class Looked(Protocol):
    """A model or a result behind a text."""

    name: str
    provenance: Provenance

    @property
    def model(self) -> HeadModel | None:
        """None for a result."""


class ModelText:
    """One text, looked at from close by; see `headwidgets.wire.source.TextSource`."""

    def __init__(self, source: "Looked", text: Any, options: dict[str, Any]) -> None:
        self._source = source
        self._text = text
        self._how = dict(options)
        self._generate = int(self._how.pop("generate", 0))
        self._turn = threading.RLock()
        self._tokens: AttentionMaps | None = None
        self._words: AttentionMaps | None = None
        self._attribution: Any = None
        self._attribution_words: Any = None
        self._owned = True

    @property
    def attributed(self) -> bool:
        """Whether the attribution is there, so that its maps come at once."""
        return self._attribution is not None

    def _model(self) -> HeadModel:
        model = self._source.model
        if model is None:
            raise InputError("this needs the model, and the widget was made from a result: pass model and text instead")
        return model

    # ---- attention

    def _maps(self, words: bool) -> AttentionMaps:
        with self._turn:
            if self._tokens is None:
                self._tokens = self._model().attend(self._text, generate=self._generate)
            if words and self._words is None:
                self._words = self._tokens.words()
            return cast(AttentionMaps, self._words if words else self._tokens)

    def attention(self, words: bool) -> AttentionDocument:
        """The overview and the map of the first head."""
        maps = self._maps(words)
        n_heads = sum(layers * heads for layers, heads in map(maps.shape, maps.kinds))
        most = max(4, min(THUMBNAIL, int((_THUMBNAILS / n_heads) ** 0.5)))
        panels: list[Any] = []
        for kind in maps.kinds:
            layers, heads, rows, columns = maps.map_shape(kind)
            query, key = maps.labels[kind]
            panels.append(
                {
                    "kind": kind,
                    "label": KIND_LABELS[kind],
                    "layers": layers,
                    "heads": heads,
                    "query": query,
                    "key": key,
                    "thumbnails": maps.thumbnails(kind, min(most, rows, columns)),
                }
            )
        first, values = _first_map(maps)
        document = {
            "schema": SCHEMA,
            "document": "attention",
            "title": f"Attention of {self._source.name}" if self._source.name else "Attention",
            "text": shown_text(self._text, maps.generated),
            "panels": panels,
            "maps": [_head_map(first, "attention", values, _room(panels))],
            "selected": [list(first)],
            "words": maps.word_level,
            "hide_special": False,
            "mode": "lines",
            "view": "attention",
            "lacking": self._lacking(),
            "provenance": self._source.provenance,
        }
        return cast(AttentionDocument, document)

    # ---- attribution

    def attribution(
        self, words: bool, on_progress: Callable[[int, int], None], cancelled: Callable[[], bool]
    ) -> AttributionDocument:
        """Attribution of all layers, computed once, and the map of the head that carries most."""
        found = self._attributed(on_progress, cancelled)
        panels = [self._attribution_panel(kind, words) for kind in found.kinds]
        most = _carries_most(found)
        values = self._result(words)[most]
        document = {
            "schema": SCHEMA,
            "document": "attribution",
            "title": f"Attribution of {self._source.name}" if self._source.name else "Attribution",
            "text": shown_text(self._text, ""),
            "target": found.target,
            "output": found.output,
            "unit": found.unit,
            "value": float(found.value),
            "rule": found.rule,
            "tolerance": float(found.tolerance or 0.0),
            "panels": panels,
            "maps": [self._told(_head_map(most, "attribution", values, _room(panels)))],
            "selected": [list(most)],
            "lacking": self._lacking(),
            "provenance": found.provenance or self._source.provenance,
        }
        return cast(AttributionDocument, document)

    def tree(
        self, options: dict[str, Any], on_progress: Callable[[int, int], None], cancelled: Callable[[], bool]
    ) -> TreeDocument:
        """The attribution tree; `options` are those of `headwidgets.attribution.trees.tree`."""
        name = self._source.name
        found = self._attributed(on_progress, cancelled).tree(**options)
        return cast(TreeDocument, found.document(f"Attribution tree of {name}" if name else ""))

    def _attributed(self, on_progress: Callable[[int, int], None], cancelled: Callable[[], bool]) -> Any:
        """The attribution, computed once."""
        from headwidgets.attribution import attribute

        if self._attribution is None:
            found = attribute(self._model(), self._text, **self._how, on_progress=on_progress, cancel=cancelled)
            if cancelled():
                raise Cancelled("the attribution was cancelled")
            self._attribution = found[0] if isinstance(found, list) else found
        return self._attribution

    def _attribution_panel(self, kind: KindName, words: bool) -> dict[str, Any]:
        found = self._result(words)
        query, key = found.labels[kind]
        layers, heads = found.shape(kind)
        return {
            "kind": kind,
            "label": KIND_LABELS[kind],
            "layers": layers,
            "heads": heads,
            "query": query,
            "key": key,
            "totals": found.totals[kind].astype(np.float32),
            "received": found.received(kind).astype(np.float32),
            "given": found.given(kind).astype(np.float32),
            "change": np.asarray(found.change[kind], dtype=np.float64),
            "gap": np.asarray(found.gap[kind], dtype=np.float64),
            "steps": np.asarray(found.steps[kind]).astype(np.int32),
        }

    def _result(self, words: bool) -> Any:
        """The attribution, over words or tokens."""
        with self._turn:
            if not words:
                return self._attribution
            if self._attribution_words is None:
                self._attribution_words = self._attribution.words()
            return self._attribution_words

    def _attention_of_result(self, head: Head, words: bool) -> NDArray[np.float32]:
        """An attention map that came with the attribution (there is no model to ask)."""
        found = self._result(words)
        found.layer(head.kind, head.layer)  # refuses a layer that there is not
        layer = found.attention[head.kind][head.layer]
        return np.asarray(np.nansum(layer, axis=0) if head.index < 0 else layer[head.index], dtype=np.float32)

    def _told(self, found: HeadMap) -> HeadMap:
        """A map of the attribution with what was attributed."""
        target = f" of “{self._attribution.target}”" if self._attribution.target else ""
        about = f"{self._attribution.output}{target}"
        return cast(HeadMap, {**found, "about": about, "unit": self._attribution.unit})

    # ---- all views

    def _lacking(self) -> dict[str, str]:
        """By view that cannot be shown, a sentence that says why."""
        from headwidgets.models import norms

        model, maps, result = self._source.model, self._tokens, self._attribution
        if model is None and result is not None:
            reasons = {"norm": "Norms need the model: use AttributionView(model, text) instead of a result."}
            if result.kept_attention is None:
                reasons["attention"] = "The maps of this result were not kept: call attribute(..., keep='maps')."
            return reasons
        reasons = {
            "norm": norms.why_not(model) if maps is None else norms.why_not_of(maps),
            "attribution": self._no_attribution() if model is not None else _NO_MODEL,
        }
        return {view: sentence for view, sentence in reasons.items() if sentence}

    def _no_attribution(self) -> str:
        """Why there is no attribution of this text with the defaults; empty where there is one."""
        from headwidgets.attribution.integration.passes import check_model
        from headwidgets.attribution.targets import task_of

        if self._attribution is not None:
            return ""
        model = self._model()
        try:
            check_model(model)
            task = task_of(model)
        except UnsupportedError as error:
            return f"No attribution: {error}"
        masks = sum(int((side.ids == model.tokenizer.mask_token_id).sum()) for side in self._encoded())
        if task == "words" or (task == "masked" and masks != 1):
            return "This model predicts at every token: AttributionView(model, text, position=...) takes one of them."
        if self._generate:
            return "Attribution is of a given text: AttributionView(model, text) takes what was generated as one."
        return ""

    def _encoded(self) -> list[Side]:
        return [] if self._tokens is None else [self._tokens.sides[self._tokens.kinds[0]][0]]

    def head_map(self, view: str, head: HeadRef, words: bool) -> HeadMap:
        """One head's map (index -1: of the whole layer), at most 0.5 MB."""
        which = Head(*head)
        if view == "attribution":
            if self._attribution is None:
                raise Cancelled("the attribution is not there yet")
            return self._told(_head_map(which, view, self._result(words)[which], 4 * MAX_CELLS))
        if view == "norm":
            return self._norm_map(which, words)
        if self._source.model is None and self._attribution is not None:
            values = self._attention_of_result(which, words)
        elif which.index < 0:
            values = np.nansum(self._maps(words).layer(which.kind, which.layer), axis=0)
        else:
            values = self._maps(words)[which]
        return _head_map(which, view, values, 4 * MAX_CELLS)

    def _norm_map(self, head: Head, words: bool) -> HeadMap:
        """A norm-based map, with the end of the scale that the heads of its layer share."""
        if self._source.model is None and self._attribution is not None:
            raise InputError(self._lacking()["norm"])
        norms = self._maps(words).norms
        if head.index < 0:  # the norm of the sum over heads has a scale of its own
            return _head_map(head, "norm", norms.summed(head.kind, head.layer), 4 * MAX_CELLS)
        found = _head_map(head, "norm", norms[head], 4 * MAX_CELLS)
        try:
            return cast(HeadMap, {**found, "top": float(np.nanmax(norms.layer(head.kind, head.layer)))})
        except MemoryLimitError:  # single heads only: each on its own scale
            return found

    def close(self) -> None:
        """Free the maps and let go of the model."""
        with self._turn:
            maps, self._tokens, self._words, self._attribution = self._tokens, None, None, None
            self._attribution_words = None
        if maps is not None and self._owned:
            maps.close()


# ---- small things ---------------------------------------------------------------------------------------


def shown_text(text: Any, generated: str) -> str:
    """Return a text as one line for a heading; a pair, or a source and what was written for it, with an arrow."""
    if isinstance(text, tuple):
        return " → ".join(shown_text(part, "") for part in text)
    if isinstance(text, list) and len(text) == 1:  # a list of one text, as words need it
        return shown_text(text[0], generated)
    line = " ".join(map(str, text)) if isinstance(text, list) else str(text)
    return f"{line} → {generated}" if generated else line


def _head_map(head: Head, view: str, values: NDArray[Any], room: int) -> HeadMap:
    """A map in at most `room` bytes: float32 where that fits, else 8-bit, else means of blocks of tokens, 8-bit."""
    clean = np.nan_to_num(np.asarray(values, dtype=np.float32), nan=0.0)
    low, high = float(clean.min()), float(clean.max())
    query_step = key_step = 1
    sent: NDArray[Any] = np.ascontiguousarray(clean)
    if clean.nbytes > room:
        sent, query_step, key_step = pooled(clean, max(room, _LEAST_CELLS))
        low, high = float(sent.min()), float(sent.max())
        span = high - low if high > low else 1.0
        sent = np.rint((sent - low) * (255 / span)).astype(np.uint8)
    found = {
        "head": list(head),
        "view": view,
        "values": sent,
        "low": low,
        "high": high,
        "query_step": query_step,
        "key_step": key_step,
    }
    return cast(HeadMap, found)


def _first_map(maps: AttentionMaps) -> tuple[Head, NDArray[np.float32]]:
    """The first head that there is, with its map."""
    for kind in maps.kinds:
        layers, _ = maps.shape(kind)
        for layer in range(layers):
            try:
                return Head(kind, layer, 0), maps[kind, layer, 0]
            except InputError:  # a layer without attention
                continue
    raise InputError("there are no attention maps to show")


def _room(panels: Sequence[dict[str, Any]]) -> int:
    """Bytes that the first map may take beside what else is in the first picture."""
    arrays = sum(value.nbytes for panel in panels for value in panel.values() if isinstance(value, np.ndarray))
    tokens: list[Token] = [token for panel in panels for side in ("query", "key") for token in panel[side]]
    return max(_LEAST_CELLS, min(4 * _EXACT_CELLS, FIRST_PAINT - arrays - len(json.dumps(tokens))))


def _carries_most(found: Any) -> Head:
    """The head whose attributions add up to most, in either direction."""
    best: tuple[float, Head] | None = None
    for kind in found.kinds:
        size = np.abs(np.nan_to_num(found.totals[kind], nan=0.0))
        layer, index = np.unravel_index(int(size.argmax()), size.shape)
        if best is None or size[layer, index] > best[0]:
            best = float(size[layer, index]), Head(kind, int(layer), int(index))
    assert best is not None, "an attribution has at least one kind"
    return best[1]
