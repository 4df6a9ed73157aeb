"""Which characters of a sentence belong to which syntactic word?"""

from collections.abc import Sequence

from headwidgets.text.words import Span


def split_surface(surface: str, forms: Sequence[str], start: int = 0) -> list[Span]:
    """Where the words of one multiword token are in it.

    Words that the token begins with, and words that it ends with, get their own characters (``don't`` is ``do`` and
    ``n't``); the words between them share what is left. A word that no character is left for (the article in Hebrew
    ``la-bayit``) shares those of the word after it, else of the word before it. So two spans are disjoint or the same.

    Args:
        surface: The token as it stands in the text.
        forms: Its words; underscores at their ends mean nothing, as in Hebrew treebanks.
        start: Where the token begins.

    Returns:
        Start and end per word.
    """
    bare = [form.strip("_") or form for form in forms]
    left, right, low, high = 0, len(bare), 0, len(surface)
    while left < right and low < high and _same(surface[low : low + len(bare[left])], bare[left]):
        low += len(bare[left])
        left += 1
    while left < right and low < high and _same(surface[max(low, high - len(bare[right - 1])) : high], bare[right - 1]):
        high -= len(bare[right - 1])
        right -= 1
    own: list[Span | None] = []
    at = 0
    for form in bare[:left]:
        own.append((at, at + len(form)))
        at += len(form)
    own += [(low, high) if low < high else None] * (right - left)
    at = high
    for form in bare[right:]:
        own.append((at, at + len(form)))
        at += len(form)
    if low < high and left == right:  # characters that no word claims belong to the word beside them
        beside = max(left - 1, 0)
        begin, end = own[beside] or (low, high)
        own[beside] = (min(begin, low), max(end, high))
    following: Span | None = None
    for i in range(len(own) - 1, -1, -1):
        following = own[i] = own[i] or following
    before = (0, len(surface))
    filled = [before := span or before for span in own]
    return [(start + a, start + b) for a, b in filled]


def _same(written: str, form: str) -> bool:
    return bool(form) and len(written) == len(form) and written.casefold() == form.casefold()


def lay_out(tokens: Sequence[tuple[str, bool]], text: str | None) -> tuple[str, list[Span], bool]:
    """Where tokens are in the text of their sentence.

    Args:
        tokens: Per token its form and whether a space follows it.
        text: The text that the treebank gives, if any.

    Returns:
        The text, start and end per token, and whether `text` was the tokens with white space between them. Where it
        was not, the tokens are put together.
    """
    if text is not None:
        spans, at = [], 0
        for form, _ in tokens:
            while at < len(text) and text[at].isspace() and not text.startswith(form, at):
                at += 1
            if not text.startswith(form, at):
                break
            spans.append((at, at + len(form)))
            at += len(form)
        if len(spans) == len(tokens) and not text[at:].strip():
            return text, spans, True
    joined, spans, space = "", [], False
    for form, after in tokens:
        joined += " " if space else ""
        spans.append((len(joined), len(joined) + len(form)))
        joined += form
        space = after
    return joined, spans, text is None
