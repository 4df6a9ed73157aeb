"""One forward pass whose backward pass hands relevance down instead of gradients.

While the model's own `forward` runs, every function of torch passes through `Tracing`. What only moves numbers about
(views, transposes, indexing, concatenation) stays torch's own: its gradient hands relevance on unchanged. Everything
that computes becomes a step with a rule. So no family needs a table; an operation without a rule is named.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from headwidgets.attribution.relevance import rules
from headwidgets.attribution.relevance.attention import Attention
from headwidgets.attribution.relevance.ledger import Ledger
from headwidgets.attribution.relevance.operations import (
    ELEMENTWISE,
    HANDLED,
    MOVES,
    PRODUCTS,
    SCALES,
    SUMS,
    plain_name,
)
from headwidgets.attribution.relevance.rules import FALLBACK, NORM, RESCALING, STABILISER, Rule, Spread
from headwidgets.errors import UnsupportedError


@dataclass
class Step:
    """One computation with its rule.

    Attributes:
        run: Of the tensors that carry relevance.
        spread: Of (tensors, output, relevance).
        units: Leading dimensions that one step treats apart (tokens, heads), for rescaling; 0 is a text.
        rest: Name of what is lost besides.
        copies: Keep copies of what is read and made, since the model overwrites some.
    """

    run: Callable[..., Tensor]
    spread: Callable[[list[Tensor], Tensor, Tensor], Spread]
    units: int = 0
    rest: str = STABILISER
    copies: bool = False


class InPlace(Exception):  # control flow, never leaves this folder
    """The model writes over a tensor that carries relevance: trace again with copies."""


class Hand(torch.autograd.Function):
    """Runs a step; its backward pass takes relevance and gives relevance."""

    @staticmethod
    def forward(ctx: Any, ledger: Ledger, rule: Rule, step: Step, *tensors: Tensor) -> Tensor:
        """Compute; `tensors` are all that carries relevance."""
        made = step.run(*tensors)
        ctx.ledger, ctx.rule, ctx.step, ctx.place = ledger, rule, step, ledger.place
        made = made.clone() if made._is_view() else made
        if step.copies:
            ctx.kept = [t.clone() for t in (*tensors, made)]
        else:
            ctx.kept = None
            ctx.save_for_backward(*tensors, made)
        return made

    @staticmethod
    def backward(ctx: Any, relevance: Tensor) -> Any:
        """Hand relevance down and enter what is lost."""
        *tensors, made = ctx.saved_tensors if ctx.kept is None else ctx.kept
        ledger, step = ctx.ledger, ctx.step
        if not bool(relevance.any()):
            return None, None, None, *(torch.zeros_like(t) for t in tensors)
        with torch.no_grad():
            parts, lost = step.spread(tensors, made, relevance)
            rest = ledger.rows(relevance) - sum(ledger.rows(p) for p in parts if p is not None)
            for cause, amounts in lost.items():
                amount = ledger.rows(amounts)
                ledger.lose(ctx.place, cause, amount)
                rest = rest - amount
            ledger.lose(ctx.place, step.rest, rest)
            if ctx.rule.rescale:
                before = sum(ledger.rows(p) for p in parts if p is not None)
                parts = _rescaled(parts, relevance, step.units, ledger)
                after = sum(ledger.rows(p) for p in parts if p is not None)
                ledger.lose(ctx.place, RESCALING, before - after)
        return None, None, None, *parts


def _rescaled(parts: rules.Parts, relevance: Tensor, units: int, ledger: Ledger) -> rules.Parts:
    """Inputs scaled so that their absolute values add up to those of the output, in every unit or, there, text."""
    lead = relevance.shape[:units] if units else (ledger.texts,)
    wanted = relevance.abs().reshape(*lead, -1).sum(-1)
    have = torch.zeros_like(wanted)
    for part in parts:
        have = have if part is None else have + part.abs().reshape(*lead, -1).sum(-1)
    factor = torch.where(have > 0, wanted / have.clamp(min=torch.finfo(wanted.dtype).tiny), torch.ones_like(wanted))
    return [None if p is None else (p.reshape(*lead, -1) * factor[..., None]).view(p.shape) for p in parts]


def carriers(values: Any) -> list[Tensor]:
    """Every tensor that carries relevance in (nested) arguments, in order."""
    if isinstance(values, Tensor):
        return [values] if values.requires_grad else []
    if isinstance(values, dict):
        values = values.values()
    elif not isinstance(values, (list, tuple)):
        return []
    return [t for value in values for t in carriers(value)]


class Tracing(TorchFunctionMode):
    """Gives every computation on what carries relevance its rule; belongs to the thread that runs the model."""

    def __init__(self, rule: Rule, ledger: Ledger, copies: bool) -> None:
        super().__init__()
        self.rule, self.ledger, self.copies = rule, ledger, copies

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not torch.is_grad_enabled():
            return func(*args, **kwargs)
        given = carriers((args, kwargs))
        if not given:
            return func(*args, **kwargs)
        name, in_place = plain_name(func)
        if name in MOVES:
            return func(*args, **kwargs)
        if not in_place:
            return self._computed(name, func, args, kwargs, given)
        if not self.copies:
            raise InPlace
        target, *others = args  # the same out of place, then written where it was to be
        args = (target.clone() if target.requires_grad else target, *others)
        return target.copy_(self._computed(name, getattr(Tensor, name), args, kwargs, carriers((args, kwargs))))

    def _computed(self, name: str, func: Any, args: Any, kwargs: Any, given: list[Tensor]) -> Any:
        """The rule of an operation."""
        call = _bound(func, args, kwargs)
        if name in HANDLED:
            return getattr(self, f"_{name}")(func, args, kwargs, given)
        if name in SCALES:
            return func(*args, **kwargs).detach()
        if name in ELEMENTWISE and len(given) == 1:
            return self.passing(call, given[0])
        if name in SUMS and len(given) == 1:
            return self.step(call, given, lambda ts, out, r: rules.multilinear(self.rule, call, ts, [True], out, r))
        if name in PRODUCTS:
            return self._bilinear(func, args[0], args[1])
        with torch.no_grad():
            made = func(*args, **kwargs)
        if isinstance(made, Tensor) and made.is_floating_point():
            return self._gradient(name, func, args, kwargs, given)
        if isinstance(made, (tuple, list)) and any(isinstance(t, Tensor) and t.is_floating_point() for t in made):
            raise UnsupportedError(
                f"the model computes {name} with several results on a tensor that carries relevance; there is no rule "
                "for it"
            )
        return made  # sizes, comparisons, indices

    def step(self, run: Any, tensors: list[Tensor], spread: Any, units: int = 0, rest: str = STABILISER) -> Tensor:
        """Run one step."""
        made: Tensor = Hand.apply(self.ledger, self.rule, Step(run, spread, units, rest, self.copies), *tensors)  # type: ignore[no-untyped-call]
        return made

    def passing(self, call: Any, x: Tensor) -> Tensor:
        """A function of single numbers."""
        return self.step(call, [x], lambda ts, out, r: ([r.sum_to_size(ts[0].shape)], {}), x.dim() - 1)

    # ---- sums and products ------------------------------------------------------------------------------

    def _add(self, func: Any, args: Any, kwargs: Any, given: list[Tensor], signs: Any = (1, 1)) -> Tensor:
        alpha = kwargs.get("alpha", 1)
        first, second = (*args, *(kwargs[k] for k in ("other",) if k in kwargs))[:2]
        factors = [f for f, t in ((signs[0], first), (signs[1] * alpha, second)) if carriers(t)]
        shapes = [t.shape for t in given]

        def spread(tensors: list[Tensor], out: Tensor, relevance: Tensor) -> Spread:
            terms = [t * f for t, f in zip(tensors, factors, strict=True)]
            return rules.added(self.rule, terms, shapes, out, relevance)

        made_of = _bound(func, args, kwargs)
        whole = all(s == given[0].shape for s in shapes) and isinstance(first, Tensor)
        units = given[0].dim() - 1 if whole and _spans(first, second, given[0]) else 0
        return self.step(made_of, given, spread, units)

    def _sub(self, func: Any, args: Any, kwargs: Any, given: list[Tensor]) -> Tensor:
        return self._add(func, args, kwargs, given, (1, -1))

    def _rsub(self, func: Any, args: Any, kwargs: Any, given: list[Tensor]) -> Tensor:
        return self._add(func, args, kwargs, given, (-1, 1))

    def _mul(self, func: Any, args: Any, kwargs: Any, given: list[Tensor]) -> Tensor:
        call = _bound(func, args, kwargs)
        constant = next((t for t in (*args, *kwargs.values()) if not carriers(t)), None)
        whole = isinstance(args[0], Tensor) and _spans(args[0], args[-1], given[0])
        return self.step(
            call,
            given,
            lambda ts, out, r: rules.multiplied(self.rule, ts, constant, r),
            given[0].dim() - 1 if whole and all(g.shape == given[0].shape for g in given) else 0,
        )

    def _div(self, func: Any, args: Any, kwargs: Any, given: list[Tensor]) -> Any:
        above, below = args[0], args[1] if len(args) > 1 else kwargs.get("other")
        below = below.detach() if isinstance(below, Tensor) else below
        if not carriers(above):
            return func(above, below)
        return self.step(lambda x: func(x, below), [above], lambda ts, out, r: rules.multiplied(self.rule, ts, None, r))

    def _bilinear(self, call: Any, a: Tensor, b: Tensor, offset: Tensor | None = None) -> Tensor:
        needs = [a.requires_grad, b.requires_grad]
        fixed = [a.detach(), b.detach()]

        def both(tensors: Iterable[Tensor]) -> list[Tensor]:
            rest = iter(tensors)
            return [next(rest) if need else t for need, t in zip(needs, fixed, strict=True)]

        def run(*tensors: Tensor) -> Tensor:
            made: Tensor = call(*both(tensors))
            return made if offset is None else made + offset

        def spread(tensors: list[Tensor], out: Tensor, relevance: Tensor) -> Spread:
            parts, lost = rules.multilinear(self.rule, call, both(tensors), needs, out, relevance, offset)
            return [p for p, need in zip(parts, needs, strict=True) if need], lost

        return self.step(run, [t for t in (a, b) if t.requires_grad], spread)

    def _linear(self, func: Any, args: Any, kwargs: Any, given: list[Tensor]) -> Tensor:
        x, weight, bias = _named(("input", "weight", "bias"), args, kwargs)
        if len(given) != 1 or given[0] is not x:  # weights that are computed from the text
            return self._bilinear(lambda a, b: func(a, b), x, weight, bias)
        spread = partial(rules.linear, self.rule, weight, bias)
        return self.step(lambda t: func(t, weight, bias), [x], spread, x.dim() - 1)

    def _addmm(self, func: Any, args: Any, kwargs: Any, given: list[Tensor]) -> Tensor:
        bias, x, weight = _named(("input", "mat1", "mat2"), args, kwargs)
        if len(given) != 1 or given[0] is not x or kwargs.keys() & {"alpha", "beta"}:
            return self._gradient("addmm", func, args, kwargs, given)
        spread = partial(rules.linear, self.rule, weight.t(), bias)
        return self.step(lambda t: func(bias, t, weight), [x], spread, 1)

    def _baddbmm(self, func: Any, args: Any, kwargs: Any, given: list[Tensor]) -> Tensor:
        start, a, b = _named(("input", "batch1", "batch2"), args, kwargs)
        alpha, beta = kwargs.get("alpha", 1), kwargs.get("beta", 1)
        if start.requires_grad:
            return self._gradient("baddbmm", func, args, kwargs, given)
        return self._bilinear(lambda x, y: alpha * torch.bmm(x, y), a, b, beta * start)

    def _einsum(self, func: Any, args: Any, kwargs: Any, given: list[Tensor]) -> Tensor:
        equation, *operands = args
        operands = list(operands[0]) if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
        if len(operands) != 2:
            return self._gradient("einsum", func, args, kwargs, given)
        return self._bilinear(lambda a, b: func(equation, a, b), *operands)

    def _conv1d(self, func: Any, args: Any, kwargs: Any, given: list[Tensor]) -> Tensor:
        x, weight, bias = _named(("input", "weight", "bias"), args, kwargs)
        more = {**dict(zip(("stride", "padding", "dilation", "groups"), args[3:], strict=False)), **kwargs}
        more = {k: v for k, v in more.items() if k not in ("input", "weight", "bias")}
        offset = None if bias is None else bias[:, None]
        return self._bilinear(lambda a, b: func(a, b, None, **more), x, weight, offset)

    def _gradient(self, name: str, func: Any, args: Any, kwargs: Any, given: list[Tensor]) -> Tensor:
        self.ledger.plain[name] += 1
        call, eps = _bound(func, args, kwargs), self.rule.eps
        return self.step(call, given, lambda ts, out, r: rules.gradient(call, ts, out, r, eps), rest=FALLBACK)

    # ---- attention and norms ------------------------------------------------------------------------------

    def _softmax(self, func: Any, args: Any, kwargs: Any, given: list[Tensor]) -> Tensor:
        if not self.rule.full:
            made: Tensor = func(*args, **kwargs)
            return made.detach()
        if self.rule.name == "plus-minus":
            raise UnsupportedError(
                "this model computes its attention step by step (no scaled_dot_product_attention), where the published "
                "z+/z- rule for queries, keys and values at once cannot be taken: use attention='constant'"
            )
        dim = kwargs["dim"] if "dim" in kwargs else args[1]
        call = _bound(func, args, kwargs)
        return self.step(
            call, given, lambda ts, out, r: rules.softmax(ts[0], out, dim, r), given[0].dim() - 1, rules.SOFTMAX
        )

    def _scaled_dot_product_attention(self, func: Any, args: Any, kwargs: Any, given: list[Tensor]) -> Tensor:
        names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa")
        query, key, value, mask, _, causal, scale, _ = _named(names, args, kwargs)
        key, value = (
            t.repeat_interleave(query.shape[-3] // t.shape[-3], dim=-3) if t.shape[-3] != query.shape[-3] else t
            for t in (key, value)
        )
        attention = Attention(query.shape[-1], mask, bool(causal), scale)
        needs = [t.requires_grad for t in (query, key, value)]
        fixed = [t.detach() for t in (query, key, value)]

        def three(tensors: Iterable[Tensor]) -> list[Tensor]:
            rest = iter(tensors)
            return [next(rest) if need else t for need, t in zip(needs, fixed, strict=True)]

        def spread(tensors: list[Tensor], out: Tensor, relevance: Tensor) -> Spread:
            parts, lost = attention.spread(self.rule, three(tensors), out, relevance)
            return [p for p, need in zip(parts, needs, strict=True) if need], lost

        return self.step(lambda *ts: attention.run(*three(ts)), [t for t in (query, key, value) if t.requires_grad],
                         spread, 2)  # fmt: skip

    def norm(self, call: Any, x: Tensor) -> Tensor:
        """A norm over the last dimension."""
        rest = NORM if self.rule.name == "plus-minus" else STABILISER
        return self.step(call, [x], partial(rules.normalised, self.rule, call), x.dim() - 1, rest)

    def _layer_norm(self, func: Any, args: Any, kwargs: Any, given: list[Tensor]) -> Tensor:
        call = _bound(func, args, kwargs)
        return self.norm(call, given[0])

    _rms_norm = _layer_norm


def _bound(func: Any, args: Any, kwargs: Any) -> Callable[..., Tensor]:
    """The call as a function of the tensors that carry relevance; it holds no graph."""
    places = _marked((args, kwargs))

    def call(*tensors: Tensor) -> Tensor:
        own_args, own_kwargs = _put(places, iter(tensors))
        made: Tensor = func(*own_args, **own_kwargs)
        return made

    return call


class _Slot:
    """Stands for a tensor that carries relevance."""


def _marked(values: Any) -> Any:
    if isinstance(values, Tensor):
        return _Slot() if values.requires_grad else values
    if isinstance(values, dict):
        return {key: _marked(value) for key, value in values.items()}
    return type(values)(_marked(v) for v in values) if type(values) in (list, tuple) else values


def _put(places: Any, tensors: Any) -> Any:
    if isinstance(places, _Slot):
        return next(tensors)
    if isinstance(places, dict):
        return {key: _put(value, tensors) for key, value in places.items()}
    return type(places)(_put(v, tensors) for v in places) if type(places) in (list, tuple) else places


def _named(names: tuple[str, ...], args: Any, kwargs: Any) -> list[Any]:
    return [args[i] if i < len(args) else kwargs.get(name) for i, name in enumerate(names)]


def _spans(first: Any, second: Any, carrier: Tensor) -> bool:
    """Whether a binary operation's result has the carrier's shape, so that its tokens stay apart."""
    shapes = [t.shape for t in (first, second) if isinstance(t, Tensor)]
    whole = torch.broadcast_shapes(*shapes)  # type: ignore[no-untyped-call]
    return bool(whole == carrier.shape)
