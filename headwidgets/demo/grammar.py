"""Sentences with a known opinion, from a seeded grammar: the training and evaluation data of the demo.

The label is the speaker's own verdict on the thing under review. Words alone do not give it away: constructions negate,
contrast, concede, report what others think, compare with an earlier version. See `headwidgets.demo.frames`.

Held out are whole aspects and not only sentences. Each evaluation sentence has something that training never showed:
an opinion word (`"word"`), a frame (`"frame"`), or the use of a frame in a domain (`"use"`).

Only `random.Random.random` is used, whose sequence Python guarantees for a seed, so that the same
sentences come out on every machine and version of Python.
"""

import hashlib
import itertools
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from headwidgets.demo.frames import FRAMES, OPENERS, SHARES
from headwidgets.demo.words import (
    DEEDS,
    DOMAINS,
    FEELINGS,
    FRIENDS,
    HELD_OUT,
    NOUNS,
    PEOPLE,
    TIMES,
    Domain,
    Pair,
    Part,
)

Split = Literal["train", "development", "evaluation"]
HeldOut = Literal["word", "frame", "use"]

LABELS = ("negative", "positive")
"""Names of the classes, in the order of the model's outputs."""
SEED = 20240
TRAIN_SIZE = 9_600
DEVELOPMENT_SIZE = 400
EVALUATION_SIZE = 1_200

_T = TypeVar("_T")
_SLOT = re.compile(r"\{(\w+)\}")
_VOWEL = re.compile(r"\b([Aa]) (?=[aeiou])")
_START = re.compile(r"(^|[.] )([a-z])")
_KINDS: tuple[HeldOut, ...] = ("word", "frame", "use")


@dataclass(frozen=True)
class Sentence:
    """A sentence, its label and how it was made.

    Attributes:
        text: 5 to 30 words.
        label: `"positive"` or `"negative"`, the speaker's verdict.
        construction: Name of the group of frames, for example `"negation"`.
        domain: What is judged, for example `"film"`.
        held_out: What training never showed; None for training sentences.
    """

    text: str
    label: str
    construction: str
    domain: str
    held_out: HeldOut | None


@dataclass(frozen=True)
class _Frame:
    text: str
    construction: str
    kept: bool
    """Kept for evaluation."""

    @property
    def slots(self) -> frozenset[str]:
        return frozenset(_SLOT.findall(self.text))


_FRAMES = tuple(
    _Frame(text.removeprefix("* "), construction, text.startswith("* "))
    for construction, texts in FRAMES.items()
    for text in texts
)


def _kept_use(frame: _Frame, domain: Domain) -> bool:
    """Whether the use of a frame in a domain is kept for evaluation: one in five, by a hash of both."""
    digest = hashlib.sha256(f"{frame.text}|{domain.thing}".encode()).digest()
    return digest[0] % 5 == 0


class _Writer:
    """Writes sentences from one stream of random numbers."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed).random

    def pick(self, items: Sequence[_T]) -> _T:
        return items[int(self._random() * len(items))]

    def chance(self, share: float) -> bool:
        return self._random() < share

    def construction(self) -> str:
        point = self._random() * sum(SHARES.values())
        for name, share in SHARES.items():
            point -= share
            if point < 0:
                return name
        return name

    def sentence(self, label: str, held_out: HeldOut | None) -> Sentence:
        """Draw until the sentence is held out in just the way asked for."""
        name = self.construction()
        while True:
            frame = self.pick([frame for frame in _FRAMES if frame.construction == name])
            domain = self.pick(DOMAINS)
            if "topic" in frame.slots and not domain.topics:
                continue
            if frame.kept != (held_out == "frame"):
                continue
            if not frame.kept and _kept_use(frame, domain) != (held_out == "use"):
                continue
            filled = self._fill(frame, domain, label == LABELS[1], new_words=held_out == "word")
            if filled is not None:
                return Sentence(filled, label, name, domain.thing, held_out)

    def _pair(self, pairs: Sequence[Pair], new_words: bool) -> Pair:
        known = [pair for pair in pairs if not HELD_OUT.intersection(pair)]
        return self.pick(pairs if new_words else known)

    def _fill(self, frame: _Frame, domain: Domain, positive: bool, new_words: bool) -> str | None:
        """Fill the slots; None when words repeat, or when new words were asked for and none came."""
        part, other = self.pick(domain.parts), self.pick(domain.parts)
        if part is other:
            return None
        words: dict[str, str] = {}
        opinions = (
            ("g", "b", part.opinions),
            ("g2", "b2", other.opinions),
            ("G", "B", domain.whole),
            ("GN", "BN", NOUNS),
            ("GV", "BV", DEEDS),
            ("GF", "BF", FEELINGS),
        )
        for same, opposite, pairs in opinions:
            good, bad = self._pair(pairs, new_words)
            words[same], words[opposite] = (good, bad) if positive else (bad, good)
        used = [words[slot] for slot in words if slot in frame.slots]
        if len(set(used)) != len(used) or new_words != bool(HELD_OUT.intersection(used)):
            return None
        if any(
            {same, opposite} <= frame.slots and words[same].removeprefix("un") == words[opposite].removeprefix("un")
            for same, opposite, _ in opinions
        ):
            return None  # "not helpful but unhelpful" says nothing
        words |= self._nouns(domain, part, other)
        text = _SLOT.sub(lambda match: words[match.group(1)], frame.text)
        if self.chance(0.2) and text.startswith(("the ", "this ")):
            text = f"{self.pick(OPENERS)} {text}"
        elif self.chance(0.2) and not {"did", "habit"} & frame.slots:
            text = f"{self._preface(words)} {text}"
        text = _VOWEL.sub(r"\1n ", text)
        return _START.sub(lambda match: match.group(1) + match.group(2).upper(), text)

    def _nouns(self, domain: Domain, part: Part, other: Part) -> dict[str, str]:
        topics = self.pick(domain.topics) if domain.topics else ("",)
        return {
            "thing": domain.thing,
            "part": part.name,
            "part2": other.name,
            "is": "are" if part.plural else "is",
            "was": "were" if part.plural else "was",
            "is2": "are" if other.plural else "is",
            "was2": "were" if other.plural else "was",
            "it": "them" if part.plural else "it",
            "it_is": "they are" if part.plural else "it is",
            "who": self.pick(PEOPLE),
            "old": self.pick(domain.old),
            "topic": self.pick(topics),
            "did": self.pick(domain.did),
            "habit": domain.habit,
            "maker": domain.maker,
            "time": self.pick(TIMES),
        }

    def _preface(self, words: dict[str, str]) -> str:
        """A sentence without an opinion, to stand before the one that has it."""
        preface = self.pick(("we {did} {time}.", "I {did} {time}.", "{friend} and I {did}.", "I do not {habit} often."))
        words["friend"] = self.pick([friend for friend in FRIENDS if friend != words["who"]])
        return _SLOT.sub(lambda match: words[match.group(1)], preface)


def _distinct(seed: str, kinds: Sequence[HeldOut | None]) -> Iterator[Sentence]:
    """Endless distinct sentences: labels alternate, and each kind of `kinds` is used for one pair of labels."""
    writer, seen, number = _Writer(seed), set[str](), 0
    while True:
        sentence = writer.sentence(LABELS[1 - number % 2], kinds[number // 2 % len(kinds)])
        if sentence.text not in seen:
            seen.add(sentence.text)
            number += 1
            yield sentence


def sentences(split: Split, seed: int = SEED) -> list[Sentence]:
    """Write the sentences of one split.

    Args:
        split: `"train"`, `"development"` (to rank heads on) or `"evaluation"`. The last two are held out alike and
            share no sentence.
        seed: Chooses other sentences of the same grammar.

    Returns:
        9,600, 400 or 1,200 distinct sentences in a fixed order, half of them positive (in training within a few).

    Raises:
        ValueError: For another name of a split.
    """
    if split not in ("train", "development", "evaluation"):
        raise ValueError(f"split is 'train', 'development' or 'evaluation', not {split!r}.")
    source = _distinct(f"held out {seed}", _KINDS)
    evaluation = [next(source) for _ in range(EVALUATION_SIZE)]
    if split == "evaluation":
        return evaluation
    development = [next(source) for _ in range(DEVELOPMENT_SIZE)]
    if split == "development":
        return development
    # Two frames can rarely make the same sentence ("is not dull, and" after an opener): never one that is held out.
    known = {sentence.text for sentence in evaluation + development}
    training = (sentence for sentence in _distinct(f"train {seed}", (None,)) if sentence.text not in known)
    return list(itertools.islice(training, TRAIN_SIZE))


def digest(texts: Sequence[Sentence]) -> str:
    """The SHA-256 of texts and labels in their order, as 64 hexadecimal digits."""
    lines = "".join(f"{sentence.label}\t{sentence.text}\n" for sentence in texts)
    return hashlib.sha256(lines.encode()).hexdigest()
