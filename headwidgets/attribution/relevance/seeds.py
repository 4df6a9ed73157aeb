"""Where relevance is seeded: the targets of every text."""

from collections.abc import Sequence
from typing import Any

from headwidgets.attribution import targets
from headwidgets.attribution.targets import Goal, Task
from headwidgets.errors import InputError
from headwidgets.models.model import HeadModel
from headwidgets.text.examples import Example
from headwidgets.text.labels import as_labels


def goals_of(
    model: HeadModel, task: Task, examples: Sequence[Example], labels: Any, *, gold: bool, positions: Any
) -> list[Goal]:
    """Every text's targets: positions and classes (-1 is what the model predicts).

    Args:
        model: A HeadModel.
        task: See `targets.task_of`.
        examples: The texts.
        labels: Right answers; read for `gold` only.
        gold: The right answers are seeded, else the model's own.
        positions: Of language models: ``last``, ``all`` or a list.

    Raises:
        InputError: labels or positions that do not fit a text.
    """
    n = len(examples)
    if task == "translation":
        found = targets.goals(model, task, examples, None, None)
        return found if gold else [Goal(g.positions, [-1] * len(g.plus), None) for g in found]
    if task == "next":
        return [_next(positions, e, gold, i) for i, e in enumerate(examples)]
    if task == "masked":
        if gold:
            raise InputError("the right word behind a mask is not known; take target='predicted'")
        return [_masked(model, e, i) for i, e in enumerate(examples)]
    if task == "values":
        return [Goal([], [0], None, "value") for _ in examples]
    if task == "words":
        return _words(model, examples, labels, gold)
    if not gold:
        return [Goal([], [-1], None) for _ in examples]
    if task == "several":
        raise InputError("a text of this model may have several right classes; take target='predicted'")
    classes = as_labels(labels, n, model, examples)
    return targets.goals(model, task, examples, [int(c) for c in classes], None)


def _next(positions: Any, example: Example, gold: bool, number: int) -> Goal:
    length = len(example.source)
    last = length - 1 - gold  # gold is the token that follows
    if positions == "all":
        places = list(range(last + 1))
    elif positions == "last":
        places = [last]
    else:
        wrong = next((p for p in positions if not -length <= p < length), None)
        if wrong is not None:
            raise InputError(f"text {number} has {length} positions (0 to {length - 1}), got {wrong} in positions")
        places = sorted({p % length for p in positions})
    if not places or not 0 <= places[0] <= places[-1] <= last:
        raise InputError(f"text {number} has no token after position {places[-1] if places else last} to be gold")
    ids = example.source.ids
    return Goal(places, [int(ids[p + 1]) if gold else -1 for p in places], None)


def _masked(model: HeadModel, example: Example, number: int) -> Goal:
    mask = model.tokenizer.mask_token_id
    places = [i for i, token in enumerate(example.source.ids.tolist()) if token == mask]
    if not places:
        raise InputError(f"text {number} has no masked token {model.tokenizer.mask_token} to predict")
    return Goal(places, [-1] * len(places), None)


def _words(model: HeadModel, examples: Sequence[Example], labels: Any, gold: bool) -> list[Goal]:
    if not gold:
        ordinary = [[i for i, s in enumerate(e.source.special) if not s] for e in examples]
        return [Goal(places, [-1] * len(places), None) for places in ordinary]
    rows = as_labels(labels, len(examples), model, examples)
    labelled = [[i for i, label in enumerate(row) if label >= 0] for row in rows]
    return [Goal(p, [int(row[i]) for i in p], None) for p, row in zip(labelled, rows, strict=True)]
