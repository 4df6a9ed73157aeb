"""The same architecture with other weights: what an attribution is worth when nothing was learned."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from torch import nn

from headwidgets.models.copies import copied
from headwidgets.models.memory import check_fits
from headwidgets.models.model import HeadModel
from headwidgets.models.prefix import stacks_of
from headwidgets.models.twins import redraw

Which = Literal["all weights", "top layer"]
WHICH: tuple[Which, ...] = ("all weights", "top layer")


@contextmanager
def randomised(model: HeadModel, which: Which, seed: int) -> Iterator[HeadModel]:
    """A copy of the model with weights drawn anew, under the interventions around the call; each tensor keeps its mean
    and spread, so that signals keep theirs.

    Adebayo et al. 2018 (Sanity Checks for Saliency Maps, section 4) randomise all weights, and the top layer alone.

    Args:
        model: A HeadModel; it is left as it is.
        which: ``all weights``, or ``top layer``: the last block that F reads through, with the head on top of it
            (a prediction head that shares its weights with the embeddings keeps them).
        seed: Of the draw.

    Raises:
        MemoryLimitError: a copy does not fit.
    """
    size = sum(p.numel() * p.element_size() for p in model.model.parameters())
    check_fits(size, model.device, what="A copy of the model", instead="leave the controls out with twins=0")
    with copied(model) as twin:
        redraw(_chosen(twin, which), seed)
        yield twin


def _chosen(model: HeadModel, which: Which) -> list[nn.Parameter]:
    root: Any = model.model
    if which == "all weights":
        return list(root.parameters())
    stacks = stacks_of(model.sites)
    inside = {id(p) for p in root.base_model.parameters()} if root.base_model is not root else set()
    chosen = list(stacks[-1][-1].parameters()) if stacks else []
    return chosen + [p for p in root.parameters() if inside and id(p) not in inside]
