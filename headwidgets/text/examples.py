"""Texts become token ids, once, and batches sorted by length, as often as needed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headwidgets.errors import InputError

Text: TypeAlias = "str | list[str] | tuple[str | list[str], str | list[str]]"
"""A sentence; a list of words already split; or a pair of either as a tuple."""

Spans: TypeAlias = tuple[tuple[int, int] | None, ...]


@dataclass(frozen=True)
class Side:
    """The token positions of one side of the model (an encoder's or a decoder's input).

    Attributes:
        ids: Token ids, int64 [positions], with the special tokens of the tokenizer.
        segments: Which text of a pair each position belongs to; 0 for special tokens.
        offsets: Start and end in the source text of each position's segment; None for special tokens and for
            tokenizers without offsets.
        words: Number of the word (counted in its segment) that each position belongs to; None for special tokens.
        special: Positions that the tokenizer added.
        sources: The source texts, by segment.
        spans: Start and end in the source text of every word, by segment; of words that got no token too. Empty
            where the tokenizer has no offsets.
    """

    ids: NDArray[np.int64]
    segments: tuple[int, ...]
    offsets: Spans
    words: tuple[int | None, ...]
    special: tuple[bool, ...]
    sources: tuple[str, ...]
    spans: tuple[tuple[tuple[int, int], ...], ...] = ()

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Example:
    """One text as the model will see it; `target` is the decoder's side of an encoder-decoder, None otherwise."""

    text: Any
    source: Side
    target: Side | None = None
    type_ids: tuple[int, ...] | None = None

    def __len__(self) -> int:
        return len(self.source) + (len(self.target) if self.target else 0)


@dataclass
class Batch:
    """Padded examples.

    Attributes:
        inputs: Keyword arguments of the model's forward.
        index: Where each row stands in the list of examples.
        examples: The rows' examples.
    """

    inputs: dict[str, Tensor]
    index: list[int]
    examples: list[Example]

    def __len__(self) -> int:
        return len(self.index)

    @property
    def query_mask(self) -> dict[str, Tensor]:
        """By kind, bool [batch, query]: positions that are no padding."""
        masks: dict[str, Tensor] = {}
        own = self.inputs["attention_mask"].bool()
        if "decoder_attention_mask" in self.inputs:
            masks["encoder"] = own
            masks["decoder"] = masks["cross"] = self.inputs["decoder_attention_mask"].bool()
        else:
            masks["encoder"] = masks["decoder"] = masks["cross"] = own
        return masks


def as_texts(texts: Any, column: str | tuple[str, ...] | None = None) -> list[Any]:
    """A list of texts from whatever a user has: one text, a list, or a `datasets.Dataset` with named columns.

    Raises:
        InputError: nothing there, or something that is no text.
    """
    if isinstance(texts, (str, tuple)):
        return [texts]
    names = getattr(texts, "column_names", None)
    if names is not None:
        return _from_dataset(texts, list(names), column)
    found = list(texts)
    if not found:
        raise InputError("expected at least one text, got an empty list")
    return found


def _from_dataset(dataset: Any, names: list[str], column: str | tuple[str, ...] | None) -> list[Any]:
    pairs = (
        ("sentence1", "sentence2"),
        ("premise", "hypothesis"),
        ("question", "sentence"),
        ("text", "text_pair"),
    )
    if column is None:
        column = next((p for p in pairs if set(p) <= set(names)), None)
        column = column or next((n for n in ("text", "sentence", "tokens", "words") if n in names), None)
    wanted = (column,) if isinstance(column, str) else column
    if not wanted or not set(wanted) <= set(names):
        raise InputError(
            f"expected a dataset with a column of texts, got columns {', '.join(names)}; name one with column="
        )
    columns = [list(dataset[name]) for name in wanted]
    if not columns[0]:
        raise InputError("expected at least one text, got an empty dataset")
    return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))


def pad(rows: Sequence[Sequence[int] | NDArray[np.int64]], value: int, device: torch.device | str = "cpu") -> Tensor:
    """int64 [rows, longest], padded on the right with `value`."""
    longest = max(map(len, rows))
    out = torch.full((len(rows), longest), value, dtype=torch.long)
    for i, row in enumerate(rows):
        out[i, : len(row)] = torch.as_tensor(np.asarray(row), dtype=torch.long)
    return out.to(device)


def collate(examples: Sequence[Example], index: Sequence[int], pad_id: int, device: Any) -> Batch:
    """Pad examples to one batch on `device`."""
    sources = [e.source.ids for e in examples]
    inputs = {
        "input_ids": pad(sources, pad_id, device),
        "attention_mask": pad([[1] * len(ids) for ids in sources], 0, device),
    }
    if examples[0].type_ids is not None:
        inputs["token_type_ids"] = pad([e.type_ids or () for e in examples], 0, device)
    if examples[0].target is not None:
        targets = [e.target.ids for e in examples if e.target is not None]
        inputs["decoder_input_ids"] = pad(targets, pad_id, device)
        inputs["decoder_attention_mask"] = pad([[1] * len(ids) for ids in targets], 0, device)
    return Batch(inputs, list(index), list(examples))


def batches(
    examples: Sequence[Example],
    *,
    pad_id: int,
    device: Any,
    max_tokens: int = 4096,
    max_rows: int = 256,
    order: Sequence[int] | None = None,
    sort: bool = True,
) -> Iterator[Batch]:
    """Yield padded batches of similar length.

    Args:
        examples: What to batch.
        pad_id: Token id of the padding.
        device: Where the tensors go.
        max_tokens: Padded positions per batch, at most (one example may exceed it alone).
        max_rows: Examples per batch, at most.
        order: Which examples, in which order; all by default.
        sort: Sort by length first (longest last).
    """
    queue = list(range(len(examples)) if order is None else order)
    if sort:
        queue.sort(key=lambda i: len(examples[i]))
    start = 0
    while start < len(queue):
        stop = start
        longest = 0
        while stop < len(queue) and stop - start < max_rows:
            longest = max(longest, len(examples[queue[stop]]))
            if stop > start and longest * (stop - start + 1) > max_tokens:
                break
            stop += 1
        index = queue[start:stop]
        yield collate([examples[i] for i in index], index, pad_id, device)
        start = stop
