"""What is attributed? One number per text, read from the model's logits.

The number F is a log-odds, a probability, a log-probability or a mean-centred logit of a target, or its difference
between two targets (a contrast). A single raw logit is never used: adding a constant to all logits changes it, but
not what the model predicts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from headwidgets.attribution import gold
from headwidgets.errors import InputError, UnsupportedError
from headwidgets.text.encoding import encode_side, segments_of
from headwidgets.text.examples import Example
from headwidgets.text.labels import class_index, class_names, label_kind
from headwidgets.text.targets import start_id

Task = Literal["classes", "several", "values", "words", "masked", "next", "translation"]
OUTPUTS = ("log-odds", "probability", "log-probability", "logit")
UNITS = {"log-odds": "nats", "probability": "", "log-probability": "nats", "logit": "logits", "value": ""}
SATURATED = 1e-3
"""A probability this near to 0 or 1 hardly moves; the result then offers the logit."""


def task_of(model: Any) -> Task:
    """Which kind of output a HeadModel has.

    Raises:
        UnsupportedError: it has no logits that attribution knows.
    """
    root = model.model
    try:
        vocabulary = root.get_output_embeddings()
    except (AttributeError, NotImplementedError):
        vocabulary = None
    if vocabulary is not None:
        if model.is_encoder_decoder:
            return "translation"
        return "next" if "decoder" in model.kinds else "masked"
    kind = label_kind(model)
    if kind in ("classes", "several", "values", "words") and not type(root).__name__.endswith("MultipleChoice"):
        return kind
    raise UnsupportedError(
        f"{type(root).__name__} has no prediction that attribution can follow: expected a model with a classifier or a "
        "language-model head; load it with task='sequence-classification', 'causal-lm', 'seq2seq' or the like"
    )


def default_output(task: Task, output: str | None, position: Any = None) -> str:
    """The output's name; by default log-odds, for language models the logit, for encoder-decoders log-probability.

    Raises:
        InputError: unknown, or not defined for this task.
    """
    if output is not None and output not in OUTPUTS:
        raise InputError(f"expected output to be one of {', '.join(OUTPUTS)}, got {output!r}")
    if task == "values":
        if output not in (None, "logit"):
            raise InputError(f"this model predicts a number and has no {output}; leave output= out")
        return "value"
    if task == "translation" and position is None and output == "log-odds":
        raise InputError(
            "the log-odds of a whole target text are not defined; take output='log-probability', or name one position="
        )
    return output or {"masked": "logit", "next": "logit", "translation": "log-probability"}.get(task, "log-odds")


@dataclass
class Goal:
    """What is read of one example: at `positions`, the target `plus` (minus the target `minus`).

    Attributes:
        positions: Where in the sequence of logits; empty for one prediction per text.
        plus: Target indices, one per position; -1 stands for the one that the model predicts.
        minus: The contrast's other targets, or None.
        name: For a reader; completed when predictions are known.
    """

    positions: list[int]
    plus: list[int]
    minus: list[int] | None
    name: str = ""


def goals(
    model: Any, task: Task, examples: Sequence[Example], target: Any, position: Any, labels: Any = None
) -> list[Goal]:
    """One goal per example, from the user's ``target=`` and ``position=`` (a list gives one per text).

    Raises:
        InputError: an unknown class or token, labels that do not fit, or a position outside the text.
    """
    n = len(examples)
    targets = _spread(target, n, "target")
    right: list[gold.Answer | None] = [None] * n
    if task != "translation" and gold.asked(target, _names(model, task)):
        right = gold.answers(model, task, examples, labels, lambda label: _token(model, label))
    elif labels is not None:
        raise InputError(f'labels= are the right answers of target="gold", got target={target!r}')
    positions = _spread(position, n, "position")
    found = []
    for i, example in enumerate(examples):
        where = f"text {i}" if n > 1 else "the text"
        goal = _goal(model, task, example, targets[i], positions[i], where, right[i])
        found.append(goal)
    return found


def _spread(value: Any, n: int, name: str) -> list[Any]:
    if not isinstance(value, (list, np.ndarray)):
        return [value] * n
    if len(value) != n:
        raise InputError(f"expected one {name} or {n} of them (one per text), got {len(value)}")
    return list(value)


def _goal(
    model: Any, task: Task, example: Example, target: Any, position: Any, where: str, right: gold.Answer | None
) -> Goal:
    if task == "translation":
        return _translation_goal(model, example, target, position, where)
    places: list[int] = []
    if task in ("classes", "several", "values"):
        if position is not None:
            raise InputError(f"position= is for models that predict at every token; got {position!r} for one per text")
    elif position is None and task == "words":
        raise InputError("this model predicts at every token: say which one with position=")
    elif position is None and task == "masked":
        masks = [i for i, t in enumerate(example.source.ids.tolist()) if t == model.tokenizer.mask_token_id]
        if len(masks) != 1:
            raise InputError(
                f"{where} has {len(masks)} masked tokens: expected one {model.tokenizer.mask_token}, or position="
            )
        places = masks
    else:
        places = [_place(position, len(example.source), where)]
    if task == "values":
        if target not in (None, 0, gold.PREDICTED):
            raise InputError(f"this model predicts one number; target= must be left out, got {target!r}")
        return Goal(places, [0], None, "value")
    return _at_place(model, task, target, places, places[0] if places else 0, right)


def _at_place(model: Any, task: Task, target: Any, places: list[int], place: int, right: gold.Answer | None) -> Goal:
    plus, minus, name = _targets(model, task, target, place, right)
    return Goal(places, [plus], None if minus is None else [minus], name)


def _names(model: Any, task: Task) -> list[str] | None:
    return class_names(model.model.config) if task in ("classes", "several", "words") else None


def _place(position: Any, length: int, where: str) -> int:
    if position is None:
        return length - 1
    if isinstance(position, bool) or not isinstance(position, (int, np.integer)):
        raise InputError(f"expected position= as a whole number, got {position!r}")
    if not -length <= position < length:
        raise InputError(f"{where} has {length} positions (0 to {length - 1}), got position={position}")
    return int(position) % length


def _targets(model: Any, task: Task, target: Any, place: int, right: gold.Answer | None) -> tuple[int, int | None, str]:
    """Target, the contrast's other side, and a name, which is empty where a prediction is still to be known."""
    names = _names(model, task)
    word = gold.word(target, names)
    if target is None or word == gold.PREDICTED:
        return -1, None, ""
    if isinstance(target, tuple):
        if len(target) != 2:
            raise InputError(f"a contrast is a tuple of two targets, got {len(target)}")
        if any(isinstance(side, tuple) for side in target):
            raise InputError(f"a contrast is between two single targets, got {target!r}")
        (plus, _, a), (minus, _, b) = (_targets(model, task, side, place, right) for side in target)
        if plus == minus:
            raise InputError(f"a contrast needs two different targets, got {target!r}")
        return plus, minus, f"{a} against {b}" if a and b else ""
    if word == gold.GOLD:
        assert right is not None
        index = right(place)
        if index < 0:  # a text that was cut off says nothing there
            return -1, None, ""
    elif names is not None:
        index = class_index(target, names, "target")
    else:
        index = _token(model, target)
    return index, None, names[index] if names is not None else token_name(model, index)


def _token(model: Any, target: Any) -> int:
    size = int(model.model.config.get_text_config().vocab_size)
    if isinstance(target, str):
        ids = model.tokenizer.encode(target, add_special_tokens=False)
        if len(ids) == 1 and ids[0] != model.tokenizer.unk_token_id:
            return int(ids[0])
        known = model.tokenizer.get_vocab().get(target)
        if known is None:
            pieces = " ".join(model.tokenizer.convert_ids_to_tokens(ids))
            raise InputError(
                f"target {target!r} is not one token of this model (it reads {pieces!r}); give a token's id"
            )
        return int(known)
    if isinstance(target, bool) or not isinstance(target, (int, np.integer)):
        raise InputError(f"expected target= as a token (str) or its id, got {target!r}")
    if not 0 <= target < size:
        raise InputError(f"the model has {size} tokens (0 to {size - 1}), got target={target}")
    return int(target)


def token_name(model: Any, index: int) -> str:
    """A token for a reader."""
    return str(model.tokenizer.decode([index])) or str(model.tokenizer.convert_ids_to_tokens(index))


def _translation_goal(model: Any, example: Example, target: Any, position: Any, where: str) -> Goal:
    assert example.target is not None
    labels = target_labels(model, example)
    if position is None:
        places = list(range(len(labels)))
        if target == gold.PREDICTED and isinstance(example.text, tuple):
            return Goal(places, [-1] * len(labels), None, "")
        if target not in (None, gold.GOLD, gold.PREDICTED):
            raise InputError("the target of an encoder-decoder is the text itself, as (source, target); to choose one "
                             "token, say where with position=")  # fmt: skip
        return Goal(places, labels, None, model.tokenizer.decode(labels, skip_special_tokens=True))
    place = _place(position, len(example.target), where)

    def right(at: int) -> int:
        return labels[at] if at < len(labels) else -1

    return _at_place(model, "next", gold.GOLD if target is None else target, [place], place, right)


def target_labels(model: Any, example: Example) -> list[int]:
    """What the decoder should say at each of its positions; one less than it reads when its end was cut off."""
    assert example.target is not None
    read: list[int] = example.target.ids.tolist()
    if isinstance(example.text, tuple):
        side, _ = encode_side(model.tokenizer, segments_of(example.text[1]), target=True)
        ids: list[int] = side.ids.tolist()
        return ids if read == [start_id(model), *ids[:-1]] else read[1:]
    end = model.model.generation_config.eos_token_id
    end = end[0] if isinstance(end, list) else end
    whole = end is not None and len(read) <= 256  # a longer one was cut at the limit of `generate`
    return [*read[1:], int(end)] if whole else read[1:]


# ---- the number -----------------------------------------------------------------------------------------------


@dataclass
class Reader:
    """Reads F from the logits of a batch whose rows are the goals' examples.

    Attributes:
        task: See `task_of`.
        output: Which number.
        positions: int64 [rows, t], or None when there is one prediction per text.
        plus: int64 [rows, t].
        minus: int64 [rows, t], or None.
        mask: bool [rows, t]; False where a row has fewer positions than the longest.
        keep: Sorted positions at which logits are needed, or None for all.
    """

    task: Task
    output: str
    positions: Tensor | None
    plus: Tensor
    minus: Tensor | None
    mask: Tensor
    keep: Tensor | None = None

    def logits(self, outputs: Any, rows: Tensor) -> Tensor:
        """Float32 logits [rows, t, classes] of a forward pass for a batch of `rows`."""
        logits = getattr(outputs, "logits", None)
        if not isinstance(logits, Tensor):
            raise UnsupportedError(f"the model returned {type(outputs).__name__}, which has no logits to attribute")
        if self.positions is None:
            return logits.unsqueeze(1).float()
        at = self.positions.index_select(0, rows)
        if self.keep is not None and logits.shape[1] == len(self.keep):
            at = torch.searchsorted(self.keep, at)
        return torch.gather(logits, 1, at.unsqueeze(-1).expand(-1, -1, logits.shape[-1])).float()

    def values(self, outputs: Any, rows: Tensor) -> Tensor:
        """F, float32 [rows]."""
        logits = self.logits(outputs, rows)
        plus, mask = self.plus.index_select(0, rows), self.mask.index_select(0, rows)
        one = self._terms(logits, plus)
        if self.minus is not None:
            minus = self.minus.index_select(0, rows)
            if self.output == "log-odds":  # the log-odds of one against the other
                one = _at(logits, plus) - _at(logits, minus)
            else:
                one = one - self._terms(logits, minus)
        if self.output == "probability" and logits.shape[1] > 1:
            logs = torch.where(mask, _at(logits.log_softmax(-1), plus), 0.0)
            return logs.sum(-1).exp()
        return torch.where(mask, one, torch.zeros((), device=one.device)).sum(-1)

    def _terms(self, logits: Tensor, index: Tensor) -> Tensor:
        own = _at(logits, index)
        if self.output == "value":
            return own
        if self.task == "several":
            if self.output == "probability":
                return own.sigmoid()
            return torch.nn.functional.logsigmoid(own) if self.output == "log-probability" else own
        if self.output == "logit":
            return own - logits.mean(-1)
        if self.output == "log-odds":
            others = logits.scatter(-1, index.unsqueeze(-1), float("-inf"))
            return own - others.logsumexp(-1)
        log_probability = _at(logits.log_softmax(-1), index)
        return log_probability.exp() if self.output == "probability" else log_probability


def _at(values: Tensor, index: Tensor) -> Tensor:
    return values.gather(-1, index.unsqueeze(-1)).squeeze(-1)


def reader(model: Any, task: Task, output: str, found: Sequence[Goal]) -> Reader:
    """The reader of a batch whose rows have these goals."""
    width = max(len(g.plus) for g in found)

    def stacked(rows: list[list[int]]) -> Tensor:
        return torch.tensor([row + [0] * (width - len(row)) for row in rows], device=model.device)

    contrast = [g.minus for g in found if g.minus is not None]
    if contrast and len(contrast) != len(found):
        raise InputError("expected a contrast for every text or for none")
    return Reader(
        task,
        output,
        stacked([g.positions for g in found]) if found[0].positions else None,
        stacked([g.plus for g in found]),
        stacked(contrast) if contrast else None,
        torch.tensor([[i < len(g.plus) for i in range(width)] for g in found], device=model.device),
    )


def settle(model: Any, read: Reader, found: Sequence[Goal], outputs: Any) -> None:
    """Put the model's own predictions where no target was given, and check that every target can be predicted.

    Raises:
        InputError: a target that the model gives no probability at all.
    """
    rows = torch.arange(len(found), device=model.device)
    logits = read.logits(outputs, rows)
    predicted = logits.argmax(-1)
    read.plus = torch.where(read.plus < 0, predicted, read.plus)
    if read.minus is not None:
        read.minus = torch.where(read.minus < 0, predicted, read.minus)
    for i, goal in enumerate(found):
        goal.plus = read.plus[i, : len(goal.plus)].tolist()
        if goal.minus is not None and read.minus is not None:
            goal.minus = read.minus[i, : len(goal.minus)].tolist()
        if not goal.name:
            goal.name = _named(model, read.task, goal.plus)
            if goal.minus is not None:
                goal.name += f" against {_named(model, read.task, goal.minus)}"
        if goal.minus == goal.plus:
            raise InputError(
                f"a contrast needs two different targets, but for text {i} both are {goal.name.split(' against ')[0]!r}"
                if len(found) > 1
                else f"a contrast needs two different targets, but both are {goal.name.split(' against ')[0]!r}"
            )
    if read.output == "value":
        return
    for index in (read.plus, read.minus):
        if index is None:
            continue
        own = torch.where(read.mask, _at(logits, index), torch.zeros((), device=logits.device))
        flat = torch.where(read.mask, _at(logits.softmax(-1), index), torch.ones((), device=logits.device))
        for i, goal in enumerate(found):
            if bool(torch.isneginf(own[i]).any()):
                raise InputError(
                    f"the model never gives target {goal.name!r} (its logit is minus infinity); choose another"
                )
            if read.output == "probability" and read.task != "several" and bool((flat[i] == 0).any()):
                raise InputError(
                    f"the model gives target {goal.name!r} probability 0, so that there is nothing to attribute; "
                    "choose output='logit' or another target"
                )

    _check_others(read, found, logits)


def _check_others(read: Reader, found: Sequence[Goal], logits: Tensor) -> None:
    """Where everything else is impossible, log-odds and centred logits are infinite."""
    if read.output not in ("log-odds", "logit") or read.minus is not None or read.task == "several":
        return
    impossible = torch.isneginf(logits)
    count = impossible.sum(-1)
    bad = count > 0 if read.output == "logit" else count >= logits.shape[-1] - 1
    for i, goal in enumerate(found):
        if bool((bad & read.mask)[i].any()):
            raise InputError(
                f"the {read.output} of target {goal.name!r} is infinite, since the model gives other targets no "
                "probability at all (a logit of minus infinity); take output='probability', or a contrast of two"
            )


def _named(model: Any, task: Task, index: list[int]) -> str:
    if task in ("classes", "several", "words"):
        return class_names(model.model.config)[index[0]]
    if len(index) > 1:
        return str(model.tokenizer.decode(index, skip_special_tokens=True))
    return token_name(model, index[0])


def saturation(output: str, value: float, goal: Goal) -> str | None:
    """A sentence when the output hardly moves any more, so that little is left to attribute."""
    several = len(goal.plus) > 1
    if output == "log-probability" and goal.minus is None and value > -SATURATED * len(goal.plus):
        near = f"The log-probability of {goal.name!r} is {value:.2e}, so near to 0 that"
    elif output == "probability" and goal.minus is None and not SATURATED <= value <= 1 - SATURATED:
        near = f"The probability of {goal.name!r} is {value:.6f}, where"
    elif output == "probability" and goal.minus is not None and abs(value) > 1 - SATURATED:
        near = f"The difference of probabilities, {goal.name}, is {value:.6f}, where"
    else:
        return None
    instead = "'log-probability', or the 'logit' of one position=," if several else "'logit' or 'log-odds'"
    if several and output == "log-probability":
        instead = "'logit' with one position="
    return (
        f"{near} it is almost flat: attributions are tiny, and rounding may keep the integration error from closing; "
        f"output={instead} shows what still moves underneath."
    )
