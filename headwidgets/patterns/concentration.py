"""How sharply does a head look? Its largest weight, and the entropy of its rows."""

from headwidgets.errors import InputError
from headwidgets.patterns.statistic import Measured, Statistic, is_content, suffixed, worded
from headwidgets.patterns.view import View

WEIGHT = "attention weight"
QUERIES = ("text", "first")


def confidence(keys: str = "all") -> Statistic:
    """The largest weight of a query among keys of text; rows are not divided by what is left of them.

    Source: Voita et al. 2019, section 4 (without the end token, footnote 2).
    """
    content = is_content(keys)

    def measure(view: View) -> Measured:
        asked = view.asked() & (view.seen("content" if content else "text") > 0)
        return view.largest(content)[0], asked

    label = worded("Confidence (largest weight)", content)
    settings = {"method": "confidence", "excluded": "special tokens" + (" and the first key" if content else "")}
    name = suffixed("confidence", content)
    return Statistic(name, label, WEIGHT, measure, "confidence", settings=settings, keys=keys)


def entropy(keys: str = "all", relative: bool = False, query: str = "text") -> Statistic:
    """Entropy of a query's row in nats, or as a share of that of a row that looks at all visible keys alike.

    Source: Clark et al. 2019, section 3.3. Zero weights count 0; their code mixes in 0.0001 of a uniform row.

    Args:
        keys: ``all`` or ``content``.
        relative: Divided by the logarithm of the number of keys that the query sees; queries that see one key do not
            count.
        query: ``text``, or ``first``: from the first token alone ([CLS]), where it sees more than itself (not in
            causal models).
    """
    content = is_content(keys)
    if query not in QUERIES:
        raise InputError(f"expected query to be one of {', '.join(QUERIES)}, got {query!r}")

    def measure(view: View) -> Measured:
        found = view.entropy(content)
        asked = view.asked(query)
        count = view.seen("content" if content else "real")
        if query == "first":
            asked = asked & (count >= 2)  # the first token of a causal model sees itself alone: it has no choice
        if content:
            asked = asked & (count > 0) & view.looks_at_content
        if relative:
            return found / count.clamp_min(2).log(), asked & (count >= 2)
        return found, asked

    name = "entropy" + ("_relative" if relative else "") + ("_first" if query == "first" else "")
    label = "Entropy from the first token" if query == "first" else "Entropy"
    label += ", share of the largest possible" if relative else ""
    return Statistic(
        suffixed(name, content),
        worded(label, content),
        "" if relative else "nats",
        measure,
        "relative" if relative else "entropy",
        settings={"method": "entropy", "query": query, "relative": relative},
        keys=keys,
    )
