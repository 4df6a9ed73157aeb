"""Sentences with their words, trees and mentions: what a treebank says about a text."""

import hashlib
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, overload

from headwidgets.errors import InputError


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

    def __iter__(self) -> Iterator[Word]:
        return iter(self.words)

    def __repr__(self) -> str:
        text = self.text if len(self.text) <= 60 else self.text[:59] + "…"
        return f"Sentence({self.name}: {text!r}, {len(self)} words)"

    @property
    def forms(self) -> list[str]:
        """Its words as the treebank writes them."""
        return [word.form for word in self.words]

    @property
    def root(self) -> int | None:
        """Position of the root; None when there is no tree."""
        return next((i for i, word in enumerate(self.words) if word.head == -1), None)


@dataclass(frozen=True, repr=False)
class Treebank:
    """Sentences with trees.

    ``treebank[3]`` is a sentence, ``treebank[:100]`` a treebank, and ``a + b`` both.

    Attributes:
        sentences: In order.
        name: Of the file, or how they were parsed.
        notes: Sentences about what a reader should know (what was left out, and how much), about all that was read.
    """

    sentences: tuple[Sentence, ...]
    name: str = ""
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if isinstance(self.sentences, (str, bytes)) or not isinstance(self.sentences, Iterable):
            raise InputError(
                f"expected a Treebank of Sentence objects, got {type(self.sentences).__name__}: read a file with "
                "Treebank.read, or parse texts with Treebank.parse"
            )
        object.__setattr__(self, "sentences", tuple(self.sentences))
        object.__setattr__(self, "notes", tuple(self.notes))
        wrong = next((s for s in self.sentences if not isinstance(s, Sentence)), None)
        if wrong is not None:
            raise InputError(
                f"expected a Treebank of Sentence objects, got {type(wrong).__name__}: read a file with Treebank.read, "
                "or parse texts with Treebank.parse"
            )

    def __len__(self) -> int:
        return len(self.sentences)

    def __iter__(self) -> Iterator[Sentence]:
        return iter(self.sentences)

    @overload
    def __getitem__(self, index: int) -> Sentence: ...
    @overload
    def __getitem__(self, index: slice) -> "Treebank": ...
    def __getitem__(self, index: int | slice) -> "Sentence | Treebank":
        found = self.sentences[index]
        return found if isinstance(found, Sentence) else replace(self, sentences=found)

    def __add__(self, other: "Treebank") -> "Treebank":
        if not isinstance(other, Treebank):
            return NotImplemented
        name = ", ".join(dict.fromkeys(name for name in (self.name, other.name) if name))
        return Treebank(self.sentences + other.sentences, name, self.notes + other.notes)

    def __repr__(self) -> str:
        parts = [f"{len(self)} sentences", f"{self.n_words} words"]
        documents = len(self.documents)
        parts += [f"{documents} documents"] if documents > 1 else []
        mentions = sum(len(s.mentions) for s in self)
        parts += [f"{mentions} mentions"] if mentions else []
        return f"Treebank({self.name + ': ' if self.name else ''}{', '.join(parts)})"

    # ---- what is in it ------------------------------------------------------------------------------------

    @property
    def n_words(self) -> int:
        """How many words it has."""
        return sum(map(len, self.sentences))

    @property
    def documents(self) -> list[str]:
        """Names of its documents, in order; the empty name is that of sentences whose document is not known."""
        return list(dict.fromkeys(sentence.document for sentence in self.sentences))

    @property
    def texts(self) -> list[str]:
        """The text of every sentence, as calls that take texts want them."""
        return [sentence.text for sentence in self.sentences]

    def relations(self) -> Counter[str]:
        """How often each relation occurs, the most frequent first."""
        counted = Counter(w.relation for s in self for w in s.words if w.head is not None)
        return Counter(dict(counted.most_common()))

    @property
    def fingerprint(self) -> str:
        """Hex digest of texts, words, trees and mentions, in order; names and comments do not count."""
        digest = hashlib.sha256()
        for sentence in self.sentences:
            mentions = [(m.entity, m.words, m.head, m.kind, m.bridges, m.antecedents) for m in sentence.mentions]
            words = [(w.form, w.upos, w.head, w.relation, w.span, w.lemma, w.xpos, w.feats) for w in sentence.words]
            digest.update(repr((sentence.text, words, mentions)).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()[:32]

    # ---- parts of it --------------------------------------------------------------------------------------

    def filter(self, wanted: Callable[[Sentence], bool]) -> "Treebank":
        """The sentences for which a function says True: ``tb.filter(lambda s: 3 <= len(s) <= 40)``."""
        if not callable(wanted):
            raise InputError(f"expected a function of a sentence, got {type(wanted).__name__}")
        return replace(self, sentences=tuple(s for s in self.sentences if wanted(s)))

    def by_document(self) -> dict[str, "Treebank"]:
        """One treebank per document, in order."""
        found: dict[str, list[Sentence]] = {}
        for sentence in self.sentences:
            found.setdefault(sentence.document, []).append(sentence)
        return {name: replace(self, sentences=tuple(own)) for name, own in found.items()}

    def split(self, share: float = 0.8, *, seed: int = 0) -> tuple["Treebank", "Treebank"]:
        """Two treebanks, one to choose on and one to report on, without a document in both.

        Args:
            share: Of the sentences that the first one gets, as nearly as whole documents allow.
            seed: Of the draw. Sentences whose document is not known, or which all have the same, are drawn one by one.

        Raises:
            InputError: a share that is not between 0 and 1, or too little to split.
        """
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 < share < 1:
            raise InputError(f"expected share= between 0 and 1, got {share!r}")
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise InputError(f"expected seed= as a whole number from 0 on, got {seed!r}")
        alone = len(self.documents) < 2
        groups: dict[tuple[str, int], list[int]] = {}
        for i, sentence in enumerate(self.sentences):
            key = (sentence.document, i if alone or not sentence.document else -1)
            groups.setdefault(key, []).append(i)
        if len(groups) < 2:
            raise InputError(f"expected at least two sentences to split, got {len(self)}")
        drawn = list(groups.values())
        random.Random(seed).shuffle(drawn)
        first: set[int] = set()
        target = share * len(self)
        for count, own in enumerate(drawn):
            left = len(drawn) - count
            nearer = abs(len(first) + len(own) - target) < abs(len(first) - target)
            if not first or (nearer and left > 1):
                first.update(own)
            elif len(first) >= target:
                break
        one = tuple(s for i, s in enumerate(self.sentences) if i in first)
        two = tuple(s for i, s in enumerate(self.sentences) if i not in first)
        return replace(self, sentences=one), replace(self, sentences=two)

    # ---- in and out ---------------------------------------------------------------------------------------

    @classmethod
    def read(cls, path: Any, *paths: Any) -> "Treebank":
        """Read CoNLL-U files (also ``.gz``), one after the other.

        Raises:
            InputError: no such file, or not CoNLL-U; with the file and the line. See `headwidgets.text.conllu`.
        """
        from headwidgets.text.conllu import read

        return read([path, *paths])

    @classmethod
    def parse(
        cls,
        texts: Any,
        pipeline: Any,
        *,
        name: str = "",
        on_progress: Callable[[int, int], None] | None = None,
        cancel: Callable[[], bool] | None = None,
    ) -> "Treebank":
        """Parse texts, or words already split, with a Stanza or spaCy pipeline; see `headwidgets.text.parsing.parse`.

        Args:
            texts: A text, or a list of texts; words are a list of str inside the list.
            pipeline: A ``stanza.Pipeline`` or a spaCy ``nlp``.
            name: Of the treebank; by default it says which pipeline parsed it.
            on_progress: Gets texts done and texts in all.
            cancel: Says whether to stop.

        Raises:
            InputError: an empty text, or a pipeline without a parser.
        """
        from headwidgets.text.parsing import parse

        return parse(texts, pipeline, name=name, on_progress=on_progress, cancel=cancel)

    def write(self, path: Any) -> Path:
        """Write it as a CoNLL-U file, compressed when the name ends in ``.gz``; reading it gives the same sentences.

        Returns:
            The path written.

        Raises:
            InputError: no such folder, or a mention that ``Entity=`` cannot hold.
        """
        from headwidgets.text.writing import write

        return write(self.sentences, path)
