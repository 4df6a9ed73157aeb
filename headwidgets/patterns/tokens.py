"""Which tokens does a head look at? Separators, the first one, punctuation, and classes of the user's own."""

from headwidgets.errors import InputError
from headwidgets.patterns.concentration import WEIGHT
from headwidgets.patterns.statistic import Measured, Statistic, is_content, suffixed, worded
from headwidgets.patterns.view import View

LABELS = {
    "text": "text",
    "content": "text but the first token",
    "first": "the first token",
    "separators": "separators",
    "punctuation": "punctuation",
}


def attention_to(name: str, source: str = "text", keys: str = "all") -> Statistic:
    """Attention to a class of tokens.

    Source: Clark et al. 2019, sections 3.2 and 3.3; there the queries are all tokens, here those of one class.

    Args:
        name: The class of keys.
        source: The class of queries.
        keys: ``all`` or ``content``.
    """
    content = is_content(keys)
    if content and name in ("first", "separators", "content"):
        raise InputError(f"keys='content' leaves the first key and the special tokens out: there are no {name} in it")

    def measure(view: View) -> Measured:
        seen = suffixed(name, content)
        asked = view.asked(source) & (view.seen(seen) > 0)
        if not content:
            return view.to(name), asked
        return view.to(seen) / view.left, asked & view.looks_at_content

    own = "" if source == "text" else f"_from_{source}"
    word = LABELS.get(name, name)
    label = f"Attention to {word}" + (f" from {LABELS.get(source, source)}" if own else "")
    return Statistic(
        suffixed(name + own, content),
        worded(label, content),
        WEIGHT,
        measure,
        "tokens",
        settings={"method": "token attention", "to": name, "source": source},
        keys=keys,
    )
