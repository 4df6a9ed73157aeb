"""What happens on a click? Makes what widgets ask for out of a HeadModel; the only module that knows both sides."""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from headwidgets import __version__
from headwidgets.attribution.correlation import correlate as correlate
from headwidgets.attribution.importance.methods import METHODS
from headwidgets.errors import InputError
from headwidgets.models import HeadModel
from headwidgets.models.attention import AttentionMaps
from headwidgets.models.interventions import ABLATIONS
from headwidgets.provenance import made
from headwidgets.scores import KIND_LABELS
from headwidgets.studio_text import FIRST_PAINT, ModelText, shown_text
from headwidgets.text.examples import as_texts, one_text
from headwidgets.wire.documents import EstimateData, GridPanel, HeadRef, KindName, Provenance

RANKING_TEXTS = 256
"""Texts on which a ranking is measured, at most: a seeded sample of those given."""
_SLOW = {"ablation": 64, "relevance": 64}
"""The same for methods that take many passes per text."""


def source(model: HeadModel) -> "ModelSource":
    """Return what widgets ask about `model`."""
    return ModelSource(model)


class ModelSource:
    """A `HeadModel` as widgets see it; see `headwidgets.wire.source.Source`."""

    methods: tuple[str, ...] = tuple(method for method in METHODS if method != "patching")  # which needs pairs of texts
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
        on_partial: Callable[[Any], None] | None = None,
    ) -> Any:
        """Head scores by a method of `methods`, on a seeded sample of at most `RANKING_TEXTS` texts."""
        from headwidgets.attribution import importance

        few, answers = sampled(texts, labels, _SLOW.get(method, RANKING_TEXTS))
        return importance(
            self.model,
            few,
            answers,
            method=method,
            on_progress=on_progress,
            on_partial=on_partial,
            cancel=cancelled,
        )


def sampled(texts: Any, labels: Any, most: int, seed: int = 0) -> tuple[Any, Any]:
    """Return at most `most` of the texts with their labels, in their order, drawn with a seed."""
    total = len(texts) if hasattr(texts, "__len__") and not isinstance(texts, (str, tuple)) else 1
    if total <= most:
        return texts, labels
    index = np.sort(np.random.default_rng(seed).choice(total, most, replace=False)).tolist()
    few = texts.select(index) if hasattr(texts, "select") else [texts[i] for i in index]
    sized = hasattr(labels, "__len__") and not isinstance(labels, str) and len(labels) == total
    return few, [labels[i] for i in index] if sized else labels


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

    def importance(
        self, method: str, texts: Any, labels: Any, on_progress: Any, cancelled: Any, on_partial: Any = None
    ) -> Any:
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


__all__ = [
    "FIRST_PAINT",
    "RANKING_TEXTS",
    "ModelEvaluator",
    "ModelSource",
    "ModelText",
    "ResultSource",
    "result",
    "sampled",
    "shown_text",
    "source",
]
