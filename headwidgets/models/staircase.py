"""Many layers entered in one pass: the rows of a later layer join the batch when that layer's turn comes.

A small pass costs its weights' way through the caches and its calls, whatever its rows. So the points of all layers of
a short text run together: block b works on the rows that were entered up to b; the rows of later layers wait.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from headwidgets.models.prefix import Forward, Prefix, Reading, attended_first, first, pick, put, replaced, with_first
from headwidgets.models.sites import Site


@dataclass(frozen=True)
class Entry:
    """Rows that begin at one site.

    Attributes:
        site: Where.
        rows: int64 [n], rows of the recorded batch.
        outputs: What the heads say there, [n, query (1 with a reading at this site), heads * head_dim].
    """

    site: Site
    rows: Tensor
    outputs: Tensor


def can_climb(prefix: Prefix, sites: list[Site]) -> bool:
    """Whether all `sites` may be entered in one pass: one list of blocks, one attention in each."""
    if len(prefix.stacks) != 1 or not all(prefix.can_enter(site) for site in sites):
        return False
    blocks = [site.block for site in prefix.sites]
    return len(set(blocks)) == len(blocks)


def _sliced(value: Any, whole: int, part: int) -> Any:
    """The first `part` rows of whatever has `whole` of them."""
    if isinstance(value, Tensor):
        return value[:part] if value.dim() > 1 and value.shape[0] == whole else value
    return type(value)(_sliced(v, whole, part) for v in value) if type(value) in (tuple, list) else value


class _Call:
    """The arguments of a block or an attention module; the hidden state comes first or by name."""

    def __init__(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        self.args, self.keywords = args, keywords

    @property
    def hidden(self) -> Tensor:
        found: Tensor = self.args[0] if self.args else self.keywords["hidden_states"]
        return found

    def run(self, original: Forward, hidden: Tensor, whole: int) -> Any:
        """Call `original` with another hidden state; other arguments are cut to its rows."""
        part = hidden.shape[0]
        keywords = {name: _sliced(value, whole, part) for name, value in self.keywords.items()}
        if self.args:
            return original(hidden, *(_sliced(value, whole, part) for value in self.args[1:]), **keywords)
        return original(**{**keywords, "hidden_states": hidden})


@contextmanager
def climbing(prefix: Prefix, entries: list[Entry], reading: Reading | None) -> Iterator[Tensor]:
    """Forward passes run all entries, in the order of their layers.

    Yields:
        int64 [all rows], the recorded row of each; what the model's inputs have to be chosen by.
    """
    ordered = sorted(entries, key=lambda e: e.site.layer)
    if ordered != entries:
        raise ValueError("entries come in the order of their layers")
    rows = torch.cat([e.rows for e in entries])
    by_block = {e.site.block: e for e in entries}
    before = 0
    previous: nn.Module | None = None
    with ExitStack() as stack:
        for site in sorted(prefix.sites, key=lambda s: s.layer):
            step = _Step(prefix, site, by_block.get(site.block), before, previous, rows, reading)
            stack.enter_context(replaced(site.block, step.block, prefix.applies))
            before = step.until
            previous = site.block
        yield rows


class _Step:
    """One block of the staircase: `before` rows came in earlier, up to `until` now."""

    def __init__(
        self,
        prefix: Prefix,
        site: Site,
        entry: Entry | None,
        before: int,
        previous: nn.Module | None,
        rows: Tensor,
        reading: Reading | None,
    ) -> None:
        self.prefix, self.site, self.entry, self.before, self.previous = prefix, site, entry, before, previous
        self.until = before + (len(entry.rows) if entry is not None else 0)
        self.rows = rows
        self.reading = reading if reading is not None and reading.site is site else None

    def block(self, original: Forward) -> Forward:
        """The block's forward for the rows that are in."""

        def forward(*args: Any, **keywords: Any) -> Any:
            call = _Call(args, keywords)
            hidden = call.hidden
            whole = hidden.shape[0]
            if self.until == 0:
                return with_first(self.prefix.choose(self.prefix.returned[self.site.block], self.rows), hidden)
            active = hidden[: self.until]
            if self.entry is not None and self.previous is not None:
                arrived = first(self.prefix.choose(self.prefix.returned[self.previous], self.entry.rows))
                active = torch.cat([hidden[: self.before], arrived])
            output = self._narrow(original, call, active) if self.reading else self._wide(original, call, active)
            done = first(output)
            if self.until < whole:
                waiting = done.new_zeros(whole - self.until, *done.shape[1:])
                done = torch.cat([done, waiting])
            return with_first(output, done)

        return forward

    def _wide(self, original: Forward, call: _Call, active: Tensor) -> Any:
        whole = call.hidden.shape[0]
        if self.entry is None:
            return call.run(original, active, whole)

        def attend(own: Forward) -> Forward:
            def run(*args: Any, **keywords: Any) -> Any:
                inner = _Call(args, keywords)
                if not self.before:
                    return self._joined(None)
                return self._joined(inner.run(own, inner.hidden[: self.before], self.until))

            return run

        with replaced(self.site.attention, attend, self.prefix.applies):
            return call.run(original, active, whole)

    def _narrow(self, original: Forward, call: _Call, active: Tensor) -> Any:
        """The last block, when only one position of what it returns is read."""
        assert self.reading is not None
        whole = call.hidden.shape[0]
        position = self.reading.position.index_select(0, self.rows)
        earlier = None
        if self.before:
            attended = attended_first(
                self.site.attention,
                lambda: call.run(original, active[: self.before], whole),
                self.prefix.applies,
            )
            earlier = with_first(attended, pick(first(attended), position[: self.before]))
        joined = self._joined(earlier)
        at = position[: self.until]
        with replaced(self.site.attention, lambda _: lambda *a, **k: joined, self.prefix.applies):
            output = call.run(original, pick(active, at), whole)
        return with_first(output, put(first(output), active.shape[1], at))

    def _joined(self, earlier: Any) -> Any:
        """What the attention module returns: for the earlier rows its own, for those that come in now what they say."""
        if self.entry is None:
            return earlier
        entered = self.prefix.said(self.site, self.entry.outputs)
        if earlier is None:
            return with_first(self.prefix.choose(self.prefix.attended[self.site], self.entry.rows), entered)
        return with_first(earlier, torch.cat([first(earlier), entered]))
