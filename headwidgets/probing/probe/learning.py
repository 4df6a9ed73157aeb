"""How is a probe trained? Several at once, over maps that pass by; the model itself learns nothing."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headwidgets.errors import Cancelled
from headwidgets.jobs import Cancel
from headwidgets.probing.probe.features import IGNORED, Lens, WordVectors, distances
from headwidgets.probing.probe.scorers import Batch
from headwidgets.probing.probe.wordmaps import MARKS, WordMaps
from headwidgets.text.placing import PlacedSentence

Reads = Literal["maps", "distances", "nothing"]
_CHUNK, _CHUNK_BYTES = 512, 2**28
"""Sentences, and bytes of maps, that are in memory together, whatever else is kept; one sentence may exceed them."""
_PAIRS = 6000
"""Padded pairs of positions in a batch, at most."""
_ROWS = 24
_WORDS = 200
"""The loss is summed over words and divided by this, so that words of long and short sentences count alike."""


class Corpus:
    """Placed sentences with what scorers read of them.

    Attributes:
        sentences: As the model sees them.
        maps: Their maps; None for scorers that read none.
        channels: Of the distances.
    """

    def __init__(
        self,
        sentences: Sequence[PlacedSentence],
        *,
        maps: WordMaps | None,
        vectors: WordVectors | None,
        lens: Lens | None,
        channels: int,
    ) -> None:
        self.sentences = sentences
        self.maps = maps
        self.channels = channels
        self._vectors, self._lens = vectors, lens
        self._distances: dict[int, NDArray[np.float16]] = {}

    def __len__(self) -> int:
        return len(self.sentences)

    def load(self, index: Sequence[int], reads: set[Reads]) -> dict[int, NDArray[np.float16]]:
        """The maps of some sentences, where somebody reads them."""
        return self.maps.load(index) if self.maps is not None and "maps" in reads else {}

    def chunks(self, order: Sequence[int]) -> Iterator[list[int]]:
        """Cut an order into what is in memory together."""
        chunk: list[int] = []
        size = 0
        for i in order:
            own = 2 * self.channels * (len(self.sentences[i].sentence) + MARKS) ** 2
            if chunk and (len(chunk) == _CHUNK or size + own > _CHUNK_BYTES):
                yield chunk
                chunk, size = [], 0
            chunk.append(i)
            size += own
        if chunk:
            yield chunk

    def batch(self, index: Sequence[int], loaded: dict[int, NDArray[np.float16]], reads: Reads) -> Batch:
        """Some sentences as a scorer takes them."""
        chosen = [self.sentences[i] for i in index]
        vectors = [self._words(sentence) for sentence in chosen]
        if reads == "maps":
            maps = [torch.from_numpy(loaded[i]) for i in index]
        elif reads == "distances":
            maps = [self._distance(len(sentence.sentence)) for sentence in chosen]
        else:
            maps = [torch.zeros(len(s.sentence) + MARKS, 0, len(s.sentence) + MARKS) for s in chosen]
        return Batch(maps, vectors)

    def batches(self, index: Sequence[int], generator: np.random.Generator | None = None) -> list[list[int]]:
        """Cut sentences into batches of like length; in a random order with a generator."""
        sizes = np.array([len(self.sentences[i].sentence) for i in index])
        noise = generator.random(len(sizes)) if generator is not None else np.zeros(len(sizes))
        found: list[list[int]] = []
        longest = 0
        for place in np.lexsort((noise, sizes)):
            i, size = index[place], int(sizes[place]) + MARKS
            longest = max(longest, size)
            full = not found or len(found[-1]) >= _ROWS or longest**2 * (len(found[-1]) + 1) > _PAIRS
            if full:
                found.append([])
                longest = size
            found[-1].append(i)
        if generator is not None:
            generator.shuffle(found)
        return found

    def _words(self, sentence: PlacedSentence) -> Tensor:
        if self._vectors is None or self._lens is None:
            return torch.zeros(len(sentence.sentence), 0)
        return torch.from_numpy(self._lens(self._vectors.of(sentence)))

    def _distance(self, words: int) -> Tensor:
        if words not in self._distances:
            if sum(d.nbytes for d in self._distances.values()) > 64 * 2**20:
                self._distances.clear()
            self._distances[words] = distances(words, self.channels)
        return torch.from_numpy(self._distances[words])


@dataclass
class Learner:
    """One scorer on its way.

    Attributes:
        name: Which probe or control it is.
        seed: Of its first numbers and of its order of sentences.
        module: The scorer.
        reads: What its maps are.
        targets: Per sentence of the corpus, int64 [words]: 0 the root, 1 + position a word.
    """

    name: str
    seed: int
    module: nn.Module
    reads: Reads
    targets: Callable[[PlacedSentence], NDArray[np.int64]]
    _optimiser: Any = field(default=None, repr=False)
    _order: Any = field(default=None, repr=False)
    _rate: float = field(default=0.0, repr=False)

    def begin(self, rate: float) -> None:
        """First numbers, optimiser and order."""
        module: Any = self.module
        module.start(torch.Generator().manual_seed(self.seed))
        self._optimiser = torch.optim.Adam(self.module.parameters(), lr=rate)
        self._order = np.random.default_rng(self.seed)
        self._rate = rate

    def learn(self, corpus: Corpus, chunk: Sequence[int], loaded: Any, left: float) -> None:
        """Go through a chunk once, with the rate times `left`."""
        for group in self._optimiser.param_groups:
            group["lr"] = self._rate * left
        for index in corpus.batches(chunk, self._order):
            batch = corpus.batch(index, loaded, self.reads)
            wanted = padded([self.targets(corpus.sentences[i]) for i in index], batch.vectors.shape[1])
            with torch.enable_grad():
                total = loss(self.module(batch), batch, wanted)
                self._optimiser.zero_grad()
                total.backward()  # type: ignore[no-untyped-call]
            self._optimiser.step()

    def end(self) -> nn.Module:
        """The scorer, without what learning needed."""
        self._optimiser = None
        self.module.requires_grad_(False)
        return self.module


def padded(rows: Sequence[NDArray[np.int64]], length: int) -> Tensor:
    """int64 [rows, length], `IGNORED` behind each."""
    found = np.full((len(rows), length), IGNORED, dtype=np.int64)
    for place, row in enumerate(rows):
        found[place, : len(row)] = row
    return torch.from_numpy(found)


def loss(scores: Tensor, batch: Batch, wanted: Tensor) -> Tensor:
    """Negative log-likelihood of the wanted heads, summed over words, over 200."""
    masked = scores.masked_fill(~batch.allowed, -1e9)
    return nn.functional.cross_entropy(
        masked.flatten(0, 1), wanted.flatten(), ignore_index=IGNORED, reduction="sum"
    ) / _WORDS  # fmt: skip


def fit(
    corpus: Corpus,
    learners: Sequence[Learner],
    *,
    epochs: int,
    rate: float,
    seed: int,
    after: Callable[[int], None] | None = None,
    cancel: Cancel | None = None,
) -> None:
    """Train all learners side by side; maps are made (or taken from memory) once per chunk and epoch.

    Args:
        corpus: Training sentences.
        learners: In place.
        epochs: Passes.
        rate: Of learning, at the start; it falls to 0 linearly.
        seed: Of the chunks' order; inside a chunk each learner has its own.
        after: Called with the sentences of every chunk done.
        cancel: Says whether to stop.

    Raises:
        Cancelled: told to stop.
    """
    for learner in learners:
        learner.begin(rate)
    reads = {learner.reads for learner in learners}
    done, total = 0, epochs * len(corpus)
    generator = np.random.default_rng(seed)
    for chunk in (c for _ in range(epochs) for c in corpus.chunks(generator.permutation(len(corpus)).tolist())):
        loaded = corpus.load(chunk, reads)
        for learner in learners:
            if cancel is not None and cancel():
                raise Cancelled("training a probe was cancelled")
            learner.learn(corpus, chunk, loaded, 1 - done / total)
        done += len(chunk)
        if after is not None:
            after(len(chunk))
