"""One pass over many texts, looking at maps and keeping none; from tokens to words on the device."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headwidgets.errors import Cancelled
from headwidgets.models.model import HeadModel
from headwidgets.models.sites import Site
from headwidgets.text.examples import Batch, Example

Look = Callable[[Site, Batch, Tensor], None]
"""Gets a site, the batch and its maps [rows, heads, query, key], padding included."""


def stream(
    model: HeadModel,
    examples: Sequence[Example],
    look: Look,
    *,
    sites: Sequence[Site] | None = None,
    order: Sequence[int] | None = None,
    max_tokens: int = 1024,
    what: str = "measuring",
    after: Callable[[Batch], None] | None = None,
    cancel: Callable[[], bool] | None = None,
) -> None:
    """Run examples through the model, without gradients, and show every asked-for map once.

    A pass ends where the last map was seen: what the model would make of it, a last block or the words of a large
    vocabulary, is not computed.

    Args:
        model: A HeadModel.
        examples: Encoded texts. Of an encoder-decoder, examples without a target run through the encoder alone.
        look: Sees each map; whatever it keeps is what stays in memory.
        sites: What is looked at; all sites that the examples reach by default.
        order: Which examples; all by default. They are sorted by length.
        max_tokens: Padded positions per batch, at most.
        what: What goes on, for the message of a cancelled run.
        after: Called when all maps of a batch were shown.
        cancel: Says whether to stop.

    Raises:
        Cancelled: told to stop.
    """
    alone = model.is_encoder_decoder and examples[0].target is None
    wanted = [s for s in (model.sites if sites is None else sites) if not alone or s.kind == "encoder"]
    current: list[Batch] = []
    missing: set[Site] = set()
    may_end = _may_end(model)

    def see(site: Site, maps: Tensor) -> None:
        look(site, current[0], maps)
        missing.discard(site)
        if may_end and not missing:
            raise _Seen

    for batch in model.batches(examples, max_tokens=max_tokens, order=order):
        if cancel is not None and cancel():
            raise Cancelled(f"{what} was cancelled")
        current[:] = [batch]
        missing.update(wanted)
        with suppress(_Seen), model.visit(attention={s: partial(see, s) for s in wanted}), torch.no_grad():
            if alone:
                model.model.get_encoder()(**batch.inputs)
            else:
                model.forward(batch)
        if after is not None:
            after(batch)


class _Seen(Exception):
    """Ends a pass: every map that was asked for has been seen."""


def _may_end(model: HeadModel) -> bool:
    """Whether a pass may be left in the middle: not where anybody's hooks (gates around the call, a user's own, those
    that move weights about) wait for what comes later, or outputs are collected.
    """
    config = model.model.config
    if any(getattr(config, f"output_{what}", False) for what in ("hidden_states", "attentions")):
        return False
    return not any(
        module._forward_pre_hooks or module._forward_hooks or hasattr(module, "_hf_hook")
        for module in model.model.modules()
    )


def membership(units: Sequence[NDArray[np.int64]], length: int, device: Any) -> Tensor:
    """Which token belongs to which unit, float32 [rows, units, tokens]; padded with zeros.

    Args:
        units: Per row the unit of every token, -1 for none.
        length: Tokens of the longest row.
        device: Where the result goes.
    """
    most = max((int(row.max(initial=-1)) + 1 for row in units), default=0)
    out = np.zeros((len(units), most, length), dtype=np.float32)
    for row, own in enumerate(units):
        places = np.flatnonzero(own >= 0)
        out[row, own[places], places] = 1
    return torch.from_numpy(out).to(device)


def word_maps(maps: Tensor, rows: Tensor, columns: Tensor | None = None) -> Tensor:
    """Maps over words: attention to a split word is summed, from it averaged [Clark et al. 2019, section 4.1].

    Args:
        maps: [rows, heads, query, key] over tokens.
        rows: `membership` of the query's tokens, [rows, units, query].
        columns: That of the key's; the same by default.

    Returns:
        [rows, heads, query units, key units]; what goes to special tokens is not in it, so rows sum to less than 1.
    """
    columns = rows if columns is None else columns
    summed = maps.to(rows.dtype) @ columns[:, None].transpose(-1, -2)
    sizes = rows.sum(-1, keepdim=True).clamp(min=1)
    return (rows / sizes)[:, None] @ summed
