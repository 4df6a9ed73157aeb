"""How far away does a head look? Attention to fixed offsets, where the largest weight stands, and mean distance."""

from typing import Any

import torch

from headwidgets.errors import InputError
from headwidgets.patterns.concentration import WEIGHT
from headwidgets.patterns.statistic import Measured, Statistic, is_content, suffixed, worded
from headwidgets.patterns.view import View

OFFSETS = (-2, -1, 0, 1, 2)
"""What a summary measures by default; -1 is the token before the query."""
_WORDS = {-1: "the previous token", 0: "the token itself", 1: "the next token"}


def checked_offset(offset: Any) -> int:
    """A whole number.

    Raises:
        InputError: anything else.
    """
    if isinstance(offset, bool) or not isinstance(offset, int):
        raise InputError(
            f"expected an offset as a whole number of positions (-1 is the previous token), got {offset!r}"
        )
    return offset


def described(offset: int) -> str:
    """An offset in words."""
    return _WORDS.get(offset, f"{abs(offset)} tokens {'back' if offset < 0 else 'ahead'}")


def attention_at(offset: int, keys: str = "all") -> Statistic:
    """Attention to the key at a fixed offset, over the queries of text that have one there and may see it.

    Source: Clark et al. 2019, section 3.1; their code divides by all tokens, also those without such a key.
    """
    content, offset = is_content(keys), checked_offset(offset)

    def measure(view: View) -> Measured:
        weight, there = view.at(offset, "content" if content else "real")
        if not content:
            return weight, there & view.asked()
        return weight / view.left, there & view.on_content

    return Statistic(
        suffixed(f"offset{offset:+d}", content),
        worded(f"Attention to {described(offset)}", content),
        WEIGHT,
        measure,
        "offset",
        settings={"method": "offset", "offset": offset},
        keys=keys,
    )


def peaks_at(offset: int, keys: str = "all") -> Statistic:
    """Share of the queries whose largest weight, among keys of text, is at a fixed offset (where there is such a key).

    Source: Voita et al. 2019, section 5.1.
    """
    content, offset = is_content(keys), checked_offset(offset)

    def measure(view: View) -> Measured:
        places = view.largest(content)[1]
        own = torch.arange(places.shape[-1], device=places.device)
        _, there = view.at(offset, "content" if content else "text")
        return (places == own + offset).float(), there & view.asked()

    return Statistic(
        suffixed(f"peak{offset:+d}", content),
        worded(f"Largest weight at {described(offset)}", content),
        "share of tokens",
        measure,
        "peak",
        uniform=False,
        settings={"method": "peak", "offset": offset},
        keys=keys,
    )


def mean_distance(keys: str = "all") -> Statistic:
    """Mean distance, in positions, between a query and what it attends to."""
    content = is_content(keys)

    def measure(view: View) -> Measured:
        return view.distance(content), view.on_content if content else view.asked()

    return Statistic(
        suffixed("distance", content),
        worded("Mean distance", content),
        "positions",
        measure,
        "distance",
        settings={"method": "mean distance"},
        keys=keys,
    )
