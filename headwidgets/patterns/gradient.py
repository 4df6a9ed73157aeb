"""Does it matter how much a head attends to separators? The slope of the loss in its weights (`hw.patterns.gradient`).

Clark et al. 2019, section 3.3: where heads attend to [SEP] most, changing that attention changes the loss least.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headwidgets.errors import Cancelled, InputError, UnsupportedError
from headwidgets.jobs import Cancel, Progress, blocking
from headwidgets.models.copies import copied
from headwidgets.models.model import HeadModel, expect_model
from headwidgets.models.outcomes import Questions
from headwidgets.models.quantised import quantised
from headwidgets.models.sites import Site
from headwidgets.models.tally import chunks
from headwidgets.models.visit import frozen
from headwidgets.patterns.measuring import classes_of, features_of, has_windows, places_of, said, seen_by, with_settings
from headwidgets.patterns.places import Chosen, Places, Reader
from headwidgets.patterns.result import PatternSummary
from headwidgets.patterns.sums import Sums
from headwidgets.provenance import checked_seed, made
from headwidgets.text.examples import Batch

TARGETS = ("separators", "first", "punctuation", "other")
_LABELS = {
    "separators": "Slope in attention to separators",
    "first": "Slope in attention to the first token",
    "punctuation": "Slope in attention to punctuation",
    "other": "Slope in attention to other tokens",
}
_TOKENS = 1024
_LOGIT_BYTES = 2**28


@blocking
def gradient(
    model: HeadModel,
    texts: Any,
    labels: Any = None,
    *,
    punctuation: Chosen | None = None,
    seed: int = 0,
    on_progress: Progress | None = None,
    on_partial: Callable[[PatternSummary], None] | None = None,
    cancel: Cancel | None = None,
) -> PatternSummary:
    """Mean of |dL/dA[query, key]| over pairs of a query and a key of one class, L the loss of a text.

    L is the task's own: the cross entropy of the right class, or the mean over a text's masked tokens, tokens, words or
    target tokens (squared error for regression). A weight's slope takes all that follows into account, but not that the
    weights of a row sum to 1. Queries are all tokens, since a classifier reads the last layer at a special one alone;
    keys are those that a query may see. Memory does not grow with the number of texts.

    Args:
        model: With a head for a task, or a language model.
        texts: Texts, as `HeadModel.evaluate` takes them.
        labels: The right answers, as `HeadModel.evaluate` takes them; None for language models.
        punctuation: What counts as punctuation, as `headwidgets.patterns.summary` takes it.
        seed: Of masked tokens, of random groups of texts and of their order.
        on_progress: Called with texts done and texts in all.
        on_partial: Called with what the texts seen so far say.
        cancel: Says whether to stop.

    Returns:
        ``gradient_separators``, ``gradient_first``, ``gradient_punctuation`` and ``gradient_other``, in units of the
        loss per unit of weight; NaN where there is no such key. `headwidgets.PatternView` draws them.

    Raises:
        InputError: a model with nothing to lose, labels that do not fit, slopes that are not finite.
        UnsupportedError: quantised weights, or a model without maps.
        Cancelled: told to stop.

    Reference:
        Clark et al.: What Does BERT Look At?, 2019, section 3.3 (there with the loss of a masked language model).
    """
    expect_model(model)
    kind = quantised(model.model)
    if kind is not None:
        raise UnsupportedError(
            f"the weights are quantised ({kind}), and their gradients are not those of the model: load it without"
        )
    questions = Questions(model, texts, labels, "loss", seed=checked_seed(seed))
    examples = questions.examples
    total = len(examples)
    features = features_of(examples, Reader(classes_of(punctuation, None), words=False))
    sums = Sums(model, model.sites, len(TARGETS), total, seed)
    record = made(
        model, questions.given, method="attention gradient", punctuation=said(punctuation), seed=seed, of=total
    )
    unit = "" if questions.kind == "values" else "nats per unit of weight"

    def found() -> PatternSummary:
        scores = {
            f"gradient_{to}": sums.scores(i, name=f"gradient_{to}", unit=unit, record=with_settings(record, {}, to=to))
            for i, to in enumerate(TARGETS)
        }
        return PatternSummary(
            scores,
            labels={f"gradient_{to}": _LABELS[to] for to in TARGETS},
            charts=dict.fromkeys(scores, "gradient"),
            uniform={},
        )

    windowed = has_windows(model)
    per_position = questions.answers_per_position
    tokens = min(_TOKENS, max(64, _LOGIT_BYTES // (24 * per_position))) if per_position else _TOKENS
    with _float32(model) as used, frozen(used.model):
        questions.model = used
        for chunk in chunks(total, seed):
            for batch in used.batches(examples, order=chunk, max_tokens=tokens):
                if cancel is not None and cancel():
                    raise Cancelled("measuring the slopes in attention weights was cancelled")
                slopes = _slopes(used, questions, batch)
                known: dict[str, tuple[Places, Places]] = {}
                for site, (maps, slope) in slopes.items():
                    query, key = places_of(site, batch, maps, features, known)
                    visible = seen_by(site, maps, query, key, windowed)
                    own = model.site(site.kind, site.layer)
                    sums.add(own, batch.index, *_by_class(slope, query, key, visible))
                sums.n += len(batch)
                if on_progress is not None:
                    on_progress(sums.n, total)
            if on_partial is not None and sums.n < total:
                on_partial(found())
    return found()


@contextmanager
def _float32(model: HeadModel) -> Iterator[HeadModel]:
    """The model, or for the time a float32 copy of one in half precision."""
    dtypes = {p.dtype for p in model.model.parameters()}
    if not dtypes & {torch.float16, torch.bfloat16}:
        yield model
        return
    with copied(model, lambda root: root.float()) as twin:
        yield twin


def _slopes(model: HeadModel, questions: Questions, batch: Batch) -> dict[Site, tuple[Tensor, Tensor]]:
    """A and |dL/dA| of every site, [rows, heads, query, key]; L of a row depends on that row alone."""
    maps: dict[Site, Tensor] = {}

    def keep(site: Site, weights: Tensor) -> Tensor:
        maps[site] = weights if weights.requires_grad else weights.detach().requires_grad_()
        return maps[site]

    with torch.enable_grad(), model.visit(attention={site: partial(keep, site) for site in model.sites}):
        verdict = questions.judge(batch.index, questions.logits(batch), hits=False)
    assert verdict.losses is not None
    weights = torch.as_tensor(np.maximum(verdict.weights, 1), dtype=verdict.losses.dtype, device=verdict.losses.device)
    found = torch.autograd.grad((verdict.losses / weights).sum(), list(maps.values()), allow_unused=True)
    slopes = {}
    for (site, own), slope in zip(maps.items(), found, strict=True):
        given = torch.zeros_like(own) if slope is None else slope
        if not bool(torch.isfinite(given).all()):
            raise InputError(
                f"the slope of the loss in the weights of {site.kind} layer {site.layer} is not finite (NaN or "
                "infinite): look at the model's weights after that layer"
            )
        slopes[site] = own.detach(), given.detach().abs().float()
    return slopes


def _by_class(slope: Tensor, query: Places, key: Places, visible: Tensor | None) -> tuple[Any, Any]:
    """Sums over pairs and numbers of pairs, float64 [classes, rows, heads] each."""
    rows, heads, n_query, n_key = slope.shape
    if visible is not None:  # what multiplies a hidden value has a slope too
        slope = slope * visible
    classes = key.classes
    other = classes["content"] & ~classes["punctuation"]
    members = [classes["separators"], classes["first"], classes["punctuation_content"], other]
    columns = torch.stack(members, -1).float()  # [rows, key, classes]
    asked = query.real.float()
    summed = (slope.reshape(rows, heads * n_query, n_key) @ columns).view(rows, heads, n_query, -1)
    seen = columns.sum(1)[:, None].expand(rows, n_query, -1) if visible is None else visible.float() @ columns
    wide = torch.float32 if slope.device.type == "mps" else torch.float64
    x = (summed * asked[:, None, :, None]).sum(2, dtype=wide).permute(2, 0, 1)
    w = (seen * asked[..., None]).sum(1, dtype=wide).permute(1, 0)[..., None].expand(-1, rows, heads)
    return x.cpu().numpy().astype(np.float64), w.cpu().numpy().astype(np.float64)
