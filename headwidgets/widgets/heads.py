"""Which heads are meant? The trait type behind `selected` and `pruned`."""

from collections.abc import Iterable
from typing import Any, TypeAlias

import traitlets as t

from headwidgets.errors import InputError
from headwidgets.scores import KIND_ORDER, Head
from headwidgets.wire.documents import KindName

Shapes: TypeAlias = dict[KindName, tuple[int, int]]
"""Layers and heads of each kind a widget shows."""


def as_head(value: Any) -> Head:
    """Return `value` as a `Head`; accepts a `Head` or anything like ``(kind, layer, index)``.

    Raises:
        InputError: it is neither.
    """
    if isinstance(value, Head):
        return value
    if isinstance(value, (tuple, list)) and len(value) == 3:
        kind, layer, index = value
        if kind in KIND_ORDER and all(hasattr(n, "__index__") and not isinstance(n, bool) for n in (layer, index)):
            return Head(kind, int(layer), int(index))
    raise InputError(
        f"a head is Head(kind, layer, index) with kind one of {', '.join(KIND_ORDER)} and counts from 0; got {value!r}"
    )


def as_heads(value: Any) -> tuple[Head, ...]:
    """Return one head or several as a tuple without repetitions, in the order given."""
    if value is None:
        return ()
    if isinstance(value, Head) or (isinstance(value, (tuple, list)) and value and isinstance(value[0], str)):
        return (as_head(value),)
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InputError(f"expected heads, for example [Head('encoder', 0, 3)]; got {value!r}")
    return tuple(dict.fromkeys(as_head(item) for item in value))


def check_heads(heads: tuple[Head, ...], shapes: Shapes, whole_layers: bool = False) -> None:
    """Raise `InputError` for the first head that does not exist in `shapes`.

    Args:
        heads: What was asked for.
        shapes: Layers and heads by kind; nothing is checked while it is empty.
        whole_layers: Accept index -1, the sum over the heads of a layer.
    """
    for head in heads if shapes else ():
        if head.kind not in shapes:
            raise InputError(f"there is no kind {head.kind!r} here: the kinds are {', '.join(shapes)}")
        layers, n_heads = shapes[head.kind]
        lowest = -1 if whole_layers else 0
        if not (0 <= head.layer < layers and lowest <= head.index < n_heads):
            raise InputError(
                f"head {head.label(len(shapes) > 1)} does not exist: kind {head.kind} has layers 0 to {layers - 1}"
                f" and heads 0 to {n_heads - 1}"
            )


class Heads(t.TraitType):
    """Trait: a tuple of `Head` in Python, ``[[kind, layer, index], ...]`` on the wire.

    The owner may have `shapes` (a `Shapes`); then a head that does not exist is refused with a sentence.
    """

    default_value = ()
    info_text = "heads"

    def __init__(self, *, whole_layers: bool = False, help: str) -> None:  # noqa: A002 - the name that traitlets has for it
        super().__init__(help=help)
        self._whole_layers = whole_layers
        self.tag(sync=True, echo_update=False, to_json=lambda heads, _: to_wire(heads))

    def validate(self, obj: Any, value: Any) -> tuple[Head, ...]:
        """Return `value` as heads that exist in `obj.shapes`."""
        heads = as_heads(value)
        check_heads(heads, getattr(obj, "shapes", {}), self._whole_layers)
        return heads


def to_wire(heads: Iterable[Head]) -> list[list[str | int]]:
    """Return heads as JSON lists."""
    return [[head.kind, head.layer, head.index] for head in heads]
