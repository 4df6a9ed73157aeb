"""The other ways to attribute maps: the published rule, and Captum's integrated gradients over the same maps."""

import importlib
from typing import Any

import numpy as np
import torch


def _clean_map(model: Any, batch: Any, site: Any) -> tuple[torch.Tensor, int]:
    """A layer's map of one text and the predicted class, by a plain pass of its own."""
    maps: list[torch.Tensor] = []
    with torch.no_grad(), model.visit(attention={site: lambda w: maps.append(w)}):
        target = int(model.forward(batch).logits.argmax())
    return maps[0], target


def published(model: Any, text: str, points: np.ndarray, chunk: int, lower_at_one: bool) -> list[np.ndarray]:
    """Equal weights at `points`; by layer, float64 [heads, query, key]."""
    [example] = model.encode([text])
    batch = next(model.batches([example]))
    found = []
    for site in model.sites:
        clean, target = _clean_map(model, batch, site)
        total = torch.zeros_like(clean, dtype=torch.float64)
        for some in np.array_split(points, max(1, len(points) // chunk)):
            scale = torch.tensor(some, dtype=torch.float32, device=clean.device).view(-1, 1, 1, 1)
            leaf = (scale * clean).requires_grad_()
            inputs = batch.inputs
            hook = None
            if lower_at_one:
                n = len(some)
                hook = site.block.register_forward_pre_hook(lambda _, args, n=n: (args[0].expand(n, -1, -1), *args[1:]))
            else:
                inputs = {name: value.expand(len(some), -1) for name, value in inputs.items()}
            with model.visit(attention={site: lambda _, leaf=leaf: leaf}):
                outputs = model.forward(inputs)
            if hook is not None:
                hook.remove()
            probability = outputs.logits.softmax(-1)[:, target].sum()
            (gradient,) = torch.autograd.grad(probability, leaf)
            total += gradient.double().sum(0, keepdim=True)
        found.append((clean.double() * total / len(points))[0].cpu().numpy())
    return found


def captum(model: Any, text: str, steps: int) -> list[np.ndarray]:
    """Captum's IntegratedGradients of each layer's map, Gauss-Legendre; by layer, [heads, query, key].

    Captum has no way to a transformer's maps of its own: it differentiates a function of them, which is made here with
    the same visit that headwidgets uses. It runs the whole model for every point.
    """
    gradients = importlib.import_module("captum.attr").IntegratedGradients
    [example] = model.encode([text])
    batch = next(model.batches([example]))
    found = []
    for site in model.sites:
        clean, target = _clean_map(model, batch, site)

        def probabilities(leaf: torch.Tensor, site: Any = site) -> torch.Tensor:
            inputs = {name: value.expand(len(leaf), -1) for name, value in batch.inputs.items()}
            with model.visit(attention={site: lambda _: leaf}):
                answer: torch.Tensor = model.forward(inputs).logits.softmax(-1)
            return answer

        attributed = gradients(probabilities).attribute(
            clean, baselines=0, target=target, n_steps=steps, method="gausslegendre"
        )
        found.append(attributed[0].detach().cpu().numpy())
    return found


def has_captum() -> bool:
    """Whether Captum can be imported; `make bench` installs it."""
    try:
        importlib.import_module("captum.attr")
    except ImportError:
        return False
    return True
