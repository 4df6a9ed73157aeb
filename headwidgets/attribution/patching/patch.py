"""Which heads carry the difference between two texts? Heads' outputs of one run, put into the other.

Exact (activation patching; Vig et al. 2020, Meng et al. 2022): one run per head, with that head's output replaced by
what it was in the other text's run. Heads are rows of a batch, and what comes before the patched layer is computed
once. Approximate (attribution patching; Nanda 2023, Syed et al. 2023): the difference of the outputs times the
gradient of the metric, for all heads in two forward passes and one backward.
"""

from collections.abc import Callable
from typing import Any, Literal

from headwidgets.attribution.patching.effects import Patching
from headwidgets.attribution.patching.pairs import Metric, Positions, encoded_pairs, question_of
from headwidgets.attribution.patching.swaps import Swaps
from headwidgets.errors import InputError, UnsupportedError
from headwidgets.jobs import Cancel, Progress, blocking
from headwidgets.models.model import HeadModel, expect_model
from headwidgets.models.quantised import quantised
from headwidgets.models.tally import chunks
from headwidgets.provenance import made
from headwidgets.scores import HeadScores
from headwidgets.text.examples import Example, as_texts

Method = Literal["exact", "gradient", "both"]
Direction = Literal["denoising", "noising"]
_TOKENS = 1024
"""Tokens of the clean texts that are worked on together."""


@blocking
def patch(
    model: HeadModel,
    clean: Any,
    corrupted: Any,
    *,
    metric: Metric | None = None,
    answers: Any = None,
    position: Any = None,
    method: Method = "both",
    direction: Direction = "denoising",
    positions: Positions = "all",
    seed: int = 0,
    on_progress: Progress | None = None,
    on_partial: Callable[[Patching], None] | None = None,
    cancel: Cancel | None = None,
) -> Patching:
    """Patch every head's output from one text's run into another's, and read what that does to a metric.

    Args:
        model: From `headwidgets.load` or `wrap`.
        clean: Texts that the model gets right; for encoder-decoders (source, target), or sources whose targets are
            generated and used for the corrupted texts too.
        corrupted: As many texts, in which what matters has been changed.
        metric: ``logit-difference`` (the default): the logit of the good answer less that of the bad one.
            ``log-probability``: of the one answer; without answers, for causal models the sum over the tokens with
            which both texts go on after they last differ, for encoder-decoders (their default) over the target. Or
            a function ``metric(outputs, batch)`` of the model's output and of its batch (``batch.index`` are the
            numbers of the rows' pairs) that returns a differentiable tensor [rows], each entry of its own row only.
        answers: (good, bad) for ``logit-difference``, else one answer; a list gives one per pair. Classes by index or
            name, tokens as strings or ids. By default what the model predicts of the clean text (against what it
            predicts of the corrupted one); pairs where both are the same are left out and counted.
        position: Where the answer is read (default: last token; the mask; for token classifiers it must be given).
        method: ``exact``, ``gradient`` or ``both``.
        direction: ``denoising`` runs the corrupted text with a head's output of the clean one; ``noising`` the clean
            text with a head's output of the corrupted one.
        positions: At which positions outputs are replaced: ``all`` (pairs of unequal length are left out and counted),
            ``last``, ``aligned`` (tokens that both texts begin or end with, and what is between where it is as long in
            both), or a list of positions, counted from 0 or from the end.
        seed: Of the order in which pairs are worked on, and of the bootstrap of the agreement.
        on_progress: Called with steps done and steps in all.
        on_partial: Called with the result on the pairs seen so far, a random sample.
        cancel: Says whether to stop.

    Returns:
        Effects of heads, raw and as a share of the difference between the two runs, with standard errors over pairs.

    Raises:
        InputError: arguments that do not fit, or no pair that can be patched.
        UnsupportedError: no prediction to read, or a gradient through quantised weights.
        MemoryLimitError: a single pass does not fit.
        Cancelled: told to stop.

    Reference:
        Exact: Vig et al.: Investigating Gender Bias in Language Models Using Causal Mediation Analysis, NeurIPS 2020;
        Meng, Bau, Andonian, Belinkov: Locating and Editing Factual Associations in GPT, NeurIPS 2022. By the gradient:
        Nanda: Attribution Patching, 2023; Syed, Rager, Conmy: Attribution Patching Outperforms Automated Circuit
        Discovery, 2023, arXiv 2310.10348.
    """
    expect_model(model)
    for name, value, known in (
        ("method", method, ("exact", "gradient", "both")),
        ("direction", direction, ("denoising", "noising")),
    ):
        if value not in known:
            raise InputError(f"expected {name} to be one of {', '.join(known)}, got {value!r}")
    if method != "exact":
        _check_differentiable(model)
    every, pairs, skipped = encoded_pairs(model, clean, corrupted, positions)
    question, pairs = question_of(model, pairs, skipped, every, metric, answers, position)
    work = Swaps(model, pairs, question, method, direction, cancel)
    work.on_progress = on_progress
    settings = {
        "method": method,
        "direction": direction,
        "metric": question.name,
        "positions": positions if isinstance(positions, str) else repr(list(positions)),
        "answers": None if answers is None else repr(answers)[:200],
        "seed": seed,
    }
    record = made(model, [_shown(e) for texts in every for e in texts], **settings)

    def result() -> Patching:
        return work.result(skipped, record, seed)

    parts = chunks(len(pairs), seed)
    for part in parts:
        queue = sorted(part, key=lambda i: len(pairs[i].clean))
        while queue:
            longest = max(len(pairs[i].clean) + len(pairs[i].corrupted) for i in queue)
            size = max(1, 2 * _TOKENS // max(1, longest))
            work.take(queue[:size])
            queue = queue[size:]
        if on_partial is not None and part is not parts[-1]:
            on_partial(result())
    return result()


def measure(
    model: HeadModel,
    texts: Any,
    labels: Any = None,
    *,
    corrupted: Any = None,
    metric: Metric | None = None,
    answers: Any = None,
    position: Any = None,
    approximate: bool = False,
    direction: Direction = "denoising",
    positions: Positions = "all",
    seed: int = 0,
    on_progress: Progress | None = None,
    on_partial: Callable[[HeadScores], None] | None = None,
    cancel: Cancel | None = None,
) -> HeadScores:
    """What each head's output brings back of the difference between clean and corrupted texts, as a share of it.

    Args:
        model: A HeadModel.
        texts: Clean texts; or, without `corrupted`, pairs (clean, corrupted) as tuples.
        labels: The same as `answers`.
        corrupted: As many corrupted texts.
        metric: As in `patch`, as all that follow.
        answers: See there.
        position: See there.
        approximate: By the gradient, in place of one run per head.
        direction: See there.
        positions: See there.
        seed: See there.
        on_progress: Called with steps done and steps in all.
        on_partial: Called with the scores of the pairs seen so far.
        cancel: Says whether to stop.

    Raises:
        InputError: no corrupted texts, or clean and corrupted runs between which the metric does not differ.
    """
    listed = as_texts(texts)
    if corrupted is None:
        if not all(isinstance(text, tuple) and len(text) == 2 for text in listed):
            raise InputError("patching compares two runs: give corrupted= texts, or texts as tuples (clean, corrupted)")
        listed, corrupted = [clean for clean, _ in listed], [other for _, other in listed]
    if labels is not None and answers is not None:
        raise InputError("labels are the answers of patching: give one of labels and answers=")

    def share(found: Patching) -> HeadScores:
        scores = found.gradient if approximate else found.exact
        assert scores is not None
        return scores

    def report(found: Patching) -> None:
        if on_partial is not None:
            on_partial(share(found))

    found = patch(
        model,
        listed,
        corrupted,
        metric=metric,
        answers=labels if answers is None else answers,
        position=position,
        method="gradient" if approximate else "exact",
        direction=direction,
        positions=positions,
        seed=seed,
        on_progress=on_progress,
        on_partial=report,
        cancel=cancel,
    )
    if not found.normalised:
        raise InputError(f"{found.notes[0]} hw.attribution.patch gives the raw effects")
    return share(found)


def _shown(example: Example) -> Any:
    """A text for a fingerprint; the ids of one that was given encoded."""
    return example.source.ids.tolist() if example.text is None else example.text


def _check_differentiable(model: HeadModel) -> None:
    kind = quantised(model.model)
    if kind is not None:
        raise UnsupportedError(
            f"the weights are quantised ({kind}), and their gradients are not "
            "those of the model; take method='exact', or load it without quantisation"
        )
