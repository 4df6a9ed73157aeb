"""What stands at each position of a text? Special tokens, the first one, punctuation, classes of one's own."""

import unicodedata
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headwidgets.errors import InputError
from headwidgets.models.streaming import membership
from headwidgets.text.alignment import groups
from headwidgets.text.examples import Side

Chosen = Collection[str] | Callable[[str], bool]
"""Tokens by their text (as it stands in the source), or a function that says whether a text belongs to it."""

BUILT_IN = ("text", "content", "first", "separators", "punctuation")
"""Classes that every text has: ``text`` are tokens that the tokenizer did not add; ``content`` those of them that do
not stand first; ``first`` whatever stands first; ``separators`` the tokens that the tokenizer added anywhere else;
``punctuation`` tokens of text that are punctuation alone."""

Flags = NDArray[np.bool_]


def is_punctuation(text: str) -> bool:
    """Whether a text is punctuation alone (Unicode's categories P)."""
    bare = text.strip()
    return bool(bare) and all(unicodedata.category(c).startswith("P") for c in bare)


def chosen(what: Chosen, name: str) -> Callable[[str], bool]:
    """A class of tokens as a function of their text.

    Raises:
        InputError: neither texts nor a function.
    """
    if callable(what):
        return what
    if isinstance(what, str) or not isinstance(what, Collection) or not all(isinstance(x, str) for x in what):
        raise InputError(
            f"expected {name} as a collection of token texts, such as ['.', ','], or a function of a token's text, got "
            f"{what!r}"
        )
    members = frozenset(what)
    return lambda text: text.strip() in members


@dataclass(frozen=True)
class Features:
    """What stands where on one side of one text.

    Attributes:
        classes: By class, bool [positions].
        units: Per token its position, for maps over words; None at the token level.
    """

    classes: dict[str, Flags]
    units: NDArray[np.int64] | None

    def __len__(self) -> int:
        return len(self.classes["text"])


class Reader:
    """Reads the classes off sides; a text that occurs often is judged once."""

    def __init__(self, classes: Mapping[str, Callable[[str], bool]], words: bool) -> None:
        self.classes, self.words = dict(classes), words
        self._known: dict[tuple[str, str], bool] = {}

    def __call__(self, side: Side) -> Features:
        """Classes of a side's tokens, or of its words.

        Raises:
            InputError: words are asked for and are not known.
        """
        units = groups(side) if self.words else None
        special = np.array(side.special, dtype=bool)
        texts = [_text(side, i) for i in range(len(side))]
        if units is not None:
            firsts = np.unique(units, return_index=True)[1]
            texts = [_word(side, i, texts[i]) for i in firsts.tolist()]
            special = special[firsts]
        first = np.zeros(len(texts), dtype=bool)
        first[0] = True
        found = {"text": ~special, "content": ~special & ~first, "first": first, "separators": special & ~first}
        for name, belongs in self.classes.items():
            found[name] = ~special & np.array([self._judged(name, belongs, text) for text in texts], dtype=bool)
            found[f"{name}_content"] = found[name] & ~first
        return Features(found, units)

    def _judged(self, name: str, belongs: Callable[[str], bool], text: str) -> bool:
        key = name, text
        if key not in self._known:
            self._known[key] = bool(belongs(text))
        return self._known[key]


def _text(side: Side, position: int) -> str:
    span = side.offsets[position]
    return "" if span is None else side.sources[side.segments[position]][span[0] : span[1]]


def _word(side: Side, position: int, text: str) -> str:
    word = side.words[position]
    if word is None or side.special[position]:
        return text
    segment = side.segments[position]
    start, end = side.spans[segment][word]
    return side.sources[segment][start:end]


class Places:
    """The classes of a batch's positions, padded.

    Attributes:
        real: Positions that are no padding, bool [rows, positions].
        classes: By class, bool [rows, positions].
        columns: ``real`` and every class as numbers, float32 [rows, positions, 1 + classes].
        column: Which column each is.
        units: Which tokens each word is made of, float32 [rows, words, tokens]; None at the token level.
    """

    def __init__(self, features: Sequence[Features], tokens: int, device: torch.device) -> None:
        length = max(map(len, features)) if features[0].units is not None else tokens
        names = list(features[0].classes)
        flags = np.zeros((len(features), length, 1 + len(names)), dtype=bool)
        for row, own in enumerate(features):
            flags[row, : len(own), 0] = True
            for column, name in enumerate(names, 1):
                flags[row, : len(own), column] = own.classes[name]
        given = torch.from_numpy(flags).to(device)
        self.columns = given.float()
        self.column = {name: i for i, name in enumerate(["real", *names])}
        self.real = given[..., 0]
        self.classes = {name: given[..., i] for name, i in self.column.items()}
        units = [own.units for own in features if own.units is not None]
        self.units: Tensor | None = membership(units, tokens, device) if units else None

    @property
    def length(self) -> int:
        """Positions of the longest row."""
        return self.real.shape[1]
