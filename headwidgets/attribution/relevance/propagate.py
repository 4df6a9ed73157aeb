"""Relevance of one batch: a traced forward pass, then one backward pass per seeded target."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from headwidgets.attribution.integration.passes import forward_keywords
from headwidgets.attribution.relevance.ledger import Ledger, Place
from headwidgets.attribution.relevance.rules import Rule
from headwidgets.attribution.relevance.tracing import Tracing
from headwidgets.attribution.targets import Goal, Reader, settle
from headwidgets.errors import InputError
from headwidgets.models import maps
from headwidgets.models.prefix import Forward, first, replaced, with_first
from headwidgets.models.sites import Site
from headwidgets.models.visit import visit
from headwidgets.text.examples import Batch

_ACTIVATION = re.compile("gelu|relu|silu|swish|tanh|sigmoid|mish", re.IGNORECASE)
_NO_NORM = re.compile("batch|group|instance", re.IGNORECASE)


class HeadProbe(torch.autograd.Function):
    """Sees the relevance of one site's heads' outputs go by."""

    @staticmethod
    def forward(ctx: Any, heads: Tensor, ledger: Ledger, site: Site, mask: Tensor) -> Tensor:
        """Unchanged."""
        ctx.seen = ledger, site, mask
        return heads.clone()

    @staticmethod
    def backward(ctx: Any, relevance: Tensor) -> Any:
        """Unchanged."""
        ledger, site, mask = ctx.seen
        ledger.see_heads(site, relevance, mask)
        return relevance, None, None, None


class BlockProbe(torch.autograd.Function):
    """Sees the relevance at a block's output or at one of its inputs go by."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, ledger: Ledger, place: Place, leaving: bool) -> Tensor:
        """Unchanged."""
        ctx.seen = ledger, place, leaving
        return hidden.clone()

    @staticmethod
    def backward(ctx: Any, relevance: Tensor) -> Any:
        """Unchanged."""
        ledger, place, leaving = ctx.seen
        if leaving:
            ledger.add(ledger.leaving, place, ledger.rows(relevance))
        else:
            ledger.add(ledger.arriving, place, ledger.rows(relevance))
            ledger.add(ledger.size, place, ledger.rows(relevance.abs()))
        return relevance, None, None, None


def _at_block(hidden: Tensor, ledger: Ledger, place: Place, leaving: bool) -> Tensor:
    seen: Tensor = BlockProbe.apply(hidden, ledger, place, leaving)  # type: ignore[no-untyped-call]
    return seen


def stack_of(site: Site) -> str:
    """The stack that a site's block is in."""
    return "encoder" if site.kind == "encoder" else "decoder"


@contextmanager
def traced(model: Any, rule: Rule, ledger: Ledger, batch: Batch, copies: bool = False) -> Iterator[list[Tensor]]:
    """The forward pass in this block is traced; yields the list of the blocks' first inputs, where relevance ends.

    Everything is put back, also after an exception. The caller holds the model (`passes.held`).
    """
    owned: Callable[[], bool] = getattr(model.lock, "_is_owned", lambda: True)
    starts: list[Tensor] = []
    tracing = Tracing(rule, ledger, copies)
    masks = batch.query_mask
    probes = {s: partial(_probe, ledger, s, masks[s.kind]) for s in model.sites}
    with ExitStack() as stack:
        stack.callback(_one_attention(model))
        for module in model.model.modules():
            make = _leaf(module, tracing)
            if make is not None:
                stack.enter_context(replaced(module, make, owned))
        for block, places in _blocks(model.sites).items():
            stack.enter_context(replaced(block, _Block(places, ledger, starts).make, owned))
        stack.enter_context(visit(model, outputs=probes, evaluation=False, innermost=True))
        with tracing:
            yield starts


def _probe(ledger: Ledger, site: Site, mask: Tensor, heads: Tensor) -> Tensor:
    seen: Tensor = HeadProbe.apply(heads, ledger, site, mask)  # type: ignore[no-untyped-call]
    return seen


def _one_attention(model: Any) -> Callable[[], None]:
    """Every part runs torch's own attention (a step that can be seen) where the family has it, else eager's."""
    root = model.model
    found = [(config, config._attn_implementation) for config in maps.configs(root)]
    before = [
        (c, name) for c, name in found if not str(name).startswith(maps.PREFIX)
    ]  # a visit around this changes maps
    sdpa = bool(getattr(root, "_supports_sdpa", True)) and not getattr(
        root.config.get_text_config(), "attn_logit_softcapping", None
    )
    if any(site.registered for site in model.sites):
        for config, _ in before:
            maps.set_implementation(config, "sdpa" if sdpa else "eager")

    def back() -> None:
        for config, name in before:
            maps.set_implementation(config, name)

    return back


def _leaf(module: nn.Module, tracing: Tracing) -> Callable[[Forward], Forward] | None:
    """A norm or an activation of many operations is one step."""
    name = type(module).__name__
    if next(module.children(), None) is not None:
        return None
    if "norm" in name.lower() and not _NO_NORM.search(name):
        return partial(_as_step, tracing.norm)
    if _ACTIVATION.search(name) or type(module).__module__ == "transformers.activations":
        return partial(_as_step, tracing.passing)
    return None


def _as_step(step: Any, original: Forward) -> Forward:
    def forward(*args: Any, **keywords: Any) -> Any:
        alone = len(args) == 1 and not keywords and isinstance(args[0], Tensor)
        if not alone or not args[0].requires_grad or not torch.is_grad_enabled():
            return original(*args, **keywords)
        return step(original, args[0])

    return forward


def _blocks(sites: list[Site]) -> dict[nn.Module, list[Site]]:
    """By block, a site for each of its calls in one pass."""
    found: dict[nn.Module, list[Site]] = {}
    for site in sites:
        if site.kind != "cross":
            found.setdefault(site.block, []).append(site)
    return found


class _Block:
    """A block that says where it is, and what arrives and leaves."""

    def __init__(self, sites: list[Site], ledger: Ledger, starts: list[Tensor]) -> None:
        self.sites, self.ledger, self.starts = sites, ledger, starts
        self.calls = 0

    def make(self, original: Forward) -> Forward:
        def forward(*args: Any, **keywords: Any) -> Any:
            site = self.sites[min(self.calls, len(self.sites) - 1)]
            self.calls += 1
            place = stack_of(site), site.layer
            arrive = partial(self._arrived, place)
            args, keywords = _start(args, keywords, self.starts)
            args = tuple(arrive(value) for value in args)
            keywords = {name: arrive(value) for name, value in keywords.items()}
            outside, self.ledger.place = self.ledger.place, place
            try:
                output = original(*args, **keywords)
            finally:
                self.ledger.place = outside
            if not first(output).requires_grad:
                return output
            return with_first(output, _at_block(first(output), self.ledger, place, leaving=False))

        return forward

    def _arrived(self, place: Place, value: Any) -> Any:
        if isinstance(value, Tensor) and value.requires_grad:
            return _at_block(value, self.ledger, place, leaving=True)
        return value


def _start(args: Any, keywords: Any, starts: list[Tensor]) -> tuple[Any, Any]:
    """A stack's first block reads a leaf: relevance ends there."""
    hidden = args[0] if args else keywords["hidden_states"]
    if hidden.requires_grad:
        return args, keywords
    leaf = hidden.detach().requires_grad_()
    starts.append(leaf)
    return ((leaf, *args[1:]), keywords) if args else (args, {**keywords, "hidden_states": leaf})


def propagate(
    model: Any, batch: Batch, read: Reader, goals: list[Goal], rule: Rule, ledger: Ledger, copies: bool = False
) -> Iterator[tuple[int, Any]]:
    """One backward pass per target of the longest row; the ledger holds its books while a step is yielded.

    Yields:
        The target's number and bool [texts], whose text has that target.

    Raises:
        InputError: logits that are not finite.
    """
    keywords = forward_keywords(model, read, batch.inputs["input_ids"].shape[1])
    with traced(model, rule, ledger, batch, copies) as starts:
        outputs = model.forward(batch, **keywords)
        rows = torch.arange(len(batch), device=model.device)
        with torch.no_grad():
            if not bool(torch.isfinite(read.logits(outputs, rows)[read.mask]).all()):
                raise InputError(
                    "the model's output is not finite (NaN or infinite), so there is no relevance to trace"
                )
            settle(model, read, goals, outputs)
        chosen = read.logits(outputs, rows).gather(-1, read.plus[..., None]).squeeze(-1)
    for number in range(chosen.shape[1]):
        ledger.begin()
        seed = torch.zeros_like(chosen)
        seed[:, number] = read.mask[:, number].to(seed.dtype)
        torch.autograd.grad(chosen, starts, seed, retain_graph=number + 1 < chosen.shape[1], allow_unused=True)
        yield number, read.mask[:, number].cpu().numpy()
