"""Attribution through attention: which links between tokens carry a prediction (Hao et al. 2021, section 3)."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import torch

from headwidgets.attribution import gold, targets
from headwidgets.attribution.drafts import Draft
from headwidgets.attribution.integration import quadrature
from headwidgets.attribution.integration.integrate import Layer, integrate
from headwidgets.attribution.integration.passes import Clean, check_model, clean, held
from headwidgets.attribution.result import Attribution
from headwidgets.attribution.targets import Goal, Task
from headwidgets.errors import Cancelled, InputError, MemoryLimitError
from headwidgets.jobs import blocking
from headwidgets.models.copies import copied
from headwidgets.models.memory import check_fits, free_bytes, ran_out, reason, release
from headwidgets.models.model import HeadModel, expect_model
from headwidgets.models.sites import Site
from headwidgets.text.examples import Batch, Example, as_texts, batches, collate
from headwidgets.text.labels import labels_from, references
from headwidgets.wire.documents import KindName

Progress = Callable[[int, int], None]
Cancel = Callable[[], bool]
Output = Literal["log-odds", "probability", "log-probability", "logit"]
RuleName = Literal["gauss-legendre", "left", "right", "midpoint"]
_BATCH = {"cpu": 512, "mps": 4096, "cuda": 16384}
"""Positions per batch of texts."""


@blocking
def attribute(
    model: HeadModel,
    text: Any,
    target: Any = None,
    output: Output | None = None,
    rule: RuleName = "gauss-legendre",
    steps: int | Literal["auto"] = "auto",
    tolerance: float = 1e-3,
    position: int | Sequence[int] | None = None,
    kind: KindName | None = None,
    keep: Literal["maps", "heads"] = "maps",
    labels: Any = None,
    on_progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Any:
    """Attribute a prediction to every link of every head.

    For one layer at a time its maps A (all heads jointly) are scaled from 0 to 1 while all other layers stay as they
    are; each entry gets A times the integral of dF(alpha A)/dA. The entries of a layer add up to F(A) - F(0).

    Args:
        model: From `headwidgets.load` or `wrap`; classifiers (of texts or tokens), language models, encoder-decoders.
        text: A text, a pair, or a list of them. For an encoder-decoder (source, target), or a source.
        target: Class index or name, token or id; ``predicted`` (default) is what the model predicts, ``gold`` the right
            answer from `labels`; a tuple (a, b) is a contrast, F(a) - F(b). A list gives one per text. By default, an
            encoder-decoder's target is its target text. A class named like one of these words goes before it; a token
            is then given by its id.
        output: F: ``log-odds`` (default of classifiers), ``logit``, less the mean over all (default of language
            models), ``log-probability`` (default of encoder-decoders: summed over the target), ``probability`` (as
            published).
        rule: ``gauss-legendre``; or a published sum: ``left``, ``right``, ``midpoint``.
        steps: Points; "auto" raises them per layer and text until the error is below `tolerance` (20 for the published
            sums).
        tolerance: Largest error of an entry and of a layer's total, relative to max(|F(A) - F(0)|, 0.1); no entry is
            off by more than ten tolerances of its layer's largest one.
        position: Where to predict: default the last position (language models), the masked token (masked ones), all
            target tokens (encoder-decoders); needed for token classifiers.
        kind: Only this kind of attention.
        keep: ``maps``, or ``heads`` for one number per head only.
        labels: With ``target="gold"``: right classes, one per text (per word for token classifiers); reference texts of
            an encoder-decoder; tokens of a language model, by default the one that follows in the text.
        on_progress: Called with layers done and layers in all.
        cancel: Says whether to stop.

    Returns:
        An `Attribution`; a list of them for a list of texts.

    Raises:
        InputError: an argument, a text, a target or weights that cannot be used; the message says which.
        UnsupportedError: a model without a prediction, without maps, or with quantised weights.
        MemoryLimitError: not even one point fits.
        Cancelled: told to stop.

    Reference:
        Hao, Dong, Wei, Xu: Self-Attention Attribution: Interpreting Information Interactions Inside Transformer,
        AAAI 2021, arXiv 2004.11207.
    """
    if keep not in ("maps", "heads"):
        raise InputError(f"expected keep to be 'maps' or 'heads', got {keep!r}")
    expect_model(model)
    several = isinstance(text, list) or hasattr(text, "column_names")
    plan = Plan.of(model, output, rule, steps, tolerance, position, kind)
    texts, right = _with_labels(model, plan.task, text if several else [text], labels, target, several)
    examples = model.encode(texts)
    found = targets.goals(model, plan.task, examples, target, position, right)
    finished = attributions(model, examples, found, plan, keep, on_progress, cancel)
    return finished if several else finished[0]


def _with_labels(model: HeadModel, task: Task, texts: Any, labels: Any, target: Any, several: bool) -> tuple[Any, Any]:
    """Texts and what `targets.goals` takes as labels; references of an encoder-decoder become its target texts."""
    right = labels_from(texts, labels, model.model.config) if gold.asked(target, None) else labels
    if right is not None and not several and not (isinstance(right, list) and task != "words"):
        right = [right]
    if task != "translation" or right is None:
        return texts, right
    if not gold.asked(target, None):
        raise InputError(f'labels= are the right answers of target="gold", got target={target!r}')
    listed = as_texts(texts)
    pairs = [i for i, one in enumerate(listed) if isinstance(one, tuple)]
    if pairs:
        raise InputError(f"text {pairs[0]} already is a pair of source and target; leave labels out")
    return list(zip(listed, references(right, len(listed)), strict=True)), None


def attributions(
    model: HeadModel,
    examples: list[Example],
    found: list[Goal],
    plan: "Plan",
    keep: Literal["maps", "heads"] = "maps",
    on_progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> list[Attribution]:
    """Attribute encoded texts, each with its goal; arguments and errors as in `attribute`."""
    check_fits(
        _bytes(examples, plan.sites) if keep == "maps" else 0.0,
        "cpu",
        what=f"Keeping the maps of {len(examples)} texts",
        instead="take keep='heads', fewer texts, or one kind= of attention",
    )
    drafts = [Draft(e, g, plan, keep) for e, g in zip(examples, found, strict=True)]

    def take(done: Clean, layer: Layer, site: Site, notes: list[str]) -> None:
        for row, index in enumerate(done.batch.index):
            drafts[index].add(done, layer, site, row)
            drafts[index].notes.extend(note for note in notes if note not in drafts[index].notes)

    walk(model, examples, found, plan, take, on_progress, cancel)
    open_ends = sorted({note for draft in drafts for note in draft.unsettled})
    if open_ends:
        more = f" ({len(open_ends)} such layers in all)" if len(open_ends) > 1 else ""
        warnings.warn(
            f"{open_ends[0]}{more} A larger tolerance=, or more points with steps=256, may help; the result's .gap "
            "and .notes say what each layer reached",
            stacklevel=6,  # past the job that `blocking` makes of the call
        )
    return [draft.finish(model) for draft in drafts]


@dataclass
class Plan:
    """What is asked for, checked.

    Attributes:
        task: The model's kind of output.
        output: Its name.
        rule: Of the integration.
        fixed: Its points, or None for "auto".
        tolerance: See `attribute`.
        sites: The layers.
    """

    task: Task
    output: str
    rule: str
    fixed: int | None
    tolerance: float
    sites: list[Site]

    @classmethod
    def of(
        cls, model: HeadModel, output: Any, rule: Any, steps: Any, tolerance: Any, position: Any, kind: KindName | None
    ) -> "Plan":
        """Check the arguments that do not depend on the texts."""
        fixed = quadrature.check(rule, steps, tolerance)
        check_model(model)
        task = targets.task_of(model)
        named = targets.default_output(task, output, position)
        sites = model.sites if kind is None else model.sites_of(kind)
        return cls(task, named, rule, fixed, float(tolerance), list(sites))

    @property
    def settings(self) -> dict[str, Any]:
        """For the provenance."""
        return {
            "output": self.output,
            "rule": self.rule,
            "steps": "auto" if self.fixed is None else self.fixed,
            "tolerance": self.tolerance,
        }


def walk(
    model: HeadModel,
    examples: list[Example],
    found: list[Goal],
    plan: Plan,
    take: Callable[[Clean, Layer, Site, list[str]], None],
    on_progress: Progress | None,
    cancel: Cancel | None,
    groups: Sequence[Sequence[int]] | None = None,
    after: Callable[[int], None] | None = None,
) -> None:
    """Attribute batch by batch and layer by layer; `take` gets each and nothing else is kept.

    With `groups` of texts' numbers, they are done in that order, and `after` hears each time how many were done.
    """
    rule = None if plan.fixed is None else quadrature.fixed(plan.rule, plan.fixed)
    total, done = len(examples) * len(plan.sites), 0
    common: list[str] = []
    with in_float32(model, common) as used, _padding(used, examples, plan.task) as pad_id, held(used):
        sites = [used.site(s.kind, s.layer) for s in plan.sites]
        for group in groups if groups is not None else [range(len(examples))]:
            waiting = [(batch.index, sites) for batch in _batches(used, examples, pad_id, group)]
            while waiting:
                index, todo = waiting.pop(0)
                if cancel is not None and cancel():
                    raise Cancelled("the attribution was cancelled")
                left = list(todo)
                failure: Any = None
                try:
                    batch = collate([examples[i] for i in index], index, pad_id, used.device)
                    current = _clean(used, batch, [found[i] for i in index], plan, todo)
                    notes = list(common)
                    for site, layer in integrate(
                        current, todo, rule=rule, tolerance=plan.tolerance, cancel=cancel, notes=notes
                    ):
                        take(current, layer, model.site(site.kind, site.layer), notes)
                        left.remove(site)
                        done += len(index)
                        if on_progress is not None:
                            on_progress(done, total)
                except (RuntimeError, MemoryError) as error:
                    if not ran_out(error) and (len(index) == 1 or not isinstance(error, MemoryLimitError)):
                        raise
                    if len(index) == 1:
                        raise MemoryLimitError(
                            f"memory ran out with one text of {len(examples[index[0]])} positions at a time: use a "
                            f"shorter text, a smaller dtype or a larger device ({reason(error)})"
                        ) from None
                    failure = reason(error)  # the error itself would keep the frames and their tensors alive
                current = batch = layer = None  # type: ignore[assignment]
                if failure is not None:
                    release(used.device)
                    half = (len(index) + 1) // 2
                    common.append(f"Memory ran out; going on with {half} texts at a time.")
                    waiting[:0] = [(index[:half], left), (index[half:], left)]
            if after is not None:
                after(done // len(plan.sites))


def _clean(model: HeadModel, batch: Batch, found: list[Goal], plan: Plan, sites: list[Site]) -> Clean:
    read = targets.reader(model, plan.task, plan.output, found)

    def settle(outputs: Any) -> None:
        targets.settle(model, read, found, outputs)

    return clean(model, batch, read, settle, sites)


@contextmanager
def in_float32(model: HeadModel, notes: list[str]) -> Iterator[HeadModel]:
    """The model, or a float32 copy of one in half precision where that fits; the user's weights are never cast."""
    parameters = list(model.model.parameters())
    dtype = next((p.dtype for p in parameters if p.is_floating_point()), torch.float32)
    if dtype not in (torch.float16, torch.bfloat16):
        yield model
        return
    name = str(dtype).removeprefix("torch.")
    free = free_bytes(model.device)
    if free is not None and 4.0 * sum(p.numel() for p in parameters) > 0.6 * free:
        notes.append(
            f"Integrated in {name}, since a float32 copy of the model does not fit; the integration error of each "
            "layer is in .gap."
        )
        yield model
        return
    notes.append(f"The model is in {name}; a float32 copy of it was attributed.")
    with copied(model, lambda root: root.float()) as twin:
        yield twin


@contextmanager
def _padding(model: HeadModel, examples: list[Example], task: Task) -> Iterator[int]:
    """A token id to pad with. Decoders with a classifier find a text's end by it, so it must occur in no text."""
    config = model.model.config.get_text_config()
    if task not in ("classes", "several", "values") or "decoder" not in model.kinds:
        yield model.pad_id
        return
    own = getattr(config, "pad_token_id", None)
    if own is not None:
        yield int(own)
        return
    used = {i for e in examples for i in e.source.ids.tolist()}
    free = next(i for i in range(len(used) + 1) if i not in used)
    config.pad_token_id = free
    try:
        yield free
    finally:
        config.pad_token_id = own


def _batches(model: HeadModel, examples: list[Example], pad_id: int, group: Sequence[int]) -> Iterator[Batch]:
    """Texts of similar length together: a padded position costs what a token costs, at every point."""
    budget = _BATCH.get(model.device.type, _BATCH["cpu"])
    rows = _rows_that_fit(model, examples)
    order = sorted(group, key=lambda i: len(examples[i]))
    while order:
        most = 1.15 * len(examples[order[0]]) + 1
        group = [i for i in order if len(examples[i]) <= most]
        order = order[len(group) :]
        yield from batches(examples, pad_id=pad_id, device=model.device, max_tokens=budget, max_rows=rows, order=group)


def _rows_that_fit(model: HeadModel, examples: list[Example]) -> int:
    """Texts per batch such that their clean maps and values take at most a tenth of the free memory."""
    longest = max(len(e) for e in examples)
    width = max(s.n_heads * s.head_dim for s in model.sites)
    one = 4.0 * sum(3 * s.n_heads * longest**2 + 16 * longest * width for s in model.sites)
    free = free_bytes(model.device)
    return 64 if free is None else int(min(64, max(1, 0.1 * free // one)))


def _bytes(examples: list[Example], sites: list[Site]) -> float:
    return sum(8.0 * s.n_heads * len(e) ** 2 for e in examples for s in sites)
