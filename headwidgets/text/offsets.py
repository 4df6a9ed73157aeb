"""Which characters of the source text does each token stand for?"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from headwidgets.text.words import Span

MARKERS = "Ġ▁"
"""How byte-level and sentencepiece tokenizers write a space inside a token."""

_LONGEST_SHARED = 12
"""Tokens that one character may be spread over (an emoji is four bytes)."""

_FARTHEST = 32
"""Characters that one unknown token may stand for."""


def tidy(source: str, span: Span, piece: str) -> Span:
    """A tokenizer's offset without the white space that some tokenizers count in.

    Args:
        source: The source text.
        span: The tokenizer's start and end.
        piece: The token as the tokenizer writes it; nothing but a space marker has no characters of its own.

    Returns:
        Start and end; an empty span for a bare marker; white space alone keeps its span.
    """
    start, end = span
    if piece and not piece.strip(MARKERS):
        blank = start < end and source[start:end].isspace()
        return (start, end) if blank else (start, start)
    text = source[start:end]
    if not text or text.isspace():
        return start, end
    return start + len(text) - len(text.lstrip()), end - (len(text) - len(text.rstrip()))


def names_of(tokenizer: Any, ids: Sequence[int]) -> list[str]:
    """Tokens as the tokenizer writes them; ``<57>`` for an id that it does not have (models may have more rows)."""
    names = tokenizer.convert_ids_to_tokens([int(i) for i in ids])
    return [f"<{i}>" if name is None else str(name) for i, name in zip(ids, names, strict=True)]


def is_blank(source: str, span: Span | None) -> bool:
    """Whether a token stands for white space only (or for a bare space marker)."""
    return span is not None and not source[span[0] : span[1]].strip()


def _folded(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text).casefold()
    return "".join(c for c in plain if not c.isspace() and unicodedata.category(c) not in ("Mn", "Cc", "Cf"))


class _Reader:
    """Reads a source text from left to right, without spaces, case and accents."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.text = ""
        self.places: list[int] = []
        for i, char in enumerate(source):
            folded = _folded(char)
            self.text += folded
            self.places += [i] * len(folded)

    def find(self, piece: str, gap: int) -> Span | None:
        """Where `piece` is, in folded characters; it comes next, or after a gap of `gap` unknown tokens."""
        found = self.text.find(piece, self.at, self.at + gap * _FARTHEST + len(piece)) if gap else self.at
        if found < 0 or not self.text.startswith(piece, found):
            return None
        return found, found + len(piece)

    def source_span(self, start: int, end: int) -> Span:
        return self.places[start], self.places[end - 1] + 1


def _written(tokenizer: Any, pieces: list[str]) -> str:
    """How the tokenizer writes tokens as text; empty while a character is not complete."""
    text = str(tokenizer.convert_tokens_to_string(pieces))
    if "\ufffd" in text:
        return ""
    if pieces[0].startswith("##") and text.startswith("##") and len(text) > 2:
        text = text[2:]
    return _folded(text.replace("</w>", ""))


def align(tokenizer: Any, ids: Sequence[int], source: str) -> list[Span | None]:
    """Offsets where the tokenizer gives none: its tokens are read along the source text.

    Args:
        tokenizer: Any transformers tokenizer.
        ids: Token ids, without special tokens.
        source: The text they came from, or were decoded to.

    Returns:
        Start and end per token; None where a token does not match what stands there. Tokens that share one
        character get the same span; a single unknown token gets what stands between its neighbours.
    """
    pieces = names_of(tokenizer, ids)
    spans: list[Span | None] = [None] * len(pieces)
    reader = _Reader(source)
    unknown = tokenizer.unk_token_id
    waiting: list[int] = []
    i = 0
    while i < len(pieces):
        piece = pieces[i]
        if ids[i] == unknown:
            waiting.append(i)
            i += 1
            continue
        if not piece.strip(MARKERS + " \t\n\r"):
            here = reader.places[reader.at] if reader.at < len(reader.places) else len(source)
            spans[i] = (here, here)
            i += 1
            continue
        width, text = 1, _written(tokenizer, [piece])
        while not text and width < _LONGEST_SHARED and i + width < len(pieces):
            width += 1
            text = _written(tokenizer, pieces[i : i + width])
        found = reader.find(text, gap=len(waiting)) if text else None
        if found is None:
            waiting.append(i)
            i += 1
            continue
        _fill(spans, waiting, reader, found[0])
        for k in range(i, i + width):
            spans[k] = reader.source_span(*found)
        reader.at = found[1]
        i += width
    _fill(spans, waiting, reader, len(reader.text))
    return spans


def _fill(spans: list[Span | None], waiting: list[int], reader: _Reader, until: int) -> None:
    if waiting and until > reader.at:
        start, end = reader.source_span(reader.at, until)
        chunks = [(start + m.start(), start + m.end()) for m in re.finditer(r"\S+", reader.source[start:end])]
        found = [(start, end)] if len(waiting) == 1 else chunks
        if len(found) == len(waiting):
            for position, span in zip(waiting, found, strict=True):
                spans[position] = span
    waiting.clear()
