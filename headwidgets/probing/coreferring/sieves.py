"""Which earlier mention would a rule choose? Baselines that know words and their grammar, and no model.

The rules are those of Clark et al. 2019, section 4.3 (which names them, after Lee et al. 2011, and gives no more):
the nearest mention of the same string; else the nearest with the same head word; else the nearest whose number, gender
and person do not contradict; else the nearest.
"""

from collections.abc import Sequence

from headwidgets.text.treebank import Mention, Word

FEMININE = frozenset((
    "woman", "women", "girl", "girls", "mother", "mothers", "mom", "mum", "daughter", "daughters", "sister",
    "sisters", "wife", "wives", "aunt", "aunts", "niece", "nieces", "grandmother", "grandmothers", "lady",
    "ladies", "queen", "queens", "princess", "princesses", "actress", "actresses", "girlfriend", "widow",
    "bride", "mrs", "ms", "miss", "madam",
))  # fmt: skip
MASCULINE = frozenset((
    "man", "men", "boy", "boys", "father", "fathers", "dad", "son", "sons", "brother", "brothers", "husband",
    "husbands", "uncle", "uncles", "nephew", "nephews", "grandfather", "grandfathers", "gentleman",
    "gentlemen", "king", "kings", "prince", "princes", "boyfriend", "widower", "groom", "mr", "sir", "lord",
))  # fmt: skip
"""English words that tell a gender, the only lexicon here; treebanks of other languages mark it in their features."""


def mention_type(mention: Mention, words: Sequence[Word]) -> str:
    """``pronoun``, ``proper`` or ``nominal``, by its head word."""
    head = words[mention.head]
    features = features_of(head)
    if head.upos == "PRON" or (head.upos == "DET" and features.get("PronType") == "Prs"):
        return "pronoun"
    return "proper" if head.upos == "PROPN" else "nominal"


def features_of(word: Word) -> dict[str, str]:
    """Morphological features by name."""
    if word.feats in ("", "_"):
        return {}
    return dict(pair.split("=", 1) for pair in word.feats.split("|") if "=" in pair)


def written(mention: Mention, words: Sequence[Word]) -> str:
    """Its words without case."""
    return " ".join(words[i].form.casefold() for i in mention.words)


def agreement(mention: Mention, words: Sequence[Word]) -> dict[str, str]:
    """Number, gender and person of a mention, as far as its words tell."""
    head = words[mention.head]
    told = features_of(head)
    found: dict[str, str] = {name: told[name] for name in ("Number", "Gender", "Person") if name in told}
    if any(words[i].head == mention.head and words[i].relation.split(":")[0] == "conj" for i in mention.words):
        found["Number"] = "Plur"
        found.pop("Gender", None)
    if mention_type(mention, words) != "pronoun":
        found.setdefault("Person", "3")
        forms = {words[i].form.casefold().rstrip(".") for i in mention.words if words[i].upos in ("NOUN", "PROPN")}
        for gender, lexicon in (("Fem", FEMININE), ("Masc", MASCULINE)):
            if forms & lexicon and "Gender" not in found and found.get("Number") != "Plur":
                found["Gender"] = gender
    return found


def agrees(one: dict[str, str], other: dict[str, str]) -> bool:
    """Whether no feature that both have contradicts; several values (``Fem,Masc``) are all of them."""
    return all(set(one[name].split(",")) & set(other[name].split(",")) for name in one.keys() & other.keys())


def nearest(mention: Mention, earlier: Sequence[Mention], words: Sequence[Word]) -> Mention | None:
    """The last one before it."""
    return earlier[-1] if earlier else None


def head_match(mention: Mention, earlier: Sequence[Mention], words: Sequence[Word]) -> Mention | None:
    """The nearest with the same head word; the nearest where there is none."""
    form = words[mention.head].form.casefold()
    same = [one for one in earlier if words[one.head].form.casefold() == form]
    return same[-1] if same else nearest(mention, earlier, words)


def sieves(mention: Mention, earlier: Sequence[Mention], words: Sequence[Word]) -> Mention | None:
    """The nearest that passes the first sieve that any passes.

    Args:
        mention: Whose antecedent is sought.
        earlier: Mentions whose head words stand before its own, in order.
        words: Of the text.
    """
    own, form, features = written(mention, words), words[mention.head].form.casefold(), agreement(mention, words)
    for passes in (
        lambda one: written(one, words) == own,
        lambda one: words[one.head].form.casefold() == form,
        lambda one: agrees(features, agreement(one, words)),
        lambda _: True,
    ):
        through = [one for one in earlier if passes(one)]
        if through:
            return through[-1]
    return None


RULES = {"nearest mention": nearest, "same head word": head_match, "rule-based sieves": sieves}
"""By name, rules that choose among earlier mentions."""
