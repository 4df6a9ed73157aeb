"""Which clean text goes with which corrupted one, at which positions, and what number is read of both?"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headwidgets.attribution import targets
from headwidgets.attribution.integration.passes import forward_keywords
from headwidgets.attribution.targets import Goal, Reader
from headwidgets.errors import InputError, UnsupportedError
from headwidgets.models.sites import Site
from headwidgets.text.examples import Batch, Example, Side, as_texts

Metric = str | Callable[[Any, Batch], Tensor]
"""A name out of `METRICS`, or a function of a forward pass's output and its batch that returns a tensor [rows]."""
METRICS = ("logit-difference", "log-probability")
Positions = Literal["all", "last", "aligned"] | Sequence[int]
Places = tuple[NDArray[np.int64], NDArray[np.int64]]
Which = Literal["clean", "corrupted"]
BOTH: tuple[Which, Which] = ("clean", "corrupted")


@dataclass(frozen=True)
class Pair:
    """A clean text and its corrupted one.

    Attributes:
        number: Counted as the user gave them.
        clean: The clean text.
        corrupted: The corrupted one.
        source: Positions (clean, corrupted) that correspond, of what the encoder (or the only stack) reads.
        target: The same of what the decoder of an encoder-decoder reads; None otherwise.
    """

    number: int
    clean: Example
    corrupted: Example
    source: Places
    target: Places | None

    def places(self, site: Site) -> Places:
        """Positions (clean, corrupted) of a site's queries that correspond."""
        return self.source if self.target is None or site.kind == "encoder" else self.target


def encoded_pairs(
    model: Any, clean: Any, corrupted: Any, positions: Positions
) -> tuple[list[tuple[Example, Example]], list[Pair], dict[int, str]]:
    """Encode the texts and find out which positions of a pair correspond.

    Args:
        model: A HeadModel.
        clean: Texts, or examples that were encoded before.
        corrupted: As many.
        positions: See `headwidgets.attribution.patch`.

    Returns:
        All pairs of examples, those that can be patched, and by number why the others cannot.

    Raises:
        InputError: lists of different length, positions that no text has, or no pair left.
    """
    _check_positions(model, positions)
    first, second = _examples(model, clean), _examples(model, corrupted)
    if len(first) != len(second):
        raise InputError(f"expected as many corrupted texts as clean ones ({len(first)}), got {len(second)}")
    pairs: list[Pair] = []
    skipped: dict[int, str] = {}
    for number, (a, b) in enumerate(zip(first, second, strict=True)):
        if b.target is not None and a.target is not None and not isinstance(b.text, tuple):
            b = dataclasses.replace(b, target=a.target, labels=a.labels)  # both are asked for the clean text's target
            second[number] = b
        found = _pair(number, a, b, positions)
        if isinstance(found, str):
            skipped[number] = found
        else:
            pairs.append(found)
    _check_left(pairs, skipped)
    return list(zip(first, second, strict=True)), pairs, skipped


def _check_left(pairs: Sequence[Any], skipped: dict[int, str]) -> None:
    if not pairs:
        number, why = next(iter(skipped.items()))
        raise InputError(f"none of the {len(skipped)} pairs can be patched; pair {number}: {why}")


def _examples(model: Any, texts: Any) -> list[Example]:
    if isinstance(texts, (list, tuple)) and texts and all(isinstance(e, Example) for e in texts):
        return list(texts)
    return list(model.encode(as_texts(texts)))


def _check_positions(model: Any, positions: Any) -> None:
    if isinstance(positions, str):
        if positions not in ("all", "last", "aligned"):
            raise InputError(f"expected positions 'all', 'last', 'aligned' or a list of numbers, got {positions!r}")
        return
    if not isinstance(positions, (list, tuple, range, np.ndarray)) or not len(positions):
        raise InputError(f"expected positions 'all', 'last', 'aligned' or a list of numbers, got {positions!r}")
    if any(isinstance(p, bool) or not isinstance(p, (int, np.integer)) for p in positions):
        raise InputError(f"expected positions as whole numbers, got {list(positions)!r}")
    if model.is_encoder_decoder:
        raise InputError(
            "numbered positions do not say whether they are the encoder's or the decoder's; take positions='all', "
            "'last' or 'aligned' for an encoder-decoder"
        )


def _pair(number: int, clean: Example, corrupted: Example, positions: Positions) -> Pair | str:
    sides = [(clean.source, corrupted.source)]
    if clean.target is not None and corrupted.target is not None:
        sides.append((clean.target, corrupted.target))
    if all(np.array_equal(a.ids, b.ids) for a, b in sides):
        return "both texts are the same tokens, so there is nothing to patch"
    places = []
    for a, b in sides:
        found = corresponding(a, b, positions, number)
        if found is None:
            return (
                f"the clean text has {len(a)} tokens and the corrupted one {len(b)}; use texts of equal length, "
                "positions='last', or positions='aligned'"
            )
        places.append(found)
    return Pair(number, clean, corrupted, places[0], places[1] if len(places) > 1 else None)


def corresponding(clean: Side, corrupted: Side, positions: Positions, number: int = 0) -> Places | None:
    """Positions (clean, corrupted) that correspond; None where the texts do not have equally many tokens.

    ``aligned``: the tokens that both texts begin with, those that both end with, and what is between them where it is
    as long in both.
    """
    n, m = len(clean), len(corrupted)
    if isinstance(positions, str):
        if positions == "last":
            return np.array([n - 1]), np.array([m - 1])
        if n == m:
            return np.arange(n), np.arange(n)
        if positions == "all":
            return None
        shorter = min(n, m)
        same = clean.ids[:shorter] == corrupted.ids[:shorter]
        before = shorter if same.all() else int(np.argmin(same))
        rest = shorter - before
        equal = clean.ids[::-1][:rest] == corrupted.ids[::-1][:rest]
        after = rest if equal.all() else int(np.argmin(equal))
        begin, end = np.arange(before), np.arange(after)
        return np.concatenate([begin, end + n - after]), np.concatenate([begin, end + m - after])
    if n != m:
        return None
    outside = [int(p) for p in positions if not -n <= p < n]
    if outside:
        raise InputError(f"pair {number} has {n} positions (0 to {n - 1}), got position {outside[0]}")
    at = np.unique(np.array([int(p) % n for p in positions], dtype=np.int64))
    return at, at


# ---- the number ------------------------------------------------------------------------------------------------


@dataclass
class Question:
    """What is read of every run.

    Attributes:
        name: Of the metric.
        unit: Of its values.
        function: The user's own metric, or None.
        task: See `targets.task_of`; None with a function.
        output: See `Reader`.
        goals: By pair number and which of its texts, what is read.
    """

    name: str
    unit: str
    function: Callable[[Any, Batch], Tensor] | None = None
    task: targets.Task | None = None
    output: str = ""
    goals: dict[tuple[int, Which], Goal] = dataclasses.field(default_factory=dict)

    def ask(self, model: Any, batch: Batch, which: Which) -> "Asked":
        """The same for a batch, whose `index` are pair numbers."""
        if self.function is not None:
            return Asked(self, batch, None, {})
        assert self.task is not None
        read = targets.reader(model, self.task, self.output, [self.goals[i, which] for i in batch.index])
        return Asked(self, batch, read, forward_keywords(model, read, batch.inputs["input_ids"].shape[1]))


@dataclass
class Asked:
    """A question about a batch.

    Attributes:
        question: What is asked.
        batch: Of whom.
        reader: Reads a named metric; None with a function.
        keywords: Of the forward pass.
    """

    question: Question
    batch: Batch
    reader: Reader | None
    keywords: dict[str, Any]

    def values(self, outputs: Any, rows: Tensor) -> Tensor:
        """The metric [rows] of a forward pass whose rows are `rows` of the batch.

        Raises:
            InputError: the user's function does not return one number per row.
        """
        if self.reader is not None:
            return self.reader.values(outputs, rows)
        assert self.question.function is not None
        own = rows.tolist()
        inputs = {name: value.index_select(0, rows) for name, value in self.batch.inputs.items()}
        index, examples = [self.batch.index[i] for i in own], [self.batch.examples[i] for i in own]
        found = self.question.function(outputs, Batch(inputs, index, examples))
        if not isinstance(found, Tensor) or tuple(found.shape) != (len(own),):
            got = f"shape {list(found.shape)}" if isinstance(found, Tensor) else type(found).__name__
            raise InputError(
                f"expected the metric to return one number per row, a tensor of shape [{len(own)}], got {got}"
            )
        return found.float()


def question_of(
    model: Any,
    pairs: list[Pair],
    skipped: dict[int, str],
    every: list[tuple[Example, Example]],
    metric: Metric | None,
    answers: Any,
    position: Any,
) -> tuple[Question, list[Pair]]:
    """What is asked of the pairs, and the pairs that can be asked.

    Args:
        model: A HeadModel.
        pairs: The pairs that can be patched.
        skipped: Gets the number of, and the reason for, every further pair that is left out.
        every: All pairs, which lists of answers and positions count.
        metric: See `headwidgets.attribution.patch`.
        answers: The same.
        position: The same.

    Raises:
        InputError: what does not fit.
        UnsupportedError: the model predicts nothing that a named metric could read.
    """
    if callable(metric):
        if answers is not None or position is not None:
            raise InputError(
                "answers= and position= belong to named metrics; a function of your own reads what it likes"
            )
        return Question(str(getattr(metric, "__name__", "metric")), "", metric), pairs
    try:
        task = targets.task_of(model)
    except UnsupportedError as error:
        raise UnsupportedError(f"{error}; or give patch() a metric of your own, a function of the outputs") from None
    name = metric or ("log-probability" if task == "translation" and answers is None else "logit-difference")
    if task == "values":
        question = Question("value", "", None, task, "value")
        if metric is not None or answers is not None:
            raise InputError("this model predicts a number, which is the metric; leave metric= and answers= out")
    elif name not in METRICS:
        raise InputError(f"expected metric to be one of {', '.join(METRICS)}, or a function, got {metric!r}")
    else:
        by = "log-odds" if name == "logit-difference" else "log-probability"
        question = Question(name, "logits" if by == "log-odds" else "nats", None, task, by)
    _check_answers(answers, name, len(every))
    if name == "logit-difference" and task == "translation" and answers is None:
        raise InputError("expected answers=(good, bad) and position= for the logit difference of an encoder-decoder")
    if answers is None and name == "log-probability" and task == "next" and position is None:
        return question, _shared(question, pairs, skipped)
    for at, which in enumerate(BOTH):
        found = targets.goals(model, task, [texts[at] for texts in every], answers, position)
        question.goals |= {(i, which): goal for i, goal in enumerate(found)}
    if answers is None and task not in ("values", "translation"):
        pairs = _predicted(model, question, pairs, skipped)
    return question, pairs


def _check_answers(answers: Any, name: str, n: int) -> None:
    given = answers if isinstance(answers, (list, np.ndarray)) else [answers] * n
    if len(given) != n:
        raise InputError(f"expected one answer for all pairs or {n} of them (one per pair), got {len(given)}")
    for i, answer in enumerate(given):
        pair = isinstance(answer, tuple)
        if answer is None and answers is not None:
            raise InputError(f"pair {i} has no answer, others have one")
        if name == "logit-difference" and answer is not None and not pair:
            raise InputError(f"a logit difference is between two answers, (good, bad); pair {i} has {answer!r}")
        if name == "log-probability" and pair:
            raise InputError(
                f"the log-probability is that of one answer; pair {i} has {answer!r}: take metric='logit-difference' "
                "for the log-odds of two"
            )


def _shared(question: Question, pairs: list[Pair], skipped: dict[int, str]) -> list[Pair]:
    """A causal model is asked for the tokens with which both texts go on after they last differ."""
    kept = []
    for pair in pairs:
        a, b = pair.clean.source.ids, pair.corrupted.source.ids
        shorter = min(len(a), len(b))
        same = a[::-1][:shorter] == b[::-1][:shorter]
        length = shorter if same.all() else int(np.argmin(same))
        length = min(length, shorter - 1)
        if length == 0:
            skipped[pair.number] = (
                "the two texts do not end with the same tokens, and no answers= were given: expected a "
                "continuation that both share, or answers"
            )
            continue
        for which, ids in zip(BOTH, (a, b), strict=True):
            places = list(range(len(ids) - length - 1, len(ids) - 1))
            goal = Goal(places, [int(ids[p + 1]) for p in places], None, "the shared continuation")
            question.goals[pair.number, which] = goal
        kept.append(pair)
    _check_left(kept, skipped)
    return kept


def _predicted(model: Any, question: Question, pairs: list[Pair], skipped: dict[int, str]) -> list[Pair]:
    """The answers are what the model itself says: of the clean text, against what it says of the corrupted one."""
    said: dict[Which, list[int]] = {}
    for which in BOTH:
        examples = [getattr(pair, which) for pair in pairs]
        said[which] = [0] * len(pairs)
        for batch in model.batches(examples, max_tokens=1024):
            named = Batch(batch.inputs, [pairs[i].number for i in batch.index], batch.examples)
            asked = question.ask(model, named, which)
            assert asked.reader is not None
            with model.visit(), torch.no_grad():
                outputs = model.forward(batch, **asked.keywords)
            logits = asked.reader.logits(outputs, torch.arange(len(batch), device=model.device))
            for place, predicted in zip(batch.index, logits[:, 0].argmax(-1).tolist(), strict=True):
                said[which][place] = predicted
    kept = []
    for pair, clean, corrupted in zip(pairs, said["clean"], said["corrupted"], strict=True):
        contrast = question.name == "logit-difference"
        if contrast and clean == corrupted:
            skipped[pair.number] = (
                "the model predicts the same of both texts, and no answers= were given to tell them apart"
            )
            continue
        for which in BOTH:
            old = question.goals[pair.number, which]
            goal = Goal(old.positions, [clean], [corrupted] if contrast else None)
            question.goals[pair.number, which] = goal
        kept.append(pair)
    _check_left(kept, skipped)
    return kept
