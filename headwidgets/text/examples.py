"""Texts become token ids, once, and batches sorted by length, as often as needed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headwidgets.errors import InputError
from headwidgets.text.treebank import Treebank

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
    """One text as the model will see it.

    Attributes:
        text: What the user gave.
        source: What the encoder (or the only stack) reads.
        target: What the decoder of an encoder-decoder reads; None otherwise.
        type_ids: Segment of each source token, for models with segment embeddings.
        labels: int64 [target]: the token that an encoder-decoder is to write at each position of `target`.
    """

    text: Any
    source: Side
    target: Side | None = None
    type_ids: tuple[int, ...] | None = None
    labels: NDArray[np.int64] | None = None

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


_PAIRS = (
    ("sentence1", "sentence2"),
    ("premise", "hypothesis"),
    ("question", "sentence"),
    ("text", "text_pair"),
    ("source", "target"),
)
_SINGLES = ("text", "sentence", "tokens", "words")


def as_texts(texts: Any, column: str | tuple[str, ...] | None = None) -> list[Any]:
    """A list of texts from whatever a user has: one text, a list, a treebank, or a `datasets.Dataset` with columns.

    Args:
        texts: A text (str), a pair (tuple), a list (or another ordered collection) of texts, a `Treebank` (the texts
            of its sentences), or a dataset.
        column: Of a dataset: the column of texts or words, two columns for pairs; ``a.b`` is a field of a column. By
            default the usual names (text, sentence, tokens, sentence1 and sentence2, premise and hypothesis, ...).

    Raises:
        InputError: nothing there, or something that is no text.
    """
    if isinstance(texts, (str, tuple)):
        return [texts]
    if isinstance(texts, Treebank):
        texts = texts.texts
    names = getattr(texts, "column_names", None)
    if isinstance(names, dict):
        raise InputError(f"expected texts, got a dictionary of datasets: choose one of {', '.join(map(str, texts))}")
    if names is not None:
        return _from_dataset(texts, list(names), column)
    if column is not None:
        raise InputError(f"column={column!r} needs a datasets.Dataset, got {type(texts).__name__}")
    if hasattr(texts, "columns"):
        raise InputError(
            f"expected texts, got a {type(texts).__name__}: choose a column, such as frame['text'].tolist()"
        )
    if isinstance(texts, (bytes, dict, set, frozenset)) or not hasattr(texts, "__iter__"):
        got = "None" if texts is None else f"a {type(texts).__name__}"
        raise InputError(f"expected a text (str), a pair (tuple) or a list of texts, got {got}")
    found = list(texts)
    if not found:
        raise InputError("expected at least one text, got an empty list")
    return found


def one_text(text: Any, what: str) -> Any:
    """The text of a call that takes only one; a list of one text will do (words already split need it).

    Raises:
        InputError: several texts.
    """
    if not isinstance(text, list) and not hasattr(text, "column_names"):
        return text
    if len(text) == 1:
        return as_texts(text)[0]
    hint = ""
    if isinstance(text, list) and text and all(isinstance(word, str) and " " not in word for word in text):
        hint = "; words already split are one text inside a list: [words]"
    raise InputError(
        f"{what} takes one text, got a list of {len(text)} (a list is always several texts): call it for each{hint}"
    )


def _from_dataset(dataset: Any, names: list[str], column: str | tuple[str, ...] | None) -> list[Any]:
    if column is None:
        column = next((p for p in _PAIRS if set(p) <= set(names)), None)
        column = column or next((n for n in _SINGLES if n in names), None)
    wanted = (column,) if isinstance(column, str) else column
    if not wanted or len(wanted) > 2 or not {name.split(".")[0] for name in wanted} <= set(names):
        got = "" if column is None else f", not {column!r}"
        raise InputError(
            f"expected a dataset with a column of texts (or two for pairs){got}: it has {', '.join(names)}; name one "
            "with column="
        )
    columns = [_column(dataset, name) for name in wanted]
    if not columns[0]:
        raise InputError("expected at least one text, got an empty dataset")
    return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))


def _column(dataset: Any, name: str) -> list[Any]:
    head, *fields = name.split(".")
    rows = list(dataset[head])
    for field in fields:
        try:
            rows = [row[field] for row in rows]
        except (TypeError, KeyError, IndexError):
            raise InputError(f"column {head!r} of the dataset has no field {field!r}") from None
    return rows


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
