"""The right answer of a text as a target of attribution: ``target="gold"``."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headwidgets.errors import InputError
from headwidgets.text.examples import Example
from headwidgets.text.labels import as_labels, class_indices

GOLD, PREDICTED = "gold", "predicted"
Answer = Callable[[int], int]
"""Of a position, the class or token that is right there."""


def asked(target: Any, names: Sequence[str] | None) -> bool:
    """Whether a target (or one side of a contrast) is ``gold``, and no class has that name."""
    sides = target if isinstance(target, (tuple, list)) else (target,)
    return any(asked(side, names) if isinstance(side, (tuple, list)) else word(side, names) == GOLD for side in sides)


def word(target: Any, names: Sequence[str] | None) -> str | None:
    """``gold`` or ``predicted`` where a target is one of these words; a class of that name goes first."""
    if not isinstance(target, str) or target not in (GOLD, PREDICTED):
        return None
    return None if names and target.casefold() in {name.casefold() for name in names} else target


def answers(model: Any, task: str, examples: Sequence[Example], labels: Any, token: Callable[[Any], int]) -> Any:
    """One `Answer` per example.

    Args:
        model: A HeadModel.
        task: See `targets.task_of`.
        examples: The encoded texts.
        labels: The right classes; one per word for token classifiers; tokens for language models, where None is the
            token that follows in the text itself.
        token: Makes an id of a token (str) or its id.

    Raises:
        InputError: labels that are missing or do not fit, a position that has none.
    """
    n = len(examples)
    if task == "values":
        raise InputError("this model predicts one number, which has no right class; leave target= out")
    if labels is None and task in ("classes", "several", "words", "masked"):
        raise InputError(f"target={GOLD!r} is the right answer: give labels=, one per text")
    if task == "classes":
        return [_same(int(index)) for index in class_indices(labels, n, model.model.config)]
    if task == "several":
        return [_only(np.flatnonzero(row), i) for i, row in enumerate(as_labels(labels, n, model))]
    if task == "words":
        return [_of_word(row, i) for i, row in enumerate(as_labels(labels, n, model, examples))]
    if labels is None:
        return [_following(example.source.ids.tolist()) for example in examples]
    listed = [labels] if isinstance(labels, (str, int)) else list(labels)
    if len(listed) != n:
        raise InputError(f"expected one label per text, {n} in all, got {len(listed)}")
    return [_same(token(label)) for label in listed]


def _same(index: int) -> Answer:
    return lambda _: index


def _only(right: Any, number: int) -> Answer:
    if len(right) != 1:
        raise InputError(
            f"text {number} has {len(right)} right classes, and target={GOLD!r} is one: name the class that is meant"
        )
    return _same(int(right[0]))


def _of_word(row: Any, number: int) -> Answer:
    def at(position: int) -> int:
        if row[position] < 0:
            places = [str(i) for i, label in enumerate(row) if label >= 0]
            raise InputError(
                f"position {position} of text {number} has no label: the first token of each word has one, positions "
                f"{', '.join(places[:20])}"
            )
        return int(row[position])

    return at


def _following(ids: list[int]) -> Answer:
    def at(position: int) -> int:
        if position + 1 >= len(ids):
            raise InputError(
                f"no token of the text follows position {position}, its last: give the right token with labels=, or an "
                "earlier position="
            )
        return ids[position + 1]

    return at
