"""Which heads matter for a task? One number per head, averaged over examples, by any of several methods."""

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal

from headwidgets.errors import InputError
from headwidgets.jobs import Cancel, Progress, blocking
from headwidgets.models.model import HeadModel, expect_model
from headwidgets.scores import HeadScores

_ROOM = "headwidgets.attribution"
_MODULES = {
    "attribution": "importance.attributed",
    "taylor": "importance.taylor",
    "relevance": "relevance",
    "ablation": "importance.ablation",
    "patching": "patching",
    "confidence": "importance.confidence",
    "random": "importance.chance",
}
METHODS = tuple(_MODULES)
"""Names of the methods; each has a function `measure`, imported when it is asked for."""

Method = Literal["attribution", "taylor", "relevance", "ablation", "patching", "confidence", "random"]
_HANDED_ON = ("on_progress", "on_partial", "cancel")


@blocking
def importance(
    model: HeadModel,
    texts: Any,
    labels: Any = None,
    method: Method | str = "attribution",
    *,
    on_progress: Progress | None = None,
    on_partial: Callable[[HeadScores], None] | None = None,
    cancel: Cancel | None = None,
    **options: Any,
) -> HeadScores:
    """Score every head by how much it matters on a set of texts.

    ``attribution``: per text the largest entry of the head's attribution map (signed) for the right answer, averaged
    over texts (Hao et al. 2021, section 4.2). ``taylor``: the slope of the loss in the head's gate, without its sign
    (Michel et al. 2019, section 4.1). ``relevance``: what layer-wise relevance propagation gives to the head's output
    (Voita et al. 2019, appendix A). ``ablation``: the loss (or accuracy) without the head less that with it.
    ``patching``: what the head's output brings back between a clean and a corrupted text. ``confidence``: the largest
    attention weight of a query, averaged over queries (Voita et al. 2019, section 4); needs no labels. ``random``: a
    control; draw many seeds for a band. `METHODS` lists those that there are.

    Texts are seen in a seeded random order, sorted by length inside a chunk only, so that a partial result is a fair
    sample. Measure on one split and prune on another.

    Args:
        model: From `headwidgets.load` or `wrap`.
        texts: A list of texts, or a dataset.
        labels: The right answers, as `HeadModel.evaluate` takes them; None where a method or model needs none.
        method: One of `METHODS`.
        on_progress: Called with steps done and steps in all.
        on_partial: Called with the scores of the texts seen so far.
        cancel: Says whether to stop.
        options: Of the method: the keywords of its `measure` (`options_of` names them). ``seed=`` is known to all that
            draw anything.

    Returns:
        Scores with the number of texts, standard errors over texts, and how they were made.

    Raises:
        InputError: an unknown method or option, labels that do not fit.
        UnsupportedError: a model without what the method needs.
        Cancelled: told to stop.
    """
    expect_model(model)
    measure = _measure(method)
    known = options_of(method)
    unknown = [name for name in options if name not in known]
    if unknown:
        raise InputError(
            f"method {method!r} has no option {unknown[0]!r}: it knows {', '.join(known) if known else 'none'}"
        )
    found: HeadScores = measure(
        model, texts, labels, on_progress=on_progress, on_partial=on_partial, cancel=cancel, **options
    )
    return found


def options_of(method: str) -> tuple[str, ...]:
    """Names of a method's own keywords.

    Raises:
        InputError: an unknown method.
    """
    parameters = inspect.signature(_measure(method)).parameters.values()
    return tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in _HANDED_ON)


def _measure(method: Any) -> Callable[..., HeadScores]:
    if method not in METHODS:
        raise InputError(f"expected method to be one of {', '.join(METHODS)}, got {method!r}")
    found: Callable[..., HeadScores] = import_module(f"{_ROOM}.{_MODULES[method]}").measure
    return found
