"""Which instances are kept to be looked at, and what heads find in them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headwidgets.probing.linking.asking import Asked
from headwidgets.probing.linking.examples import Direction, LinkExample
from headwidgets.probing.linking.judging import RowKey, Split
from headwidgets.probing.linking.placed import PlacedExample, PlacedExamples
from headwidgets.probing.linking.result import LinkArc, LinkSentence

LONG = 40
"""Words of a text that is preferably not shown."""
_PLACES = 1009
"""Of one text, links are taken in the order of a shuffled list of this length."""


@dataclass(frozen=True)
class Kept:
    """Instances to keep: by direction, and by row in the order of the table."""

    wanted: dict[Direction, set[int]]
    by_row: dict[int, list[tuple[Direction, int]]]


def to_keep(
    keys: Sequence[RowKey], asked: Mapping[Direction, Asked], placed: PlacedExamples, most: int, seed: int
) -> Kept:
    """Some instances of every row, at random, short texts first; mostly the same for all directions of a relation."""
    generator = np.random.default_rng(seed)
    rank = generator.permutation(len(placed.examples))
    length = np.array([max(one.query.n, one.key.n) for one in placed.examples])
    cost = rank + np.where(length > LONG, len(rank), 0) + np.where(length < 4, len(rank), 0)
    shuffled = generator.permutation(_PLACES)
    places: dict[Direction, NDArray[np.int64]] = {}
    for direction, a in asked.items():
        marks = [7 * example + link.source[0] for example, link in zip(a.example.tolist(), a.links, strict=True)]
        places[direction] = shuffled[np.array(marks, dtype=np.int64) % _PLACES]
    wanted: dict[Direction, set[int]] = {}
    by_row: dict[int, list[tuple[Direction, int]]] = {}
    for number, key in enumerate(keys):
        if not len(key.second) or not most:
            continue
        own = asked[key.direction].example[key.second]
        chosen: list[int] = []
        texts: set[int] = set()
        order = np.lexsort((places[key.direction][key.second], cost[own]))
        for again in (False, True):
            for at in order.tolist():
                instance, text = int(key.second[at]), int(own[at])
                if len(chosen) < most and instance not in chosen and (again or text not in texts):
                    chosen.append(instance)
                    texts.add(text)
        wanted.setdefault(key.direction, set()).update(chosen)
        by_row[number] = [(key.direction, instance) for instance in chosen]
    return Kept(wanted, by_row)


def kept_arcs(
    kept: Kept, split: Split, placed: PlacedExamples
) -> tuple[list[LinkSentence], list[LinkArc], dict[int, tuple[int, ...]]]:
    """The texts, the arcs with what every head finds, and by row the numbers of its arcs."""
    sentences: list[LinkSentence] = []
    arcs: list[LinkArc] = []
    known: dict[int, int] = {}
    numbers: dict[tuple[Direction, int], int] = {}
    by_row: dict[int, tuple[int, ...]] = {}
    for row, instances in kept.by_row.items():
        own: list[int] = []
        for direction, instance in instances:
            if (direction, instance) not in numbers:
                example = int(split.asked[direction].example[instance])
                if example not in known:
                    known[example] = len(sentences)
                    sentences.append(_sentence(placed.examples[example].given))
                numbers[direction, instance] = len(arcs)
                arcs.append(_arc(known[example], direction, instance, split, placed.examples[example], placed.cross))
            own.append(numbers[direction, instance])
        by_row[row] = tuple(own)
    return sentences, arcs, by_row


def _arc(sentence: int, direction: Direction, instance: int, split: Split, own: PlacedExample, cross: bool) -> LinkArc:
    asked = split.asked[direction]
    link = asked.links[instance]
    source, target = (link.source, link.target)
    shift = len(own.given.against.words) if own.given.against is not None else 0
    source = tuple(word + shift for word in source)
    chosen, moved = (own.key, 0) if asked.by_row else (own.query, shift)
    if direction in ("backward", "received backward"):
        source, target = target, source
    of_unit = np.array([*(word + moved for word in chosen.words), -1], dtype=np.int32)
    found = split.seen.predicted[direction, instance]
    return LinkArc(sentence, source, target, np.concatenate([of_unit[positions] for positions in found.values()]))


def _sentence(given: LinkExample) -> LinkSentence:
    """The text's words; of a pair those of the encoder's text come first."""
    parts = [given] if given.against is None else [given.against, given]
    words: list[str] = []
    glued: list[bool] = []
    for part in parts:
        words += part.words
        ends = [0, *(end for _, end in part.spans[:-1])]
        glued += [i > 0 and start <= end for i, ((start, _), end) in enumerate(zip(part.spans, ends, strict=True))]
    second = len(given.against.words) if given.against is not None else 0
    return LinkSentence(tuple(words), tuple(glued), given.name, second)
