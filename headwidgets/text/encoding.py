"""From a user's text to an `Example`: tokenised once, with offsets and words, never cut in silence."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from headwidgets.errors import InputError
from headwidgets.text.examples import Example, Side, Text, as_texts
from headwidgets.text.offsets import align, is_blank, tidy
from headwidgets.text.words import Span, assign_words, breaks_of, join_words, word_spans

Segment = str | list[str]
Offsets = list[Span | None]


def _kind_of(text: Any) -> str:
    if text is None:
        return "None"
    if isinstance(text, str):
        return "a text"
    if isinstance(text, (list, tuple)):
        return f"a {type(text).__name__} of {len(text)}"
    return type(text).__name__


def _whole(text: str, where: str) -> str:
    """The text as a plain `str`, known to be one that a tokenizer can encode."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"{where} has half a character (the surrogate {text[error.start]!r} at {error.start}), as in text "
            "that was read with a wrong encoding: read it as UTF-8, or mend it with "
            'text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")'
        ) from None
    return str(text)


def _segment(text: Any, where: str) -> Segment:
    if isinstance(text, str):
        if not text.strip():
            raise InputError(f"{where} is empty: expected a text with at least one word")
        return _whole(text, where)
    if isinstance(text, list):
        for i, word in enumerate(text):
            if not isinstance(word, str):
                raise InputError(f"{where}: expected words as a list of str, but word {i} is {_kind_of(word)}")
        if not any(word.strip() for word in text):
            raise InputError(f"{where} has no words: expected a list with at least one word")
        return [_whole(word, where) for word in text]
    raise InputError(
        f"{where}: expected a text (str), words (list of str) or a pair (tuple of two), got {_kind_of(text)}"
    )


def segments_of(text: Text, where: str = "the text") -> list[Segment]:
    """The one or two segments of a text.

    Raises:
        InputError: empty, or neither a text, words nor a pair.
    """
    if isinstance(text, tuple):
        if len(text) != 2:
            raise InputError(f"{where}: a pair is a tuple of two texts, got a tuple of {len(text)}")
        return [_segment(part, f"{where}, part {i + 1}") for i, part in enumerate(text)]
    return [_segment(text, where)]


# ---- one side ---------------------------------------------------------------------------------------------


def _chunks(segment: Segment) -> tuple[str, list[Span]]:
    """A segment as one text, and the pieces of it that are handed to the tokenizer one by one."""
    if isinstance(segment, list):
        return join_words(segment)
    return segment, [m.span() for m in re.finditer(r"\S+", segment)]


def _byte_level(tokenizer: Any) -> bool:
    """Whether a space belongs to the token after it, so that words have to be given as one text."""
    return "ByteLevel" in str(getattr(tokenizer.backend_tokenizer, "pre_tokenizer", ""))


def _call(tokenizer: Any, parts: list[Any], target: bool, **keywords: Any) -> Any:
    keywords |= {"truncation": False, "padding": False, "return_special_tokens_mask": True, "verbose": False}
    return tokenizer(text_target=parts[0], **keywords) if target else tokenizer(*parts, **keywords)


def _fast(
    tokenizer: Any, segments: list[Segment], texts: list[str], target: bool
) -> tuple[Any, list[int | None], list[Offsets], list[list[int | None]]]:
    """Encoding, segment of every token (None for special ones), and by segment offsets and the tokenizer's words."""
    split = any(isinstance(s, list) for s in segments) and not _byte_level(tokenizer)
    chunks = [_chunks(s)[1] for s in segments]
    parts = [[t[a:b] for a, b in own] for t, own in zip(texts, chunks, strict=True)] if split else list(texts)
    encoding = _call(tokenizer, parts, target, is_split_into_words=split, return_offsets_mapping=True)
    which: list[int | None] = list(encoding.sequence_ids())
    word_ids, spans = encoding.word_ids(), encoding["offset_mapping"]
    pieces = tokenizer.convert_ids_to_tokens(encoding["input_ids"])
    offsets: list[Offsets] = [[] for _ in segments]
    own_words: list[list[int | None]] = [[] for _ in segments]
    for i, segment in enumerate(which):
        if segment is None:
            continue
        shift = chunks[segment][word_ids[i]][0] if split and word_ids[i] is not None else 0
        span = (int(spans[i][0]) + shift, int(spans[i][1]) + shift)
        offsets[segment].append(tidy(texts[segment], span, str(pieces[i])))
        own_words[segment].append(word_ids[i])
    return encoding, which, offsets, own_words


def _slow(
    tokenizer: Any, segments: list[Segment], texts: list[str], target: bool
) -> tuple[Any, list[int | None], list[Offsets], list[list[int | None]]]:
    """The same for a tokenizer without offsets: its tokens are read along the source text."""
    split = any(isinstance(s, list) for s in segments)
    chunks = [_chunks(s)[1] for s in segments]
    parts = [[t[a:b] for a, b in own] for t, own in zip(texts, chunks, strict=True)] if split else list(texts)
    encoding = _call(tokenizer, parts, target, is_split_into_words=split)
    ids = list(encoding["input_ids"])
    bare = [i for i, mask in enumerate(encoding["special_tokens_mask"]) if not mask]
    keywords: dict[str, Any] = {"add_special_tokens": False, "is_split_into_words": split}
    first = len(_call(tokenizer, parts[:1], target, **keywords)["input_ids"])
    which: list[int | None] = [None] * len(ids)
    for count, i in enumerate(bare):
        which[i] = 0 if count < first or len(segments) == 1 else 1
    offsets: list[Offsets] = []
    for s, text in enumerate(texts):
        own = [ids[i] for i in bare if which[i] == s]
        offsets.append(_aligned_words(tokenizer, own, text, chunks[s]) if split else align(tokenizer, own, text))
    return encoding, which, offsets, [[None] * len(own) for own in offsets]


def _aligned_words(tokenizer: Any, ids: list[int], text: str, chunks: list[Span]) -> Offsets:
    """Offsets word by word where the tokenizer made each word on its own; else along the whole text."""
    counts = [len(tokenizer.tokenize(text[a:b])) if b > a else 0 for a, b in chunks]
    if sum(counts) != len(ids):
        return align(tokenizer, ids, text)
    offsets: Offsets = []
    for (start, end), count in zip(chunks, counts, strict=True):
        own = align(tokenizer, ids[len(offsets) : len(offsets) + count], text[start:end])
        if count == 1:
            own = [(0, end - start)]
        offsets += [None if span is None else (span[0] + start, span[1] + start) for span in own]
    return offsets


def words_of(
    segment: Segment, text: str, offsets: Offsets, own_words: list[int | None] | None
) -> tuple[list[Span], list[int | None]]:
    """Words of one segment and the word of each of its tokens (see `headwidgets.text.words`)."""
    given = isinstance(segment, list)
    known = own_words if own_words and any(w is not None for w in own_words) else None
    spans = join_words(segment)[1] if isinstance(segment, list) else word_spans(text, breaks_of(text, offsets, known))
    merged, words = assign_words(spans, offsets, given=given)
    return merged, with_markers(text, offsets, words)


def with_markers(text: str, offsets: Sequence[Span | None], words: list[int | None]) -> list[int | None]:
    """The word of every token, where a space marker belongs to the word that it stands before."""
    following: int | None = None
    found = list(words)
    for i in range(len(found) - 1, -1, -1):
        span = offsets[i]
        if found[i] is not None:
            following = found[i]
        elif is_blank(text, span) and span is not None and "\n" not in text[span[0] : span[1]]:
            found[i] = following
    return found


def encode_side(tokenizer: Any, segments: list[Segment], *, target: bool = False) -> tuple[Side, Any]:
    """Tokenise one side; returns it with the tokenizer's own encoding.

    Args:
        tokenizer: A transformers tokenizer, fast (with offsets) or slow (its tokens are aligned with the source text).
        segments: One or two segments.
        target: Encode as the target text of a translation model.
    """
    texts = [_chunks(s)[0] for s in segments]
    read = _fast if getattr(tokenizer, "is_fast", False) else _slow
    encoding, which, offsets, own_words = read(tokenizer, segments, texts, target)
    placed: list[list[tuple[Span | None, int | None]]] = []
    spans: list[tuple[Span, ...]] = []
    for segment, text, own, numbers in zip(segments, texts, offsets, own_words, strict=True):
        merged, words = words_of(segment, text, own, numbers)
        placed.append(list(zip(own, words, strict=True)))
        spans.append(tuple(merged))
    known = any(span is not None and span[1] > span[0] for own in offsets for span in own)
    queues = [iter(own) for own in placed]
    tokens = [(None, None) if s is None else next(queues[s]) for s in which]
    side = Side(
        ids=np.asarray(encoding["input_ids"], dtype=np.int64),
        segments=tuple(0 if s is None else int(s) for s in which),
        offsets=tuple(span for span, _ in tokens),
        words=tuple(word for _, word in tokens),
        special=tuple(s is None for s in which),
        sources=tuple(texts),
        spans=tuple(spans) if known else (),
    )
    return side, encoding


# ---- examples ---------------------------------------------------------------------------------------------


def encode(
    tokenizer: Any, text: Text, *, limit: int | None, where: str = "the text", types: int | None = None
) -> Example:
    """Tokenise a text for a model with one input side.

    Args:
        tokenizer: A transformers tokenizer.
        text: A text, words, or a pair.
        limit: Positions the model has; None when unlimited.
        where: How to call the text in an error.
        types: Segment embeddings that the model has; token type ids are passed on only where it has enough. None: as
            the tokenizer makes them.

    Raises:
        InputError: empty, not a text, longer than the model, or a pair for a tokenizer that joins two texts into one.
    """
    segments = segments_of(text, where)
    if len(segments) == 2 and tokenizer.num_special_tokens_to_add(True) <= tokenizer.num_special_tokens_to_add(False):
        raise InputError(
            f"{where} is a pair, but the tokenizer ({type(tokenizer).__name__}) puts nothing between two texts: give "
            "one text (str) that says where the second begins"
        )
    side, encoding = encode_side(tokenizer, segments)
    check_length(side, limit, where)
    type_ids = encoding.get("token_type_ids")
    if type_ids is not None and types is not None and max(type_ids) >= types:
        type_ids = None
    return Example(text, side, None, tuple(type_ids) if type_ids is not None else None)


def encode_all(model: Any, texts: Any, column: Any = None) -> list[Example]:
    """Tokenise texts for a HeadModel; every error names the text by its number.

    Args:
        model: A HeadModel.
        texts: What `headwidgets.text.examples.as_texts` takes.
        column: Column or columns of a dataset.

    Raises:
        InputError: a text that cannot be used, or pairs and single texts in one list.
    """
    listed = as_texts(texts, column)
    limit = model.max_positions
    if model.is_encoder_decoder:
        from headwidgets.text.targets import encode_translation

        return [encode_translation(model, text, limit, f"text {i}") for i, text in enumerate(listed)]
    paired = isinstance(listed[0], tuple)
    types = getattr(model.model.config, "type_vocab_size", 0) or 0
    examples = []
    for i, text in enumerate(listed):
        if isinstance(text, tuple) != paired:
            now, before = ("one text", "a pair") if paired else ("a pair", "one text")
            raise InputError(f"text {i} is {now}, but text 0 is {before}: give all texts as pairs (tuples) or none")
        examples.append(encode(model.tokenizer, text, limit=limit, where=f"text {i}", types=types))
    return examples


def check_length(side: Side, limit: int | None, where: str) -> None:
    """Refuse what the model has no positions for, and what the tokenizer keeps nothing of."""
    if limit is not None and len(side) > limit:
        raise InputError(
            f"{where} has {len(side)} tokens, but the model has {limit} positions: shorten it or split it (nothing is "
            "cut in silence)"
        )
    if all(side.special):
        raise InputError(f"{where} has no tokens: expected a text that the tokenizer keeps something of")
