"""What is a word? One rule for all tokenizers, read from the source text.

1. Words that the user gave (a list of str) are the words.
2. Else a word is a run of letters, digits and underscores, with the marks and joiners that belong to them, after the
   Unicode word boundaries (UAX 29) in short: an apostrophe or a full stop between letters (``don't``, ``e.g``), a
   comma, a full stop or an apostrophe between digits (``3.14``) and the Hebrew gershayim stay inside; a hyphen does
   not.
3. Every other character that is no space is a word of its own; the same character repeated (``...``) is one, and so is
   an emoji with what is joined to it.
4. In scripts written without spaces (Han, Kana, Thai, Lao, Khmer, Burmese) a run is cut where the tokenizer begins a
   word of its own; a run that the tokenizer does not cut is cut at its tokens. Give words for anything finer.
5. Words that share a token are one word: a map cannot tell them apart.
"""

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import pairwise

Span = tuple[int, int]

_CONTINUOUS = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x2FDF),  # radicals
    (0x3005, 0x3007),
    (0x3021, 0x3029),
    (0x3031, 0x30FF),  # Kana
    (0x3105, 0x312F),  # Bopomofo
    (0x31A0, 0x31BF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xA000, 0xA4CF),  # Yi
    (0xF900, 0xFAFF),
    (0xFF66, 0xFF9F),  # half-width Katakana
    (0x1B000, 0x1B16F),
    (0x20000, 0x323AF),
)
_BETWEEN_LETTERS = frozenset("'’.·\u05f3\u05f4")
_BETWEEN_DIGITS = frozenset("'’.,٫٬")
_JOINER = "\u200d"


@lru_cache(maxsize=16384)
def _class(char: str) -> str:
    """One letter for what a character is: space, w(ord), d(igit), c(ontinuous script), e(xtending), o(ther)."""
    if char.isspace():
        return "s"
    category = unicodedata.category(char)
    code = ord(char)
    if category[0] == "M" or category == "Cf" or 0x1F3FB <= code <= 0x1F3FF:
        return "e"
    if category[0] in "LN" or category == "Pc":
        if any(low <= code <= high for low, high in _CONTINUOUS):
            return "c"
        return "d" if category == "Nd" else "w"
    return "o"


def is_continuous(char: str) -> bool:
    """Whether a character belongs to a script that is written without spaces between words."""
    return _class(char) == "c"


def _hebrew(char: str) -> bool:
    return "\u05d0" <= char <= "\u05ea"


def _inside(text: str, at: int, before: str) -> bool:
    """Whether the punctuation at `at` stays inside the word around it; `before` is the last letter or digit."""
    if at + 1 >= len(text):
        return False
    mark, after = text[at], text[at + 1]
    classes = _class(before) + _class(after)
    if classes == "dd":
        return mark in _BETWEEN_DIGITS
    if mark == '"':
        return _hebrew(before) and _hebrew(after)
    return classes == "ww" and mark in _BETWEEN_LETTERS


def _end_of_word(text: str, start: int, breaks: Collection[int]) -> int:
    continuous = _class(text[start]) == "c"
    last, end = text[start], start + 1
    while end < len(text):
        kind = _class(text[end])
        if kind == "e":
            end += 1
        elif kind == "c" if continuous else kind in "wd":
            if continuous and end in breaks:
                break
            last, end = text[end], end + 1
        elif not continuous and _inside(text, end, last):
            end += 1
        else:
            break
    return end


def _end_of_sign(text: str, start: int) -> int:
    first, end = text[start], start + 1
    flag = 0x1F1E6 <= ord(first) <= 0x1F1FF
    while end < len(text):
        char = text[end]
        joined = text[end - 1] == _JOINER and _class(char) != "s"
        paired = flag and end == start + 1 and 0x1F1E6 <= ord(char) <= 0x1F1FF
        repeated = char == first and not flag
        if not (_class(char) == "e" or joined or paired or repeated):
            break
        end += 1
    return end


def word_spans(text: str, breaks: Collection[int] = ()) -> list[Span]:
    """Start and end of every word of `text`, in order; every character that is no space is in exactly one.

    Args:
        text: The source text.
        breaks: Where words begin inside scripts without spaces.
    """
    spans: list[Span] = []
    at = 0
    while at < len(text):
        kind = _class(text[at])
        if kind == "s":
            at += 1
            continue
        end = _end_of_word(text, at, breaks) if kind in "wdc" else _end_of_sign(text, at)
        spans.append((at, end))
        at = end
    return spans


def join_words(words: Sequence[str]) -> tuple[str, list[Span]]:
    """The user's words as one text, and where each of them is in it.

    Words are joined by a space, but not where two scripts without spaces meet. Empty words get an empty span.
    """
    text, spans = "", []
    for word in words:
        if text and word and not (is_continuous(text[-1]) and is_continuous(word[0])):
            text += " "
        spans.append((len(text), len(text) + len(word)))
        text += word
    return text, spans


def breaks_of(text: str, offsets: Sequence[Span | None], word_ids: Sequence[int | None] | None) -> set[int]:
    """Where words begin inside runs of scripts without spaces (rule 4).

    Args:
        text: The source text.
        offsets: Start and end of every token.
        word_ids: The tokenizer's own word of every token; None where it knows none.
    """
    spans = [span for span in word_spans(text) if is_continuous(text[span[0]])]
    if not spans:
        return set()
    places = [(o, i) for i, o in enumerate(offsets) if o is not None and o[1] > o[0]]
    cuts = set()
    if word_ids is not None:
        cuts = {now[0] for (_, a), (now, b) in pairwise(places) if word_ids[a] != word_ids[b]}
    tokens = {span[0] for span, _ in places}
    breaks: set[int] = set()
    for start, end in spans:
        own = {cut for cut in cuts if start < cut < end}
        breaks |= own or {begin for begin in tokens if start < begin < end}
    return breaks


def assign_words(
    spans: Sequence[Span], offsets: Sequence[Span | None], *, given: bool
) -> tuple[list[Span], list[int | None]]:
    """The word of every token; None for a token that is in no word (white space, no offset).

    Args:
        spans: Words, in order.
        offsets: Start and end of every token.
        given: The user's own words are never made one (rule 5); a token in several belongs to the largest share.

    Returns:
        The words, some of them made one, and a number per token.
    """
    starts, ends = [s for s, _ in spans], [e for _, e in spans]
    first_last: list[tuple[int, int] | None] = []
    for span in offsets:
        if span is None or span[1] <= span[0]:
            first_last.append(None)
            continue
        first, last = bisect_right(ends, span[0]), bisect_left(starts, span[1]) - 1
        if given and last > first:
            shares = [min(ends[w], span[1]) - max(starts[w], span[0]) for w in range(first, last + 1)]
            first = last = first + shares.index(max(shares))
        first_last.append((first, last) if first <= last else None)
    glued = {w for pair in first_last if pair for w in range(pair[0] + 1, pair[1] + 1)}
    merged: list[Span] = []
    number: list[int] = []
    for w, span in enumerate(spans):
        if w in glued:
            merged[-1] = (merged[-1][0], span[1])
        else:
            merged.append(span)
        number.append(len(merged) - 1)
    return merged, [number[pair[0]] if pair else None for pair in first_last]
