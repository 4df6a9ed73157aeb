"""What is rare in a text, for whom, and how often would one point at it without looking at the words?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

MEASURES = {
    "token1": "queries that point at the rarest",
    "token2": "queries that point at one of the two rarest",
    "sentence1": "sentences whose rarest gets most attention",
    "sentence2": "sentences in which one of the two rarest gets most attention",
}
"""By name, what a fraction is of."""

LEAST_SEEN = 3
"""Positions that a query must see to count: of two, one of the two rarest is always hit."""
OFFSETS = tuple(range(-10, 11))
PLACES = (*range(10), *range(-10, 0))
"""Positions from the start and from the end that are tried as a baseline."""


@dataclass(frozen=True)
class Rarity:
    """What is rare in one text of n positions.

    Attributes:
        seen: Bool [query, key]: candidates of a query.
        queries: Bool [query]: those that count.
        keys: Bool [key]: candidates of the whole text.
        rare1: Bool [query, key]: candidates of the rarest type that the query sees, and of those as rare.
        rare2: The same for the two rarest types.
        whole1: Bool [key]: the rarest candidates of the whole text.
        whole2: The same for the two rarest types.
        lengths: Characters, int64 [key].
    """

    seen: Bools
    queries: Bools
    keys: Bools
    rare1: Bools
    rare2: Bools
    whole1: Bools
    whole2: Bools
    lengths: NDArray[np.int64]


def least(
    frequency: Floats,
    names: Sequence[str],
    lengths: NDArray[np.int64],
    threshold: float,
    *,
    causal: bool,
    skip: bool,
) -> Rarity | None:
    """What is rare in a text; None where nothing is.

    Args:
        frequency: Of every position's type, [n]; infinite is never rare.
        names: Types of the positions, [n].
        lengths: Characters of every position, [n].
        threshold: Only what is below is rare.
        causal: A query sees what stands at it and before it.
        skip: The first position is no candidate.
    """
    n = len(frequency)
    keys = np.ones(n, dtype=bool)
    keys[: int(skip)] = False
    seen = np.tri(n, dtype=bool) & keys if causal else np.broadcast_to(keys, (n, n)).copy()
    _, types = np.unique(np.array(names), return_inverse=True)

    def rarest(candidates: Bools) -> tuple[Bools, Bools]:
        return _rarest(frequency, types, candidates, threshold)

    whole = rarest(keys)
    if keys.sum() < LEAST_SEEN or not whole[0].any():
        return None
    rare = (
        [np.array(own) for own in zip(*map(rarest, seen), strict=True)]
        if causal
        else [np.tile(x, (n, 1)) for x in whole]
    )
    queries = (seen.sum(1) >= LEAST_SEEN) & rare[0].any(1)
    if not queries.any():
        return None
    return Rarity(seen, queries, keys, rare[0], rare[1], whole[0], whole[1], lengths)


def _rarest(frequency: Floats, types: NDArray[np.int64], candidates: Bools, threshold: float) -> tuple[Bools, Bools]:
    """Candidates of the rarest type, and of the two rarest; none where the rarest is not below the threshold."""
    _, first = np.unique(np.where(candidates & np.isfinite(frequency), types, -1), return_index=True)
    own = np.sort(frequency[first][(candidates & np.isfinite(frequency))[first]])
    if not len(own) or not own[0] < threshold:
        nothing = np.zeros(len(frequency), dtype=bool)
        return nothing, nothing
    return candidates & (frequency <= own[0]), candidates & (frequency <= own[min(2, len(own)) - 1])


@dataclass(frozen=True)
class Guess:
    """A baseline: hits per text [texts] out of what could be hit, and the fraction in all."""

    name: str
    hits: Floats
    value: float


def guesses(rarities: Sequence[Rarity], causal: bool) -> dict[str, list[Guess]]:
    """Baselines that know where words stand and how long they are, but not how rare.

    Chance is one of the candidates at random; ``offset`` (of queries) and ``place`` (of sentences) are the best fixed
    ones on these very texts, so they err on the side of the baseline; ``longest`` is the longest candidate.

    Args:
        rarities: Of the texts.
        causal: Queries see different candidates.
    """
    queries = np.array([r.queries.sum() for r in rarities], dtype=np.float64)
    found: dict[str, list[Guess]] = {}
    for k in (1, 2):
        rare = [getattr(r, f"rare{k}") & r.queries[:, None] for r in rarities]
        whole = [getattr(r, f"whole{k}") for r in rarities]

        def guess(name: str, hits: Any, total: float) -> Guess:
            array = np.array(hits, dtype=np.float64)
            return Guess(name, array, float(array.sum() / total))

        chance = [(x / np.maximum(r.seen.sum(1), 1)[:, None]).sum() for x, r in zip(rare, rarities, strict=True)]
        shifted = {o: [np.trace(x, offset=o) for x in rare] for o in OFFSETS if o <= 0 or not causal}
        longest = [
            x[np.arange(len(x)), np.where(r.seen, r.lengths, -1).argmax(1)].sum()
            for x, r in zip(rare, rarities, strict=True)
        ]
        tokens = [guess(f"offset {o:+d}" if o else "itself", hits, queries.sum()) for o, hits in shifted.items()]
        found[f"token{k}"] = [
            guess("chance", chance, queries.sum()),
            max(tokens, key=lambda g: g.value),
            guess("longest", longest, queries.sum()),
        ]
        places = [
            guess(
                f"place {place + 1} from the start" if place >= 0 else f"place {-place} from the end",
                [-len(x) <= place < len(x) and x[place] for x in whole],
                len(rarities),
            )
            for place in PLACES
        ]
        found[f"sentence{k}"] = [
            guess("chance", [x.sum() / r.keys.sum() for x, r in zip(whole, rarities, strict=True)], len(rarities)),
            max(places, key=lambda g: g.value),
            guess(
                "longest",
                [x[np.where(r.keys, r.lengths, -1).argmax()] for x, r in zip(whole, rarities, strict=True)],
                len(rarities),
            ),
        ]
    return found


def weighed(counts: Any) -> Floats:
    """A tensor of counts as float64."""
    return np.asarray(counts.cpu().numpy(), dtype=np.float64)
