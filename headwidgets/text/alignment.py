"""From tokens to words: attention to a split word is summed, attention from it averaged."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from headwidgets.errors import InputError
from headwidgets.text.examples import Side


def groups(side: Side) -> NDArray[np.int64]:
    """Which position of the word level each token goes to, int64 [tokens]; numbered by first appearance.

    Tokens of one word go together; special tokens and tokens in no word (a line break) stay single.

    Raises:
        InputError: the tokenizer has no offsets, so that words are not known.
    """
    if not side.spans:
        raise InputError(
            "words are not known: the tokenizer gives no offsets and its tokens do not match the text; use a fast "
            "tokenizer, or words=False"
        )
    numbers: dict[tuple[int, int], int] = {}
    out = np.empty(len(side), dtype=np.int64)
    count = 0
    for position, (segment, word) in enumerate(zip(side.segments, side.words, strict=True)):
        if word is None or side.special[position]:
            out[position] = count
            count += 1
            continue
        if (segment, word) not in numbers:
            numbers[segment, word] = count
            count += 1
        out[position] = numbers[segment, word]
    return out


def reduced(
    maps: NDArray[np.floating], group: NDArray[np.int64], axis: int, mean: bool = False
) -> NDArray[np.floating]:
    """Sum (or average) the tokens of each word along one axis; `group` as `groups` numbers them.

    Raises:
        InputError: the axis has another number of tokens.
    """
    if maps.shape[axis] != len(group):
        raise InputError(
            f"expected a map with {len(group)} tokens on axis {axis}, as its text has, got {maps.shape[axis]}"
        )
    order = np.argsort(group, kind="stable")
    if not np.array_equal(order, np.arange(len(group))):
        maps = np.take(maps, order, axis=axis)
    sizes = np.bincount(group)
    if (sizes == 1).all():
        return maps
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    out = np.add.reduceat(maps, starts, axis=axis)
    if mean:
        shape = [1] * maps.ndim
        shape[axis] = len(sizes)
        out = out / sizes.astype(maps.dtype).reshape(shape)
    return out


def to_words(
    maps: NDArray[np.floating],
    query: Side,
    key: Side | None = None,
    *,
    rows: Literal["mean", "sum"] = "mean",
) -> NDArray[np.floating]:
    """Maps over tokens as maps over words.

    Attention *to* a split word is summed over its tokens (columns), attention *from* it averaged (rows), so that rows
    still sum to 1 [Clark et al. 2019, section 4.1]. For attributions, ``rows="sum"`` sums both and keeps the total.

    Args:
        maps: [..., query, key] over tokens.
        query: The side whose tokens are the rows.
        key: The side whose tokens are the columns; the same one by default.
        rows: ``mean`` for attention, ``sum`` for attributions.

    Returns:
        [..., query words, key words] in the dtype of `maps`; positions as `groups` numbers them.

    Raises:
        InputError: words are not known, or the map has another number of tokens.
    """
    if rows not in ("mean", "sum"):
        raise InputError(f"expected rows to be 'mean' or 'sum', got {rows!r}")
    columns = reduced(maps, groups(query if key is None else key), maps.ndim - 1, mean=False)
    return reduced(columns, groups(query), maps.ndim - 2, mean=rows == "mean")


def word_vector(values: NDArray[np.floating], side: Side) -> NDArray[np.floating]:
    """Values per token [..., tokens] summed to values per word [..., words]."""
    return reduced(values, groups(side), values.ndim - 1, mean=False)


def members(side: Side) -> list[Sequence[int]]:
    """The tokens of every position of the word level, in its order."""
    group = groups(side)
    out: list[list[int]] = [[] for _ in range(int(group.max()) + 1 if len(group) else 0)]
    for position, number in enumerate(group):
        out[number].append(position)
    return list(out)
