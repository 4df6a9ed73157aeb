"""All statistics of where heads look, in one pass (`hw.patterns.summary`)."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from headwidgets.errors import InputError
from headwidgets.jobs import Cancel, Progress, blocking
from headwidgets.models.model import HeadModel, expect_model
from headwidgets.patterns.concentration import confidence, entropy
from headwidgets.patterns.measuring import Measurement, classes_of, measure
from headwidgets.patterns.offsets import OFFSETS, attention_at, checked_offset, mean_distance, peaks_at
from headwidgets.patterns.places import Chosen
from headwidgets.patterns.result import PatternSummary
from headwidgets.patterns.statistic import Statistic
from headwidgets.patterns.tokens import attention_to
from headwidgets.wire.documents import KindName


@blocking
def summary(
    model: HeadModel,
    texts: Any,
    *,
    kind: KindName | None = None,
    words: bool = False,
    offsets: Iterable[int] = OFFSETS,
    punctuation: Chosen | None = None,
    tokens: Mapping[str, Chosen] | None = None,
    statistics: Iterable[str] | None = None,
    seed: int = 0,
    on_progress: Progress | None = None,
    on_partial: Callable[[PatternSummary], None] | None = None,
    cancel: Cancel | None = None,
) -> PatternSummary:
    """Where does every head look? Many statistics in one pass; memory does not grow with the number of texts.

    Queries are tokens of the text, unless a statistic says otherwise; padding never counts. Every statistic also comes
    without the first key and the special tokens (``..._content``): rows are divided by what is left of them there,
    but for confidence, and queries that see no content, or look at none, do not count.

    Args:
        model: From `headwidgets.load` or `wrap`, of any family.
        texts: A list of texts, or a dataset. For encoder-decoders (source, target), or sources whose targets are
            generated.
        kind: Only this kind of attention; ``encoder`` of an encoder-decoder needs no targets.
        words: Maps over words instead of tokens: attention to a split word is summed, from it averaged [Clark et al.
            2019, section 4.1].
        offsets: Offsets to measure attention to; -1 is the previous token.
        punctuation: What counts as punctuation: token texts (``[".", ","]`` as in Clark et al.), or a function of a
            token's text; by default what Unicode calls so.
        tokens: Further classes of tokens by name, as `punctuation` takes them.
        statistics: Only these, by name (``confidence``, ``entropy_content``, ``offset-1`` ...); all by default. Fewer
            are faster.
        seed: Of the random groups of texts that scores keep, and of the order in which partial results come.
        on_progress: Called with texts done and texts in all.
        on_partial: Called with what the texts seen so far say.
        cancel: Says whether to stop.

    Returns:
        A score per head for each statistic, with standard errors that treat a text as a cluster.

    Raises:
        InputError: nothing to measure on, or an option that does not fit.
        UnsupportedError: a model without maps.
        Cancelled: told to stop.

    References:
        Clark et al.: What Does BERT Look At?, 2019, section 3. Voita et al.: Analyzing Multi-Head Self-Attention, 2019,
        sections 4 and 5.
    """
    expect_model(model)
    classes_of(punctuation, tokens)  # what is no class is said before names are made of it
    wanted = catalogue(offsets, tuple(tokens or ()))
    for name, count in Counter(s.name for s in wanted).items():
        if count > 1:
            raise InputError(f"a class of tokens cannot have this name: {name!r} would be two statistics")

    def as_summary(found: Measurement) -> PatternSummary:
        return PatternSummary(
            found.scores,
            labels={s.name: s.label for s in wanted},
            charts={s.name: s.chart for s in wanted},
            uniform=found.uniform,
        )

    if statistics is not None:
        wanted = _only(wanted, statistics)
    tell = None if on_partial is None else lambda found: on_partial(as_summary(found))
    return as_summary(
        measure(
            model,
            texts,
            wanted,
            kind=kind,
            words=words,
            punctuation=punctuation,
            tokens=tokens,
            seed=seed,
            on_progress=on_progress,
            on_partial=tell,
            cancel=cancel,
        )
    )


def _only(known: list[Statistic], names: Iterable[str]) -> list[Statistic]:
    """Those of some names, in the order of a summary."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(f"expected statistics as a list of names, such as ['confidence', 'entropy'], got {names!r}")
    asked = list(names)
    unknown = [name for name in asked if name not in {s.name for s in known}]
    if unknown or not asked:
        got = repr(unknown[0]) if unknown else "none"
        raise InputError(f"expected statistics out of {', '.join(s.name for s in known)}, got {got}")
    return [s for s in known if s.name in asked]


def catalogue(offsets: Iterable[int] = OFFSETS, tokens: Iterable[str] = ()) -> list[Statistic]:
    """Every statistic of a summary, in the order in which they are shown.

    Raises:
        InputError: offsets that are no whole numbers.
    """
    if isinstance(offsets, (str, bytes)) or not isinstance(offsets, Iterable):
        raise InputError(f"expected offsets as whole numbers, such as [-1, 1], got {offsets!r}")
    steps = list(dict.fromkeys(checked_offset(offset) for offset in offsets))
    found = [confidence("all"), confidence("content")]
    found += [entropy("all"), entropy("content"), entropy("all", query="first")]
    found += [entropy("all", relative=True), entropy("content", relative=True)]
    for make in (attention_at, peaks_at):
        found += [make(step, keys) for keys in ("all", "content") for step in steps]
    found += [attention_to("separators"), attention_to("separators", "separators")]
    found += [attention_to("first"), attention_to("first", "first")]
    for name in ("punctuation", *tokens):
        found += [attention_to(name), attention_to(name, name), attention_to(name, keys="content")]
    return [*found, mean_distance("all"), mean_distance("content")]
