"""How an evaluation is made: every scorer's heads for every sentence, then figures."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from headwidgets.errors import Cancelled
from headwidgets.jobs import Cancel, Progress
from headwidgets.models.model import HeadModel
from headwidgets.models.twins import random_twin
from headwidgets.probing.probe import judging
from headwidgets.probing.probe.decoding import heads_of
from headwidgets.probing.probe.evaluation import (
    ProbeEvaluation,
    ProbeRelation,
    ProbeResult,
    ProbeTrees,
    tree_of,
)
from headwidgets.probing.probe.features import IGNORED, Embeddings, WordVectors, control, gold
from headwidgets.probing.probe.learning import Corpus
from headwidgets.probing.probe.trained import CONTROL_TASK, RANDOM, Member, Probe, mark, placed_apart, with_trees
from headwidgets.probing.probe.wordmaps import WordMaps
from headwidgets.provenance import checked_seed, made
from headwidgets.scores import Interval
from headwidgets.text.placing import Placed, PlacedSentence, place
from headwidgets.text.treebank import Sentence, Treebank

Wholes = NDArray[np.int64]
Floats = NDArray[np.float64]
_TRAINED = ("treebank", "data", "seed", "seeds", "epochs", "rate", "embeddings", "width", "random")
"""Settings of the training that an evaluation repeats."""


def evaluate(
    probe: Probe,
    treebank: Treebank,
    model: HeadModel,
    embeddings: Embeddings,
    *,
    tree: bool,
    controls: bool,
    trees: int,
    seed: int,
    on_progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> ProbeEvaluation:
    """See `Probe.evaluate`."""
    seed = checked_seed(seed)
    sentences = with_trees(treebank, "the treebank to evaluate on")
    placed = place(model, sentences, limit=probe.limit)
    wanted = [gold(s.sentence) for s in placed.sentences]
    counted = [own != IGNORED for own in wanted]
    words = words_of(placed.sentences, probe.subtypes)
    used = {name: own for name, own in probe.members.items() if controls or name == probe.name}
    predicted = _everything(probe, used, placed, model, embeddings, tree, on_progress, cancel)

    def right(heads: Sequence[Wholes], targets: Sequence[Wholes]) -> Floats:
        return np.concatenate(
            [(h == t)[c] for h, t, c in zip(heads, targets, counted, strict=True)]
        ).astype(np.float64)  # fmt: skip

    hits: dict[str, list[Floats]] = {
        name: [right(heads, wanted) for heads in own] for name, own in predicted.items() if name != CONTROL_TASK
    }
    fixed: dict[str, Floats] = {}
    if controls:
        fixed["next word (right-branching)"] = judging.offset_guess(words, 1)
        best = probe.offsets[""]
        if best != 1:
            fixed[f"best fixed offset ({best:+d})"] = judging.offset_guess(words, best)
    results = _results(probe, words, hits, fixed)
    own = np.mean(hits[probe.name], 0)
    others = {name: np.mean(found, 0) for name, found in hits.items() if name != probe.name} | fixed
    ahead = None
    if len(results) > 1:
        strongest = max(results[1:], key=lambda result: result.without_punct.value).name
        text = words.text
        ahead, _ = judging.difference(own[text], others[strongest][text], words.sentence[text])
    task = selectivity = None
    if CONTROL_TASK in predicted:
        learned = np.mean(
            [
                right(heads, [control(s.sentence, member.seed) for s in placed.sentences])
                for heads, member in zip(predicted[CONTROL_TASK], used[CONTROL_TASK], strict=True)
            ],
            0,
        )
        task = judging.accuracy(learned, words.sentence)
        selectivity, _ = judging.difference(own, learned, words.sentence)
    drawn = [float(r[words.text].mean()) for r in hits.get(RANDOM, []) if words.text.any()]
    return ProbeEvaluation(
        results=tuple(results),
        relations=_relations(probe, words, own, others),
        difference=ahead,
        selectivity=selectivity,
        control_task=task,
        random=Interval(float(np.mean(drawn)), min(drawn), max(drawn)) if drawn else None,
        trees=_trees(placed.sentences, predicted[probe.name][0], trees, seed),
        n=len(words),
        sentences=len(placed),
        title=f"Probe: {probe.name} of {model.name}",
        notes=tuple(_notes(probe, placed, sentences, treebank)),
        provenance=made(
            model, (s.sentence.text for s in placed.sentences), method="probe", features=probe.features,
            treebank=treebank.name, tree=tree, seed=seed, sentences_trained_on=probe.trained_on[0],
            **{f"trained_{key}": (probe.provenance or {"settings": {}})["settings"].get(key) for key in _TRAINED},
        ),
    )  # fmt: skip


def predict(
    probe: Probe, sentences: Sequence[Sentence], model: HeadModel, embeddings: Embeddings, *, tree: bool
) -> list[Wholes | None]:
    """See `Probe.predict`."""
    placed = place(model, sentences, limit=probe.limit)
    first = {probe.name: probe.members[probe.name][:1]}
    heads = _everything(probe, first, placed, model, embeddings, tree, None, None)[probe.name][0]
    found: list[Wholes | None] = [None] * len(sentences)
    for index, own in zip(placed.index, heads, strict=True):
        found[index] = own - 1
    return found


def words_of(sentences: Sequence[PlacedSentence], subtypes: bool) -> judging.Words:
    """Every word that has a head."""
    rows = [
        (
            number,
            word.relation if subtypes else word.relation.split(":")[0],
            0 if word.head < 0 else word.head - i,
            i,
            len(placed.sentence) - 1 - i,
            word.relation.split(":")[0] != "punct",
        )
        for number, placed in enumerate(sentences)
        for i, word in enumerate(placed.sentence.words)
        if word.head is not None
    ]
    numbers, relations, offsets, left, beyond, text = zip(*rows, strict=True)
    return judging.Words(
        np.array(numbers),
        np.array(relations),
        np.array(offsets),
        np.column_stack([left, beyond]).astype(np.int64),
        np.array(text),
    )


def _everything(
    probe: Probe,
    used: dict[str, tuple[Member, ...]],
    placed: Placed,
    model: HeadModel,
    embeddings: Embeddings,
    tree: bool,
    on_progress: Progress | None,
    cancel: Cancel | None,
) -> dict[str, list[list[Wholes]]]:
    """By name and seed, the heads of every sentence; the model's maps are made once, and once per draw of weights."""
    vectors = WordVectors(model, embeddings) if probe.lens is not None else None
    twins = used.get(RANDOM, ())
    total = len(placed) * (1 + len(twins))
    done = 0

    def after(count: int) -> None:
        nonlocal done
        done += count
        if on_progress is not None:
            on_progress(done, total)

    def over(maps: WordMaps, members: Sequence[Member]) -> list[list[Wholes]]:
        corpus = Corpus(placed.sentences, maps=maps, vectors=vectors, lens=probe.lens, channels=len(probe.heads))
        return _predicted(corpus, members, tree, after, cancel)

    own = [(name, member) for name, members in used.items() if name != RANDOM for member in members]
    found: dict[str, list[list[Wholes]]] = {name: [] for name in used}
    heads = over(_maps(model, placed, cancel), [member for _, member in own])
    for (name, _), predicted in zip(own, heads, strict=True):
        found[name].append(predicted)
    for member in twins:
        with random_twin(model, member.seed) as twin:
            found[RANDOM] += over(_maps(twin, placed, cancel), [member])
    return found


def _maps(model: HeadModel, placed: Placed, cancel: Cancel | None) -> WordMaps:
    return WordMaps(model, placed, memory=0, cancel=cancel, what="evaluating a probe")


def _predicted(
    corpus: Corpus, members: Sequence[Member], tree: bool, after: Callable[[int], None], cancel: Cancel | None
) -> list[list[Wholes]]:
    found: list[list[Any]] = [[None] * len(corpus) for _ in members]
    for chunk in corpus.chunks(range(len(corpus))):
        loaded = corpus.load(chunk, {member.reads for member in members})
        for number, member in enumerate(members):
            if cancel is not None and cancel():
                raise Cancelled("evaluating a probe was cancelled")
            for index in corpus.batches(chunk):
                batch = corpus.batch(index, loaded, member.reads)
                with torch.no_grad():
                    heads = heads_of(member.module(batch), batch, tree=tree)
                for i, own in zip(index, heads, strict=True):
                    found[number][i] = own
        after(len(chunk))
    return found


def _results(
    probe: Probe, words: judging.Words, hits: dict[str, list[Floats]], fixed: dict[str, Floats]
) -> list[ProbeResult]:

    def result(name: str, found: list[Floats], learned: int) -> ProbeResult:
        mean = np.mean(found, 0)
        return ProbeResult(
            name,
            judging.accuracy(mean, words.sentence),
            judging.accuracy(mean[words.text], words.sentence[words.text]),
            tuple(float(own[words.text].mean()) for own in found) if learned and words.text.any() else (),
            learned,
            name != probe.name,
        )

    sizes = probe.parameters
    found = [result(name, own, sizes[name]) for name, own in hits.items()]
    return found + [result(name, [own], 0) for name, own in fixed.items()]


def _relations(probe: Probe, words: judging.Words, own: Floats, others: dict[str, Floats]) -> tuple[ProbeRelation, ...]:
    told = judging.relation_guess(words, probe.offsets)
    names, counts = np.unique(words.relation, return_counts=True)
    found: list[ProbeRelation] = []
    p_values: list[float] = []
    for relation, n in sorted(zip(names.tolist(), counts.tolist(), strict=True), key=lambda pair: -pair[1]):
        chosen = words.relation == relation
        means = {name: float(right[chosen].mean()) for name, right in others.items()}
        strongest = max(means, key=lambda name: means[name], default="")
        baseline = float(told[chosen].mean())
        best = others[strongest] if strongest and means[strongest] >= baseline else told
        gap, p = judging.difference(own[chosen], best[chosen], words.sentence[chosen])
        p_values.append(p if n >= judging.ENOUGH else math.nan)
        found.append(
            ProbeRelation(
                relation=relation,
                n=n,
                accuracy=judging.accuracy(own[chosen], words.sentence[chosen]),
                offset=probe.offsets.get(relation, probe.offsets[""]),
                baseline=baseline,
                strongest=strongest,
                strongest_accuracy=means.get(strongest, math.nan),
                difference=gap,
                better=False,
            )
        )
    beyond_chance = judging.discoveries(p_values)
    return tuple(
        replace(row, better=yes and row.difference.value > 0) for row, yes in zip(found, beyond_chance, strict=True)
    )


def _trees(
    sentences: Sequence[PlacedSentence], heads: Sequence[Wholes], count: int, seed: int
) -> tuple[ProbeTrees, ...]:
    """Some sentences of a length that a picture takes, in the order of the treebank."""
    fitting = [i for i, s in enumerate(sentences) if 4 <= len(s.sentence) <= 25] or list(range(len(sentences)))
    drawn = np.random.default_rng(seed).permutation(fitting)[: max(0, count)]
    return tuple(ProbeTrees(sentences[i].sentence, tree_of(heads[i])) for i in sorted(drawn.tolist()))


def _notes(probe: Probe, placed: Placed, sentences: Sequence[Sentence], treebank: Treebank) -> Iterator[str]:
    yield from placed_apart(sentences, len(treebank))
    yield from placed.notes()
    seen = sum(mark(s.sentence) in probe.marks for s in placed.sentences)
    if seen:
        words = sum(len(s.sentence) for s in placed.sentences if mark(s.sentence) in probe.marks)
        yield (
            f"{seen} of {len(placed)} sentences ({words} words) were trained on, word for word: their figures say less "
            "about new sentences."
        )
