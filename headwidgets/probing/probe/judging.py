"""How good is a probe, and is it better than its controls? Intervals by sentence, verdicts over all relations."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headwidgets.scores import Interval
from headwidgets.statistics import proportion, ratio, ratio_variance, t_tail, t_value

Floats = NDArray[np.float64]
Wholes = NDArray[np.int64]
ENOUGH = 20
"""Instances below which nothing is called better than anything."""


@dataclass(frozen=True)
class Words:
    """Every word that has a head, of all evaluated sentences.

    Attributes:
        sentence: Number of its sentence, int64 [words].
        relation: Its label, without the subtype unless asked for, [words].
        offset: Where its head stands from it, int64 [words]; 0 for the root.
        around: Words to the left of it, and to the right, int64 [words, 2].
        text: It is no punctuation (its relation is not ``punct``), bool [words].
    """

    sentence: Wholes
    relation: NDArray[np.str_]
    offset: Wholes
    around: Wholes
    text: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.sentence)


def by_sentence(right: Floats, sentence: Wholes) -> tuple[Floats, Floats]:
    """Sums of right answers and counts of words per sentence that has any."""
    _, place = np.unique(sentence, return_inverse=True)
    sums = np.bincount(place, weights=right).astype(np.float64)
    return sums, np.bincount(place).astype(np.float64)


def accuracy(right: Floats, sentence: Wholes) -> Interval:
    """Share of right answers (0 to 1 each, so that seeds may be averaged), its 95 % interval clustered by sentence."""
    if not len(right):
        return Interval(math.nan, math.nan, math.nan)
    sums, counts = by_sentence(right, sentence)
    (low, high), _ = proportion(sums, counts, len(counts))
    return Interval(ratio(sums, counts), low, high)


def difference(right: Floats, other: Floats, sentence: Wholes) -> tuple[Interval, float]:
    """Paired difference of two shares with its interval by sentence, and the two-sided p-value of no difference.

    Both by Student's t, with a sentence less than there are.
    Where all sentences differ by the same, the p-value is that of the sign test.
    """
    if not len(right):
        return Interval(math.nan, math.nan, math.nan), math.nan
    gains, counts = by_sentence(right - other, sentence)
    value = ratio(gains, counts)
    n = len(counts)
    error = math.sqrt(ratio_variance(gains, counts)) if n > 1 else math.nan
    half = t_value(n - 1) * error
    p = 1.0
    if error > 0:
        p = t_tail(value / error, n - 1)
    elif error == 0 and value != 0:
        p = min(1.0, 2 * 0.5**n)
    return Interval(value, value - half, value + half), p


def discoveries(p: Sequence[float], level: float = 0.05) -> list[bool]:
    """Which hypotheses fall when the share of wrong ones among those that fall is to stay below `level`.

    Source: Benjamini and Hochberg 1995, Controlling the false discovery rate, JRSS B 57, 289. NaN never falls.
    """
    known = sorted((value, i) for i, value in enumerate(p) if not math.isnan(value))
    last = max((rank for rank, (value, _) in enumerate(known, 1) if value <= level * rank / len(known)), default=0)
    fallen = {i for _, i in known[:last]}
    return [i in fallen for i in range(len(p))]


def offset_guess(words: Words, offset: int) -> Floats:
    """Right answers of a fixed offset; where it leaves the sentence, the root is guessed."""
    beyond = np.where(offset < 0, words.around[:, 0] < -offset, words.around[:, 1] < offset)
    guess = np.where(beyond, 0, offset)
    right: Floats = (guess == words.offset).astype(np.float64)
    return right


def best_offsets(words: Words, farthest: int = 10) -> dict[str, int]:
    """The best fixed offset of each relation; that of all words under the empty name.

    Ties go to the nearest. The root has no offset: its relation has that of all words, which guesses the root where it
    leaves the sentence.
    """
    tried = sorted((o for o in range(-farthest, farthest + 1) if o), key=abs)
    hits = np.stack([offset_guess(words, offset) for offset in tried])
    found = {"": tried[int(hits.sum(1).argmax())]}
    for relation in dict.fromkeys(words.relation.tolist()):
        chosen = words.relation == relation
        rooted = (words.offset[chosen] == 0).mean() > 0.5
        found[relation] = found[""] if rooted else tried[int(hits[:, chosen].sum(1).argmax())]
    return found


def relation_guess(words: Words, offsets: Mapping[str, int]) -> Floats:
    """Right answers when each relation's own offset is guessed (the relation is told, so this is generous)."""
    right = np.zeros(len(words))
    for relation in np.unique(words.relation):
        chosen = words.relation == relation
        right[chosen] = offset_guess(words, offsets.get(str(relation), offsets[""]))[chosen]
    return right
