"""One batch's maps of one site, with what several statistics need of them, each computed once."""

from functools import cached_property

import torch
from torch import Tensor

from headwidgets.patterns.places import Places

LEAST = 1e-6
"""Attention to content below this is not divided by: what is left of such a row is rounding."""
_TINY = 1e-38


class View:
    """Maps of a batch.

    Attributes:
        maps: [rows, heads, query, key], float32; rows that are padding hold anything.
        query: What stands at the queries.
        key: What stands at the keys.
        visible: Which keys a query may see, by position, bool [query, key]; None for all.
    """

    def __init__(self, maps: Tensor, query: Places, key: Places, visible: Tensor | None) -> None:
        self.maps, self.query, self.key, self.visible = maps, query, key, visible
        self._offsets: dict[tuple[int, str], tuple[Tensor, Tensor]] = {}

    def to(self, name: str) -> Tensor:
        """Attention from every query to a class of keys, [rows, heads, query]."""
        return self._mass[..., self.key.column[name]]

    def seen(self, name: str) -> Tensor:
        """Keys of a class that a query may see, [rows, 1, query]."""
        return self._seen[..., self.key.column[name]]

    @cached_property
    def _mass(self) -> Tensor:
        return self._summed(self.maps, self.key.columns)

    @cached_property
    def _seen(self) -> Tensor:
        if self.visible is None:
            return self.key.columns.sum(1)[:, None, None].expand(-1, 1, self.maps.shape[-2], -1)
        return (self.visible.float() @ self.key.columns)[:, None]

    @cached_property
    def _pair(self) -> Tensor:
        """All keys and content, as columns."""
        return self.key.columns[..., [self.key.column["real"], self.key.column["content"]]]

    @cached_property
    def _surprise(self) -> Tensor:
        logs = self.maps.clamp_min(_TINY).log_()
        return self._summed(logs.mul_(self.maps).neg_(), self._pair)

    @cached_property
    def _distance(self) -> Tensor:
        return self._summed(self.maps * self.steps.abs(), self._pair)

    @cached_property
    def steps(self) -> Tensor:
        """Key position less query position, float32 [query, key]."""
        n_query, n_key = self.maps.shape[-2:]
        at = torch.arange(max(n_query, n_key), device=self.maps.device, dtype=torch.float32)
        return at[:n_key] - at[:n_query, None]

    @staticmethod
    def _summed(numbers: Tensor, columns: Tensor) -> Tensor:
        rows, heads, query, key = numbers.shape
        return (numbers.reshape(rows, heads * query, key) @ columns).view(rows, heads, query, -1)

    # ---- who is asked -----------------------------------------------------------------------------------------

    def asked(self, name: str = "text") -> Tensor:
        """Queries of a class, bool [rows, 1, query]."""
        return self.query.classes[name][:, None]

    @cached_property
    def left(self) -> Tensor:
        """Attention to content, what rows are divided by without the rest, [rows, heads, query]."""
        return self.to("content").clamp_min(LEAST)

    @cached_property
    def looks_at_content(self) -> Tensor:
        """Queries that look at content at all, bool [rows, heads, query]."""
        return self.to("content") >= LEAST

    @cached_property
    def on_content(self) -> Tensor:
        """Text queries that do so, bool [rows, heads, query]."""
        return self.asked() & self.looks_at_content

    # ---- what is measured, per query ----------------------------------------------------------------------------

    def entropy(self, content: bool) -> Tensor:
        """In nats, [rows, heads, query]; of content alone, of the row divided by what is left of it."""
        if not content:
            return self._surprise[..., 0]
        return (self._surprise[..., 1] / self.left + self.left.log()).clamp_min(0)

    def distance(self, content: bool) -> Tensor:
        """Mean distance in positions, [rows, heads, query]."""
        return self._distance[..., 1] / self.left if content else self._distance[..., 0]

    def largest(self, content: bool) -> tuple[Tensor, Tensor]:
        """Weight and key position of the largest weight among keys of text (or of content), [rows, heads, query]."""
        return self._peaks["content" if content else "text"]

    @cached_property
    def _peaks(self) -> dict[str, tuple[Tensor, Tensor]]:
        nothing = torch.zeros((), device=self.maps.device)
        found: dict[str, tuple[Tensor, Tensor]] = {}
        for name in ("text", "content"):
            if name == "content" and torch.equal(self.key.classes["text"], self.key.classes["content"]):
                found[name] = found["text"]  # what stands first is no text
                continue
            values, places = torch.where(self.key.classes[name][:, None, None], self.maps, nothing).max(-1)
            found[name] = (values, places)
        return found

    def at(self, offset: int, name: str) -> tuple[Tensor, Tensor]:
        """Attention to the key that stands `offset` positions on, and whether there is one of a class to see.

        Returns:
            [rows, heads, query] and bool [rows, 1, query].
        """
        if (offset, name) in self._offsets:
            return self._offsets[offset, name]
        rows, heads, n_query, n_key = self.maps.shape
        weight = next((known for (step, _), (known, _) in self._offsets.items() if step == offset), None)
        start, stop = max(0, -offset), min(n_query, n_key - offset)
        if weight is None:
            weight = self.maps.new_zeros((rows, heads, n_query))
            if start < stop:
                weight[..., start:stop] = self.maps.diagonal(offset, -2, -1)[..., : stop - start]
        there = torch.zeros((rows, 1, n_query), dtype=torch.bool, device=self.maps.device)
        if start < stop:
            keys = slice(start + offset, stop + offset)
            there[..., start:stop] = self.key.classes[name][:, None, keys]
            if self.visible is not None:
                there[..., start:stop] &= self.visible.diagonal(offset)[: stop - start]
        self._offsets[offset, name] = weight, there
        return weight, there


def reach(maps: Tensor, whole: Tensor) -> tuple[int, int] | None:
    """How far back and ahead any query looks, in positions: sliding windows show in it.

    Args:
        maps: [rows, heads, query, key].
        whole: Rows without padding, bool [rows].

    Returns:
        The least and the largest step; None when no row is without padding.
    """
    if not bool(whole.any()):
        return None
    looked = (maps[whole].amax((0, 1)) > 0).nonzero()
    steps = looked[:, 1] - looked[:, 0]
    return int(steps.min()), int(steps.max())


def visible_keys(
    n_query: int, n_key: int, device: torch.device, *, causal: bool, window: tuple[int, int] | None
) -> Tensor | None:
    """Which keys queries may see, bool [query, key]; None for all.

    Args:
        n_query: Queries.
        n_key: Keys.
        device: Of the result.
        causal: Only keys up to the query.
        window: The least and the largest step that is allowed; None for any.
    """
    if not causal and window is None:
        return None
    steps = torch.arange(n_key, device=device) - torch.arange(n_query, device=device)[:, None]
    allowed = steps <= 0 if causal else torch.ones_like(steps, dtype=torch.bool)
    if window is not None:
        allowed &= (steps >= window[0]) & (steps <= window[1])
    return allowed
