"""From windows to links: every mention that refers back, what it may be linked to, and what rules would choose."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from headwidgets.probing.coreferring.sieves import RULES, mention_type
from headwidgets.probing.coreferring.windows import Window
from headwidgets.probing.linking.examples import Link, LinkExample
from headwidgets.text.treebank import Mention

By: TypeAlias = Literal["type", "head word"]
Guess = Callable[[LinkExample, Link], int | None]


@dataclass
class Instances:
    """Examples with a link for every mention that refers back.

    Attributes:
        examples: One per window.
        guesses: By rule, the head word that it chooses for a link.
        left_out: Reasons, with how many mentions each.
        counted: Mentions that became links.
    """

    examples: list[LinkExample] = field(default_factory=list)
    guesses: dict[str, dict[tuple[str, Link], int]] = field(default_factory=lambda: {name: {} for name in RULES})
    left_out: Counter[str] = field(default_factory=Counter)
    counted: int = 0

    def baselines(self) -> dict[str, Guess]:
        """The rules, as `headwidgets.probing.links` wants them."""

        def looked_up(known: dict[tuple[str, Link], int]) -> Guess:
            return lambda example, link: known.get((example.name, link))

        return {name: looked_up(known) for name, known in self.guesses.items()}

    def notes(self, what: str) -> list[str]:
        """What was left out, in sentences."""
        total = self.counted + sum(self.left_out.values())
        return [
            f"{what}: {count} of {total} mentions with an antecedent {why}." for why, count in self.left_out.items()
        ]


def instances(found: Iterable[Window], singletons: bool, by: By = "type") -> Instances:
    """Links of all windows.

    A mention counts when the head word of another mention of its entity stands before its own in the window, and that
    of a mention of something else too: with nothing to confuse it with, every head would find it. Candidates are the
    head words of all mentions before it. Mentions of one entity with one head word are one.

    Args:
        found: Windows of documents.
        singletons: Entities that are mentioned once are candidates too (GUM marks them, OntoNotes does not).
        by: What relations are: types of mentions, or whether a candidate has the mention's own head word.
    """
    out = Instances()
    every = list(found)
    times = Counter((window.document, mention.entity) for window in every for mention in window.mentions)
    for window in every:
        own = [m for m in window.mentions if singletons or times[window.document, m.entity] > 1]
        once = {(mention.entity, mention.head): mention for mention in reversed(own)}
        links = [
            link for mention in reversed(once.values()) if (link := _link(mention, own, window, out, by)) is not None
        ]
        if links:
            out.examples.append(
                LinkExample(
                    tuple(word.form for word in window.words),
                    tuple(links),
                    window.text,
                    tuple(word.span for word in window.words),
                    tuple(word.upos for word in window.words),
                    cluster=window.document,
                    name=window.name,
                )
            )
    return out


def _link(mention: Mention, own: Sequence[Mention], window: Window, out: Instances, by: By) -> Link | None:
    earlier = [other for other in own if other.head < mention.head]
    targets = {other.head for other in earlier if other.entity == mention.entity}
    if not targets:
        if mention.entity in window.before and all(m.entity != mention.entity for m in own[: own.index(mention)]):
            out.left_out["have it in an earlier window only"] += 1
        return None
    candidates = {other.head for other in earlier}
    if candidates == targets:
        out.left_out["have no other mention before them to be confused with"] += 1
        return None
    out.counted += 1
    relation = mention_type(mention, window.words)
    if by == "head word":
        form = window.words[mention.head].form.casefold()
        known = any(window.words[place].form.casefold() == form for place in candidates)
        relation = "head word before" if known else "new head word"
    link = Link(relation, mention.head, targets, candidates)
    for name, rule in RULES.items():
        chosen = rule(mention, earlier, window.words)
        if chosen is not None:
            out.guesses[name][window.name, link] = chosen.head
    return link
