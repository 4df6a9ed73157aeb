"""Prefix reuse without knowing the architecture: what came before a layer is computed once.

One recorded pass keeps what every block returned. To run from a layer on, the blocks before it return their stored
output at once, so that the model's own `forward` goes on handling masks, positions and the head on top. The layer
itself is entered at the output projection of its attention: all that its block computes before that does not depend
on the heads' outputs that are put in. What comes after the last layer that mixes positions may be run for a single
position (`Reading`). Each shortcut is taken only where the recorded pass has shown that it is one.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutput

from headwidgets.models.sites import Site

Forward = Callable[..., Any]


def stacks_of(sites: list[Site]) -> list[list[nn.Module]]:
    """The blocks of a model in the order in which they run: an encoder's, then a decoder's.

    A model that runs one block many times (ALBERT) has no list of blocks; its passes are full ones.
    """
    found: list[list[nn.Module]] = []
    for kinds in (("encoder",), ("decoder", "cross")):
        own = sorted((s for s in sites if s.kind in kinds), key=lambda s: s.layer)
        blocks = list(dict.fromkeys(s.block for s in own if s.calls == 1))
        if blocks:
            found.append(blocks)
    return found


def _always() -> bool:
    return True


@contextmanager
def replaced(
    module: nn.Module, make: Callable[[Forward], Forward], applies: Callable[[], bool] = _always
) -> Iterator[None]:
    """Another `forward` for one module, for a while; `make` gets the one it has, which runs where not `applies()`."""
    own = module.__dict__.get("forward")
    original: Forward = module.forward
    made = make(original)

    def forward(*args: Any, **keywords: Any) -> Any:
        return made(*args, **keywords) if applies() else original(*args, **keywords)

    object.__setattr__(module, "forward", forward)
    try:
        yield
    finally:
        if own is None:
            object.__delattr__(module, "forward")
        else:
            object.__setattr__(module, "forward", own)


def first(output: Any) -> Tensor:
    """The tensor that a module returns, or the first of its tuple."""
    tensor: Tensor = output if isinstance(output, Tensor) else output[0]
    return tensor


def with_first(output: Any, tensor: Tensor) -> Any:
    """`output` with another tensor in the first place."""
    return tensor if isinstance(output, Tensor) else type(output)((tensor, *output[1:]))


def _detached(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach()
    return type(value)(_detached(v) for v in value) if isinstance(value, (tuple, list)) else value


@dataclass(frozen=True)
class Reading:
    """The output depends on one position of the last block only.

    Attributes:
        site: The last block's attention.
        position: int64 [rows of the recorded batch].
    """

    site: Site
    position: Tensor


class _Attended(Exception):  # control flow, never leaves this module
    """The last block's attention has run; the rest is for one position."""


@dataclass
class Prefix:
    """What one clean pass left behind.

    Attributes:
        sites: The model's sites.
        rows: Rows of the recorded batch.
        returned: By block, what it returned.
        attended: By site, what its attention module returned.
        within: By site, whether the output projection is inside the attention module (True) or reads what it returns
            (False); absent where neither was seen to be so.
        memory: The encoder's output [rows, source, width] of an encoder-decoder.
        applies: Says whether a call is the visitor's; other threads run the bare model.
    """

    sites: list[Site]
    applies: Callable[[], bool] = _always
    rows: int = 0
    returned: dict[nn.Module, Any] = field(default_factory=dict)
    attended: dict[Site, Any] = field(default_factory=dict)
    within: dict[Site, bool] = field(default_factory=dict)
    memory: Tensor | None = None
    order: list[Site] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stacks = stacks_of(self.sites)

    # ---- recording ----------------------------------------------------------------------------------

    @contextmanager
    def recording(self, root: nn.Module) -> Iterator["Prefix"]:
        """Keep, without gradient, what the blocks and attention modules of the next forward pass return."""
        entered: dict[nn.Module, Tensor] = {}  # before anybody's hook changes it: hooks act on what is put in, too
        left: dict[nn.Module, Tensor] = {}
        with ExitStack() as stack:
            for block in (b for blocks in self.stacks for b in blocks):
                stack.enter_context(replaced(block, self._keep_block(block), self.applies))
            for site in self.sites:
                if site.calls == 1:
                    before = site.projection.register_forward_pre_hook(
                        lambda module, args: entered.__setitem__(module, args[0].detach()), prepend=True
                    )
                    after = site.projection.register_forward_hook(
                        lambda module, _, output: left.__setitem__(module, output.detach())
                    )
                    stack.callback(before.remove)
                    stack.callback(after.remove)
                    stack.enter_context(replaced(site.attention, self._keep_attention(site), self.applies))
            encoder = getattr(root, "get_encoder", lambda: None)() if len(self.stacks) > 1 else None
            if isinstance(encoder, nn.Module):
                hook = encoder.register_forward_hook(lambda _, __, output: self._keep_memory(output))
                stack.callback(hook.remove)
            yield self
        for site, output in self.attended.items():
            own, given, made = first(output), entered[site.projection], left[site.projection]
            if own.shape == made.shape and torch.equal(own, made):
                self.within[site] = True
            elif own.numel() == given.numel() and torch.equal(own.reshape(given.shape), given):
                self.within[site] = False

    def _keep_memory(self, output: Any) -> None:
        self.memory = first(output).detach()

    def _keep_block(self, block: nn.Module) -> Callable[[Forward], Forward]:
        def make(original: Forward) -> Forward:
            def forward(*args: Any, **keywords: Any) -> Any:
                output = original(*args, **keywords)
                self.returned[block] = _detached(output)
                self.rows = first(output).shape[0]
                return output

            return forward

        return make

    def _keep_attention(self, site: Site) -> Callable[[Forward], Forward]:
        def make(original: Forward) -> Forward:
            def forward(*args: Any, **keywords: Any) -> Any:
                output = original(*args, **keywords)
                if isinstance(output, Tensor) or (isinstance(output, (tuple, list)) and isinstance(output[0], Tensor)):
                    self.attended[site] = _detached(output)
                    self.order.append(site)
                return output

            return forward

        return make

    # ---- running on ---------------------------------------------------------------------------------

    def inputs(self, site: Site, inputs: Mapping[str, Tensor], rows: Tensor) -> dict[str, Any]:
        """The recorded batch's inputs for a batch of `rows`; a decoder's site gets the stored encoder output."""
        chosen: dict[str, Any] = {name: value.index_select(0, rows) for name, value in inputs.items()}
        if site.kind != "encoder" and self.memory is not None:
            chosen["encoder_outputs"] = BaseModelOutput(last_hidden_state=self.choose(self.memory, rows))
        return chosen

    def choose(self, value: Any, rows: Tensor) -> Any:
        """A stored value for a batch of `rows`; what has no batch dimension stays as it is."""
        if isinstance(value, Tensor) and value.dim() > 1 and value.shape[0] == self.rows:
            return value.expand(len(rows), *value.shape[1:]) if self.rows == 1 else value.index_select(0, rows)
        return type(value)(self.choose(v, rows) for v in value) if isinstance(value, (tuple, list)) else value

    def can_enter(self, site: Site) -> bool:
        """Whether the site can be entered at its output projection."""
        return site in self.within

    @contextmanager
    def resumed(
        self,
        site: Site,
        rows: Tensor,
        outputs: Tensor | None = None,
        reading: Reading | None = None,
    ) -> Iterator[None]:
        """Forward passes begin at a site's block, for a batch of recorded `rows`.

        Args:
            site: Where to begin.
            rows: int64 [batch]; which row of the recorded batch each row is.
            outputs: The heads' outputs [batch, query, heads * head_dim] (query is 1 with a reading at this site)
                that the site's output projection reads; the block's attention is not run. Needs `can_enter`.
            reading: Run what comes after the last attention for one position only.
        """
        with ExitStack() as stack:
            blocks = next((b for b in self.stacks if site.block in b), [])
            for block in blocks[: blocks.index(site.block)] if blocks else []:
                stack.enter_context(replaced(block, self._stored(self.returned[block], rows), self.applies))
            if outputs is not None:
                for earlier in self.order[: self.order.index(site)]:
                    if earlier.block is site.block:
                        stored = self._stored(self.attended[earlier], rows)
                        stack.enter_context(replaced(earlier.attention, stored, self.applies))
                stack.enter_context(replaced(site.attention, self._entered(site, rows, outputs), self.applies))
            if reading is not None:
                entered = reading.site is site and outputs is not None
                make = _narrow_entered if entered else _narrow_after
                stack.enter_context(replaced(reading.site.block, make(reading, rows), self.applies))
            yield

    def _stored(self, value: Any, rows: Tensor) -> Callable[[Forward], Forward]:
        return lambda _: lambda *args, **keywords: self.choose(value, rows)

    def _entered(self, site: Site, rows: Tensor, outputs: Tensor) -> Callable[[Forward], Forward]:
        def attended(*_: Any, **__: Any) -> Any:
            return with_first(self.choose(self.attended[site], rows), self.said(site, outputs))

        return lambda _: attended

    def said(self, site: Site, outputs: Tensor) -> Tensor:
        """What an attention module returns (first) when its heads say `outputs` [rows, query, heads * head_dim]."""
        if self.within[site]:
            projected: Tensor = site.projection(outputs)
            return projected
        return outputs.reshape(*outputs.shape[:2], *first(self.attended[site]).shape[2:])


def _hidden(args: tuple[Any, ...], keywords: dict[str, Any]) -> Tensor:
    hidden: Tensor = args[0] if args else keywords["hidden_states"]
    return hidden


def _with_hidden(
    args: tuple[Any, ...], keywords: dict[str, Any], hidden: Tensor
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return ((hidden, *args[1:]), keywords) if args else ((), {**keywords, "hidden_states": hidden})


def pick(tensor: Tensor, position: Tensor) -> Tensor:
    """One position per row: [rows, positions, ...] to [rows, 1, ...]."""
    return tensor[torch.arange(len(position), device=position.device), position].unsqueeze(1)


def put(row: Tensor, length: int, position: Tensor) -> Tensor:
    """The inverse of `pick`, with zeros at the positions that nobody reads."""
    index = position.view(-1, 1, 1).expand(-1, 1, row.shape[-1])
    return torch.zeros(row.shape[0], length, row.shape[-1], dtype=row.dtype, device=row.device).scatter(1, index, row)


def attended_first(attention: nn.Module, block: Callable[[], Any], applies: Callable[[], bool] = _always) -> Any:
    """What the attention module inside a block returns; the rest of the block does not run."""
    attended: list[Any] = []

    def attend(own: Forward) -> Forward:
        def run(*args: Any, **keywords: Any) -> Any:
            attended.append(own(*args, **keywords))
            raise _Attended

        return run

    try:
        with replaced(attention, attend, applies):
            block()
    except _Attended:
        pass
    return attended[0]


def _narrow_entered(reading: Reading, rows: Tensor) -> Callable[[Forward], Forward]:
    """The last block, entered at its projection, for one position."""
    position = reading.position.index_select(0, rows)

    def make(original: Forward) -> Forward:
        def forward(*args: Any, **keywords: Any) -> Any:
            hidden = _hidden(args, keywords)
            args, keywords = _with_hidden(args, keywords, pick(hidden, position))
            output = original(*args, **keywords)
            return with_first(output, put(first(output), hidden.shape[1], position))

        return forward

    return make


def _narrow_after(reading: Reading, rows: Tensor) -> Callable[[Forward], Forward]:
    """The last block: its attention for all positions, what follows for one."""
    position = reading.position.index_select(0, rows)
    attention = reading.site.attention

    def make(original: Forward) -> Forward:
        def forward(*args: Any, **keywords: Any) -> Any:
            hidden = _hidden(args, keywords)
            attended = attended_first(attention, partial(original, *args, **keywords))
            args, keywords = _with_hidden(args, keywords, pick(hidden, position))
            row = with_first(attended, pick(first(attended), position))
            with replaced(attention, lambda _: lambda *a, **k: row):
                output = original(*args, **keywords)
            return with_first(output, put(first(output), hidden.shape[1], position))

        return forward

    return make
