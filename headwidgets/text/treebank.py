"""Sentences with their words, trees and mentions: what a treebank says about a text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Word:
    """One syntactic word.

    Attributes:
        form: As the treebank writes it.
        upos: Universal part of speech; ``_`` when not known.
        head: Position of its head in the sentence, from 0; -1 for the root; None when there is no tree.
        relation: Its dependency label, with the subtype (``nsubj:pass``); ``_`` when not known.
        span: Start and end of its characters in the text of the sentence. Words of one multiword token whose
            characters cannot be told apart have the same span.
        lemma: Its lemma; ``_`` when not known.
        xpos: Part of speech of the language; ``_`` when not known.
        feats: Morphological features as written; ``_`` when there are none.
        misc: The rest of the last column as written, without what other attributes hold; ``_`` when there is none.
    """

    form: str
    upos: str
    head: int | None
    relation: str
    span: tuple[int, int]
    lemma: str = "_"
    xpos: str = "_"
    feats: str = "_"
    misc: str = "_"


@dataclass(frozen=True, slots=True)
class Mention:
    """Words that name an entity.

    Attributes:
        entity: Its name, unique in a document; mentions of one entity corefer.
        words: Positions of its words in the sentence, ascending.
        head: Position of its head word.
        kind: Type of the entity as written (``person``); empty when not known.
        bridges: Entities that it refers to by association (``a house ... the door``), each with the kind of the
            relation, empty when not known. They do not corefer with it.
        antecedents: Entities of which it is the sum (``Ann ... Bob ... they``).
    """

    entity: str
    words: tuple[int, ...]
    head: int
    kind: str = ""
    bridges: tuple[tuple[str, str], ...] = ()
    antecedents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence.

    Attributes:
        words: Its words, in order.
        text: Its characters, as a reader sees them.
        name: ``sent_id``, or where it stands in its source.
        document: The document it belongs to; empty when not known.
        mentions: Coreference, by first word.
        line: Line of the file on which it begins, from 1; 0 when it came from no file.
        tokens: First word and the one after the last of every multiword token.
        comments: Other comments of the file, as pairs of key and value (``speaker``, ``meta::genre``). Those of a
            document stand in its first sentence.
    """

    words: tuple[Word, ...]
    text: str
    name: str = ""
    document: str = ""
    mentions: tuple[Mention, ...] = ()
    line: int = 0
    tokens: tuple[tuple[int, int], ...] = ()
    comments: tuple[tuple[str, str], ...] = ()

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True)
class Treebank:
    """Sentences with trees.

    Attributes:
        sentences: In order.
        name: Of the file, or how they were parsed.
        notes: Sentences about what a reader should know (what was left out, and how much).
    """

    sentences: tuple[Sentence, ...]
    name: str = ""
    notes: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.sentences)

    def __iter__(self) -> Iterator[Sentence]:
        return iter(self.sentences)

    @classmethod
    def read(cls, path: Any, *paths: Any) -> "Treebank":
        """Read CoNLL-U files (also ``.gz``); see `headwidgets.text.conllu`."""
        from headwidgets.text.conllu import read

        return read([path, *paths])

    @classmethod
    def parse(cls, texts: Sequence[Any], pipeline: Any, **options: Any) -> "Treebank":
        """Parse texts with a Stanza or spaCy pipeline; see `headwidgets.text.parsing`."""
        from headwidgets.text.parsing import parse

        return parse(texts, pipeline, **options)
