"""What does a reader see at each position? Labels read from the source text, never the tokenizer's spelling."""

from typing import Any

from headwidgets.text.alignment import members
from headwidgets.text.examples import Side
from headwidgets.text.offsets import MARKERS, names_of
from headwidgets.wire.documents import Token


def pieces(side: Side, tokenizer: Any) -> list[str]:
    """Tokens as the tokenizer made them, with special ones."""
    return names_of(tokenizer, side.ids.tolist())


def cleaned(piece: str) -> str:
    """A token without the marks that tokenizers write into it (``Ġ``, ``▁``, ``##``, ``</w>``); for want of offsets."""
    if piece.startswith("##") and len(piece) > 2:
        piece = piece[2:]
    piece = piece.removesuffix("</w>")
    bare = piece.strip(MARKERS)
    for marker in MARKERS:
        bare = bare.replace(marker, " ")
    return bare or (" " if piece else "")


def token_labels(side: Side, tokenizer: Any) -> list[Token]:
    """One wire `Token` per position.

    The text is what stands in the source behind the token, also for unknown tokens and for byte-level ones. A character
    spread over several tokens is written at each of them, and ``continued`` from the second on, so that it can be drawn
    once. White space is left as it is. Special tokens keep the tokenizer's name; a token without offset is `cleaned`.

    Args:
        side: The encoded side.
        tokenizer: Its tokenizer.
    """
    raw = pieces(side, tokenizer)
    labels: list[Token] = []
    for i, piece in enumerate(raw):
        span, source = side.offsets[i], side.sources[side.segments[i]]
        continued = joined = False
        if side.special[i]:
            text = piece
        elif span is None:
            text = cleaned(piece)
            joined = piece.startswith("##")
        else:
            text = source[span[0] : span[1]] or " "
            before = side.offsets[i - 1] if i and side.segments[i - 1] == side.segments[i] else None
            if before is not None and not side.special[i - 1]:
                continued = before[1] > before[0] and span[0] < before[1] and span[1] > span[0]
                joined = side.words[i] is not None and side.words[i] == side.words[i - 1]
        labels.append({"text": text, "special": side.special[i], "continued": continued, "joined": joined})
    return labels


def word_labels(side: Side, tokenizer: Any) -> list[Token]:
    """One wire `Token` per position of the word level (see `headwidgets.text.alignment.groups`).

    Raises:
        InputError: words are not known.
    """
    raw = token_labels(side, tokenizer)
    labels: list[Token] = []
    for positions in members(side):
        first = positions[0]
        word, segment = side.words[first], side.segments[first]
        if word is None or side.special[first]:
            labels.append({**raw[first], "continued": False, "joined": False})
            continue
        start, end = side.spans[segment][word]
        labels.append({"text": side.sources[segment][start:end], "special": False, "continued": False, "joined": False})
    return labels
