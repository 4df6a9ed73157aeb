"""Documents cut into windows that a model can read, with the mentions in them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from headwidgets.errors import InputError
from headwidgets.text.encoding import encode_side
from headwidgets.text.treebank import Mention, Sentence, Word
from headwidgets.text.words import is_continuous


@dataclass(frozen=True)
class Window:
    """Sentences of one document that are read together.

    Attributes:
        name: Unique among windows.
        document: What it was cut from.
        text: The sentences, joined.
        words: Their words, with spans in `text`; their heads count in the window.
        mentions: By position of their head word; positions count in the window.
        before: Entities that were mentioned in the document before the window.
    """

    name: str
    document: str
    text: str
    words: tuple[Word, ...]
    mentions: tuple[Mention, ...]
    before: frozenset[str] = field(default=frozenset(), repr=False)


def windows(model: Any, sentences: Iterable[Sentence], size: int, source: str = "") -> list[Window]:
    """Cut every document into runs of whole sentences of at most `size` tokens.

    A sentence that is longer stands alone. Clark et al. 2019 (section 4.3) read the first 128 tokens of each document.

    Args:
        model: A HeadModel, whose tokens are counted.
        sentences: Of documents, in order.
        size: Tokens of a window, special ones too.
        source: What windows are called after where documents have no name.

    Raises:
        InputError: no sentence.
    """
    found: list[Window] = []
    number = 0
    for document, own in _documents(sentences):
        before: set[str] = set()
        for run in _runs(model, own, size):
            found.append(_window(run, document, f"{document or source or 'window'}:{number}", frozenset(before)))
            before |= {mention.entity for mention in found[-1].mentions}
            number += 1
    if not found:
        raise InputError("expected at least one sentence, got an empty treebank")
    return found


def _documents(sentences: Iterable[Sentence]) -> Iterator[tuple[str, list[Sentence]]]:
    own: list[Sentence] = []
    for sentence in sentences:
        if own and sentence.document != own[-1].document:
            yield own[-1].document, own
            own = []
        own.append(sentence)
    if own:
        yield own[-1].document, own


def _runs(model: Any, sentences: list[Sentence], size: int) -> Iterator[list[Sentence]]:
    run: list[Sentence] = []
    total = 0
    for sentence in sentences:
        side, _ = encode_side(model.tokenizer, [sentence.text])
        around = sum(side.special)
        length = len(side) - around
        if run and total + length + around > size:
            yield run
            run, total = [], 0
        run.append(sentence)
        total += length
    if run:
        yield run


def _window(run: list[Sentence], document: str, name: str, before: frozenset[str]) -> Window:
    text = ""
    words: list[Word] = []
    mentions: list[Mention] = []
    for sentence in run:
        spaced = " " in sentence.text or not any(map(is_continuous, sentence.text))
        if text and spaced:
            text += " "
        first, start = len(words), len(text)
        text += sentence.text
        for word in sentence.words:
            head = word.head if word.head is None or word.head < 0 else word.head + first
            words.append(replace(word, head=head, span=(word.span[0] + start, word.span[1] + start)))
        mentions += [
            replace(mention, words=tuple(w + first for w in mention.words), head=mention.head + first)
            for mention in sentence.mentions
        ]
    mentions.sort(key=lambda mention: (mention.head, mention.words))
    return Window(name, document, text, tuple(words), tuple(mentions), before)
