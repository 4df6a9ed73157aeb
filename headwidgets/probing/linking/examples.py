"""What is a link? Words of a text that a head should look from, and words that it should look at."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from headwidgets.errors import InputError
from headwidgets.text.treebank import Sentence, Word
from headwidgets.text.words import Span, join_words, word_spans

Direction: TypeAlias = Literal["forward", "backward", "received", "received backward"]
DIRECTIONS: tuple[Direction, ...] = ("forward", "backward", "received", "received backward")
"""What is asked of a head's map A[query, key].

- ``forward``: where does the source look? The largest entry of its row should be a target.
- ``backward``: where does the target look? The largest entry of its row should be a source.
- ``received``: who looks most at the source? The largest entry of its column should be a target.
- ``received backward``: who looks most at the target? The largest entry of its column should be a source.
"""
LABELS: dict[Direction, str] = {
    "forward": "source to target",
    "backward": "target to source",
    "received": "who looks at the source",
    "received backward": "who looks at the target",
}
SELF: tuple[Direction, ...] = ("forward", "backward", "received")
CROSS: tuple[Direction, ...] = ("forward", "received backward")
"""Of cross-attention only the decoder's words have rows, and only the encoder's words have columns."""


@dataclass(frozen=True, slots=True)
class Link:
    """One labelled link between words of a text, counted from 0.

    Attributes:
        relation: Its label.
        source: The word or words that it goes out from.
        target: The words that it should reach; to reach one of them is enough.
        candidates: Words that may be chosen instead of the target's, for example heads of earlier mentions; every word
            by default. Words of the target are candidates always, those of the source never. Only ``forward`` and
            ``received`` are asked of links with candidates.
        also: Words that may stand for the source: the link is found too where one of them finds it.
    """

    relation: str
    source: tuple[int, ...]
    target: tuple[int, ...]
    candidates: tuple[int, ...] | None = None
    also: tuple[int, ...] = ()

    def __init__(
        self,
        relation: str,
        source: int | Iterable[int],
        target: int | Iterable[int],
        candidates: Iterable[int] | None = None,
        also: int | Iterable[int] = (),
    ) -> None:
        """Keep positions in ascending order.

        Raises:
            InputError: no words, no whole numbers, or a source that is a target too.
        """
        object.__setattr__(self, "relation", str(relation))
        object.__setattr__(self, "source", _places(source, "source"))
        object.__setattr__(self, "target", _places(target, "target"))
        object.__setattr__(self, "candidates", None if candidates is None else _places(candidates, "candidates", True))
        object.__setattr__(self, "also", _places(also, "also", True))


def _places(given: Any, what: str, may_be_empty: bool = False) -> tuple[int, ...]:
    listed = [given] if isinstance(given, int) or not isinstance(given, Iterable) else list(given)
    try:
        found = tuple(sorted({int(place) for place in listed}))
        if any(isinstance(place, (bool, str)) or int(place) != place or place < 0 for place in listed):
            raise ValueError
    except (TypeError, ValueError):
        raise InputError(
            f"expected the {what} of a link as positions of words, whole numbers from 0 on, got {given!r}"
        ) from None
    if not found and not may_be_empty:
        raise InputError(f"expected at least one word as the {what} of a link, got none")
    return found


@dataclass(frozen=True, repr=False)
class LinkExample:
    """A text with its words and links.

    Attributes:
        words: Its words, in order.
        links: Links between them; positions count in `words`.
        text: The text as the model reads it; the words joined by spaces by default.
        spans: Start and end of every word in `text`; worked out where the words were joined.
        tags: Part of speech of every word, for the baseline "nearest word of one part of speech"; empty if not known.
        against: For cross-attention: the text that the encoder reads. `words` are then those of the decoder's text, a
            link's source is one of them, and its target and candidates are words of `against`.
        cluster: What it was drawn with, for example its document: intervals are over clusters. Each example is one of
            its own when empty.
        name: How to call it, for example the id of its sentence.
    """

    words: tuple[str, ...]
    links: tuple[Link, ...] = ()
    text: str = ""
    spans: tuple[Span, ...] = ()
    tags: tuple[str, ...] = ()
    against: "LinkExample | None" = None
    cluster: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        """Work out the text, and check that positions exist.

        Raises:
            InputError: no words, spans or tags that do not fit, or a link to a word that is not there.
        """
        words = self.words
        if isinstance(words, str) or not isinstance(words, Iterable) or not all(isinstance(w, str) for w in words):
            raise InputError("expected the words of an example as a list of str; LinkExample.of(text, ...) splits one")
        for what, listed, kind in (("links", self.links, "Link"), ("tags", self.tags, "str")):
            if isinstance(listed, (str, Link)) or not isinstance(listed, Iterable):
                raise InputError(f"expected the {what} of an example as a list of {kind}, got {listed!r}")
        if not isinstance(self.text, str):
            raise InputError(f"expected the text of an example as str, got {type(self.text).__name__}")
        if self.against is not None and not isinstance(self.against, LinkExample):
            raise InputError(f"expected against= as a LinkExample, got {type(self.against).__name__}")
        set_ = object.__setattr__
        set_(self, "words", tuple(self.words))
        set_(self, "links", tuple(self.links))
        set_(self, "tags", tuple(self.tags))
        if not self.text:
            joined, spans = join_words(self.words)
            set_(self, "text", joined)
            set_(self, "spans", tuple(spans))
        where = f"example {self.name!r}" if self.name else f"the example {self.text[:40]!r}"
        if not self.text.strip():
            raise InputError("expected an example with at least one word, got none")
        for what, given in (("spans", self.spans), ("tags", self.tags)):
            if given and len(given) != len(self.words):
                raise InputError(f"{where} has {len(self.words)} words, but {len(given)} {what}")
        if not self.spans:
            raise InputError(f"{where}: expected spans= beside text=, where each word is in it")
        other = self if self.against is None else self.against
        for link in self.links:
            self._check(link, other, where)

    def _check(self, link: Link, other: "LinkExample", where: str) -> None:
        if not isinstance(link, Link):
            raise InputError(f"{where}: expected links as Link(relation, source, target), got {link!r}")
        sides = ((link.source + link.also, self), (link.target + (link.candidates or ()), other))
        for places, side in sides:
            if places and max(places) >= len(side.words):
                raise InputError(
                    f"{where}: a link {link.relation!r} names word {max(places)}, but there are {len(side.words)} "
                    "words, counted from 0"
                )
        if self.against is None and set(link.source) & set(link.target):
            raise InputError(f"{where}: a link {link.relation!r} has a word that is both source and target")

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        shown = self.text if len(self.text) <= 60 else f"{self.text[:59]}\u2026"
        name = f"{self.name}: " if self.name else ""
        against = f", against {self.against.text[:40]!r}" if self.against is not None else ""
        links = f"{len(self.links)} link{'' if len(self.links) == 1 else 's'}"
        return f"LinkExample({name}{shown!r}, {len(self.words)} words, {links}{against})"

    @classmethod
    def of(
        cls, text: str, links: Sequence[tuple[str, Span, Span]], *, cluster: str = "", name: str = ""
    ) -> "LinkExample":
        """From a text and spans of characters, ``(relation, (start, end), (start, end))``; words are those of the
        package (`headwidgets.text.words`), and a span means every word that it touches.

        Raises:
            InputError: a span without a word.
        """
        spans = word_spans(text)

        def touched(span: Span, relation: str) -> list[int]:
            found = [i for i, (start, end) in enumerate(spans) if start < span[1] and end > span[0]]
            if not found:
                raise InputError(f"the span {span} of a link {relation!r} touches no word of {text[:60]!r}")
            return found

        made = [Link(relation, touched(a, relation), touched(b, relation)) for relation, a, b in links]
        return cls(tuple(text[a:b] for a, b in spans), tuple(made), text, tuple(spans), cluster=cluster, name=name)

    @classmethod
    def from_sentence(cls, sentence: Sentence, links: Iterable[Link], *, cluster: str = "") -> "LinkExample":
        """A sentence of a treebank with links between its words.

        Args:
            sentence: Its words, text and parts of speech.
            links: Between them.
            cluster: Its document by default.
        """
        return cls(
            tuple(word.form for word in sentence.words),
            tuple(links),
            sentence.text,
            tuple(word.span for word in sentence.words),
            tuple(word.upos for word in sentence.words),
            cluster=cluster or sentence.document,
            name=sentence.name,
        )

    def sentence(self) -> Sentence:
        """The example as a sentence without a tree."""
        tags = self.tags or ("_",) * len(self.words)
        words = (Word(form, tag, None, "_", span) for form, tag, span in zip(self.words, tags, self.spans, strict=True))
        return Sentence(tuple(words), self.text, self.name)


def as_examples(examples: Any, what: str = "examples") -> list[LinkExample]:
    """A list of examples from what the user has.

    Raises:
        InputError: nothing there, something that is no example, or examples with and without a second text mixed.
    """
    listed = [examples] if isinstance(examples, LinkExample) else examples
    if isinstance(listed, (str, bytes)) or not isinstance(listed, Iterable):
        raise InputError(f"expected {what} as a list of LinkExample, got {type(examples).__name__}")
    found = list(listed)
    for number, one in enumerate(found):
        if not isinstance(one, LinkExample):
            raise InputError(f"expected {what} as a list of LinkExample, got {type(one).__name__} at {number}")
    if not found:
        raise InputError(f"expected at least one of {what}, got an empty list")
    if len({one.against is None for one in found}) > 1:
        raise InputError(f"{what}: give all a second text (against=) or none")
    return cast("list[LinkExample]", found)
