"""How a step hands relevance down: from what arrives at its output to its inputs, by one of three rules.

Every function here takes what a step read, what it made and the relevance of that, and returns the relevance of each
input and what was lost, by cause. Nothing is rescaled here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

RuleName = Literal["ratio", "plus-minus", "attnlrp"]
RULES = ("ratio", "plus-minus", "attnlrp")
BIAS, STABILISER, ONE_SIGN, NORM, SOFTMAX, FALLBACK = (
    "bias", "stabiliser", "one sign", "normalisation", "softmax", "fallback",
)  # fmt: skip
RESCALING = "rescaling"
_CHUNK = {"cpu": 2**17}
"""Numbers that a dense step holds at once: what fits in a core's cache is eight times as fast there."""

Call = Callable[..., Tensor]
Parts = list[Tensor | None]
Spread = tuple[Parts, dict[str, Tensor]]
"""Relevance of each input (None where it carries none) and what was lost, by cause, in the shape of the output."""


@dataclass(frozen=True)
class Rule:
    """What is asked for.

    Attributes:
        name: ``ratio``, ``plus-minus`` or ``attnlrp``.
        eps: Added to every denominator, away from zero.
        full: Relevance goes through the softmax to queries and keys; else attention weights are constants.
        shared: Under ``plus-minus``, a bias is shared equally by all inputs (as published); else it takes its own part.
        rescale: After each step relevance is scaled so that the sum of its absolute values stays.
    """

    name: RuleName
    eps: float
    full: bool
    shared: bool
    rescale: bool


def stabilised(z: Tensor, eps: float) -> Tensor:
    """`z` moved away from zero by `eps`; zero counts as positive."""
    return z + torch.where(z >= 0, eps, -eps).to(z.dtype)


def pulled(call: Call, tensors: Sequence[Tensor], needs: Sequence[bool], cotangent: Tensor) -> Parts:
    """Vector-Jacobian products of `call` for the inputs that need one."""
    with torch.enable_grad():
        leaves = [t.detach().requires_grad_() if need else t.detach() for t, need in zip(tensors, needs, strict=True)]
        made = call(*leaves)
        wanted = [leaf for leaf, need in zip(leaves, needs, strict=True) if need]
        found = iter(torch.autograd.grad(made, wanted, cotangent.to(made.dtype)))
    return [next(found) if need else None for need in needs]


def multilinear(
    rule: Rule,
    call: Call,
    tensors: Sequence[Tensor],
    needs: Sequence[bool],
    out: Tensor,
    relevance: Tensor,
    offset: Tensor | None = None,
) -> Spread:
    """A function that is linear in each of its one or two tensors, and an offset that depends on nothing.

    Two tensors that both carry relevance get one half each.
    """
    if rule.name == "plus-minus":
        return _by_sign(rule.eps, call, tensors, needs, relevance, offset)
    share = relevance / stabilised(out, rule.eps)
    slopes = pulled(call, tensors, needs, share)
    count = sum(needs)
    parts: Parts = [None if g is None else t * g / count for t, g in zip(tensors, slopes, strict=True)]
    return parts, {} if offset is None else {BIAS: share * offset}


def _by_sign(
    eps: float,
    call: Call,
    tensors: Sequence[Tensor],
    needs: Sequence[bool],
    relevance: Tensor,
    offset: Tensor | None,
) -> Spread:
    """Positive and negative products apart, each with half of the relevance; no dense Jacobian is made."""
    up, down = [t.clamp(min=0) for t in tensors], [t.clamp(max=0) for t in tensors]
    if len(tensors) == 1:
        positive, negative = [(up[0],)], [(down[0],)]
    else:
        positive = [(up[0], up[1]), (down[0], down[1])]  # type: ignore[list-item]
        negative = [(up[0], down[1]), (down[0], up[1])]  # type: ignore[list-item]
    above = sum((call(*pair) for pair in positive), torch.zeros((), dtype=relevance.dtype, device=relevance.device))
    below = sum((call(*pair) for pair in negative), torch.zeros((), dtype=relevance.dtype, device=relevance.device))
    lost = {}
    if offset is not None:
        above, below = above + offset.clamp(min=0), below + offset.clamp(max=0)
    plus, minus = 0.5 * relevance / (above + eps), 0.5 * relevance / (below - eps)
    if offset is not None:
        lost[BIAS] = plus * offset.clamp(min=0) + minus * offset.clamp(max=0)
    parts: Parts = [torch.zeros_like(t) if need else None for t, need in zip(tensors, needs, strict=True)]
    count = sum(needs)
    for pairs, share in ((positive, plus), (negative, minus)):
        for pair in pairs:
            for i, slope in enumerate(pulled(call, pair, needs, share)):
                own = parts[i]
                if own is not None and slope is not None:
                    parts[i] = own + pair[i] * slope / count
    lost[ONE_SIGN] = _missing(above, below, relevance)
    return parts, lost


def _missing(above: Tensor, below: Tensor, relevance: Tensor) -> Tensor:
    """Half of the relevance has nowhere to go where all products have one sign."""
    return 0.5 * relevance * ((above <= 0).to(relevance.dtype) + (below >= 0).to(relevance.dtype))


def linear(
    rule: Rule, weight: Tensor, bias: Tensor | None, tensors: Sequence[Tensor], out: Tensor, relevance: Tensor
) -> Spread:
    """``x W^T + b``; `weight` is [out, in]."""
    (x,) = tensors
    if rule.name == "plus-minus":
        if bias is not None and rule.shared:
            return _linear_dense(rule.eps, weight, bias, x, relevance)
        parts, lost = _by_sign(rule.eps, _product, (x, weight), (True, False), relevance, bias)
        return parts[:1], lost
    share = relevance / stabilised(out, rule.eps)
    return [x * (share @ weight)], {} if bias is None else {BIAS: share * bias}


def _product(x: Tensor, weight: Tensor) -> Tensor:
    return x @ weight.t()


def _linear_dense(eps: float, weight: Tensor, bias: Tensor, x: Tensor, relevance: Tensor) -> Spread:
    """z_ij = W_ij x_j + b_i / n, piece by piece, where relevance arrives."""
    flat, arriving = x.reshape(-1, x.shape[-1]), relevance.reshape(-1, relevance.shape[-1])
    rows, outs = _reached(arriving)
    matrix, offset = weight[outs], (bias[outs] / x.shape[-1])[:, None]
    part, missing = torch.zeros_like(flat), torch.zeros_like(arriving)
    most = max(1, _chunk(x) // x.shape[-1])  # pairs of a token and an output
    for here in torch.split(torch.arange(len(outs), device=x.device), most):
        first, last = int(here[0]), int(here[-1]) + 1
        for chunk in torch.split(rows, max(1, most // len(here))):
            z = torch.addcmul(offset[first:last], flat[chunk][:, None], matrix[first:last])
            found, gone = dense(z, arriving[chunk][:, outs[first:last]], eps)
            part[chunk] += found
            missing[chunk[:, None], outs[first:last]] = gone
    return [part.view_as(x)], {ONE_SIGN: missing.view_as(relevance)}


def _chunk(x: Tensor) -> int:
    return _CHUNK.get(x.device.type, 2**25)


def _reached(arriving: Tensor) -> tuple[Tensor, Tensor]:
    """Rows and columns of [n, out] at which relevance arrives."""
    return arriving.abs().sum(1).nonzero().flatten(), arriving.abs().sum(0).nonzero().flatten()


def dense(z: Tensor, relevance: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """The plus-minus rule on products z [n, out, in], which it overwrites, and relevance [n, out].

    Returns:
        Relevance of the inputs [n, in], and [n, out] the halves that had nowhere to go.
    """
    up = z.clamp(min=0)
    down = z.clamp_(max=0)
    above, below = up.sum(-1), down.sum(-1)
    plus, minus = 0.5 * relevance / (above + eps), 0.5 * relevance / (below - eps)
    part = plus[:, None] @ up + minus[:, None] @ down
    return part.squeeze(1), _missing(above, below, relevance)


def added(rule: Rule, terms: Sequence[Tensor], shapes: Sequence[torch.Size], out: Tensor, relevance: Tensor) -> Spread:
    """A sum of `terms` (those that carry relevance; `out` may hold a constant besides)."""
    if rule.name == "plus-minus":
        if len(terms) == 1:  # a constant is shared by the one input that there is
            return [relevance.sum_to_size(shapes[0])], {}
        above = sum((t.clamp(min=0) for t in terms), torch.zeros_like(out))
        below = sum((t.clamp(max=0) for t in terms), torch.zeros_like(out))
        plus, minus = 0.5 * relevance / (above + rule.eps), 0.5 * relevance / (below - rule.eps)
        split = [t.clamp(min=0) * plus + t.clamp(max=0) * minus for t in terms]
        return _to_shapes(split, shapes), {ONE_SIGN: _missing(above, below, relevance)}
    share = relevance / stabilised(out, rule.eps)
    parts = _to_shapes([t * share for t in terms], shapes)
    if len(terms) > 1:
        return parts, {}
    constant = torch.where(relevance == 0, torch.zeros_like(out), out - terms[0])  # a mask may be infinite
    return parts, {BIAS: share * constant}


def multiplied(rule: Rule, factors: Sequence[Tensor], constant: Any, relevance: Tensor) -> Spread:
    """An element-wise product: of one factor that carries relevance and a constant, or of two."""
    shapes = [f.shape for f in factors]
    if len(factors) == 1:
        whole = relevance * (constant != 0) if isinstance(constant, Tensor) else relevance
        return [whole.sum_to_size(shapes[0])], {}
    if rule.name == "ratio":
        share = relevance / stabilised(factors[0] + factors[1], rule.eps)
        return _to_shapes([f * share for f in factors], shapes), {}
    return _to_shapes([0.5 * relevance] * 2, shapes), {}


def _to_shapes(parts: Sequence[Tensor], shapes: Sequence[torch.Size]) -> Parts:
    return [part.sum_to_size(shape) for part, shape in zip(parts, shapes, strict=True)]


def gradient(call: Call, tensors: Sequence[Tensor], out: Tensor, relevance: Tensor, eps: float) -> Spread:
    """Where there is no rule: input times gradient, of the relevance per output."""
    slopes = pulled(call, tensors, [True] * len(tensors), relevance / stabilised(out, eps))
    parts: Parts = [None if g is None else t * g for t, g in zip(tensors, slopes, strict=True)]
    return parts, {}


def softmax(x: Tensor, weights: Tensor, dim: int, relevance: Tensor) -> Spread:
    """The Taylor rule of AttnLRP (Achtibat et al. 2024, proposition 3.1); masked entries get nothing."""
    part = x * (relevance - weights * relevance.sum(dim, keepdim=True))
    return [torch.where(weights == 0, torch.zeros_like(part), part)], {}


# ---- normalisation ------------------------------------------------------------------------------------------


class _ScaleHeld(TorchFunctionMode):
    """Inside a norm, what divides is a constant."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name == "layer_norm":
            return _layer_norm(*args, **kwargs)
        if name == "rms_norm":
            return _rms_norm(*args, **kwargs)
        made = func(*args, **kwargs)
        held = name in ("rsqrt", "sqrt", "var", "std", "norm", "vector_norm", "reciprocal")
        return made.detach() if held and isinstance(made, Tensor) else made


def _layer_norm(
    x: Tensor, shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    over = tuple(range(-len(shape), 0))
    centred = x - x.mean(over, keepdim=True)
    made = centred * (centred.detach().pow(2).mean(over, keepdim=True) + eps).rsqrt()
    made = made if weight is None else made * weight
    return made if bias is None else made + bias


def _rms_norm(x: Tensor, shape: Any, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    small = torch.finfo(x.dtype).eps if eps is None else eps
    made = x * (x.detach().pow(2).mean(tuple(range(-len(shape), 0)), keepdim=True) + small).rsqrt()
    return made if weight is None else made * weight


def normalised(rule: Rule, call: Call, tensors: Sequence[Tensor], out: Tensor, relevance: Tensor) -> Spread:
    """A norm over the last dimension.

    ``ratio`` and ``attnlrp`` take the scale as a constant, so that the norm is linear with a bias: an RMS norm passes
    relevance on as it is, a layer norm's mean takes part. ``plus-minus`` takes the full Jacobian, as the published code
    does.
    """
    (x,) = tensors
    zero = call(torch.zeros_like(x[(0,) * (x.dim() - 1)])).detach()  # the bias
    if rule.name != "plus-minus":
        share = relevance / stabilised(out, rule.eps)
        with _ScaleHeld():
            (slope,) = pulled(call, (x,), (True,), share)
        assert slope is not None
        return [x * slope], {BIAS: share * zero}
    flat, arriving = x.reshape(-1, x.shape[-1]), relevance.reshape(-1, x.shape[-1])
    part, missing = torch.zeros_like(flat), torch.zeros_like(arriving)
    jacobian = torch.func.vmap(torch.func.jacrev(call))
    rows, _ = _reached(arriving)
    for chunk in torch.split(rows, max(1, 4 * _chunk(x) // x.shape[-1] ** 2)):
        own = jacobian(flat[chunk]).detach()
        z = torch.addcmul((zero / x.shape[-1])[:, None], own, flat[chunk][:, None])
        part[chunk], missing[chunk] = dense(z, arriving[chunk], rule.eps)
    return [part.view_as(x)], {ONE_SIGN: missing.view_as(relevance)}
