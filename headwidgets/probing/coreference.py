"""Which head finds what a mention refers back to? (Clark et al. 2019, section 4.3)"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from headwidgets.errors import InputError
from headwidgets.jobs import Cancel, Progress, blocking
from headwidgets.models.model import HeadModel, expect_model
from headwidgets.probing.adapting import adapted
from headwidgets.probing.coreferring.instances import By, Instances, instances
from headwidgets.probing.coreferring.windows import windows
from headwidgets.probing.linking.examples import Direction, Link, LinkExample
from headwidgets.probing.linking.result import Links
from headwidgets.probing.links import links
from headwidgets.text.treebank import Treebank

LABELS: Mapping[Direction, str] = {"forward": "mention to antecedent", "received": "antecedent to mention"}


@blocking
def coreference(
    model: HeadModel,
    data: Any,
    *,
    choose: Any = None,
    window: int = 128,
    singletons: bool = True,
    by: By = "type",
    name: str = "coreference",
    on_progress: Progress | None = None,
    cancel: Cancel | None = None,
    **options: Any,
) -> Links:
    """How often every head looks from a mention's head word most to that of an antecedent.

    Of a treebank with coreference, documents are cut into windows of whole sentences. A mention counts when another
    mention of its entity stands before it in the window, and one of something else to confuse it with (the notes say
    how many have none); the choice is among the head words of all mentions before it, so causal heads can make it.
    Rows are ``all`` mentions and, apart, pronouns, proper names and nominals. Baselines are the nearest mention, the
    nearest with the same head word, and four sieves (see `headwidgets.probing.coreferring.sieves`), beside those of
    `headwidgets.probing.links`.

    Args:
        model: A HeadModel; of an encoder-decoder the encoder is asked.
        data: A `Treebank`, or examples of pronouns and names (`read_gap`, `read_winogender`), on which figures are
            reported.
        choose: The same, on which the best head is chosen; half of the documents by default.
        window: Tokens of a window, at most.
        singletons: Entities that are mentioned once are candidates too.
        by: Rows of a treebank: ``type`` of mention, or ``head word``: whether a candidate has the mention's own, which
            a head that looks at equal words finds.
        name: For titles.
        on_progress: Called with examples done and examples in all.
        cancel: Says whether to stop.
        options: Of `headwidgets.probing.links`: ``random=``, ``seed=``, ``arcs=``, ``directions=`` ...

    Returns:
        What `headwidgets.probing.links` returns.

    Raises:
        InputError: no mention with an antecedent, or data that is something else.
        Cancelled: told to stop.

    Reference:
        Clark et al.: What Does BERT Look At?, BlackboxNLP 2019, section 4.3.
    """
    expect_model(model)
    if isinstance(window, bool) or not isinstance(window, (int, np.integer)) or window < 8:
        raise InputError(f"expected window= as a whole number of tokens from 8 on, got {window!r}")
    if by not in ("type", "head word"):
        raise InputError(f"expected by='type' or by='head word', got {by!r}")
    if model.max_positions is not None:
        window = min(int(window), model.max_positions)
    notes: list[str] = []
    splits = [_split(model, given, window, singletons, by, what, notes) for given, what in _given(data, choose)]
    baselines = _merged([baselines for _, baselines in splits])
    causal = "encoder" not in model.kinds  # nobody before a mention looks at it
    directions: Sequence[Direction] = options.pop("directions", ("forward",) if causal else ("forward", "received"))
    found = links(
        model,
        splits[0][0],
        choose=splits[1][0] if len(splits) > 1 else None,
        directions=directions,
        labels=options.pop("labels", LABELS),
        baselines={**baselines, **options.pop("baselines", {})},
        total=options.pop("total", "all"),
        name=name,
        on_progress=on_progress,
        cancel=cancel,
        **options,
    )
    return adapted(found, "coreference", notes, window=int(window), singletons=bool(singletons), by=by)


def _given(data: Any, choose: Any) -> list[tuple[Any, str]]:
    return [(data, "Reported on")] if choose is None else [(data, "Reported on"), (choose, "Chosen on")]


Guess = Callable[[LinkExample, Link], int | None]


def _split(
    model: HeadModel, data: Any, window: int, singletons: bool, by: By, what: str, notes: list[str]
) -> tuple[list[LinkExample], dict[str, Guess]]:
    if isinstance(data, Treebank):
        if not any(sentence.mentions for sentence in data):
            raise InputError(
                f"expected a treebank with coreference (Entity= in the last column), but {data.name or 'it'} has no "
                "mention"
            )
        found: Instances = instances(windows(model, data, window, data.name), singletons, by)
        if not found.examples:
            raise InputError(f"no mention of {data.name or 'the treebank'} has an antecedent and another candidate")
        notes += found.notes(what)
        return found.examples, found.baselines()
    listed = [data] if isinstance(data, LinkExample) else list(data) if isinstance(data, (list, tuple)) else []
    if not listed or not all(isinstance(one, LinkExample) for one in listed):
        raise InputError(
            "expected a Treebank, or a list of LinkExample (hw.probing.read_gap(path) makes one), got "
            f"{type(data).__name__}"
        )
    return listed, {"nearest candidate": nearest_candidate, "first candidate": first_candidate}


def _merged(splits: list[dict[str, Guess]]) -> dict[str, Guess]:
    """Rules by name that know the examples of every split."""

    def either(name: str) -> Guess:
        known = [guesses[name] for guesses in splits if name in guesses]
        return lambda example, link: next((guess for one in known if (guess := one(example, link)) is not None), None)

    return {name: either(name) for guesses in splits for name in guesses}


def nearest_candidate(example: LinkExample, link: Link) -> int | None:
    """The candidate nearest to the source, the earlier of two."""
    return min(link.candidates or (), key=lambda place: (abs(place - link.source[0]), place), default=None)


def first_candidate(example: LinkExample, link: Link) -> int | None:
    """The candidate that stands first in the text."""
    return min(link.candidates or (), default=None)
