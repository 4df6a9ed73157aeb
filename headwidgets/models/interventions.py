"""Interventions: what a head's output or map becomes, for the time of a ``with`` block."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from torch import Tensor

from headwidgets.errors import InputError
from headwidgets.models.visit import OutputHandler


def scaler(factors: Tensor) -> OutputHandler:
    """Multiply heads' outputs [batch, query, heads, head_dim] by [heads] or [batch, heads]."""

    def scale(heads: Tensor) -> Tensor:
        gate = factors.to(heads.dtype)
        return heads * (gate[:, None, :, None] if gate.dim() == 2 else gate[:, None])

    return scale


@contextmanager
def gated(
    model: Any,
    pruned: Iterable[Any] = (),
    *,
    gates: Mapping[Any, Any] | None = None,
    ablation: str = "zero",
) -> Iterator[Any]:
    """See `HeadModel.gated`."""
    factors = model.gate_tensors(pruned, gates)
    if ablation != "zero":
        raise InputError(f"expected ablation 'zero', got {ablation!r}")
    with model.visit(outputs={site: scaler(g) for site, g in factors.items()}, evaluation=False):
        yield model
