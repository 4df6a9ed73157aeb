"""Importance by attribution: a head's map of attributions, pooled to one number (Hao et al. 2021, section 4.2)."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from headwidgets.attribution import targets
from headwidgets.attribution.integration.integrate import Layer
from headwidgets.attribution.integration.passes import Clean
from headwidgets.attribution.paths import Output, Plan, walk
from headwidgets.attribution.targets import Goal
from headwidgets.errors import InputError
from headwidgets.jobs import Cancel, Progress
from headwidgets.models.model import HeadModel
from headwidgets.models.sites import Site
from headwidgets.models.tally import Tally, chunks, singles
from headwidgets.scores import HeadScores
from headwidgets.text.examples import Example, as_texts
from headwidgets.text.labels import as_labels, labels_from

POOLING = ("max", "mean")
Pooling = Literal["max", "mean"]


def measure(
    model: HeadModel,
    texts: Any,
    labels: Any = None,
    *,
    pooling: Pooling = "max",
    output: Output | None = None,
    tolerance: float = 1e-2,
    seed: int = 0,
    on_progress: Progress | None = None,
    on_partial: Callable[[HeadScores], None] | None = None,
    cancel: Cancel | None = None,
) -> HeadScores:
    """Per text one number of a head's attribution map for the right answer, with its sign, averaged over texts.

    Nothing is kept per text, so the memory does not grow with them.

    Args:
        model: A HeadModel.
        texts: Texts.
        labels: The right classes; for encoder-decoders reference texts, unless the texts are pairs with them; None for
            language models (the token that the model predicts).
        pooling: Of a map to one number: its ``max`` (the largest entry, as published) or its ``mean``.
        output: What is attributed; by default the probability for classifiers (as published), else as in `attribute`,
            and for token classifiers the log-probability of all words' classes.
        tolerance: As in `attribute`, ten times looser than there: an error of one hundredth of a text's number is far
            below its spread over texts.
        seed: Of the order in which texts are seen.
        on_progress: Called with layers of texts done and in all.
        on_partial: Called with the scores of the texts seen so far.
        cancel: Says whether to stop.

    Raises:
        InputError: an unknown pooling or output, labels that do not fit.
        UnsupportedError: a model without a prediction or without maps.
        Cancelled: told to stop.
    """
    if pooling not in POOLING:
        raise InputError(f"expected pooling to be one of {', '.join(POOLING)}, got {pooling!r}")
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
    order = chunks(len(examples), seed)
    tally = Tally(model, singles(order), plan.sites)

    def take(done: Clean, layer: Layer, site: Site, _: list[str]) -> None:
        rows = []
        for row, (query, key) in enumerate(done.lengths(site)):
            entries = layer.maps[row, :, :query, :key]
            pooled = entries.amax((1, 2)) if pooling == "max" else entries.mean((1, 2))
            rows.append(pooled.cpu().numpy().astype(np.float64))
        tally.add(site, done.batch.index, np.stack(rows))

    def scores(seen: int) -> HeadScores:
        tally.n = seen
        return tally.scores(
            listed,
            name="attribution" if pooling == "max" else f"attribution, {pooling}",
            unit=targets.UNITS[plan.output],
            method="attribution",
            pooling=pooling,
            seed=seed,
            **plan.settings,
        )

    def after(seen: int) -> None:
        if on_partial is not None and seen < len(examples):
            on_partial(scores(seen))

    walk(model, examples, found, plan, take, on_progress, cancel, order, after)
    return scores(len(examples))


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
            "or take method='taylor', 'ablation' or 'confidence'"
        )
    if labels is not None and task != "values":
        raise InputError(f"{type(model.model).__name__} needs no labels for its importance; leave them out")
    return targets.goals(model, task, examples, None, None)


def _word_goal(row: Any, number: int) -> Goal:
    places = [i for i, label in enumerate(row) if label >= 0]
    if not places:
        raise InputError(f"text {number} has no labelled word")
    return Goal(places, [int(row[i]) for i in places], None, f"{len(places)} words")
