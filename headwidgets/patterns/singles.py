"""One statistic at a time; each is one pass of the same kind as `headwidgets.patterns.summary`."""

from collections.abc import Callable, Mapping
from typing import Any

from headwidgets.errors import InputError
from headwidgets.jobs import Cancel, Progress, blocking
from headwidgets.models.model import HeadModel, expect_model
from headwidgets.patterns import concentration, offsets, tokens
from headwidgets.patterns.measuring import measure
from headwidgets.patterns.places import BUILT_IN, Chosen, chosen
from headwidgets.patterns.statistic import Statistic
from headwidgets.scores import HeadScores
from headwidgets.wire.documents import KindName


def _one(
    model: HeadModel,
    texts: Any,
    statistic: Statistic,
    on_partial: Callable[[HeadScores], None] | None,
    options: dict[str, Any],
) -> HeadScores:
    expect_model(model)
    tell = None if on_partial is None else lambda found: on_partial(found.scores[statistic.name])
    return measure(model, texts, [statistic], on_partial=tell, **options).scores[statistic.name]


@blocking
def confidence(
    model: HeadModel,
    texts: Any,
    *,
    keys: str = "all",
    kind: KindName | None = None,
    words: bool = False,
    seed: int = 0,
    on_progress: Progress | None = None,
    on_partial: Callable[[HeadScores], None] | None = None,
    cancel: Cancel | None = None,
) -> HeadScores:
    """Mean over queries of the largest weight of a head's row (Voita et al. 2019, section 4).

    Special tokens and padding are neither queries nor keys; rows are not divided by what is left of them.

    Args:
        model: From `headwidgets.load` or `wrap`.
        texts: As `headwidgets.patterns.summary` takes them.
        keys: ``all``, or ``content``: without the first key too.
        kind: Only this kind of attention.
        words: Maps over words.
        seed: Of random groups, and of the order of partial results.
        on_progress: Called with texts done and texts in all.
        on_partial: Called with the scores of the texts seen so far.
        cancel: Says whether to stop.

    Returns:
        Scores between 0 and 1; standard errors treat a text's queries as a cluster.

    Raises:
        InputError: no text has a token that is not special.
        Cancelled: told to stop.
    """
    options = {"kind": kind, "words": words, "seed": seed, "on_progress": on_progress, "cancel": cancel}
    return _one(model, texts, concentration.confidence(keys), on_partial, options)


@blocking
def entropy(
    model: HeadModel,
    texts: Any,
    *,
    keys: str = "all",
    relative: bool = False,
    query: str = "text",
    kind: KindName | None = None,
    words: bool = False,
    seed: int = 0,
    on_progress: Progress | None = None,
    on_partial: Callable[[HeadScores], None] | None = None,
    cancel: Cancel | None = None,
) -> HeadScores:
    """Mean over queries of the entropy of a head's row (Clark et al. 2019, section 3.3).

    Args:
        model: From `headwidgets.load` or `wrap`.
        texts: As `headwidgets.patterns.summary` takes them.
        keys: ``all``, or ``content``: without the first key and the special tokens, the rest taken as a whole row.
        relative: As a share of the entropy of a row that looks at all visible keys alike.
        query: ``text``, or ``first``: from the first token ([CLS]) alone.
        kind: Only this kind of attention.
        words: Maps over words.
        seed: Of random groups, and of the order of partial results.
        on_progress: Called with texts done and texts in all.
        on_partial: Called with the scores of the texts seen so far.
        cancel: Says whether to stop.

    Returns:
        Scores in nats, or shares between 0 and 1.

    Raises:
        InputError: an option that does not fit.
        Cancelled: told to stop.
    """
    options = {"kind": kind, "words": words, "seed": seed, "on_progress": on_progress, "cancel": cancel}
    return _one(model, texts, concentration.entropy(keys, relative, query), on_partial, options)


@blocking
def offset(
    model: HeadModel,
    texts: Any,
    offset: int = -1,
    *,
    keys: str = "all",
    peaks: bool = False,
    kind: KindName | None = None,
    words: bool = False,
    seed: int = 0,
    on_progress: Progress | None = None,
    on_partial: Callable[[HeadScores], None] | None = None,
    cancel: Cancel | None = None,
) -> HeadScores:
    """Mean attention to the key at a fixed offset, over the queries that have one there and may see it.

    Args:
        model: From `headwidgets.load` or `wrap`.
        texts: As `headwidgets.patterns.summary` takes them.
        offset: Key position less query position; -1 is the previous token (Clark et al. 2019, section 3.1). Between a
            decoder and its source it compares positions of two texts.
        keys: ``all``, or ``content``: without the first key and the special tokens, the rest taken as a whole row.
        peaks: Instead, the share of queries whose largest weight among keys of text is there (Voita et al. 2019,
            section 5.1).
        kind: Only this kind of attention.
        words: Maps over words.
        seed: Of random groups, and of the order of partial results.
        on_progress: Called with texts done and texts in all.
        on_partial: Called with the scores of the texts seen so far.
        cancel: Says whether to stop.

    Returns:
        Scores between 0 and 1; NaN where no query sees such a key (ahead, in a causal model).

    Raises:
        InputError: an option that does not fit, or no text long enough.
        Cancelled: told to stop.
    """
    options = {"kind": kind, "words": words, "seed": seed, "on_progress": on_progress, "cancel": cancel}
    make = offsets.peaks_at if peaks else offsets.attention_at
    return _one(model, texts, make(offset, keys), on_partial, options)


@blocking
def mean_distance(
    model: HeadModel,
    texts: Any,
    *,
    keys: str = "all",
    kind: KindName | None = None,
    words: bool = False,
    seed: int = 0,
    on_progress: Progress | None = None,
    on_partial: Callable[[HeadScores], None] | None = None,
    cancel: Cancel | None = None,
) -> HeadScores:
    """Mean distance in positions between a query and what it attends to; arguments as for `confidence`.

    With ``keys="content"`` the first key and the special tokens are left out, the rest taken as a whole row.
    """
    options = {"kind": kind, "words": words, "seed": seed, "on_progress": on_progress, "cancel": cancel}
    return _one(model, texts, offsets.mean_distance(keys), on_partial, options)


@blocking
def separators(
    model: HeadModel,
    texts: Any,
    *,
    source: str = "text",
    kind: KindName | None = None,
    words: bool = False,
    seed: int = 0,
    on_progress: Progress | None = None,
    on_partial: Callable[[HeadScores], None] | None = None,
    cancel: Cancel | None = None,
) -> HeadScores:
    """Mean attention to the special tokens that do not stand first: [SEP], </s> (Clark et al. 2019, section 3.2).

    Args:
        model: From `headwidgets.load` or `wrap`.
        texts: As `headwidgets.patterns.summary` takes them.
        source: Whose rows: ``text``, or ``separators`` themselves.
        kind: Only this kind of attention.
        words: Maps over words.
        seed: Of random groups, and of the order of partial results.
        on_progress: Called with texts done and texts in all.
        on_partial: Called with the scores of the texts seen so far.
        cancel: Says whether to stop.

    Raises:
        InputError: the tokenizer adds no separators (``token_attention(..., "first")`` is the sink of causal models).
        Cancelled: told to stop.
    """
    if source not in ("text", "separators"):
        raise InputError(f"expected source to be one of text, separators, got {source!r}")
    options = {"kind": kind, "words": words, "seed": seed, "on_progress": on_progress, "cancel": cancel}
    return _one(model, texts, tokens.attention_to("separators", source), on_partial, options)


@blocking
def token_attention(
    model: HeadModel,
    texts: Any,
    to: str | Chosen = "punctuation",
    *,
    source: str = "text",
    keys: str = "all",
    punctuation: Chosen | None = None,
    kind: KindName | None = None,
    words: bool = False,
    seed: int = 0,
    on_progress: Progress | None = None,
    on_partial: Callable[[HeadScores], None] | None = None,
    cancel: Cancel | None = None,
) -> HeadScores:
    """Mean attention to a class of tokens.

    Args:
        model: From `headwidgets.load` or `wrap`.
        texts: As `headwidgets.patterns.summary` takes them.
        to: ``first`` (the sink of causal models, [CLS]), ``separators``, ``punctuation``, ``text``, ``content``; or a
            class of your own: token texts (``["not", "n't"]``), or a function of a token's text.
        source: Whose rows: ``text``, or another of these names; ``same`` is the class that is attended to.
        keys: ``all``, or ``content``: without the first key and the special tokens, the rest taken as a whole row.
        punctuation: What counts as punctuation, as `headwidgets.patterns.summary` takes it.
        kind: Only this kind of attention.
        words: Maps over words.
        seed: Of random groups, and of the order of partial results.
        on_progress: Called with texts done and texts in all.
        on_partial: Called with the scores of the texts seen so far.
        cancel: Says whether to stop.

    Returns:
        Scores between 0 and 1, over the queries that see a token of the class.

    Raises:
        InputError: an unknown class, or no text with a token of it.
        Cancelled: told to stop.
    """
    own: Mapping[str, Chosen] = {}
    if not isinstance(to, str):
        own, name = {"chosen tokens": chosen(to, "to")}, "chosen tokens"
    elif to in BUILT_IN:
        name = to
    else:
        raise InputError(
            f"expected to as one of {', '.join(BUILT_IN)}, a list of token texts or a function, got {to!r}"
        )
    whose = name if source == "same" else source
    if whose not in (*BUILT_IN, name):
        raise InputError(f"expected source to be one of {', '.join(BUILT_IN)}, same, got {source!r}")
    options: dict[str, Any] = {"kind": kind, "words": words, "seed": seed, "on_progress": on_progress, "cancel": cancel}
    options |= {"tokens": own, "punctuation": punctuation}
    return _one(model, texts, tokens.attention_to(name, whose, keys), on_partial, options)
