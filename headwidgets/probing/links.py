"""Which head finds which link? Labelled pairs of words in, a table of relations by heads out.

Syntax, coreference, relations between entities and word alignment are adapters of this: they say which words are
linked, and what else could have been guessed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from headwidgets.errors import InputError
from headwidgets.jobs import Cancel, Progress, blocking
from headwidgets.models.model import HeadModel, expect_model
from headwidgets.probing.linking.asking import Asked, ask
from headwidgets.probing.linking.controls import random_bands
from headwidgets.probing.linking.examples import CROSS, DIRECTIONS, LABELS, SELF, Direction, LinkExample, as_examples
from headwidgets.probing.linking.guesses import Baseline, checked_baselines, guess, tags_of
from headwidgets.probing.linking.judging import Split, judge, row_keys
from headwidgets.probing.linking.keeping import kept_arcs, to_keep
from headwidgets.probing.linking.looking import Seen, look
from headwidgets.probing.linking.placed import PlacedExamples, placed, sample_of
from headwidgets.probing.linking.result import Links
from headwidgets.provenance import checked_seed, data_fingerprint, made
from headwidgets.scores import Head


@blocking
def links(
    model: HeadModel,
    examples: Sequence[LinkExample],
    *,
    choose: Sequence[LinkExample] | None = None,
    directions: Sequence[Direction] | None = None,
    labels: Mapping[Direction, str] | None = None,
    baselines: Mapping[str, Baseline] | None = None,
    offsets: int = 10,
    random: int = 20,
    random_examples: int = 400,
    arcs: int = 6,
    total: str | None = None,
    written: bool = False,
    max_tokens: int = 1024,
    name: str = "links",
    seed: int = 0,
    on_progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Links:
    """Accuracy of every head for every relation, in every direction, against baselines.

    A head finds a link when the largest entry of its map among the candidates is a target. Candidates are the words
    that can be seen: all others of the text, in a causal model those to the left; special tokens are none. Maps are of
    words: attention to a split word is summed, from it averaged. A head that gives no candidate anything finds nothing.

    Args:
        model: A HeadModel. Of an encoder-decoder, examples with `LinkExample.against` look at cross-attention, others
            at the encoder.
        examples: On which figures are reported.
        choose: On which the best head, the best offset and the best rule are chosen. By default `examples` are cut in
            two random halves by cluster, one to choose and one to report.
        directions: What is asked; see `headwidgets.probing.linking.examples.DIRECTIONS`.
        labels: What directions are called in tables.
        baselines: Further guesses by name, for ``forward`` and ``received``.
        offsets: Fixed offsets up to this many words (or candidates) away are tried.
        random: Models of the same architecture with random weights; 0 for none.
        random_examples: Examples that each of them sees, of each split, at most.
        arcs: Instances of every row that are kept to be looked at.
        total: Label of a row of all relations together; None for no such row.
        written: Of cross-attention: a word's rows are those at which the decoder writes it, not those at which it reads
            it.
        max_tokens: Padded positions per batch, at most.
        name: Of the measurement, for titles.
        seed: Of the halves, the random weights, the resampling and what is kept.
        on_progress: Called with examples done and examples in all.
        cancel: Says whether to stop.

    Raises:
        InputError: no example, or one that does not fit.
        UnsupportedError: a model without maps.
        Cancelled: told to stop.

    Reference:
        Clark et al. 2019, section 4.2; Voita et al. 2019, section 5.2.
    """
    expect_model(model)
    seed = checked_seed(seed)
    for what, value in (("offsets", offsets), ("random", random), ("random_examples", random_examples), ("arcs", arcs)):
        if isinstance(value, bool) or not isinstance(value, int) or value < (what == "offsets"):
            raise InputError(f"expected {what}= as a whole number from {int(what == 'offsets')} on, got {value!r}")
    second = as_examples(examples)
    notes = []
    if choose is None:
        first, second = _halves(second, seed)
        notes.append("Heads and rules were chosen on one random half of the examples and are reported on the other.")
    else:
        first = as_examples(choose, "choose")
        both = len({one.text for one in first} & {one.text for one in second})
        if both:
            notes.append(f"Texts in both splits: {both}; figures of what was chosen on them are too good.")
    baselines = checked_baselines(baselines)
    if labels is not None and not isinstance(labels, Mapping):
        raise InputError(f'expected labels by direction, such as {{"forward": "verb to object"}}, got {labels!r}')
    if isinstance(max_tokens, bool) or not isinstance(max_tokens, int) or max_tokens < 1:
        raise InputError(f"expected max_tokens as a whole number of at least 1, got {max_tokens!r}")
    if (first[0].against is None) != (second[0].against is None):
        raise InputError(
            "expected examples and choose= of one form, both with a second text (against=) or both without"
        )
    where = [placed(model, one, written=written) for one in (first, second)]
    asked_for = _directions(directions, where[0].cross)
    questions = [{d: ask(one, d) for d in asked_for} for one in where]
    if not any(len(asked) for asked in questions[1].values()):
        raise InputError("expected at least one link that a head can find, got none")
    pieces = [sample_of(one, random_examples, seed) for one in where] if random and random_examples else []
    step = _counter(on_progress, sum(len(one.examples) for one in [*where, *pieces * random]))

    def run(which: HeadModel, own: PlacedExamples, asked: Mapping[Direction, Asked], **options: Any) -> Seen:
        return look(which, own, list(asked.values()), max_tokens=max_tokens, step=step, cancel=cancel, **options)

    keys = row_keys(questions[0], questions[1], total)
    keep = to_keep(keys, questions[1], where[1], arcs, seed)
    tags = tags_of(where[0])
    guesses = [
        {d: guess(own, a, offsets=offsets, tags=tags, baselines=baselines) for d, a in asked.items()}
        for own, asked in zip(where, questions, strict=True)
    ]
    seen = run(model, where[0], questions[0])
    again = run(model, where[1], questions[1], profiles=seen.profiles, keep=keep.wanted)
    splits = [
        Split(where[0], questions[0], seen, guesses[0]),
        Split(where[1], questions[1], again, guesses[1]),
    ]
    heads = [Head(site.kind, site.layer, i) for site in where[0].sites for i in range(site.n_heads)]
    bands = random_bands(model, pieces, keys, run, draws=random, total=total, seed=seed)
    sentences, found, by_row = kept_arcs(keep, splits[1], where[1])
    called = LABELS | dict(labels or {})
    table = judge(keys, splits[0], splits[1], heads, called, random=bands, arcs=by_row, seed=seed)
    clusters = len({one.given.cluster or i for i, one in enumerate(where[1].examples)})
    for which, own in zip(("first", "second"), where, strict=True):
        notes += [f"In the {which} split: {note}" for note in own.notes]
    if where[0].causal:
        notes.append("The model is causal: a word is asked only about words that it can see, those to its left.")
    return Links(
        rows=tuple(table.rows),
        heads=tuple(heads),
        accuracy=table.accuracy,
        stderr=table.stderr,
        first=table.first,
        passing=table.passing,
        sentences=tuple(sentences),
        arcs=tuple(found),
        n=(len(where[1].examples), clusters),
        notes=tuple(notes),
        name=name,
        shapes={kind: model.shape(kind) for kind in dict.fromkeys(head.kind for head in heads)},
        fingerprint=model.fingerprint,
        provenance=made(
            model,
            [one.text for one in second],
            method="links",
            chosen_on=len(where[0].examples),
            chosen_data=data_fingerprint(one.text for one in first),
            reported_on=len(where[1].examples),
            directions=", ".join(asked_for),
            offsets=offsets,
            random=random,
            random_examples=random_examples,
            seed=seed,
        ),
    )


def _halves(examples: list[LinkExample], seed: int) -> tuple[list[LinkExample], list[LinkExample]]:
    """Two random halves; examples of one cluster stay together."""
    cluster = [one.cluster or i for i, one in enumerate(examples)]
    known = list(dict.fromkeys(cluster))
    if len(known) < 2:
        raise InputError(
            "expected examples of at least two clusters, to choose heads on one half and report on the other; got one: "
            "give choose= other examples"
        )
    order = np.random.default_rng(seed).permutation(len(known)).tolist()
    former = {known[i] for i in order[: len(known) // 2]}
    return (
        [one for one, own in zip(examples, cluster, strict=True) if own in former],
        [one for one, own in zip(examples, cluster, strict=True) if own not in former],
    )


def _directions(given: Sequence[Direction] | None, cross: bool) -> tuple[Direction, ...]:
    known = CROSS if cross else DIRECTIONS
    if given is None:
        return CROSS if cross else SELF
    chosen: tuple[Any, ...] = (given,) if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)
    for direction in chosen:
        if direction not in known:
            kind = "cross-attention" if cross else "self-attention"
            raise InputError(f"expected directions of {kind}, of {', '.join(known)}, got {direction!r}")
    return tuple(dict.fromkeys(chosen))


def _counter(on_progress: Progress | None, total: int) -> Callable[[int], None]:
    done = 0

    def step(more: int) -> None:
        nonlocal done
        done += more
        if on_progress is not None:
            on_progress(min(done, total), total)

    return step
