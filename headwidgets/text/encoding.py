"""From a user's text to an `Example`: tokenised once, with offsets and words, never cut in silence."""

from typing import Any

import numpy as np

from headwidgets.errors import InputError
from headwidgets.text.examples import Example, Side, Text


def _kind_of(text: Any) -> str:
    if isinstance(text, str):
        return "a text"
    if isinstance(text, (list, tuple)):
        return f"a {type(text).__name__} of {len(text)}"
    return type(text).__name__


def _segment(text: Any, where: str) -> str | list[str]:
    if isinstance(text, str):
        if not text.strip():
            raise InputError(f"{where} is empty: expected a text with at least one word")
        return text
    if isinstance(text, list) and all(isinstance(word, str) for word in text):
        if not any(word.strip() for word in text):
            raise InputError(f"{where} has no words: expected a list with at least one word")
        return text
    raise InputError(
        f"{where}: expected a text (str), words (list of str) or a pair (tuple of two), got {_kind_of(text)}"
    )


def segments_of(text: Text, where: str = "the text") -> list[str | list[str]]:
    """The one or two segments of a text.

    Raises:
        InputError: empty, or neither a text, words nor a pair.
    """
    if isinstance(text, tuple):
        if len(text) != 2:
            raise InputError(f"{where}: a pair is a tuple of two texts, got {len(text)}")
        return [_segment(part, f"{where}, part {i + 1}") for i, part in enumerate(text)]
    return [_segment(text, where)]


def _joined(segment: str | list[str]) -> tuple[str, list[int]]:
    """A segment as one string, and where each of its words begins in it."""
    if isinstance(segment, str):
        return segment, []
    starts, position = [], 0
    for word in segment:
        starts.append(position)
        position += len(word) + 1
    return " ".join(segment), starts


def _spaced_words(text: str, offsets: list[tuple[int, int] | None]) -> list[int | None]:
    """Word numbers where the tokenizer knows none: a new word begins after white space."""
    words: list[int | None] = []
    number, last = -1, None
    for span in offsets:
        if span is None:
            words.append(None)
            continue
        begins = last is None or any(c.isspace() for c in text[last : max(span[1], last)][: max(0, span[1] - last)])
        number += 1 if begins else 0
        last = span[1]
        words.append(number)
    return words


def encode_side(tokenizer: Any, segments: list[str | list[str]], *, target: bool = False) -> tuple[Side, Any]:
    """Tokenise one side; returns it with the tokenizer's own encoding.

    Args:
        tokenizer: A transformers tokenizer, fast (with offsets) or slow.
        segments: One or two segments.
        target: Encode as the target text of a translation model.
    """
    split = any(isinstance(s, list) for s in segments)
    parts = [s if isinstance(s, list) or not split else s.split() for s in segments]
    fast = bool(getattr(tokenizer, "is_fast", False))
    keyword: dict[str, Any] = {"truncation": False, "padding": False, "return_special_tokens_mask": True}
    keyword |= {"return_offsets_mapping": True} if fast else {}
    keyword |= {"is_split_into_words": True} if split else {}
    if target:
        encoding = tokenizer(text_target=parts[0], **keyword)
    else:
        encoding = tokenizer(*parts, verbose=False, **keyword)
    ids = np.asarray(encoding["input_ids"], dtype=np.int64)
    joined = [_joined(s) for s in segments]
    special = [bool(m) for m in encoding["special_tokens_mask"]]
    if fast:
        sequence = encoding.sequence_ids()
        word_ids = encoding.word_ids()
        special = [m or s is None for m, s in zip(special, sequence, strict=True)]
        which = [0 if s is None else int(s) for s in sequence]
        offsets: list[tuple[int, int] | None] = []
        for i, span in enumerate(encoding["offset_mapping"]):
            if special[i]:
                offsets.append(None)
                continue
            start = joined[which[i]][1][word_ids[i]] if split and word_ids[i] is not None else 0
            offsets.append((int(span[0]) + start, int(span[1]) + start))
        if split:
            words = [None if special[i] else word_ids[i] for i in range(len(ids))]
        else:
            words = [None] * len(ids)
            for s in range(len(segments)):
                own = [i for i in range(len(ids)) if which[i] == s and not special[i]]
                for i, word in zip(own, _spaced_words(joined[s][0], [offsets[i] for i in own]), strict=True):
                    words[i] = word
    else:
        which, offsets = [0] * len(ids), [None] * len(ids)
        words = [None if m else i for i, m in enumerate(special)]
    side = Side(ids, tuple(which), tuple(offsets), tuple(words), tuple(special), tuple(text for text, _ in joined))
    return side, encoding


def encode(tokenizer: Any, text: Text, *, limit: int | None, where: str = "the text") -> Example:
    """Tokenise a text for a model with one input side.

    Args:
        tokenizer: A transformers tokenizer.
        text: A text, words, or a pair.
        limit: Positions the model has; None when unlimited.
        where: How to call the text in an error.

    Raises:
        InputError: empty, not a text, or longer than the model.
    """
    segments = segments_of(text, where)
    side, encoding = encode_side(tokenizer, segments)
    check_length(len(side), limit, where)
    types = encoding.get("token_type_ids") if hasattr(encoding, "get") else None
    return Example(text, side, None, tuple(types) if types is not None else None)


def check_length(length: int, limit: int | None, where: str) -> None:
    """Refuse what the model has no positions for."""
    if limit is not None and length > limit:
        raise InputError(
            f"{where} has {length} tokens, but the model has {limit} positions; shorten it or split it (nothing is "
            "cut in silence)"
        )
    if length == 0:
        raise InputError(f"{where} has no tokens: expected a text that the tokenizer keeps something of")
