"""A copy of a model that stands under the interventions around the call, as the model itself does.

Hooks are handed to the copy as they are: they ask whether the calling thread holds the model that they were made for,
and whoever works on a copy does. Changes of maps are found by module, so the copy's modules are entered beside those
of the model for as long as the copy is in use.
"""

import copy
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import nn

from headwidgets.models import maps, taps
from headwidgets.models.model import HeadModel


@contextmanager
def copied(model: HeadModel, change: Callable[[nn.Module], Any] = lambda root: None) -> Iterator[HeadModel]:
    """A copy of the model, with weights of its own, under the same `gated`, `intervene` and `visit` blocks.

    Args:
        model: A HeadModel; it is left as it is.
        change: What is done to the copy's module first, for example a cast.
    """
    with ExitStack() as stack:
        with model.lock:
            memo = {id(hook): hook for hook in _hooks(model.model)}
            root = copy.deepcopy(model.model, memo)
            for old, new in zip(model.model.modules(), root.modules(), strict=True):
                stack.callback(maps.lend(old, new))
                stack.enter_context(taps.lent(old, new, memo))
        change(root)
        yield HeadModel(root, model.tokenizer)


def _hooks(root: nn.Module) -> Iterator[Any]:
    for module in root.modules():
        yield from module._forward_pre_hooks.values()
        yield from module._forward_hooks.values()
