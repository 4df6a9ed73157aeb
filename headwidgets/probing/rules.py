"""What must a head do to have a role? Thresholds, verdicts, and rules that users register."""

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from headwidgets.errors import InputError
from headwidgets.probing.linking.result import Links
from headwidgets.probing.positional import PositionalHeads
from headwidgets.probing.rare_result import RareWords
from headwidgets.roles import Evidence, Role
from headwidgets.scores import Head, HeadScores
from headwidgets.statistics import LEVEL, t_value, wilson, z_value

LEAST = 20
"""Texts below which nothing is said of a head."""

THRESHOLDS: dict[str, float] = {
    "positional": 0.9,
    "separator": 0.6,
    "sink": 0.6,
    "broad": 0.8,
    "previous-token": 0.5,
    "duplicate-token": 0.5,
    "induction": 0.5,
}
"""What a head has to reach. ``positional``: Voita et al. 2019, section 5.1. ``separator``: what the code of Clark et
al. 2019 calls so in its clusters, used for ``sink`` too. ``broad``: there, 3.8 nats on some 128 tokens, which is 0.78
of the largest entropy. ``previous-token``: there (section 3.1), more than half of the attention, used for the others
too."""

_WORDS = {
    "separator": ("at least {} of the attention goes to separators", "{} of attention to separators"),
    "sink": (
        "at least {} of the attention goes to the first position",
        "{} of attention to the first position",
    ),
    "broad": ("entropy of at least {} of the largest possible", "entropy {} of the largest possible"),
    "previous-token": (
        "on repeated random tokens at least {} of the attention goes to the token before",
        "{} of attention to the token before",
    ),
    "duplicate-token": (
        "on repeated random tokens at least {} of the attention goes to the same token",
        "{} of attention to the same token",
    ),
    "induction": (
        "on repeated random tokens at least {} of the attention goes to what came next the last time",
        "{} of attention to what came next the last time",
    ),
}

Measure = Callable[..., Any]


@dataclass(frozen=True)
class Registered:
    """A role of the user's own; see `register_role`."""

    name: str
    measure: Measure
    at_least: float | None
    rule: str


_registered: dict[str, Registered] = {}


def register_role(
    name: str, measure: Measure, *, at_least: float | None = None, rule: str = "", again: bool = False
) -> None:
    """Let `headwidgets.probing.roles` look for a role of your own from now on, in this session.

    Args:
        name: Of the role.
        measure: Called with the model and the texts (and ``treebank=``, ``seed=``, ``cancel=`` where it takes them). It
            returns `HeadScores`, `Links` (heads that beat every baseline have the role), or the heads.
        at_least: From what score on a head has the role; needed for scores.
        rule: What a head must do, in words; made from the threshold by default.
        again: Replace a role of this name.

    Raises:
        InputError: a name that is taken, or no function.

    Example:
        >>> hw.probing.register_role("sharp", hw.patterns.confidence, at_least=0.8)
    """
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"expected a name for the role, got {name!r}")
    if name in BUILT_IN or (name in _registered and not again):
        hint = "" if name in BUILT_IN else "; again=True replaces it"
        raise InputError(f"there is a role {name!r} already{hint}")
    if not callable(measure):
        raise InputError(f"expected measure as a function of the model and the texts, got {measure!r}")
    _registered[name] = Registered(name, measure, at_least, rule)


def forget_role(name: str) -> None:
    """Take a registered role back.

    Raises:
        InputError: no role of this name was registered.
    """
    if name not in _registered:
        raise InputError(f"no role {name!r} was registered; registered are {', '.join(_registered) or 'none'}")
    del _registered[name]


BUILT_IN = (
    "positional", "syntactic", "rare-word", "separator", "sink", "broad", "previous-token", "duplicate-token",
    "induction",
)  # fmt: skip
"""In the order in which they are drawn."""


def registered_roles() -> dict[str, Registered]:
    """Roles that were registered, by name."""
    return dict(_registered)


# ---- verdicts


def percent(share: float) -> str:
    """A share in words."""
    return f"{100 * share:.0f} %"


def reaching(
    name: str,
    scores: HeadScores,
    at_least: float,
    *,
    rule: str = "",
    about: Callable[[Head, float], str] | None = None,
    least: int = LEAST,
) -> Role:
    """Heads whose score reaches a threshold.

    A head is certain when the interval of all heads together (Bonferroni, 95 %) is above the threshold.

    Args:
        name: Of the role.
        scores: Of every head.
        at_least: The threshold.
        rule: In words; made from the threshold by default.
        about: What is said of a head.
        least: Below so many texts no head gets the role.
    """
    measured = [(head, value) for head, value in scores if not math.isnan(value)]
    each = 1 - (1 - LEVEL) / max(1, len(measured))
    share = all(0 <= value <= 1 for _, value in measured)
    found = []
    for head, value in sorted(measured, key=lambda item: -item[1]):
        if value < at_least or (0 < scores.n < least):
            continue
        low, high = interval(scores, head, share)
        bound = interval(scores, head, share, each)[0]
        words = about(head, value) if about else f"{scores.name} {value:.3g}{_unit(scores)}"
        known = None if math.isnan(bound) else bool(bound > at_least)
        found.append(Evidence(head, value, words, low, high, scores.n, known))
    words = rule or f"{scores.name} of at least {at_least:g}{_unit(scores)}"
    return Role(name, words, tuple(found), scores.unit, len(measured), scores)


def _unit(scores: HeadScores) -> str:
    return f" {scores.unit}" if scores.unit else ""


def interval(scores: HeadScores, head: Head, share: bool, level: float = LEVEL) -> tuple[float, float]:
    """Interval of a head's score for new texts, from its standard error, by Student's t; Wilson's for shares.

    NaN without an error. Few texts of skewed scores tell little: of many heads at a threshold of 0.9, some are called
    certain in 1 of 10 times at 40 texts, and in 1 of 20 from about 100 on.
    """
    if scores.stderr is None:
        return math.nan, math.nan
    value, error = scores[head], float(scores.stderr[head.kind][head.layer, head.index])
    if math.isnan(error):
        return math.nan, math.nan
    quantile = t_value(scores.n - 1, level) if scores.n > 1 else z_value(level)
    if not share:
        return value - quantile * error, value + quantile * error
    spread = value * (1 - value)
    return wilson(value, spread / error**2 if error > 0 and spread > 0 else max(1, scores.n), quantile)


def of_weights(name: str, scores: HeadScores, at_least: float, least: int, uniform: Mapping[Any, float]) -> Role:
    """A role of `THRESHOLDS` that is measured as a share, beside what a head that looks at all alike would have."""
    rule, words = _WORDS[name]

    def about(head: Head, value: float) -> str:
        alike = uniform.get(head.kind, math.nan)
        return words.format(percent(value)) + (
            f" (looking at all alike: {percent(alike)})" if math.isfinite(alike) else ""
        )

    return reaching(name, scores, at_least, rule=rule.format(percent(at_least)), about=about, least=least)


def of_positions(found: PositionalHeads, least: int) -> Role:
    """Positional heads."""

    def about(head: Head, value: float) -> str:
        offset = int(found.offset[head.kind][head.layer, head.index])
        weight = float(found.weight[head.kind][head.layer, head.index])
        return f"offset {offset:+d} in {percent(value)} of tokens, mean weight {weight:.2f}".replace("+0", "0")

    rule = f"at least {percent(found.threshold)} of the largest weights are at one offset"
    return reaching("positional", found.share, found.threshold, rule=rule, about=about, least=least)


def of_rare_words(found: RareWords) -> Role:
    """Heads that give most to the rarest word in more sentences than the strongest baseline."""
    scores = found.scores()
    strongest, value = found.strongest()
    evidence = []
    for head in found.heads():
        own = found.interval(head)
        about = f"the rarest gets most in {percent(own.value)} of sentences ({strongest}: {percent(value)})"
        evidence.append(Evidence(head, own.value, about, own.low, own.high, found.n, True))
    rule = "gives most to the rarest word, in more sentences than every baseline does, all heads judged together"
    measured = sum(int(np.isfinite(array).sum()) for array in scores.values.values())
    return Role("rare-word", rule, tuple(evidence), "of sentences", measured, scores)


def of_links(name: str, found: Links, rule: str = "") -> Role:
    """Heads that find a relation more often than every baseline."""
    own: dict[Head, list[Any]] = {}
    for one in found.specialists("strongest"):
        own.setdefault(one.head, []).append(one)
    evidence = []
    for head, rows in own.items():
        best = rows[0]
        listed = ", ".join(f"{r.row.relation} ({r.row.label}) {percent(r.accuracy)}" for r in rows[:3])
        more = f" and {len(rows) - 3} more" if len(rows) > 3 else ""
        about = f"{listed}{more}; the first is {100 * best.above:.0f} points above the strongest baseline"
        low, high = interval(found.scores(best.row.relation, best.row.direction), head, True)
        evidence.append(Evidence(head, best.accuracy, about, low, high, best.row.n, True))
    words = rule or (
        "finds a relation more often than every baseline, all heads and relations judged together, on text that did "
        "not choose it"
    )
    evidence.sort(key=lambda e: -e.value)
    return Role(name, words, tuple(evidence), "accuracy", len(found.heads))


def of_registered(own: Registered, model: Any, texts: Any, least: int, **offered: Any) -> Role:
    """A registered role, measured.

    Raises:
        InputError: the function returned something else, or scores without a threshold.
    """
    taken = inspect.signature(own.measure).parameters
    loose = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in taken.values())
    found = own.measure(model, texts, **{k: v for k, v in offered.items() if k in taken and not loose})
    if isinstance(found, Role):
        return found
    if isinstance(found, Links):
        return of_links(own.name, found, own.rule)
    if isinstance(found, HeadScores):
        if own.at_least is None:
            raise InputError(f"the role {own.name!r} is measured by scores: register it with at_least=")
        return reaching(own.name, found, own.at_least, rule=own.rule, least=least)
    try:
        heads = [Head(*one) for one in found]
    except TypeError:
        raise InputError(
            f"expected head scores, links or heads from the measure of the role {own.name!r}, got "
            f"{type(found).__name__}"
        ) from None
    return Role(own.name, own.rule or "a rule of one's own", tuple(Evidence(head) for head in heads))
