"""How often does a word, or a token, occur? Counted in the user's own texts, or taken from `wordfreq`."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwidgets.errors import InputError
from headwidgets.text.alignment import members
from headwidgets.text.encoding import encode_side, segments_of
from headwidgets.text.examples import Example, Side, as_texts
from headwidgets.text.offsets import names_of
from headwidgets.text.tokens import pieces

_AT_ONCE = 1000
"""Texts of a corpus that the tokenizer gets at a time."""


@dataclass(frozen=True)
class Pieces:
    """A text as the model sees it, cut into what frequencies are of.

    Attributes:
        example: Its tokens; of an encoder-decoder only the source.
        units: Per token the position of the word (or token) that it belongs to, int64 [tokens]; -1 for special tokens
            and white space.
        names: Per position its type: the word without case, or the token as the tokenizer writes it.
        lengths: Per position its characters, int64 [positions].
    """

    example: Example
    units: NDArray[np.int64]
    names: tuple[str, ...]
    lengths: NDArray[np.int64]


def pieces_of(model: Any, text: Any, words: bool, where: str = "the text") -> Pieces:
    """Tokenise a text and name its words or tokens.

    Args:
        model: A HeadModel. Of an encoder-decoder's pairs only the source is read.
        text: A text, words, or a pair.
        words: Cut into words, else into tokens.
        where: How to call the text in an error.

    Raises:
        InputError: no text, or words that are not known (a tokenizer without offsets).
    """
    if model.is_encoder_decoder and isinstance(text, tuple):
        text = text[0]
    side, encoding = encode_side(model.tokenizer, segments_of(text, where))
    types = encoding.get("token_type_ids")
    known = getattr(model.model.config, "type_vocab_size", 0) or 0
    if types is not None and (model.is_encoder_decoder or max(types, default=0) >= known):
        types = None
    example = Example(text, side, None, None if types is None else tuple(types))
    return Pieces(example, *(_words(side) if words else _tokens(side, model.tokenizer)))


def _tokens(side: Side, tokenizer: Any) -> tuple[NDArray[np.int64], tuple[str, ...], NDArray[np.int64]]:
    own = [i for i, special in enumerate(side.special) if not special]
    units = np.full(len(side), -1, dtype=np.int64)
    units[own] = np.arange(len(own))
    written = pieces(side, tokenizer)
    spans = [side.offsets[i] for i in own]
    lengths = [len(written[i]) if span is None else span[1] - span[0] for i, span in zip(own, spans, strict=True)]
    return units, tuple(written[i] for i in own), np.array(lengths, dtype=np.int64)


def _words(side: Side) -> tuple[NDArray[np.int64], tuple[str, ...], NDArray[np.int64]]:
    units = np.full(len(side), -1, dtype=np.int64)
    names: list[str] = []
    for positions in members(side):
        first = positions[0]
        word, segment = side.words[first], side.segments[first]
        if word is None or side.special[first]:
            continue
        start, end = side.spans[segment][word]
        units[list(positions)] = len(names)
        names.append(side.sources[segment][start:end].casefold())
    return units, tuple(names), np.array([len(name) for name in names], dtype=np.int64)


@dataclass(frozen=True)
class Frequencies:
    """How often types occur.

    Attributes:
        counts: By type, a number that grows with its frequency; a type that is not in it has 0.
        words: Types are words without case, else tokens as the tokenizer writes them.
        source: Where the numbers come from, for notes.
        passed: Words without a letter or digit are not rated (wordfreq knows no punctuation), so never rare.
    """

    counts: Mapping[str, float]
    words: bool
    source: str
    passed: bool = False

    def of(self, names: Iterable[str]) -> NDArray[np.float64]:
        """The numbers of some types; infinite where a type is not rated."""
        found = (
            np.inf if self.passed and not any(map(str.isalnum, name)) else float(self.counts.get(name, 0.0))
            for name in names
        )
        return np.array(list(found), dtype=np.float64)

    def threshold(self, common: int) -> float:
        """The number of the `common`-th most frequent type; rarer types are outside of them.

        Raises:
            InputError: there are not that many types.
        """
        if common == 0:
            return np.inf
        if len(self.counts) < common:
            raise InputError(
                f"expected frequencies of at least {common} types, to know which are outside the {common} most "
                f"frequent; there are {len(self.counts)} in {self.source}: count a larger corpus "
                "(frequencies=texts), or give a smaller common="
            )
        values = np.fromiter(self.counts.values(), dtype=np.float64)
        return float(np.partition(values, len(values) - common)[len(values) - common])


def frequencies_of(
    model: Any, texts: list[Any], given: Any, *, words: bool | None, language: str
) -> tuple[Frequencies, list[str]]:
    """Frequencies from whatever a user has, and sentences about them.

    Args:
        model: A HeadModel, whose tokens are counted.
        texts: What is measured; counted when nothing else is given.
        given: None, ``"wordfreq"``, a corpus of texts, a mapping from types to numbers, or `Frequencies`.
        words: Types are words (True) or tokens (False); None is tokens where texts are counted, else words.
        language: Of `wordfreq`, a code such as ``en``.

    Raises:
        InputError: something else, or tokens where only words are known.
    """
    if isinstance(given, Frequencies):
        if words is not None and words != given.words:
            level = "words" if given.words else "tokens"
            raise InputError(f"expected words={given.words}, as the frequencies are of {level}, got words={words}")
        return given, []
    if isinstance(given, str) and given == "wordfreq":
        if words is False:
            raise InputError("wordfreq knows words, no tokens: expected words=True, got words=False")
        return _wordfreq(language), []
    if isinstance(given, Mapping):
        return _from_mapping(given, words is None or words), []
    notes = []
    corpus = texts if given is None else as_texts(given)
    if given is None:
        notes.append(
            f"Frequencies were counted in the {len(texts)} measured texts themselves; the paper counts a training "
            "corpus (frequencies=texts)."
        )
    counter = _counted(model, corpus, bool(words))
    what = "words" if words else "tokens"
    return Frequencies(counter, bool(words), f"{sum(counter.values())} {what} of {len(corpus)} texts"), notes


def _counted(model: Any, corpus: list[Any], words: bool) -> Counter[str]:
    """How often every type occurs; tokens of plain texts are counted many texts at a time."""
    counter: Counter[str] = Counter()
    ids: Counter[int] = Counter()
    for start in range(0, len(corpus), _AT_ONCE):
        own = corpus[start : start + _AT_ONCE]
        if not words and all(isinstance(text, str) and text.strip() for text in own):
            for row in model.tokenizer(own, add_special_tokens=False, verbose=False)["input_ids"]:
                ids.update(row)
            continue
        for number, text in enumerate(own, start=start):
            counter.update(pieces_of(model, text, words, f"text {number} of the corpus").names)
    for name, (_, count) in zip(names_of(model.tokenizer, list(ids)), ids.items(), strict=True):
        counter[name] += count
    return counter


def _from_mapping(given: Mapping[Any, Any], words: bool) -> Frequencies:
    counts: dict[str, float] = {}
    for name, value in given.items():
        number = float(value) if isinstance(value, (int, float, np.number)) else np.nan
        if not isinstance(name, str) or not number >= 0:
            raise InputError(f"expected frequencies as {{word: number from 0 on}}, got {name!r}: {value!r}")
        key = name.casefold() if words else name
        counts[key] = counts.get(key, 0.0) + number
    return Frequencies(counts, words, f"the given table of {len(counts)} {'words' if words else 'tokens'}")


class _Wordfreq(Mapping[str, float]):
    """Frequencies of `wordfreq`, looked up when asked for; its length and values are of its most frequent words."""

    def __init__(self, package: Any, language: str) -> None:
        self._package, self._language = package, language
        self._top: list[str] = package.top_n_list(language, 20_000)

    def __getitem__(self, word: str) -> float:
        return float(self._package.word_frequency(word, self._language))

    def get(self, word: str, default: Any = None) -> Any:
        return self[word]

    def __iter__(self) -> Any:
        return iter(self._top)

    def __len__(self) -> int:
        return len(self._top)


def _wordfreq(language: str) -> Frequencies:
    try:
        import wordfreq
    except ImportError:
        raise InputError(
            'frequencies="wordfreq" needs the package wordfreq: pip install "headwidgets[frequencies]"; or give texts '
            "to count, frequencies=[...]"
        ) from None
    if language not in wordfreq.available_languages():
        known = ", ".join(sorted(wordfreq.available_languages()))
        raise InputError(f"expected a language that wordfreq knows ({known}), got {language!r}")
    return Frequencies(_Wordfreq(wordfreq, language), True, f"wordfreq ({language})", passed=True)
