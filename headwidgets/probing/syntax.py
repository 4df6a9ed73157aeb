"""Which head finds which syntactic relation? A treebank's dependencies as links between words.

For every word its relation to its syntactic head, asked in three ways: where does the dependent look, where does the
head look, and who looks most at the dependent. The rule of Clark et al. is `Links.per_relation` with `LinkRow.clark`,
that of Voita et al. the rows ``forward`` and ``backward`` with `LinkRow.voita`.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from headwidgets.errors import InputError
from headwidgets.jobs import Cancel, Progress, blocking
from headwidgets.models.model import HeadModel, expect_model
from headwidgets.probing.linking.examples import Direction, Link, LinkExample
from headwidgets.probing.linking.result import Links
from headwidgets.probing.links import links
from headwidgets.text.treebank import Sentence, Treebank

LABELS: dict[Direction, str] = {
    "forward": "dependent to head",
    "backward": "head to dependent",
    "received": "who looks at the dependent",
    "received backward": "who looks at the head",
}
ALL = "all"
_POSSESSIVE = ("nmod:poss", "poss")
_MARKS = ("'s", "’s", "'", "’", "s'")


@blocking
def syntax(
    model: HeadModel,
    treebank: Treebank | Sequence[Sentence],
    *,
    train: Treebank | Sequence[Sentence] | None = None,
    relations: Collection[str] | None = None,
    subtypes: bool = False,
    punctuation: bool = False,
    possessive: bool = False,
    lengths: tuple[int, int | None] = (2, None),
    keep: Callable[[Sentence], bool] | None = None,
    seed: int = 0,
    on_progress: Progress | None = None,
    cancel: Cancel | None = None,
    **options: Any,
) -> Links:
    """Accuracy of every head for every syntactic relation, in every direction, against baselines.

    Args:
        model: A HeadModel; of an encoder-decoder the encoder is looked at.
        treebank: Sentences with trees, on which figures are reported.
        train: Sentences on which heads and rules are chosen; by default one random half of `treebank` (by document,
            where documents are known).
        relations: Labels to look at; all by default, but for the root.
        subtypes: Keep them apart (``nsubj:pass``); else they are made one with their relation (``nsubj``).
        punctuation: Look at it too.
        possessive: A possessor's relation also counts as found where its mark ("'s") finds it [Clark et al. 2019,
            section 4.2, for Stanford's labels, where the mark is a word of its own].
        lengths: The fewest and the most words that a sentence may have.
        keep: Says of a sentence whether to look at it.
        seed: Of what is drawn; see `links`.
        on_progress: Called with sentences done and sentences in all.
        cancel: Says whether to stop.
        options: Of `headwidgets.probing.links`: ``directions=``, ``offsets=``, ``random=``, ...

    Raises:
        InputError: no treebank, no trees, or no such relation.
        Cancelled: told to stop.

    Reference:
        Clark et al. 2019, section 4.2 and table 1; Voita et al. 2019, section 5.2 and table 1.
    """
    expect_model(model)
    wanted = None if relations is None else _wanted(relations)
    settings = (wanted, subtypes, punctuation, possessive, _checked_lengths(lengths), keep)
    examples = dependencies(treebank, "the treebank", *settings)
    choose = None if train is None else dependencies(train, "train=", *settings)
    if wanted is not None:
        found = {link.relation for one in examples for link in one.links}
        if wanted - found:
            known = sorted({name for one in _sentences(treebank, "") for name in _labels(one, subtypes)})
            raise InputError(
                f"the treebank has no {', '.join(sorted(wanted - found))}; it has {', '.join(known)}"
                + ("" if subtypes else " (subtypes=True keeps nsubj and nsubj:pass apart)")
            )
    options.setdefault("labels", LABELS)
    called = getattr(treebank, "name", "")
    options.setdefault("name", f"Syntax: {called}" if called else "Syntax")
    options.setdefault("total", ALL)
    return links(model, examples, choose=choose, seed=seed, on_progress=on_progress, cancel=cancel, **options)


def dependencies(
    treebank: Treebank | Sequence[Sentence],
    what: str = "the treebank",
    relations: Collection[str] | None = None,
    subtypes: bool = False,
    punctuation: bool = False,
    possessive: bool = False,
    lengths: tuple[int, int | None] = (2, None),
    keep: Callable[[Sentence], bool] | None = None,
) -> list[LinkExample]:
    """Sentences as examples whose links go from every word to its syntactic head; arguments as in `syntax`.

    Raises:
        InputError: no sentence of these lengths, or no trees.
    """
    if keep is not None and not callable(keep):
        raise InputError(f"expected keep= as a function of a sentence that says whether it counts, got {keep!r}")
    found = []
    trees = False
    for sentence in _sentences(treebank, what):
        least, most = lengths
        if len(sentence) < least or (most is not None and len(sentence) > most):
            continue
        if keep is not None and not keep(sentence):
            continue
        trees = trees or any(word.head is not None for word in sentence.words)
        own = list(_links(sentence, relations, subtypes, punctuation, possessive))
        found.append(LinkExample.from_sentence(sentence, own))
    if not found:
        raise InputError(f"expected sentences of {lengths[0]} words or more in {what}, got none")
    if not trees:
        raise InputError(f"expected trees in {what}, but no word has a head: parse it with Treebank.parse")
    return found


def _links(
    sentence: Sentence, relations: Collection[str] | None, subtypes: bool, punctuation: bool, possessive: bool
) -> Any:
    for place, word in enumerate(sentence.words):
        if word.head is None or word.head < 0 or word.head == place:
            continue
        relation = word.relation if subtypes else word.relation.split(":")[0]
        if relations is not None and relation not in relations:
            continue
        if relations is None and not punctuation and word.relation.split(":")[0] == "punct":
            continue
        also: tuple[int, ...] = ()
        after = place + 1
        if possessive and word.relation in _POSSESSIVE and after < len(sentence) and after != word.head:
            also = (after,) if sentence.words[after].form.lower() in _MARKS else ()
        yield Link(relation, place, word.head, also=also)


def _labels(sentence: Sentence, subtypes: bool) -> set[str]:
    return {word.relation if subtypes else word.relation.split(":")[0] for word in sentence.words}


def _sentences(treebank: Any, what: str) -> list[Sentence]:
    if isinstance(treebank, (str, bytes)) or not hasattr(treebank, "__iter__"):
        raise InputError(
            f"expected a Treebank (hw.probing.Treebank.read(...) or .parse(...)), got {type(treebank).__name__}"
        )
    found = list(treebank)
    for one in found:
        if not isinstance(one, Sentence):
            raise InputError(f"expected {what} to hold sentences of a treebank, got {type(one).__name__}")
    return found


def _wanted(relations: Collection[str]) -> set[str]:
    if isinstance(relations, str):
        return {relations}
    if not isinstance(relations, Iterable) or not all(isinstance(one, str) for one in relations):
        raise InputError(f"expected relations as labels (str), got {relations!r}")
    return set(relations)


def _checked_lengths(lengths: Any) -> tuple[int, int | None]:
    try:
        least, most = lengths
        if not isinstance(least, int) or not (most is None or (isinstance(most, int) and most >= least)):
            raise ValueError
    except (TypeError, ValueError):
        raise InputError(f"expected lengths as (fewest, most) words, most may be None; got {lengths!r}") from None
    return least, most
