"""Attention maps: our own softmax attention, registered beside those of transformers.

A config's implementation ``sdpa`` becomes ``headwidgets:sdpa`` for the time of a visit. Under that name, modules
that nobody asked about run the implementation that stood there before, to the bit; only an asked-for module
computes its probabilities here, where a visitor can look at them, differentiate through them or replace them.
"""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from headwidgets.models.sites import forward_of

PREFIX = "headwidgets:"
BASES = ("eager", "sdpa")
"""Implementations that unasked modules may run; others (flash, flex) run as one of these while a map is asked for."""

MapHandler = Callable[[Tensor], Tensor | None]
"""Takes the map [batch, heads, query, key]; returns what replaces it, or None to leave it."""

active: dict[int, list[Callable[[], list[MapHandler]]]] = {}
"""By id of the attention module: for each visit, a function that says which handlers this call has."""


def lend(module: nn.Module, other: nn.Module) -> Callable[[], None]:
    """Let those who ask about `module` be asked about `other` too, a copy of it; returns what takes that back."""
    key, asking = id(other), active.get(id(module))
    if asking is not None:
        active[key] = list(asking)

    def take_back() -> None:
        active.pop(key, None)

    return take_back


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


def attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    handlers: list[MapHandler],
    *,
    causal: bool,
    scaling: float | None = None,
    dropout: float = 0.0,
    softcap: float | None = None,
    position_bias: Tensor | None = None,
    s_aux: Tensor | None = None,
    **_: Any,
) -> tuple[Tensor, Tensor]:
    """What an attention function of transformers does, with the handlers between the map and its use.

    Args:
        module: The attention module.
        query: [batch, heads, query, head_dim].
        key: [batch, kv_heads, key, head_dim].
        value: [batch, kv_heads, key, value_dim].
        attention_mask: As for `probabilities`.
        handlers: Called in turn with the map [batch, heads, query, key].
        causal: As for `probabilities`.
        scaling: Factor on the dot products; one over the root of head_dim by default.
        dropout: Share of the map that is dropped while the module trains.
        softcap: As for `probabilities`.
        position_bias: As for `probabilities`.
        s_aux: Sinks, as for `probabilities`.

    Returns:
        The heads' outputs [batch, query, heads, value_dim] and the map.
    """
    weights = probabilities(
        query,
        key,
        attention_mask,
        scaling=query.shape[-1] ** -0.5 if scaling is None else scaling,
        causal=causal,
        softcap=softcap,
        position_bias=position_bias,
        sinks=s_aux,
    )
    for handler in handlers:
        replaced = handler(weights)
        weights = weights if replaced is None else replaced
    if value.shape[1] != weights.shape[1]:
        value = value.repeat_interleave(weights.shape[1] // value.shape[1], dim=1)
    used = nn.functional.dropout(weights, p=dropout, training=module.training) if dropout else weights
    return torch.matmul(used, value).transpose(1, 2).contiguous(), weights


def _bare(module: nn.Module, base: str) -> Callable[..., tuple[Tensor, Tensor | None]]:
    """The attention function that `module` would have run under `base`, as its own file knows it."""
    names = forward_of(module).__globals__
    if base != "eager":
        function: Any = names.get("ALL_ATTENTION_FUNCTIONS", ALL_ATTENTION_FUNCTIONS)[base]
        return function  # type: ignore[no-any-return]
    if getattr(module, "reorder_and_upcast_attn", False):  # GPT-2 has a second eager attention, without keywords
        return lambda m, *tensors, **_: m._upcast_and_reordered_attn(*tensors)
    return names["eager_attention_forward"]  # type: ignore[no-any-return]


def _implementation(base: str) -> Callable[..., tuple[Tensor, Tensor | None]]:
    def dispatch(
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        **kwargs: Any,
    ) -> tuple[Tensor, Tensor | None]:
        handlers = [handler for visit in active.get(id(module), ()) for handler in visit()]
        if not handlers:
            return _bare(module, base)(module, query, key, value, attention_mask, **kwargs)
        causal = kwargs.pop("is_causal", None)
        causal = getattr(module, "is_causal", True) if causal is None else causal
        # the map is of the model as it runs: eager attention without a mask sees everything, only sdpa reads the flag;
        # sdpa has no softcap and no sinks (older transformers drop them in silence)
        if base == "eager":
            causal = False
        else:
            kwargs = {name: value for name, value in kwargs.items() if name not in ("softcap", "s_aux")}
        return attend(module, query, key, value, attention_mask, handlers, causal=bool(causal), **kwargs)

    return dispatch


def register() -> None:
    """Make ``headwidgets:eager`` and ``headwidgets:sdpa`` known to transformers (idempotent)."""
    if PREFIX + BASES[0] in ALL_ATTENTION_FUNCTIONS:
        return
    for base in BASES:
        AttentionMaskInterface.register(PREFIX + base, ALL_MASK_ATTENTION_FUNCTIONS[base])
    for base in reversed(BASES):
        AttentionInterface.register(PREFIX + base, _implementation(base))


# ---- the implementation that a config names -------------------------------------------------------------------


def configs(model: nn.Module) -> list[Any]:
    """Every distinct config object of a model and its parts."""
    seen = {id(c): c for m in model.modules() if hasattr(c := getattr(m, "config", None), "_attn_implementation")}
    return list(seen.values())


def set_implementation(config: Any, name: str | None) -> None:
    """Name a config's attention implementation without touching those of its parts."""
    if hasattr(config, "_attn_implementation_internal"):
        config._attn_implementation_internal = name
    else:
        config._attn_implementation = name


def switched(implementation: str | None, config: Any = None, supports_sdpa: bool = True) -> str:
    """The name under which modules with `implementation` are visited."""
    name = implementation or "eager"
    if name.startswith(PREFIX):
        return name
    if name not in BASES:  # flash and flex keep no map, nor can they be mixed with our mask
        capped = getattr(config, "attn_logit_softcapping", None)
        name = "sdpa" if supports_sdpa and not capped else "eager"
    return PREFIX + name


@dataclass
class _Switched:
    config: Any
    before: str | None
    during: str
    visits: int = 0


_switches: dict[int, _Switched] = {}
_switching = threading.Lock()


def switch(model: nn.Module) -> Callable[[], None]:
    """Name our implementation in every config of `model`; returns what takes it back.

    Visits are counted by config, since models may share one and be visited in several threads: the last one out puts
    the name back.
    """
    register()
    supported = bool(getattr(model, "_supports_sdpa", True))
    found = configs(model)
    with _switching:
        for config in found:
            entry = _switches.get(id(config))
            if entry is None:
                before = config._attn_implementation
                entry = _switches[id(config)] = _Switched(config, before, switched(before, config, supported))
            set_implementation(config, entry.during)
            entry.visits += 1
    return lambda: _take_back(found)


def _take_back(found: Iterable[Any]) -> None:
    with _switching:
        for config in found:
            entry = _switches[id(config)]
            entry.visits -= 1
            if not entry.visits:
                del _switches[id(config)]
                set_implementation(config, entry.before)
