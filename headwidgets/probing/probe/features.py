"""What a probe reads beside maps: vectors of words, distances; and what it should find: heads, or a control task."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwidgets.errors import InputError
from headwidgets.models.model import HeadModel
from headwidgets.probing.probe.wordmaps import MARKS
from headwidgets.text.placing import PlacedSentence
from headwidgets.text.treebank import Sentence

Floats = NDArray[np.float32]
Wholes = NDArray[np.int64]
Embeddings = Mapping[str, Any] | Callable[[list[str]], Any] | None
IGNORED = -100
"""Target of a word that has no head."""


@dataclass(frozen=True)
class Lens:
    """Raw word vectors to what a probe sees: centred, turned to the directions of most spread, scaled.

    Attributes:
        mean: float32 [raw width].
        turn: float32 [raw width, width].
    """

    mean: Floats
    turn: Floats

    @property
    def width(self) -> int:
        """Of what a probe sees."""
        return int(self.turn.shape[1])

    def __call__(self, raw: Floats) -> Floats:
        """float32 [words, width]; a word without a vector (NaN) gets zeros, the vector of the mean."""
        seen: Floats = ((raw - self.mean) @ self.turn).astype(np.float32)
        return np.nan_to_num(seen, nan=0.0)


class WordVectors:
    """Vectors of a sentence's words: the model's own input embeddings, averaged over a word's tokens, or given ones."""

    def __init__(self, model: HeadModel, given: Embeddings = None) -> None:
        """Nothing is looked up yet.

        Args:
            model: A HeadModel.
            given: A mapping from word to vector (asked for the word as written, then in lower case), or a function
                from the words of a sentence to their vectors [words, width]; the model's own when None.

        Raises:
            InputError: neither a mapping nor a function.
        """
        if given is not None and not isinstance(given, Mapping) and not callable(given) and not hasattr(given, "get"):
            raise InputError(
                "expected embeddings= as a mapping from word to vector, or a function from a list of words to their "
                f"vectors, got {type(given).__name__}"
            )
        self._given = given
        self._table: Floats | None = None
        if given is None:
            root: Any = model.model.get_encoder() if model.is_encoder_decoder else model.model
            self._table = root.get_input_embeddings().weight.detach().float().cpu().numpy()
        self.name = "input embeddings" if given is None else getattr(given, "__name__", type(given).__name__)

    def of(self, placed: PlacedSentence) -> Floats:
        """float32 [words, raw width]; NaN for a word without a vector.

        Raises:
            InputError: given vectors of different widths, or not as many as words.
        """
        words = [word.form for word in placed.sentence.words]
        if self._table is not None:
            sums = np.zeros((placed.n_units + 1, self._table.shape[1]), dtype=np.float32)
            np.add.at(sums, placed.units, self._table[placed.example.source.ids])  # -1 is the last row
            counts = np.bincount(placed.units[placed.units >= 0], minlength=placed.n_units + 1)
            with np.errstate(invalid="ignore", divide="ignore"):
                means: Floats = (sums / counts[:, None]).astype(np.float32)
            means[-1] = np.nan
            return means[[-1 if unit is None else unit for unit in placed.unit_of]]
        if callable(self._given) and not hasattr(self._given, "get"):
            found = np.asarray(self._given(words), dtype=np.float32)
            if found.ndim != 2 or len(found) != len(words):
                raise InputError(
                    f"expected embeddings= to give {len(words)} vectors for {len(words)} words, got {found.shape}"
                )
            return found
        return self._looked_up(words)

    def _looked_up(self, words: list[str]) -> Floats:
        get: Any = self._given.get  # type: ignore[union-attr]
        found = [get(word) if get(word) is not None else get(word.lower()) for word in words]
        sizes = {np.shape(vector) for vector in found if vector is not None}
        if len(sizes) > 1 or any(len(size) != 1 for size in sizes):
            shown = ", ".join(map(str, sorted(sizes)))
            raise InputError(f"expected vectors of one width in embeddings=, got shapes {shown}")
        width = next(iter(sizes))[0] if sizes else 1
        return np.array([np.full(width, np.nan) if v is None else v for v in found], dtype=np.float32)

    def lens(self, sentences: Sequence[PlacedSentence], width: int | None) -> Lens:
        """Centre, turn and scale, from the words of a training set.

        Args:
            sentences: The training set.
            width: Directions kept, those of most spread; all (but those without any spread) when None.

        Raises:
            InputError: no word of the training set has a vector.
        """
        total, sums, squares = 0, np.zeros(0), np.zeros((0, 0))
        for start in range(0, len(sentences), 256):
            parts = [self.of(s) for s in sentences[start : start + 256]]
            most = max(part.shape[1] for part in parts)
            raw = np.concatenate([part for part in parts if part.shape[1] == most]).astype(np.float64)
            raw = raw[~np.isnan(raw).any(1)]
            if len(sums) < most and len(raw):
                total, sums, squares = 0, np.zeros(most), np.zeros((most, most))
            if len(raw):
                total += len(raw)
                sums += raw.sum(0)
                squares += raw.T @ raw
        if total < 2:
            raise InputError("expected embeddings= with vectors for words of the treebank, got none for any of them")
        mean = sums / total
        spread, directions = np.linalg.eigh(squares / total - np.outer(mean, mean))
        kept = np.flatnonzero(spread > 1e-6 * spread[-1])[::-1][:width]
        turn = directions[:, kept] / np.sqrt(spread[kept])
        return Lens(mean.astype(np.float32), turn.astype(np.float32))


def distances(words: int, channels: int) -> NDArray[np.float16]:
    """Distances in the form of maps, float16 [2 + words, channels, 2 + words]: channel k is 1 where the column stands
    k + 1 positions to the right of the row, the last also where it stands farther; the marks are the positions just
    before and just after the sentence. With rows and columns exchanged that says the same of the left side, so a
    `MapScorer` on these has one number (or vector) for each distance and side, as many as for attention.
    """
    place = np.array([0, words + 1, *range(1, words + 1)])
    ahead = place[None] - place[:, None]
    channel = np.minimum(ahead, channels) - 1
    found = np.zeros((words + MARKS, channels, words + MARKS), dtype=np.float16)
    row, column = np.nonzero(ahead > 0)
    found[row, channel[row, column], column] = 1
    return found


def gold(sentence: Sentence) -> Wholes:
    """Per word its head among the candidates: 0 the root, 1 + position a word; `IGNORED` without a tree."""
    return np.array([IGNORED if w.head is None else w.head + 1 for w in sentence.words], dtype=np.int64)


def control(sentence: Sentence, seed: int) -> Wholes:
    """A task that only says how much a probe can learn by heart: every word type always attaches to the first word, to
    the last word or to the root, which of them is drawn once per type.

    Source: Hewitt and Liang 2019, section 3.2. Their third behaviour is the word itself, which is no candidate here; a
    word that would attach to itself attaches to the root.
    """
    last = len(sentence)
    found = [(0, 1, last)[_draw(word.form, seed)] for word in sentence.words]
    return np.array([0 if head == own else head for own, head in enumerate(found, start=1)], dtype=np.int64)


def _draw(form: str, seed: int) -> int:
    return hashlib.sha256(f"{seed} {form}".encode("utf-8", "surrogatepass")).digest()[0] % 3
