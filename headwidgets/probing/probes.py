"""Do heads taken together know the syntax? A parser over frozen attention, with a handful of numbers per head."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headwidgets.errors import InputError
from headwidgets.jobs import Cancel, Progress, blocking
from headwidgets.models.model import HeadModel, expect_model
from headwidgets.models.twins import random_twin
from headwidgets.probing.probe import judging
from headwidgets.probing.probe.evaluating import words_of
from headwidgets.probing.probe.features import Embeddings, Lens, WordVectors, control, gold
from headwidgets.probing.probe.learning import Corpus, Learner, Reads, fit
from headwidgets.probing.probe.scorers import MapScorer, PairScorer, parameters_of
from headwidgets.probing.probe.trained import (
    CONTROL_TASK,
    FEATURES,
    RANDOM,
    Features,
    Member,
    Probe,
    mark,
    placed_apart,
    with_trees,
)
from headwidgets.probing.probe.wordmaps import WordMaps
from headwidgets.provenance import checked_seed, made
from headwidgets.text.placing import Placed, PlacedSentence, place
from headwidgets.text.treebank import Treebank

_RATES: dict[Features, float] = {"attention": 0.05, "attention+embeddings": 0.005}
_SEEN = 6000
"""Sentences that a scorer should see, repeated ones too."""
DISTANCES = "distances"
DISTANCES_WORDS = "distances + embeddings"
PAIRS = "hidden layer over embeddings and distance"


@blocking
def train_probe(
    model: HeadModel,
    treebank: Treebank,
    *,
    features: Features = "attention",
    embeddings: Embeddings = None,
    width: int | None = 100,
    seeds: int = 3,
    controls: bool = True,
    random: int = 3,
    epochs: int | None = None,
    rate: float | None = None,
    subtypes: bool = False,
    limit: int | None = None,
    memory: float = 2e9,
    seed: int = 0,
    on_progress: Progress | None = None,
    cancel: Cancel | None = None,
) -> Probe:
    """Train a parser that sees nothing but a frozen model's attention, or attention and word vectors.

    The probability that word i is the head of word j is a softmax over all other words and the root of a sum over heads
    of the attention from j to i and from i to j, each times a number; with embeddings the number depends linearly on
    the vectors of both words. See `headwidgets.probing.probe.scorers.MapScorer` for the formula and for the root.

    Controls, trained in the same way on the same sentences:

    * distances in the place of attention, with the same embeddings where there are some, and as many numbers to learn;
    * with embeddings, a hidden layer over both vectors and the distance, of about as many numbers;
    * the same model with random weights (its embeddings stay);
    * a task that has nothing to do with syntax, which the same probe learns by heart [Hewitt and Liang 2019].

    Args:
        model: A HeadModel; of an encoder-decoder its encoder is read. It stays as it is.
        treebank: Sentences with trees to learn from.
        features: ``attention`` or ``attention+embeddings``.
        embeddings: Vectors of words: a mapping from word to vector, or a function from a list of words to vectors
            [words, width]; the model's own input embeddings by default, averaged over the tokens of a word.
        width: Directions of the word vectors kept, those of most spread in the treebank; None for all.
        seeds: How many times the probe and its controls are trained, with other first numbers, other orders of
            sentences and other control tasks.
        controls: Train the controls.
        random: Draws of random weights, each a pass over the treebank of its own; 0 for none.
        epochs: Passes over the treebank. By default three, and up to 30 where it has fewer than 2,000 sentences, so
            that scorers see 6,000 in all.
        rate: Of learning at the start; it falls to 0. 0.05 for attention, 0.005 with embeddings by default.
        subtypes: Keep subtypes of relations in the tables (``nsubj:pass``).
        limit: Leave out sentences of more words, here and in evaluation.
        memory: Bytes of maps that are kept between passes, at most; what does not fit is computed in each pass.
        seed: The first of the seeds.
        on_progress: Called with sentences done and sentences in all, over all passes.
        cancel: Says whether to stop.

    Returns:
        A probe; `Probe.evaluate` says how good it is, beside its controls.

    Raises:
        InputError: no trees, unknown features, or numbers that do not fit.
        UnsupportedError: a model without attention maps.
        Cancelled: told to stop.

    Reference:
        Clark et al. 2019, section 5. Hewitt and Liang: Designing and Interpreting Probes with Control Tasks, 2019.
    """
    expect_model(model)
    if features not in FEATURES:
        raise InputError(f"expected features= as {' or '.join(map(repr, FEATURES))}, got {features!r}")
    for name, value, least in (("seeds", seeds, 1), ("random", random, 0)):
        _whole(name, value, least)
    for name, given in (("width", width), ("limit", limit), ("epochs", epochs)):
        if given is not None:
            _whole(name, given, 1)
    if features == "attention" and embeddings is not None:
        raise InputError("embeddings= is for features='attention+embeddings'; features='attention' reads no words")
    if rate is not None and not (_finite(rate) and rate > 0):
        raise InputError(f"expected rate= as a number above 0, got {rate!r}")
    if not (_finite(memory) and memory >= 0):
        raise InputError(f"expected memory= as a number of bytes from 0 on, got {memory!r}")
    seed = checked_seed(seed)
    rate = _RATES[features] if rate is None else rate
    sentences = with_trees(treebank, "the treebank to train on")
    placed = place(model, sentences, limit=limit)
    epochs = max(3, min(30, math.ceil(_SEEN / len(placed)))) if epochs is None else epochs
    vectors = WordVectors(model, embeddings) if features == "attention+embeddings" else None
    lens = vectors.lens(placed.sentences, width) if vectors is not None else None
    draws = random if controls else 0
    work = _Work(placed, vectors, lens, epochs, rate, seed, on_progress, cancel, total=1 + draws, memory=int(memory))

    maps = work.maps(model)
    channels = len(maps.heads)
    learners = _learners(features, channels, lens, [seed + i for i in range(seeds)], controls)
    work.train(maps, channels, learners)
    del maps
    drawn = []
    for i in range(draws):
        learner = Learner(RANDOM, seed + i, MapScorer(channels, lens.width if lens else 0), "maps", _gold)
        with random_twin(model, learner.seed) as twin:
            work.train(work.maps(twin), channels, [learner])
        drawn.append(learner)
    members: dict[str, list[Member]] = {}
    for learner in [*learners, *drawn]:
        members.setdefault(learner.name, []).append(Member(learner.seed, learner.reads, learner.end()))
    return Probe(
        features=features,
        heads=tuple(work.heads),
        members={name: tuple(own) for name, own in members.items()},
        lens=lens,
        vectors=vectors.name if vectors is not None else "",
        offsets=judging.best_offsets(words_of(placed.sentences, subtypes)),
        subtypes=subtypes,
        limit=limit,
        trained_on=(len(placed), placed.words),
        marks=frozenset(mark(s.sentence) for s in placed.sentences),
        notes=(*placed_apart(sentences, len(treebank)), *placed.notes()),
        fingerprint=model.fingerprint,
        provenance=made(
            model, (s.sentence.text for s in placed.sentences), method="probe", features=features,
            treebank=treebank.name, embeddings=vectors.name if vectors is not None else None,
            width=lens.width if lens is not None else None, seeds=seeds, random=draws, epochs=epochs, rate=rate,
            limit=limit, seed=seed,
        ),
        _model=[model, embeddings],
    )  # fmt: skip


def _whole(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(f"expected {name}= as a whole number of at least {least}, got {value!r}")


def _finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _gold(placed: PlacedSentence) -> Any:
    return gold(placed.sentence)


def _task(seed: int) -> Callable[[PlacedSentence], Any]:
    return lambda placed: control(placed.sentence, seed)


def _learners(
    features: Features, channels: int, lens: Lens | None, seeds: Sequence[int], controls: bool
) -> list[Learner]:
    """The probe, then its controls on the same maps or on none, each once per seed."""
    width = lens.width if lens is not None else 0
    plan: list[tuple[str, Reads]] = [("attention + embeddings" if width else "attention", "maps")]
    if controls:
        plan += [(DISTANCES_WORDS, "distances"), (PAIRS, "nothing")] if width else [(DISTANCES, "distances")]
        plan.append((CONTROL_TASK, "maps"))
    size = parameters_of(MapScorer(channels, width))
    found = []
    for name, reads in plan:
        for seed in seeds:
            module = PairScorer.of_size(width, size) if reads == "nothing" else MapScorer(channels, width)
            found.append(Learner(name, seed, module, reads, _task(seed) if name == CONTROL_TASK else _gold))
    return found


class _Work:
    """What all trainings of one call share."""

    def __init__(
        self,
        placed: Placed,
        vectors: WordVectors | None,
        lens: Lens | None,
        epochs: int,
        rate: float,
        seed: int,
        on_progress: Progress | None,
        cancel: Cancel | None,
        *,
        total: int,
        memory: int,
    ) -> None:
        self.placed, self.vectors, self.lens = placed, vectors, lens
        self.epochs, self.rate, self.seed = epochs, rate, seed
        self.memory = memory
        self.heads: list[Any] = []
        self._report, self._cancel = on_progress, cancel
        self._done, self._total = 0, total * epochs * len(placed)

    def maps(self, model: HeadModel) -> WordMaps:
        found = WordMaps(model, self.placed, memory=self.memory, cancel=self._cancel, what="training a probe")
        self.heads = found.heads
        return found

    def train(self, maps: WordMaps, channels: int, learners: Sequence[Learner]) -> None:
        corpus = Corpus(self.placed.sentences, maps=maps, vectors=self.vectors, lens=self.lens, channels=channels)
        fit(
            corpus, learners, epochs=self.epochs, rate=self.rate, seed=self.seed, after=self._after, cancel=self._cancel
        )  # fmt: skip

    def _after(self, count: int) -> None:
        self._done += count
        if self._report is not None:
            self._report(self._done, self._total)
