"""Which heads matter for a task? One number per head, averaged over examples."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from headwidgets.attribution import targets
from headwidgets.attribution.confidence import confidence
from headwidgets.attribution.integrate import Layer
from headwidgets.attribution.passes import Clean
from headwidgets.attribution.paths import Output, Plan, walk
from headwidgets.attribution.targets import Goal
from headwidgets.errors import InputError
from headwidgets.jobs import blocking
from headwidgets.models.model import HeadModel, expect_model
from headwidgets.models.sites import Site
from headwidgets.provenance import made
from headwidgets.scores import HeadScores
from headwidgets.text.examples import Example, as_texts
from headwidgets.text.labels import as_labels, labels_from
from headwidgets.wire.documents import KindName

METHODS = ("attribution", "confidence", "random")
POOLING = ("max", "mean")
Pooling = Literal["max", "mean"]


@blocking
def importance(
    model: HeadModel,
    texts: Any,
    labels: Any = None,
    method: str = "attribution",
    pooling: Pooling = "max",
    output: Output | None = None,
    tolerance: float = 1e-2,
    seed: int = 0,
    on_progress: Callable[[int, int], None] | None = None,
    cancel: Callable[[], bool] | None = None,
) -> HeadScores:
    """Score every head by how much it matters on a set of texts.

    ``attribution``: per text the largest entry of the head's attribution map (signed) for the right answer, averaged
    over texts (Hao et al. 2021, section 4.2). ``confidence``: the largest attention weight of a query, averaged over
    queries (Voita et al. 2019, section 4); needs no labels. ``random``: a control; draw many seeds for a band.

    Nothing is kept per text, so the memory does not grow with them. Measure on one split and prune on another.

    Args:
        model: From `headwidgets.load` or `wrap`.
        texts: A list of texts, or a dataset.
        labels: The right classes; for encoder-decoders reference texts, unless the texts are pairs with them; None for
            language models (the token that the model predicts).
        method: ``attribution``, ``confidence`` or ``random``.
        pooling: Of a map to one number, for attribution: its ``max`` (as published) or its ``mean``.
        output: What is attributed; by default the probability for classifiers (as published), else as in `attribute`,
            and for token classifiers the log-probability of all words' classes.
        tolerance: As in `attribute`, ten times looser than there: an error of one hundredth of a text's number is far
            below its spread over texts.
        seed: Of the random control.
        on_progress: Called with steps done and steps in all.
        cancel: Says whether to stop.

    Returns:
        Scores with the number of texts and standard errors (over texts; for confidence, queries cluster in texts).

    Raises:
        InputError: an unknown method, labels that do not fit.
        UnsupportedError: a model without a prediction or without maps.
        Cancelled: told to stop.
    """
    expect_model(model)
    if method not in METHODS:
        raise InputError(f"expected method to be one of {', '.join(METHODS)}, got {method!r}")
    if pooling not in POOLING:
        raise InputError(f"expected pooling to be one of {', '.join(POOLING)}, got {pooling!r}")
    if method == "random":
        return _random(model, seed)
    if method == "confidence":
        return confidence(model, texts, on_progress=on_progress, cancel=cancel)
    return _attributed(model, texts, labels, pooling, output, tolerance, on_progress, cancel)


def _random(model: HeadModel, seed: int) -> HeadScores:
    generator = np.random.default_rng(seed)
    values: dict[KindName, Any] = {}
    for kind in model.kinds:
        values[kind] = np.full(model.shape(kind), np.nan)
        for site in model.sites_of(kind):
            values[kind][site.layer, : site.n_heads] = generator.random(site.n_heads)
    return HeadScores(
        values, name="random", provenance=made(model, method="random", seed=seed), fingerprint=model.fingerprint
    )


def _attributed(
    model: HeadModel,
    texts: Any,
    labels: Any,
    pooling: Pooling,
    output: Output | None,
    tolerance: float,
    on_progress: Callable[[int, int], None] | None,
    cancel: Callable[[], bool] | None,
) -> HeadScores:
    given = labels_from(texts, labels, model.model.config)
    listed = as_texts(texts)
    task = targets.task_of(model)
    if task == "translation" and given is not None:
        listed = _with_references(model, listed, given)
        given = None
    if output is None and task in ("classes", "several"):
        output = "probability"
    plan = Plan.of(model, "log-probability" if task == "words" and output is None else output,
                   "gauss-legendre", "auto", tolerance, None, None)  # fmt: skip
    examples = model.encode(listed)
    found = _gold(model, task, examples, given)
    sums = {kind: np.full(model.shape(kind), np.nan) for kind in model.kinds}
    for site in plan.sites:
        sums[site.kind][site.layer, : site.n_heads] = 0.0
    squares = {kind: array.copy() for kind, array in sums.items()}

    def take(done: Clean, layer: Layer, site: Site, _: list[str]) -> None:
        for row, (query, key) in enumerate(done.lengths(site)):
            entries = layer.maps[row, :, :query, :key]
            pooled = entries.amax((1, 2)) if pooling == "max" else entries.mean((1, 2))
            numbers = pooled.cpu().numpy().astype(np.float64)
            sums[site.kind][site.layer, : site.n_heads] += numbers
            squares[site.kind][site.layer, : site.n_heads] += numbers**2

    walk(model, examples, found, plan, take, on_progress, cancel)
    n = len(examples)
    spread = {kind: np.sqrt(np.maximum(squares[kind] / n - (sums[kind] / n) ** 2, 0)) for kind in sums}
    return HeadScores(
        {kind: array / n for kind, array in sums.items()},
        stderr={kind: array / np.sqrt(n - 1) for kind, array in spread.items()} if n > 1 else None,
        n=n,
        name="attribution",
        unit=targets.UNITS[plan.output],
        provenance=made(model, listed, method="attribution", pooling=pooling, **plan.settings),
        fingerprint=model.fingerprint,
    )


def _with_references(model: HeadModel, listed: list[Any], given: Any) -> list[Any]:
    wanted = as_labels(given, len(listed), model)
    pairs = [i for i, text in enumerate(listed) if isinstance(text, tuple)]
    if pairs:
        raise InputError(f"text {pairs[0]} already is a pair of source and target; leave labels out")
    return list(zip(listed, wanted, strict=True))


def _gold(model: HeadModel, task: targets.Task, examples: Sequence[Example], labels: Any) -> list[Goal]:
    """One goal per example: the right answer."""
    if task == "classes":
        classes = as_labels(labels, len(examples), model, examples)
        return targets.goals(model, task, examples, [int(c) for c in classes], None)
    if task == "words":
        rows = as_labels(labels, len(examples), model, examples)
        return [_word_goal(row, i) for i, row in enumerate(rows)]
    if task == "several":
        raise InputError(
            "a text of this model may have several classes: attribute each with hw.attribution.attribute(target=...), "
            "or take method='confidence'"
        )
    if labels is not None and task != "values":
        raise InputError(f"{type(model.model).__name__} needs no labels for its importance; leave them out")
    return targets.goals(model, task, examples, None, None)


def _word_goal(row: Any, number: int) -> Goal:
    places = [i for i, label in enumerate(row) if label >= 0]
    if not places:
        raise InputError(f"text {number} has no labelled word")
    return Goal(places, [int(row[i]) for i in places], None, f"{len(places)} words")
