"""Maps of families outside transformers' attention registry: what softmax returns inside the attention module.

While an asked-for module runs, torch's own ``softmax`` and ``scaled_dot_product_attention`` pass through here (a
`TorchFunctionMode`, which belongs to the thread that runs the model), so that a map can be looked at, differentiated
through or replaced before the module multiplies the values by it. Other modules run untouched.
"""

import copy
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from headwidgets.models.maps import MapHandler, attend

_SOFTMAX = {nn.functional.softmax, torch.softmax, Tensor.softmax}


class _Tap(TorchFunctionMode):
    """Gives the first map that the attention module computes to the handlers."""

    def __init__(self, module: nn.Module, handlers: list[MapHandler], n_heads: int) -> None:
        super().__init__()
        self.module = module
        self.handlers = handlers
        self.n_heads = n_heads
        self.waiting = True

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.waiting and func in _SOFTMAX:
            return self._softmax(func(*args, **kwargs))
        if self.waiting and func is nn.functional.scaled_dot_product_attention:
            self.waiting = False
            return self._attention(*args, **kwargs)
        return func(*args, **kwargs)

    def _softmax(self, weights: Tensor) -> Tensor:
        """Offer the map [batch, heads, query, key], which may come as [batch * heads, query, key]."""
        merged = weights.dim() == 3 and weights.shape[0] % self.n_heads == 0
        if not merged and (weights.dim() != 4 or weights.shape[1] != self.n_heads):
            return weights
        self.waiting = False
        found = weights.view(-1, self.n_heads, *weights.shape[1:]) if merged else weights
        for handler in self.handlers:
            replaced = handler(found)
            found = found if replaced is None else replaced.to(found.dtype)
        return found.reshape(weights.shape)

    def _attention(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,  # heads are repeated wherever there are fewer
    ) -> Tensor:
        output, _ = attend(
            self.module,
            query,
            key,
            value,
            attn_mask,
            self.handlers,
            causal=is_causal,
            scaling=scale,
            dropout=dropout_p,
        )
        return output.transpose(1, 2).contiguous()


Ask = Callable[[], list[MapHandler]]

_asking: dict[int, list[Ask]] = {}
"""By id of a tapped module: who asks at each call; the outer visit first."""


@contextmanager
def tapped(module: nn.Module, n_heads: int, ask: Ask) -> Iterator[None]:
    """Let the handlers that `ask` names at each call of `module` see its map; its ``forward`` is put back."""
    asking = _asking.setdefault(id(module), [])
    asking.append(ask)
    if len(asking) == 1:
        _wrap(module, n_heads, asking)
    try:
        yield
    finally:
        asking.remove(ask)
        if not asking:
            del _asking[id(module)]
            _unwrap(module)


@contextmanager
def lent(module: nn.Module, other: nn.Module, memo: dict[int, Any]) -> Iterator[None]:
    """Let those who ask at `module` ask at `other` too, a copy of it, whose ``forward`` is still that of `module`.

    Args:
        module: A module of a model.
        other: The same of its copy.
        memo: Of the copying (`copy.deepcopy`).
    """
    asking = _asking.get(id(module))
    if asking is None:
        yield
        return
    wrapped = other.__dict__.pop("forward")
    if wrapped.before is not None:
        other.__dict__["forward"] = copy.deepcopy(wrapped.before, memo)
    with ExitStack() as stack:
        for ask in asking:
            stack.enter_context(tapped(other, wrapped.n_heads, ask))
        yield


def _wrap(module: nn.Module, n_heads: int, asking: list[Ask]) -> None:
    forward = module.forward

    def run(*args: Any, **kwargs: Any) -> Any:
        handlers = [handler for ask in asking for handler in ask()]
        if not handlers:
            return forward(*args, **kwargs)
        with _Tap(module, handlers, n_heads):
            return forward(*args, **kwargs)

    run.before = module.__dict__.get("forward")  # type: ignore[attr-defined]
    run.n_heads = n_heads  # type: ignore[attr-defined]
    module.__dict__["forward"] = run


def _unwrap(module: nn.Module) -> None:
    before = module.__dict__.pop("forward").before
    if before is not None:
        module.__dict__["forward"] = before
