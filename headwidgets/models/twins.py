"""The same architecture with other weights: what a measurement gives when nothing was learned."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from headwidgets.models.copies import copied
from headwidgets.models.memory import check_fits
from headwidgets.models.model import HeadModel


@contextmanager
def random_twin(model: HeadModel, seed: int, *, keep_embeddings: bool = True) -> Iterator[HeadModel]:
    """A copy of the model with weights drawn anew; each tensor keeps its mean and spread, so that signals keep theirs.

    Args:
        model: A HeadModel; it is left as it is.
        seed: Of the draw.
        keep_embeddings: Embeddings of words, positions and segments stay as trained, as in the random baseline of
            Clark et al. 2019, section 5.

    Raises:
        MemoryLimitError: a copy does not fit.
    """
    size = sum(p.numel() * p.element_size() for p in model.model.parameters())
    check_fits(size, model.device, what="A copy of the model", instead="leave the random controls out")
    with copied(model) as twin:
        root: Any = twin.model
        kept = {id(p) for m in root.modules() if isinstance(m, nn.Embedding) for p in m.parameters()}
        redraw((p for p in root.parameters() if not (keep_embeddings and id(p) in kept)), seed)
        yield twin


def redraw(parameters: Iterable[nn.Parameter], seed: int) -> None:
    """Draw every float tensor of more than one number anew, in place, normal with its own mean and spread."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in parameters:
            if not parameter.is_floating_point() or parameter.numel() < 2:
                continue
            noise = torch.randn(parameter.shape, generator=generator)
            wide = parameter.float()
            drawn = wide.mean() + wide.std(correction=0) * noise.to(parameter.device)
            parameter.copy_(drawn.to(parameter.dtype))
