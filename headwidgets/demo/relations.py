"""Pairs of entities with a known relation, from templates: what `hw.probing` needs to look for heads that link them."""

import random
import re

from headwidgets.errors import InputError

_PAIRS = {
    "Component-Whole": "handle/door, wheel/cart, key/piano, sail/boat, page/book, roof/barn, string/guitar, leg/chair",
    "Content-Container": "tea/kettle, wine/barrel, honey/jar, letters/box, apples/basket, coins/purse, milk/bottle",
    "Product-Producer": "bread/baker, song/composer, wall/mason, novel/writer, honey/beekeeper, shoes/cobbler",
    "Cause-Effect": "storm/flood, virus/fever, noise/headache, drought/famine, spark/fire, mistake/accident",
}
_TEMPLATES = {
    "Component-Whole": ("The{a} <1> of the{b} <2> was{c} repaired{d}.", "The{b} <2> has a{a} <1>{d}."),
    "Content-Container": ("The{a} <1> was{c} kept in the{b} <2>{d}.", "The{b} <2> is{c} filled with{a} <1>{d}."),
    "Product-Producer": ("The{a} <1> was{c} made by the{b} <2>{d}.", "The{b} <2>{c} made the{a} <1>{d}."),
    "Cause-Effect": ("The{a} <1>{c} caused the{b} <2>{d}.", "The{b} <2> was{c} caused by the{a} <1>{d}."),
}
_LOOKS = ("", "", " old", " small", " new", " strange", " heavy")
_HOW = ("", "", " quickly", " often", " secretly")
_WHEN = ("", "", " in spring", " at home", " on Monday")


def relations(n: int = 400, seed: int = 0) -> list[tuple[str, str]]:
    """Sentences with two marked entities, and the relation between them.

    Args:
        n: Sentences.
        seed: Of chance.

    Returns:
        Pairs of a text, in which ``<e1>...</e1>`` and ``<e2>...</e2>`` are the entities in order of appearance, and a
        label such as ``Content-Container(e2,e1)``: the direction says which entity is the content.
    """
    for name, value in (("n", n), ("seed", seed)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise InputError(f"expected {name} as a whole number from 0 on, got {value!r}")
    chance = random.Random(seed).random

    def one(choices: tuple[str, ...]) -> str:
        return choices[int(chance() * len(choices))]

    found = []
    for _ in range(n):
        name = one(tuple(_PAIRS))
        first, second = one(tuple(_PAIRS[name].split(", "))).split("/")
        order = int(chance() * 2)
        mark = {first: 1 + order, second: 2 - order}
        template = _TEMPLATES[name][order].format(a=one(_LOOKS), b=one(_LOOKS), c=one(_HOW), d=one(_WHEN))
        for slot, word in (("<1>", first), ("<2>", second)):
            template = template.replace(slot, f"<e{mark[word]}>{word}</e{mark[word]}>")
        template = re.sub(r"\ba (?=(<e\d>)?[aeiou])", "an ", template)
        found.append((template, f"{name}({'e1,e2' if order == 0 else 'e2,e1'})"))
    return found
