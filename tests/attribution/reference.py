"""Attribution written naively: the definition, a full pass per point, nothing of the engine but the hook on the map."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

Read = Callable[[Any], Tensor]
"""F of the model's output for one text, a scalar."""


def clean_maps(model: Any, example: Any, read: Read) -> tuple[dict[Any, Tensor], Any, float]:
    batch = next(model.batches([example]))
    maps: dict[Any, Tensor] = {}
    with (
        torch.no_grad(),
        model.visit(attention={s: lambda w, s=s: maps.__setitem__(s, w.clone()) for s in model.sites}),
    ):
        value = float(read(model.forward(batch)))
    return maps, batch, value


def output_at(model: Any, batch: Any, site: Any, weights: Tensor, read: Read) -> Tensor:
    with model.visit(attention={site: lambda _: weights}):
        return read(model.forward(batch))


def integral(model: Any, batch: Any, site: Any, weights: Tensor, read: Read, points: int) -> np.ndarray:
    """A * integral of dF(alpha A)/dA by the midpoint rule, float64 [heads, query, key]."""
    total = torch.zeros_like(weights, dtype=torch.float64)
    for k in range(points):
        leaf = ((k + 0.5) / points * weights).requires_grad_()
        value = output_at(model, batch, site, leaf, read)
        (gradient,) = torch.autograd.grad(value, leaf)
        total += gradient.double() / points
    return (weights.double() * total)[0].numpy()


def change(model: Any, batch: Any, site: Any, weights: Tensor, read: Read) -> float:
    with torch.no_grad():
        full = output_at(model, batch, site, weights, read)
        return float(full) - float(output_at(model, batch, site, torch.zeros_like(weights), read))
