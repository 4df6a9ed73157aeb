"""Sentences with their trees and coreference, from a seeded grammar: the demo's treebank.

Short stories of three sentences about a person and a thing, in Universal Dependencies. They are simple, so what a head
finds here says what the call does, not how well the head would do on real text: read a treebank for that.

Only `random.Random.random` is used, as in `headwidgets.demo.grammar`.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeVar

from headwidgets.errors import InputError

if TYPE_CHECKING:
    from headwidgets.text.treebank import Treebank

SIZES = {"train": 600, "dev": 300, "test": 300}
"""Sentences in each split."""
_SEEDS = {"train": 7, "dev": 8, "test": 9}
_T = TypeVar("_T")

_PEOPLE = (
    ("sister", "she", "her"), ("brother", "he", "his"), ("aunt", "she", "her"), ("uncle", "he", "his"),
    ("neighbour", "she", "her"), ("teacher", "he", "his"), ("mother", "she", "her"), ("cousin", "he", "his"),
    ("gardener", "he", "his"), ("pilot", "she", "her"), ("doctor", "she", "her"), ("baker", "he", "his"),
)  # fmt: skip
_NAMES = (("Anna", "she", "her"), ("Peter", "he", "his"), ("Maria", "she", "her"), ("Thomas", "he", "his"))
_THINGS = (
    "lamp", "chair", "bicycle", "piano", "letter", "picture", "clock", "boat", "carpet", "mirror", "suitcase", "camera",
    "guitar", "table", "basket", "umbrella",
)  # fmt: skip
_PLACES = ("garden", "kitchen", "station", "market", "library", "cellar", "harbour", "school", "village", "museum")
_LOOKS = ("old", "small", "heavy", "green", "broken", "strange", "beautiful", "expensive", "narrow", "quiet")
_TRANSITIVE = ("bought", "sold", "found", "repaired", "painted", "lost", "carried", "cleaned", "opened", "hid")
_INTRANSITIVE = ("slept", "waited", "laughed", "worked", "arrived", "rested", "sang", "left")
_SAYING = ("said", "thought", "knew", "believed", "hoped", "claimed")
_MANNER = ("quickly", "slowly", "carefully", "secretly", "again", "often", "yesterday", "silently")
_BEFORE = ("because", "although", "while", "after")
_WHERE = ("in", "near", "behind", "at")


@dataclass
class _Node:
    """A word and what hangs on it."""

    form: str
    upos: str
    before: list[tuple[str, "_Node"]] = field(default_factory=list)
    after: list[tuple[str, "_Node"]] = field(default_factory=list)
    entity: str = ""
    """Set at the head of a mention; the mention is all that hangs on it."""
    glued: bool = False

    def left(self, *children: tuple[str, "_Node"]) -> "_Node":
        self.before += children
        return self

    def first(self, relation: str, child: "_Node") -> "_Node":
        self.before.insert(0, (relation, child))
        return self

    def right(self, *children: tuple[str, "_Node"]) -> "_Node":
        self.after += children
        return self


@dataclass(frozen=True)
class _Person:
    entity: str
    noun: str
    pronoun: str
    possessive: str
    named: bool


class _Story:
    """One document: who and what it is about, and chance."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        named = self.chance(0.3)
        noun, pronoun, possessive = self.one(_NAMES if named else _PEOPLE)
        self.person = _Person("person", noun, pronoun, possessive, named)
        self.thing = self.one(_THINGS)

    def chance(self, share: float) -> bool:
        return self._random.random() < share

    def one(self, choices: Sequence[_T]) -> _T:
        return choices[int(self._random.random() * len(choices))]

    # ---- phrases

    def who(self, pronoun: bool) -> _Node:
        person = self.person
        if pronoun:
            return _Node(person.pronoun, "PRON", entity=person.entity)
        if person.named:
            return _Node(person.noun, "PROPN", entity=person.entity)
        owner = self.one((("nmod:poss", _Node("my", "PRON")), ("det", _Node("the", "DET"))))
        return self.looks(_Node(person.noun, "NOUN", entity=person.entity), 0.3).first(*owner)

    def what(self, pronoun: bool) -> _Node:
        if pronoun:
            return _Node("it", "PRON", entity="thing")
        noun = _Node(self.thing, "NOUN", entity="thing")
        first = ("nmod:poss", _Node(self.person.possessive, "PRON", entity=self.person.entity))
        if self.chance(0.6):
            first = ("det", _Node(self.one(("the", "a", "this")), "DET"))
        return self.looks(noun, 0.5).first(*first)

    def looks(self, noun: _Node, share: float) -> _Node:
        while self.chance(share) and len(noun.before) < 2:
            noun.left(("amod", _Node(self.one(_LOOKS), "ADJ")))
        return noun

    def where(self) -> tuple[str, _Node]:
        noun = self.looks(_Node(self.one(_PLACES), "NOUN"), 0.3).first("det", _Node("the", "DET"))
        noun.before.insert(0, ("case", _Node(self.one(_WHERE), "ADP")))
        return "obl", noun

    # ---- clauses

    def clause(self, pronouns: bool) -> _Node:
        who = ("nsubj", self.who(pronouns))
        if self.chance(0.2):
            state = _Node(self.one(_LOOKS), "ADJ").left(("nsubj", self.what(pronouns)), ("cop", _Node("was", "AUX")))
            return state.left(("advmod", _Node("very", "ADV"))) if self.chance(0.3) else state
        if self.chance(0.3):
            verb = _Node(self.one(_INTRANSITIVE), "VERB").left(who)
        else:
            verb = _Node(self.one(_TRANSITIVE), "VERB").left(who).right(("obj", self.what(pronouns)))
        if self.chance(0.25):
            verb.before.append(("advmod", _Node(self.one(_MANNER[:4]), "ADV")))
        elif self.chance(0.25):
            verb.after.append(("advmod", _Node(self.one(_MANNER), "ADV")))
        return verb.right(self.where()) if self.chance(0.4) else verb

    def sentence(self, pronouns: bool) -> _Node:
        kind = self.one(("plain", "plain", "because", "that", "and"))
        main = self.clause(pronouns or kind == "that")
        if kind == "that":
            inner = main.first("mark", _Node("that", "SCONJ"))
            main = _Node(self.one(_SAYING), "VERB").left(("nsubj", self.who(pronouns))).right(("ccomp", inner))
        elif kind == "because":
            inner = self.clause(True).first("mark", _Node(self.one(_BEFORE), "SCONJ"))
            main.right(("advcl", inner))
        elif kind == "and":
            other = _Node(self.one(_INTRANSITIVE), "VERB").left(("cc", _Node("and", "CCONJ")))
            main.right(("conj", other))
        return main.right(("punct", _Node(".", "PUNCT", glued=True)))


def _in_order(node: _Node, relation: str, head: _Node | None) -> Iterator[tuple[_Node, str, _Node | None]]:
    for label, child in node.before:
        yield from _in_order(child, label, node)
    yield node, relation, head
    for label, child in node.after:
        yield from _in_order(child, label, node)


def treebank(split: Literal["train", "dev", "test"] = "dev") -> "Treebank":
    """Trees and coreference of the demo's own stories.

    Args:
        split: ``train`` (600 sentences, to choose heads on), ``dev`` (300) or ``test`` (300); they share no sentence.

    Returns:
        A treebank in Universal Dependencies; each document has three sentences.

    Raises:
        InputError: another name of a split.
    """
    from headwidgets.text.treebank import Mention, Sentence, Treebank, Word

    if split not in SIZES:
        raise InputError(f"expected split as one of {', '.join(SIZES)}, got {split!r}")
    taken = {s.text for other in list(SIZES)[: list(SIZES).index(split)] for s in treebank(other)}  # type: ignore[arg-type]
    found: list[Sentence] = []
    number = 0
    while len(found) < SIZES[split]:
        number += 1
        story = _Story(1000 * number + _SEEDS[split])
        roots = [story.sentence(False), story.sentence(True), story.sentence(True)]
        name = f"{split}-{number}"
        written = []
        for place, root in enumerate(roots):
            nodes = list(_in_order(root, "root", None))
            position = {id(node): i for i, (node, _, _) in enumerate(nodes)}
            text, words, mentions = "", [], []
            for i, (node, label, head) in enumerate(nodes):
                form = node.form[:1].upper() + node.form[1:] if i == 0 else node.form
                text += "" if not text or node.glued else " "
                span = (len(text), len(text) + len(form))
                text += form
                at = -1 if head is None else position[id(head)]
                words.append(Word(form, node.upos, at, label, span, node.form))
                if node.entity:
                    own = tuple(position[id(inner)] for inner, _, _ in _in_order(node, "", None))
                    kind = "person" if node.entity == "person" else "object"
                    mentions.append(Mention(f"{name}.{node.entity}".replace("-", "."), own, i, kind))
            mentions.sort(key=lambda mention: (mention.words[0], -len(mention.words)))  # as a reader meets them
            written.append(Sentence(tuple(words), text, f"{name}-{place + 1}", name, tuple(mentions)))
        if not taken & {s.text for s in written}:
            found += written
            taken |= {s.text for s in written}
    return Treebank(tuple(found[: SIZES[split]]), f"demo stories, {split}")
