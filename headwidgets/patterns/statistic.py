"""What is one statistic? A number per query, averaged over the queries that it is asked of."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from headwidgets.errors import InputError
from headwidgets.patterns.view import View

Measured = tuple[Tensor, Tensor]
"""Numbers [rows, heads, query] and which queries count, bool [rows, 1 or heads, query]."""

KEYS = ("all", "content")


@dataclass(frozen=True)
class Statistic:
    """One number per head.

    Attributes:
        name: Short, unique, for a program.
        label: In words, for an axis.
        unit: Of the number.
        measure: Per query.
        chart: Which chart it is drawn in.
        uniform: Whether a head that looks at all keys alike has a number of this.
        settings: What goes into the record of how it was made.
        keys: ``all``, or ``content`` for the rows without the first key and the special tokens.
    """

    name: str
    label: str
    unit: str
    measure: Callable[[View], Measured]
    chart: str
    uniform: bool = True
    settings: dict[str, Any] = field(default_factory=dict)
    keys: str = "all"


def is_content(keys: Any) -> bool:
    """The option ``keys=`` of many statistics.

    Raises:
        InputError: neither ``all`` nor ``content``.
    """
    if keys not in KEYS:
        raise InputError(
            f"expected keys='all' or keys='content' (without the first key and the special tokens), got {keys!r}"
        )
    return bool(keys == "content")


def suffixed(name: str, content: bool) -> str:
    """The name of a statistic, or of its variant without the first key and the special tokens."""
    return f"{name}_content" if content else name


def worded(label: str, content: bool) -> str:
    """The same for its label."""
    return f"{label}, content only" if content else label
