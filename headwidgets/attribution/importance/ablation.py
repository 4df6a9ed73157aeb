"""Importance by ablation: what is lost without a head? Every head in turn, on the same examples.

Michel, Levy, Neubig 2019, section 3.2, report what accuracy and BLEU lose without each head. The number of answers is
that of a loop of `HeadModel.evaluate(pruned=[head])`; the passes are not: one carries many heads, and begins at their
layer (`knockout.py`).
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from headwidgets.attribution.importance.knockout import Trunk
from headwidgets.errors import Cancelled, InputError
from headwidgets.jobs import Cancel, Progress, blocking
from headwidgets.models.handlers import averaged
from headwidgets.models.interventions import ABLATIONS
from headwidgets.models.memory import halving
from headwidgets.models.model import HeadModel, expect_model
from headwidgets.models.outcomes import Questions, Verdict
from headwidgets.models.recording import donor_of, means, overlay, record
from headwidgets.models.sites import Site
from headwidgets.models.tally import Floats, Tally, chunks, singles
from headwidgets.provenance import data_fingerprint
from headwidgets.scores import HeadScores
from headwidgets.text.examples import Batch

METRICS = ("loss", "accuracy")
REFERENCE = 64
"""Texts that mean and resample ablation look at, when none are given; the same ones as `HeadModel.evaluate` takes."""
_WORK = {"cpu": 5e9, "mps": 5e11, "cuda": 2e12}
"""Floating-point operations of a pass."""
_LEAST, _MOST = 256, 65536
_LOGIT_BYTES = 2**28

Ablation = Literal["zero", "mean", "resample"]


def measure(
    model: HeadModel,
    texts: Any,
    labels: Any = None,
    *,
    metric: Literal["loss", "accuracy"] = "loss",
    ablation: Ablation = "zero",
    reference: Any = None,
    seed: int = 0,
    on_progress: Progress | None = None,
    on_partial: Callable[[HeadScores], None] | None = None,
    cancel: Cancel | None = None,
) -> HeadScores:
    """One of the two scores of `ablate`: by ``loss`` or by ``accuracy``.

    Raises:
        InputError: an unknown metric, or accuracy of a model that predicts a number; as in `ablate`.
    """
    if metric not in METRICS:
        raise InputError(f"expected metric to be one of {', '.join(METRICS)}, got {metric!r}")

    def partial(found: dict[str, HeadScores]) -> None:
        if on_partial is not None:
            on_partial(found[metric])

    work = _Work(model, texts, labels, ablation, reference, seed)
    if metric not in work.metrics:
        raise InputError("accuracy needs classes, and this model predicts a number: take metric='loss'")
    return work.run(on_progress, partial, cancel)[metric]


@blocking
def ablate(
    model: HeadModel,
    texts: Any,
    labels: Any = None,
    *,
    ablation: Ablation = "zero",
    reference: Any = None,
    seed: int = 0,
    on_progress: Progress | None = None,
    on_partial: Callable[[dict[str, HeadScores]], None] | None = None,
    cancel: Cancel | None = None,
) -> dict[str, HeadScores]:
    """What the loss and the accuracy lose without each head, one head at a time.

    Both come from the same passes. A score is a difference on the same examples: the loss without the head less that
    with it, and the accuracy with it less that without it, so that larger is more important either way; negative where
    the model does better without the head. Inside ``with model.gated(pruned=...)`` the others are measured without the
    pruned ones.

    Args:
        model: From `headwidgets.load` or `wrap`.
        texts: Texts, or a dataset.
        labels: The right answers, as `HeadModel.evaluate` takes them.
        ablation: What the head's output becomes: ``zero`` (as published), ``mean`` over the reference texts, or
            ``resample``: that of another reference text.
        reference: Texts for ``mean`` and ``resample``; 64 of `texts` by default.
        seed: Of the order of texts, of masked tokens and of ``resample``.
        on_progress: Called with heads of texts done and in all.
        on_partial: Called with both scores of the texts seen so far.
        cancel: Says whether to stop.

    Returns:
        ``loss`` (nats per text, word or token; squared error for regression) and, where the model predicts classes,
        ``accuracy`` (a fraction); with standard errors of the paired difference, texts as clusters.

    Raises:
        InputError: labels or options that do not fit.
        MemoryLimitError: not even one text with one head fits.
        Cancelled: told to stop.

    Reference:
        Michel, Levy, Neubig: Are Sixteen Heads Really Better than One?, NeurIPS 2019, section 3.2, arXiv 1905.10650.
    """
    expect_model(model)
    return _Work(model, texts, labels, ablation, reference, seed).run(on_progress, on_partial, cancel)


class _Work:
    """All heads on all texts."""

    def __init__(self, model: HeadModel, texts: Any, labels: Any, ablation: str, reference: Any, seed: int) -> None:
        if ablation not in ABLATIONS:
            raise InputError(f"expected an ablation out of {', '.join(ABLATIONS)}, got {ablation!r}")
        self.model, self.ablation, self.seed = model, ablation, seed
        self.questions = Questions(model, texts, labels, "loss", seed=seed)
        self.metrics = METRICS[:1] if self.questions.kind == "values" else METRICS
        self.order = chunks(len(self.questions.examples), seed)
        self.reference = reference
        own = [i for chunk in self.order for i in chunk][:REFERENCE]
        self.own = {place: i for i, place in enumerate(own)} if reference is None else {}
        self.references = [self.questions.examples[i] for i in own] if reference is None else model.encode(reference)
        self.tallies = {metric: Tally(model, singles(self.order)) for metric in self.metrics}
        self.tokens = _tokens(model, self.questions)
        self.cancel: Cancel | None = None
        self.done = 0
        self.on_progress: Progress | None = None

    def run(
        self,
        on_progress: Progress | None,
        on_partial: Callable[[dict[str, HeadScores]], None] | None,
        cancel: Cancel | None,
    ) -> dict[str, HeadScores]:
        """Measure."""
        self.cancel, self.on_progress = cancel, on_progress
        model, total = self.model, len(self.questions.examples)
        with model.visit():
            if self.ablation == "mean":
                self.means = means(model, self.references, cancel=cancel)
            if self.ablation == "resample":
                self.recorded = record(model, self.references, cancel=cancel)
            for chunk in self.order:
                for batch in model.batches(self.questions.examples, order=chunk, max_tokens=min(self.tokens, 2048)):
                    self._batch(batch)
                for tally in self.tallies.values():
                    tally.n += len(chunk)
                if on_partial is not None and self.tallies["loss"].n < total:
                    on_partial(self._scores())
        return self._scores()

    def _batch(self, batch: Batch) -> None:
        self._check()
        trunk = Trunk(self.model, self.questions, batch)
        with torch.inference_mode():
            whole = self.questions.judge(batch.index, trunk.logits)
        with_it = _numbers(whole)
        for site in self.model.sites:
            without = self._site(trunk, site)
            for metric in self.metrics:
                lost = without[metric] - with_it[metric][:, None]
                self.tallies[metric].add(site, batch.index, lost if metric == "loss" else -lost, whole.weights)

    def _site(self, trunk: Trunk, site: Site) -> dict[str, Floats]:
        """Summed losses and right answers without each head of a site, [rows, heads]."""
        start, other = trunk.start(site), self._other(trunk, site)
        length = max(value.shape[1] for value in trunk.batch.inputs.values() if value.dim() == 2)
        found = {metric: np.zeros((len(trunk.batch), site.n_heads)) for metric in METRICS}
        device = start.device

        def work(pairs: Any) -> None:
            self._check()
            row, head = torch.tensor(pairs, device=device).T
            outputs = start.index_select(0, row)
            at = torch.arange(len(row), device=device)
            outputs[at, :, head] = 0.0 if other is None else other[row, :, head]
            logits = trunk.run(site, row, outputs)
            verdict = self.questions.judge([trunk.batch.index[r] for r, _ in pairs], logits)
            rows, heads = np.array(pairs).T
            for metric, numbers in _numbers(verdict).items():
                found[metric][rows, heads] = numbers
            self.done += len(pairs)
            if self.on_progress is not None:
                self.on_progress(self.done, len(self.questions.examples) * len(self.model.heads()))

        with torch.inference_mode():
            halving(
                work,
                [(row, head) for row in range(len(trunk.batch)) for head in range(site.n_heads)],
                chunk=max(1, self.tokens // length),
                device=device,
                what="texts with a head closed",
            )
        return found

    def _other(self, trunk: Trunk, site: Site) -> Tensor | None:
        """What a closed head lets through, in the shape of `Trunk.start`; None is nothing."""
        if self.ablation == "zero":
            return None
        whole = trunk.outputs[site]
        if self.ablation == "mean":
            other = averaged(self.means[site])(whole)
        else:
            count = len(self.recorded)
            donors = [donor_of(i, count, self.seed, self.own.get(i)) for i in trunk.batch.index]
            other = overlay(self.recorded, site, donors, trunk.batch.query_mask[site.kind], whole, stretch=True)
        narrow = trunk.reading is not None and trunk.reading.site is site
        return trunk.at_reading(other) if narrow else other

    def _check(self) -> None:
        if self.cancel is not None and self.cancel():
            raise Cancelled("the ablation of single heads was cancelled")

    def _scores(self) -> dict[str, HeadScores]:
        settings: dict[str, Any] = {"ablation": self.ablation, "seed": self.seed}
        if self.ablation != "zero":
            settings["reference"] = (
                f"{len(self.references)} of the texts" if self.reference is None else data_fingerprint(self.reference)
            )
        return {
            metric: tally.scores(
                self.questions.given,
                name="ablation" if metric == "loss" else f"ablation, {metric}",
                unit="nats" if metric == "loss" and self.questions.kind != "values" else "",
                method="ablation",
                metric=metric,
                **settings,
            )
            for metric, tally in self.tallies.items()
        }


def _numbers(verdict: Verdict) -> dict[str, Floats]:
    """By metric, float64 [rows]."""
    return {
        metric: values.cpu().numpy().astype(np.float64)
        for metric, values in (("loss", verdict.losses), ("accuracy", verdict.hits))
        if values is not None
    }


def _tokens(model: HeadModel, questions: Questions) -> int:
    """Positions of a pass."""
    weights = sum(p.numel() for block in {site.block for site in model.sites} for p in block.parameters())
    fit = int(np.clip(_WORK.get(model.device.type, _WORK["cpu"]) / (2 * max(weights, 1)), _LEAST, _MOST))
    per_position = questions.answers_per_position
    return fit if not per_position else max(64, min(fit, _LOGIT_BYTES // (12 * per_position)))
