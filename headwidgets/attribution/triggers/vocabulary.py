"""Which other words could stand there? Words of a reference, drawn at random or by like frequency."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from headwidgets.attribution.triggers.insertion import Word, names
from headwidgets.errors import InputError
from headwidgets.text.examples import Example

_NEAREST = 50
"""Words of like frequency that one is drawn from."""
_LEAST = 10


class Vocabulary:
    """The words of some texts that are one token, with how often each token occurs."""

    def __init__(self, model: Any, examples: Sequence[Example]) -> None:
        """Count the tokens of `examples`.

        Raises:
            InputError: too few different words.
        """
        self._tokenizer = model.tokenizer
        self.counts: Counter[int] = Counter()
        single: set[int] = set()
        for example in examples:
            side = example.source
            ids = side.ids.tolist()
            last = len(ids) - 1
            for i, token in enumerate(ids):
                if side.special[i]:
                    continue
                self.counts[token] += 1
                word = (side.segments[i], side.words[i])
                if word[1] is None:
                    continue
                alone = (i == 0 or (side.segments[i - 1], side.words[i - 1]) != word) and (
                    i == last or (side.segments[i + 1], side.words[i + 1]) != word
                )
                if alone:
                    single.add(token)
        spelled = dict(zip(sorted(single), names(self._tokenizer, sorted(single)), strict=True))
        self.words = np.array([i for i, name in spelled.items() if any(c.isalnum() for c in name)], dtype=np.int64)
        marked = np.array([spelled[int(i)].startswith(("Ġ", "▁")) for i in self.words], dtype=bool)
        if marked.sum() >= _LEAST:  # where spaces are written into tokens, those without one continue something
            self.words = self.words[marked]
        if len(self.words) < _LEAST:
            raise InputError(
                f"the reference has {len(self.words)} different words of one token, too few to draw from: give more "
                "texts as reference="
            )
        self._logs = np.log1p([self.counts[int(i)] for i in self.words])

    def draw(self, words: Sequence[Word], generator: np.random.Generator, *, matched: bool) -> list[Word]:
        """Other words in the places of `words`, one for each of their pieces.

        Args:
            words: Of a trigger; none of its tokens is drawn.
            generator: Of random numbers.
            matched: Draw among the 50 words whose frequency (its logarithm) is nearest to that of the piece, else
                among all.
        """
        taken = {i for word in words for i in word.ids}
        free = np.array([int(i) not in taken for i in self.words])
        found = []
        for word in words:
            ids = []
            for token in word.ids:
                pool = self.words[free]
                if matched:
                    far = np.abs(self._logs[free] - np.log1p(self.counts[token]))
                    # words of equal distance in random order, so that no part of the vocabulary is preferred
                    pool = pool[np.lexsort((generator.random(len(pool)), far))[:_NEAREST]]
                ids.append(int(generator.choice(pool)))
            found.append(replace(word, ids=tuple(ids), text=" ".join(names(self._tokenizer, ids))))
        return found
