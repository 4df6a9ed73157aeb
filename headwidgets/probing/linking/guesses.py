"""What could be guessed without looking at the model? Fixed offsets, the nearest word of one part of speech, and rules
of the caller's own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwidgets.errors import InputError
from headwidgets.probing.linking.asking import Asked, Bools, Ints, Part, any_of
from headwidgets.probing.linking.examples import Link, LinkExample
from headwidgets.probing.linking.placed import PlacedExamples, WordSide

Baseline = Callable[[LinkExample, Link], int | None]
"""A guess that looks at words only: the position of the word it would choose, None for no guess."""
SIDES = ("before", "after", "on either side")
_FAR = 1 << 30
_WORTH = 0.002
_SEVERAL = 4
"""Parts of speech of one rule, at most."""


@dataclass(frozen=True)
class Rule:
    """The nearest word of some parts of speech, before, after or on either side of the word that is asked."""

    tags: tuple[str, ...]
    side: str

    def __str__(self) -> str:
        return f"nearest {'/'.join(self.tags)} {self.side}"


@dataclass(frozen=True)
class Nearest:
    """How far the nearest word of every part of speech is from every question, and whether it is right.

    Attributes:
        tags: Parts of speech.
        start: First question of every instance, [instances].
        gaps: Words to it, before and after; `_FAR` for none; int32 [2, questions, tags].
        right: Whether it is right, bool [2, questions, tags].
    """

    tags: tuple[str, ...]
    start: Ints
    gaps: NDArray[np.int32]
    right: Bools

    def found(self, rule: Rule, instances: Ints) -> Bools:
        """Whether a rule finds some instances, bool [instances]; one question of several is enough."""
        rows, starts = self._questions(instances)
        columns = [self.tags.index(tag) for tag in rule.tags]
        hits = self._hits(rows, columns, rule.side)
        return np.logical_or.reduceat(hits, starts) if len(starts) else hits

    def best(self, instances: Ints) -> tuple[Rule, Rule]:
        """The rule of one part of speech that finds the most instances; and of several, added while they help.

        Parts of speech are added one at a time, the one that helps most first, as long as each adds `_WORTH` to the
        accuracy and finds two instances more.
        """
        rules = [Rule((tag,), side) for side in SIDES for tag in self.tags]
        rates = [float(self.found(rule, instances).mean()) for rule in rules]
        rate = max(rates)
        one = rules[rates.index(rate)]
        several = one
        least = max(_WORTH, 2 / len(instances))
        while len(several.tags) < min(_SEVERAL, len(self.tags)):
            more = [Rule((*several.tags, tag), several.side) for tag in self.tags if tag not in several.tags]
            rates = [float(self.found(rule, instances).mean()) for rule in more]
            if max(rates) < rate + least:
                break
            rate = max(rates)
            several = more[rates.index(rate)]
        return one, several

    def _questions(self, instances: Ints) -> tuple[Ints, Ints]:
        """Their questions, and where each instance begins among them."""
        ends = np.append(self.start[1:], self.gaps.shape[1])
        sizes = ends[instances] - self.start[instances]
        starts = np.cumsum(sizes) - sizes
        rows = np.repeat(self.start[instances] - starts, sizes) + np.arange(int(sizes.sum()))
        return rows, starts

    def _hits(self, rows: Ints, columns: list[int], side: str) -> Bools:
        gaps, right = self.gaps[:, rows][:, :, columns], self.right[:, rows][:, :, columns]
        nearest = gaps.argmin(-1)[..., None]
        near = np.take_along_axis(gaps, nearest, -1)[..., 0]
        hit = np.take_along_axis(right, nearest, -1)[..., 0]
        hit &= near < _FAR
        if side == SIDES[2]:
            hit[0] = np.where(near[0] <= near[1], hit[0], hit[1])
        found: Bools = hit[SIDES.index(side) % 2]
        return found


@dataclass(frozen=True)
class Guesses:
    """Which instances each guess finds.

    Attributes:
        offsets: The fixed offsets that were tried.
        fixed: bool [instances, offsets].
        nearest: Of parts of speech; None when they are not known.
        own: The caller's guesses, by name, bool [instances].
    """

    offsets: tuple[int, ...]
    fixed: Bools
    nearest: Nearest | None
    own: dict[str, Bools]


def checked_baselines(given: Any) -> dict[str, Baseline]:
    """The caller's guesses by name.

    Raises:
        InputError: something else than functions by name.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(k, str) and callable(v) for k, v in given.items()):
        raise InputError(
            "expected baselines as functions by name, each of an example and a link, that return the position of a "
            f"word; got {given!r}"
        )
    return dict(given)


def guess(
    placed: PlacedExamples,
    asked: Asked,
    *,
    offsets: int,
    tags: tuple[str, ...],
    baselines: Mapping[str, Baseline] | None = None,
) -> Guesses:
    """Try every guess on every instance.

    Args:
        placed: The examples.
        asked: Their questions in one direction.
        offsets: The largest offset tried.
        tags: Parts of speech tried; empty when they are not known.
        baselines: The caller's guesses; tried in ``forward`` and ``received`` only.

    Raises:
        InputError: a guess that is no position of a word.
    """
    tried = tuple(d for d in range(-offsets, offsets + 1) if d or placed.cross)
    fixed = np.zeros((len(asked), len(tried)), dtype=bool)
    parts = [(placed.examples[number], part) for number, part in enumerate(asked.parts) if part is not None]
    for _, part in parts:
        fixed[part.start : part.start + int(part.instance[-1]) + 1] = any_of(_fixed(part, tried), part)
    named = {}
    if baselines and asked.direction in ("forward", "received"):
        for name, rule in baselines.items():
            named[name] = _own(placed, asked, name, rule)
    nearest = None
    if tags and parts:
        found = [_nearest(part, example.key if asked.by_row else example.query, tags) for example, part in parts]
        gaps, right = (np.concatenate([one[k] for one in found], axis=1) for k in (0, 1))
        owner = np.concatenate([part.instance + part.start for _, part in parts])
        nearest = Nearest(tags, np.flatnonzero(np.diff(owner, prepend=-1)), gaps, right)
    return Guesses(tried, fixed, nearest, named)


def _fixed(part: Part, tried: tuple[int, ...]) -> Bools:
    """Whether the word so many positions (or candidates) away is right; [questions, offsets]."""
    n = part.right.shape[1]
    steps = np.array(tried)
    start = np.where(steps[None] < 0, part.first[:, None], part.last[:, None])
    places = start + steps[None]
    inside = (places >= 0) & (places < n)
    hit: Bools = np.take_along_axis(part.right, np.clip(places, 0, n - 1), axis=1) & inside
    for q in np.flatnonzero(part.listed).tolist():
        allowed = np.flatnonzero(part.allowed[q])
        before = allowed[allowed < part.first[q]][::-1]
        after = allowed[allowed > part.last[q]]
        hit[q] = [_is_right(part.right[q], before if d < 0 else after, abs(d) - 1) for d in tried]
    return hit


def _is_right(right: Bools, candidates: NDArray[np.int64], which: int) -> bool:
    return 0 <= which < len(candidates) and bool(right[candidates[which]])


def _nearest(part: Part, chosen: WordSide, tags: tuple[str, ...]) -> tuple[NDArray[np.int32], Bools]:
    """Words to the nearest word of each part of speech, before and after, and whether it is right; see `Nearest`."""
    n = part.right.shape[1]
    places = np.arange(n)
    own = chosen.tags or ("",) * n
    is_tag = np.array([[tag == other for other in own] for tag in tags], dtype=bool).reshape(len(tags), n)
    fitting = part.allowed[:, None, :] & is_tag[None]
    first, last = part.first[:, None, None], part.last[:, None, None]
    before = np.where(fitting & (places < first), first - places, _FAR)
    after = np.where(fitting & (places >= last), places - last, _FAR)
    gaps, right = [], []
    for distance in (before, after):
        at = distance.argmin(-1)
        gaps.append(np.take_along_axis(distance, at[..., None], -1)[..., 0].astype(np.int32))
        right.append(np.take_along_axis(part.right, at, axis=1))
    return np.stack(gaps), np.stack(right)


def _own(placed: PlacedExamples, asked: Asked, name: str, rule: Baseline) -> Bools:
    found = np.zeros(len(asked), dtype=bool)
    for number, (link, at) in enumerate(zip(asked.links, asked.example.tolist(), strict=True)):
        given = placed.examples[at].given
        place = rule(given, link)
        known = place is None or (isinstance(place, (int, np.integer)) and not isinstance(place, bool))
        words = len((given.against or given).words)
        if not known or (place is not None and not 0 <= place < words):
            raise InputError(
                f"the baseline {name!r} guessed {place!r}: expected the position of a word, 0 to {words - 1}, or None"
            )
        found[number] = place is not None and int(place) in link.target
    return found


def tags_of(placed: PlacedExamples) -> tuple[str, ...]:
    """Parts of speech that are known, in alphabetical order."""
    found = {tag for one in placed.examples for side in (one.query, one.key) for tag in side.tags}
    return tuple(sorted(found - {"_", ""}))
