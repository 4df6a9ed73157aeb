"""Importance by the slope of the loss in a head's gate (Michel, Levy, Neubig 2019, section 4.1).

A gate multiplies a head's output; at gate 1 the model is as it is. The slope's absolute value can be taken at each
position (the paper's code), per example (the paper) or per batch (transformers' `run_bertology`), and the three are
different measures: slopes of opposite sign cancel inside what is summed before.
"""

import copy
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from headwidgets.attribution.importance.knockout import Trunk
from headwidgets.attribution.integration.passes import held
from headwidgets.attribution.paths import in_float32
from headwidgets.errors import Cancelled, InputError, MemoryLimitError, UnsupportedError
from headwidgets.jobs import Cancel, Progress
from headwidgets.models.memory import ran_out, reason, release
from headwidgets.models.model import HeadModel
from headwidgets.models.outcomes import Questions
from headwidgets.models.quantised import quantised
from headwidgets.models.sites import Site
from headwidgets.models.tally import Floats, Tally, chunks, singles
from headwidgets.models.visit import visit
from headwidgets.scores import HeadScores
from headwidgets.text.examples import Batch

LEVELS = ("position", "example", "batch")
Level = Literal["position", "example", "batch"]
NORMALISATIONS = ("layer",)
_TOKENS = {"cpu": 1024, "mps": 4096, "cuda": 16384}
_LOGIT_BYTES = 2**28


def measure(
    model: HeadModel,
    texts: Any,
    labels: Any = None,
    *,
    level: Level = "example",
    batch_size: int = 32,
    normalise: Literal["layer"] | None = None,
    pruned: Iterable[Any] = (),
    seed: int = 0,
    on_progress: Progress | None = None,
    on_partial: Callable[[HeadScores], None] | None = None,
    cancel: Cancel | None = None,
) -> HeadScores:
    """Mean over texts of |dL/dg| at g = 1, L the task's own loss of a text and g the gate of a head.

    L is the cross entropy of the right answer: of the class, or the mean over a text's tokens, words or target tokens
    (squared error for regression). One forward and one backward pass per batch; a model in half precision is measured
    on a float32 copy, where that fits.

    Args:
        model: A HeadModel.
        texts: Texts.
        labels: The right answers, as `HeadModel.evaluate` takes them.
        level: Where the absolute value is taken: ``example`` (as published); ``position``: of a gate at one position,
            summed over a text's positions (no division by their number, which would make a last layer that is read at
            one position look small); ``batch``: of the mean slope of `batch_size` texts, drawn at random.
        batch_size: Texts of a batch, for level ``batch``; what runs in one pass does not depend on it.
        normalise: ``layer`` divides a layer's scores by their l2 norm (an option of the paper); its standard errors
            too, as if the norm were known.
        pruned: Heads that are already closed (with zero). They score 0, the others are measured without them. Works
            inside ``with model.gated(pruned=...)`` too, with any ablation.
        seed: Of the order of texts, of batches and of masked tokens.
        on_progress: Called with texts done and in all.
        on_partial: Called with the scores of the texts seen so far.
        cancel: Says whether to stop.

    Returns:
        Scores in units of the loss per unit of the gate.

    Raises:
        InputError: an unknown option, labels that do not fit, slopes that are not finite.
        UnsupportedError: quantised weights.
        MemoryLimitError: a single text does not fit.
        Cancelled: told to stop.

    Reference:
        Michel, Levy, Neubig: Are Sixteen Heads Really Better than One?, NeurIPS 2019, section 4.1, arXiv 1905.10650.
    """
    if level not in LEVELS:
        raise InputError(f"expected level to be one of {', '.join(LEVELS)}, got {level!r}")
    if normalise is not None and normalise not in NORMALISATIONS:
        raise InputError(f"expected normalise to be 'layer' or None, got {normalise!r}")
    if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
        raise InputError(f"expected batch_size as a whole number of texts, at least 1, got {batch_size!r}")
    _check_differentiable(model)
    closed = model.check_heads(pruned)
    questions = Questions(model, texts, labels, "loss", seed=seed)
    total = len(questions.examples)
    order = chunks(total, seed) if level != "batch" else _batches(total, batch_size, seed)
    tally = Tally(model, order if level == "batch" else singles(order))

    def scores() -> HeadScores:
        found = tally.scores(
            questions.given,
            name="taylor" if level == "example" else f"taylor, per {level}",
            unit="" if questions.kind == "values" else "nats",
            method="taylor",
            level=level,
            batch_size=batch_size if level == "batch" else None,
            normalise=normalise,
            pruned=len(closed),
            seed=seed,
        )
        return _normalised(found) if normalise == "layer" else found

    with in_float32(model, []) as used, used.gated(closed), held(used):
        slopes = _Slopes(used, questions, level == "position")
        for chunk in order:
            rows: dict[int, dict[Site, Floats]] = {}
            for index, found in slopes.of(chunk, cancel):
                for row, i in enumerate(index):
                    rows[i] = {site: numbers[row] for site, numbers in found.items()}
                if on_progress is not None:
                    on_progress(tally.n + len(rows), total)
            for site in model.sites:
                numbers = np.stack([rows[i][used.site(site.kind, site.layer)] for i in chunk])
                if level == "batch":  # one number for all of them, which counts as often as there are texts
                    size = np.array([float(len(chunk))])
                    tally.add(site, chunk[:1], np.abs(numbers.mean(0, keepdims=True)) * size, size)
                else:
                    tally.add(site, chunk, np.abs(numbers))
            tally.n += len(chunk)
            if on_partial is not None and tally.n < total:
                on_partial(scores())
    return scores()


def _batches(total: int, size: int, seed: int) -> list[list[int]]:
    order: list[int] = np.random.default_rng(seed).permutation(total).tolist()
    return [order[start : start + size] for start in range(0, total, size)]


def _check_differentiable(model: HeadModel) -> None:
    kind = quantised(model.model)
    if kind is not None:
        raise UnsupportedError(
            f"the weights are quantised ({kind}), and their gradients are not "
            "those of the model; load it without quantisation, or take method='ablation'"
        )


class _Slopes:
    """dL/dg of single texts, at every head, by passes of as many texts as fit."""

    def __init__(self, model: HeadModel, questions: Questions, per_position: bool) -> None:
        self.model, self.questions, self.per_position = model, copy.copy(questions), per_position
        self.questions.model = model  # the float32 copy, where there is one
        self.tokens = _TOKENS.get(model.device.type, _TOKENS["cpu"])
        if questions.answers_per_position:
            self.tokens = min(self.tokens, max(64, _LOGIT_BYTES // (24 * questions.answers_per_position)))

    def of(self, index: list[int], cancel: Cancel | None) -> Iterator[tuple[list[int], dict[Site, Floats]]]:
        """Yield texts' numbers with, by site, float64 [texts, heads]; absolute and summed where per position."""
        missing = list(index)
        while missing:
            if cancel is not None and cancel():
                raise Cancelled("measuring the slopes was cancelled")
            batch = next(self.model.batches(self.questions.examples, order=missing, max_tokens=self.tokens))
            failure = ""
            try:
                found = self._pass(batch)
            except (RuntimeError, MemoryError) as error:
                if not ran_out(error):
                    raise
                failure = reason(error)
            if failure:
                self._shrink(len(batch), failure)
                continue
            done = set(batch.index)
            missing = [i for i in missing if i not in done]
            yield batch.index, found

    def _shrink(self, rows: int, failure: str) -> None:
        release(self.model.device)
        if rows == 1:
            raise MemoryLimitError(
                f"memory ran out on a single text: use shorter texts, a smaller dtype or a larger device ({failure})"
            )
        self.tokens = max(1, self.tokens // 2)
        warnings.warn(f"Memory ran out; going on with batches of {self.tokens} tokens.", stacklevel=2)

    def _pass(self, batch: Batch) -> dict[Site, Floats]:
        gates: dict[Site, Tensor] = {}
        masks = batch.query_mask
        with self._gated(gates, masks):
            logits = self.questions.logits(batch)
        if bool(torch.isnan(logits.detach()).any()):
            Trunk(self.model, self.questions, batch)  # names the layer, if it is one's
        verdict = self.questions.judge(batch.index, logits, hits=False)
        assert verdict.losses is not None
        means = verdict.losses / torch.as_tensor(
            np.maximum(verdict.weights, 1), dtype=verdict.losses.dtype, device=verdict.losses.device
        )
        slopes = torch.autograd.grad(means.sum(), list(gates.values()), allow_unused=True)
        found = {}
        for (site, gate), slope in zip(gates.items(), slopes, strict=True):
            own = torch.zeros_like(gate) if slope is None else slope
            if not bool(torch.isfinite(own).all()):
                raise InputError(
                    f"the slope of the loss in the gates of {site.kind} layer {site.layer} is not finite (NaN or "
                    "infinite); measure in float32, or look at the weights after that layer"
                )
            found[site] = (own.abs() if self.per_position else own).sum(1).cpu().numpy().astype(np.float64)
        return found

    @contextmanager
    def _gated(self, gates: dict[Site, Tensor], masks: dict[str, Tensor]) -> Iterator[None]:
        """A new gate for every row (and position) of the next pass, 1, a leaf; padding keeps no gate."""

        def gate(site: Site, heads: Tensor) -> Tensor:
            rows, positions, n_heads, _ = heads.shape
            leaf = torch.ones(
                (rows, positions if self.per_position else 1, n_heads), device=heads.device, requires_grad=True
            )
            gates[site] = leaf
            mask = masks[site.kind]
            own = leaf.expand(rows, positions, n_heads)
            if mask.shape == (rows, positions):
                own = torch.where(mask[:, :, None], own, 1.0)
            return heads * own.unsqueeze(-1).to(heads.dtype)

        handlers = {site: partial(gate, site) for site in self.model.sites}
        with visit(self.model, outputs=handlers, evaluation=False, innermost=True):
            yield


def _normalised(scores: HeadScores) -> HeadScores:
    """A layer's scores divided by their l2 norm; a layer of zeros stays one."""
    values, errors = {}, {}
    for kind, array in scores.values.items():
        norm = np.sqrt(np.nansum(array**2, axis=1, keepdims=True))
        norm[norm == 0] = 1.0
        values[kind] = array / norm
        if scores.stderr is not None:
            errors[kind] = scores.stderr[kind] / norm
    groups = None
    if scores.groups is not None:
        groups = {}
        for kind, each in scores.groups.items():
            norm = np.sqrt(np.nansum(each**2, axis=2, keepdims=True))
            groups[kind] = each / np.where(norm == 0, 1.0, norm)
    return HeadScores(
        values,
        stderr=errors if scores.stderr is not None else None,
        n=scores.n,
        groups=groups,
        group_sizes=scores.group_sizes,
        name=f"{scores.name}, normalised by layer",
        provenance=scores.provenance,
        fingerprint=scores.fingerprint,
    )
