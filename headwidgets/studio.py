"""What happens on a click? Makes what widgets ask for out of a HeadModel; the only module that knows both sides."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from headwidgets import __version__
from headwidgets.attribution.importance import METHODS
from headwidgets.errors import Cancelled, InputError
from headwidgets.models import HeadModel
from headwidgets.models.attention import AttentionMaps
from headwidgets.models.interventions import ABLATIONS
from headwidgets.models.overview import MAX_CELLS, THUMBNAIL, pooled
from headwidgets.provenance import made
from headwidgets.scores import KIND_LABELS, Head
from headwidgets.text.examples import as_texts, one_text
from headwidgets.wire.documents import (
    SCHEMA,
    AttentionDocument,
    AttributionDocument,
    EstimateData,
    GridPanel,
    HeadMap,
    HeadRef,
    KindName,
    Provenance,
    Token,
)

RANKING_TEXTS = 256
"""Texts on which a ranking is measured, at most: a seeded sample of those given."""

FIRST_PAINT = 140_000
"""Bytes of the first picture of a text: tokens, thumbnails and one map."""
_THUMBNAILS = 40_000
_EXACT_CELLS = 16_384
_LEAST_CELLS = 4_096


def source(model: HeadModel) -> "ModelSource":
    """Return what widgets ask about `model`."""
    return ModelSource(model)


class ModelSource:
    """A `HeadModel` as widgets see it; see `headwidgets.wire.source.Source`."""

    methods: tuple[str, ...] = METHODS
    ablations: tuple[str, ...] = ABLATIONS

    def __init__(self, model: HeadModel) -> None:
        self.model = model
        self.name = model.name
        self.kinds = model.kinds
        self.lock = model.lock
        self.provenance: Provenance = made(model)

    def shape(self, kind: KindName) -> tuple[int, int]:
        """Layers and heads of a kind."""
        return self.model.shape(kind)

    def panel(self, kind: KindName) -> GridPanel:
        """An empty grid panel for a kind."""
        layers, heads = self.model.shape(kind)
        kv_heads = max(site.n_kv_heads for site in self.model.sites_of(kind))
        return {
            "kind": kind,
            "label": KIND_LABELS[kind],
            "layers": layers,
            "heads": heads,
            "kv_heads": kv_heads,
            "scores": [],
        }

    def texts(self, texts: Any) -> list[Any]:
        """The single texts of whatever a user has."""
        return as_texts(texts)

    def text(self, text: Any, **options: Any) -> "ModelText":
        """Look at one text; `generate` goes to `HeadModel.attend`, other options to `attribute`."""
        if text is None:
            raise InputError("a model needs a text to look at: pass one after the model")
        one_text(text, "a view")
        return ModelText(self, text, options)

    def evaluator(self, texts: Any, labels: Any, metric: str | Callable[..., float]) -> "ModelEvaluator":
        """Evaluate on a set of texts."""
        return ModelEvaluator(self.model, texts, labels, metric)

    def importance(
        self,
        method: str,
        texts: Any,
        labels: Any,
        on_progress: Callable[[int, int], None],
        cancelled: Callable[[], bool],
    ) -> Any:
        """Head scores by a method of `methods`, on a seeded sample of at most `RANKING_TEXTS` texts."""
        from headwidgets.attribution import importance

        few, answers = sampled(texts, labels, RANKING_TEXTS)
        return importance(self.model, few, answers, method=method, on_progress=on_progress, cancel=cancelled)


def sampled(texts: Any, labels: Any, most: int, seed: int = 0) -> tuple[Any, Any]:
    """Return at most `most` of the texts with their labels, in their order, drawn with a seed."""
    total = len(texts) if hasattr(texts, "__len__") and not isinstance(texts, (str, tuple)) else 1
    if total <= most:
        return texts, labels
    index = np.sort(np.random.default_rng(seed).choice(total, most, replace=False)).tolist()
    few = texts.select(index) if hasattr(texts, "select") else [texts[i] for i in index]
    sized = hasattr(labels, "__len__") and not isinstance(labels, str) and len(labels) == total
    return few, [labels[i] for i in index] if sized else labels


class ModelText:
    """One text, looked at from close by; see `headwidgets.wire.source.TextSource`."""

    def __init__(self, source: "ModelSource | ResultSource", text: Any, options: dict[str, Any]) -> None:
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
            "provenance": self._source.provenance,
        }
        return cast(AttentionDocument, document)

    # ---- attribution

    def attribution(
        self, words: bool, on_progress: Callable[[int, int], None], cancelled: Callable[[], bool]
    ) -> AttributionDocument:
        """Attribution of all layers, computed once, and the map of the head that carries most."""
        from headwidgets.attribution import attribute

        if self._attribution is None:
            found = attribute(self._model(), self._text, **self._how, on_progress=on_progress, cancel=cancelled)
            if cancelled():
                raise Cancelled("the attribution was cancelled")
            self._attribution = found[0] if isinstance(found, list) else found
        found = self._attribution
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
            "maps": [_head_map(most, "attribution", values, _room(panels))],
            "selected": [list(most)],
            "provenance": found.provenance or self._source.provenance,
        }
        return cast(AttributionDocument, document)

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

    # ---- both

    def head_map(self, view: str, head: HeadRef, words: bool) -> HeadMap:
        """One head's map (index -1: summed over the layer), at most 0.5 MB."""
        which = Head(*head)
        if view == "attribution":
            if self._attribution is None:
                raise Cancelled("the attribution is not there yet")
            values = self._result(words)[which]
        elif self._source.model is None and self._attribution is not None:
            values = self._attention_of_result(which, words)
        elif which.index < 0:
            values = np.nansum(self._maps(words).layer(which.kind, which.layer), axis=0)
        else:
            values = self._maps(words)[which]
        return _head_map(which, view, values, 4 * MAX_CELLS)

    def close(self) -> None:
        """Free the maps and let go of the model."""
        with self._turn:
            maps, self._tokens, self._words, self._attribution = self._tokens, None, None, None
            self._attribution_words = None
        if maps is not None and self._owned:
            maps.close()


class ResultSource:
    """A result that was computed before, as widgets see it: one text, nothing to evaluate."""

    methods: tuple[str, ...] = ()
    ablations: tuple[str, ...] = ABLATIONS
    model: HeadModel | None = None

    def __init__(self, result: Any) -> None:
        self.result = result
        unknown: Provenance = {"model": "", "version": __version__, "settings": {}}
        self.provenance: Provenance = getattr(result, "provenance", None) or unknown
        self.name = self.provenance["model"]
        self.kinds = tuple(result.kinds)
        self.lock = threading.RLock()

    def shape(self, kind: KindName) -> tuple[int, int]:
        """Layers and heads of a kind."""
        found = self.result.shape(kind) if hasattr(self.result, "shape") else self.result.totals[kind].shape
        return int(found[0]), int(found[1])

    def panel(self, kind: KindName) -> GridPanel:
        """An empty grid panel for a kind."""
        n_layers, n_heads = self.shape(kind)
        label = KIND_LABELS[kind]
        return {"kind": kind, "label": label, "layers": n_layers, "heads": n_heads, "kv_heads": n_heads, "scores": []}

    def texts(self, texts: Any) -> list[Any]:
        """The single texts of whatever a user has."""
        return as_texts(texts)

    def text(self, text: Any, **options: Any) -> ModelText:
        """The text of the result; another one needs a model."""
        if text is not None or options:
            raise InputError("a result is about its own text: leave text and options out, or pass the model with them")
        found = ModelText(self, self.result.text, {})
        found._owned = False
        if isinstance(self.result, AttentionMaps):
            found._tokens = self.result
        else:
            found._attribution = self.result
        return found

    def evaluator(self, texts: Any, labels: Any, metric: Any) -> "ModelEvaluator":
        """Raises: only a model can be evaluated."""
        raise InputError("pruning needs the model, not a result")

    def importance(self, method: str, texts: Any, labels: Any, on_progress: Any, cancelled: Any) -> Any:
        """Raises: only a model can be measured."""
        raise InputError("a ranking needs the model, not a result")


def result(found: Any) -> ResultSource:
    """Return what widgets ask about `AttentionMaps` or an `Attribution`."""
    return ResultSource(found)


class ModelEvaluator:
    """A metric on a fixed set of texts; see `headwidgets.wire.source.Evaluator`."""

    def __init__(self, model: HeadModel, texts: Any, labels: Any, metric: Any) -> None:
        from headwidgets.pruning import evaluator

        self._evaluator = evaluator(model, texts, labels, metric=metric)
        self.metric: str = self._evaluator.metric
        self.total: int = self._evaluator.total
        self.data = self._evaluator.provenance["settings"].get("data")

    def estimates(
        self, pruned: Sequence[HeadRef], ablation: str, cancelled: Callable[[], bool]
    ) -> Iterator[EstimateData]:
        """Yield narrowing estimates, the last one exact; stops within one batch once `cancelled()`."""
        for estimate in self._evaluator.estimates(pruned, ablation, cancelled):
            yield estimate.data()

    def known(self, pruned: Sequence[HeadRef], ablation: str) -> EstimateData | None:
        """The best estimate so far without computing anything."""
        estimate = self._evaluator.known(pruned, ablation)
        return None if estimate is None else estimate.data()


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
