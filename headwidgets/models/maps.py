"""Attention maps: our own softmax attention, registered beside those of transformers.

A config's implementation ``sdpa`` becomes ``headwidgets:sdpa`` for the time of a visit. Under that name, modules
that nobody asked about run the implementation that stood there before, to the bit; only an asked-for module
computes its probabilities here, where a visitor can look at them, differentiate through them or replace them.
"""

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

PREFIX = "headwidgets:"
BASES = ("eager", "sdpa")
"""Implementations that unasked modules may run; others (flash, flex) run as sdpa while a map is asked for."""

MapHandler = Callable[[Tensor], Tensor | None]
"""Takes the map [batch, heads, query, key]; returns what replaces it, or None to leave it."""

active: dict[int, list[Callable[[], list[MapHandler]]]] = {}
"""By id of the attention module: for each visit, a function that says which handlers this call has."""


def probabilities(
    query: Tensor,
    key: Tensor,
    mask: Tensor | None,
    *,
    scaling: float,
    causal: bool,
    softcap: float | None = None,
    position_bias: Tensor | None = None,
    sinks: Tensor | None = None,
) -> Tensor:
    """Softmax attention weights, as the eager implementations of transformers compute them.

    Args:
        query: [batch, heads, query, head_dim].
        key: [batch, kv_heads, key, head_dim]; repeated to the query heads when grouped.
        mask: None, bool (True may attend) or additive, broadcastable to [batch, heads, query, key].
        scaling: Factor on the dot products.
        causal: With no mask, whether a query sees only keys up to itself.
        softcap: Scores become ``softcap * tanh(scores / softcap)`` (Gemma 2).
        position_bias: Added to the scores (T5), [1, heads, query, key].
        sinks: One logit per head that takes its share and is dropped (gpt-oss), [heads].

    Returns:
        [batch, heads, query, key] in the dtype of `query`; rows sum to 1 (less with sinks).
    """
    if key.shape[1] != query.shape[1]:
        key = key.repeat_interleave(query.shape[1] // key.shape[1], dim=1)
    scores = torch.matmul(query, key.transpose(2, 3)) * scaling
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    if position_bias is not None:
        scores = scores + position_bias
    lowest = torch.finfo(scores.dtype).min
    n_query, n_key = scores.shape[-2:]
    if mask is None:
        if causal and n_query > 1:
            visible = torch.ones(n_query, n_key, dtype=torch.bool, device=scores.device).tril(n_key - n_query)
            scores = scores.masked_fill(~visible, lowest)
    elif mask.dtype == torch.bool:
        scores = scores.masked_fill(~mask[..., :n_key], lowest)
    else:
        scores = scores + mask[..., :n_key]
    if sinks is not None:
        column = sinks.reshape(1, -1, 1, 1).expand(scores.shape[0], -1, n_query, 1)
        scores = torch.cat([scores, column.to(scores.dtype)], dim=-1)
    weights = nn.functional.softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype)
    return weights[..., :n_key] if sinks is not None else weights


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    handlers: list[MapHandler],
    **kwargs: Any,
) -> tuple[Tensor, Tensor]:
    scaling = kwargs.get("scaling")
    causal = kwargs.get("is_causal")
    weights = probabilities(
        query,
        key,
        attention_mask,
        scaling=query.shape[-1] ** -0.5 if scaling is None else scaling,
        causal=bool(getattr(module, "is_causal", True) if causal is None else causal),
        softcap=kwargs.get("softcap"),
        position_bias=kwargs.get("position_bias"),
        sinks=kwargs.get("s_aux"),
    )
    for handler in handlers:
        replaced = handler(weights)
        weights = weights if replaced is None else replaced
    if value.shape[1] != weights.shape[1]:
        value = value.repeat_interleave(weights.shape[1] // value.shape[1], dim=1)
    dropout = float(kwargs.get("dropout") or 0.0)
    used = nn.functional.dropout(weights, p=dropout, training=module.training) if dropout else weights
    return torch.matmul(used, value).transpose(1, 2).contiguous(), weights


def _implementation(base: str) -> Callable[..., tuple[Tensor, Tensor | None]]:
    def attend(
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        **kwargs: Any,
    ) -> tuple[Tensor, Tensor | None]:
        handlers = [handler for visit in active.get(id(module), ()) for handler in visit()]
        if handlers:
            return _attend(module, query, key, value, attention_mask, handlers, **kwargs)
        if base == "eager":
            function = sys.modules[type(module).__module__].eager_attention_forward
        else:
            function = ALL_ATTENTION_FUNCTIONS[base]
        result: tuple[Tensor, Tensor | None] = function(module, query, key, value, attention_mask, **kwargs)
        return result

    return attend


def register() -> None:
    """Make ``headwidgets:eager`` and ``headwidgets:sdpa`` known to transformers (idempotent)."""
    for base in BASES:
        AttentionInterface.register(PREFIX + base, _implementation(base))
        AttentionMaskInterface.register(PREFIX + base, ALL_MASK_ATTENTION_FUNCTIONS[base])


def configs(model: nn.Module) -> list[Any]:
    """Every distinct config object of a model and its parts."""
    seen = {id(c): c for m in model.modules() if hasattr(c := getattr(m, "config", None), "_attn_implementation")}
    return list(seen.values())


def switched(implementation: str | None) -> str:
    """The name under which modules with `implementation` are visited."""
    name = implementation or "eager"
    if name.startswith(PREFIX):
        return name
    return PREFIX + (name if name in BASES else "sdpa")
