"""The maps of a treebank's sentences over words, kept in bounded memory and computed again where they do not fit."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headwidgets.errors import UnsupportedError
from headwidgets.jobs import Cancel
from headwidgets.models.families import Kind
from headwidgets.models.model import HeadModel
from headwidgets.models.sites import Site
from headwidgets.models.streaming import membership, stream, word_maps
from headwidgets.scores import Head
from headwidgets.text.examples import Batch
from headwidgets.text.placing import Placed, PlacedSentence

MARKS = 2
"""Positions before the words: the special tokens in front of the text, and those behind it."""

Halves = NDArray[np.float16]


def sites_of(model: HeadModel) -> list[Site]:
    """The self-attention that reads the text: an encoder's, or that of a model with one stack only.

    Raises:
        UnsupportedError: no layer of it has maps.
    """
    kind: Kind = "encoder" if "encoder" in model.kinds else "decoder"
    found = [site for site in model.sites_of(kind) if site.has_map]
    if not found:
        raise UnsupportedError(f"no layer of {model.name} has an attention map that a probe could read")
    return found


def heads_of(sites: Sequence[Site]) -> list[Head]:
    """The heads of some sites, in the order of a map's channels."""
    return [Head(site.kind, site.layer, index) for site in sites for index in range(site.n_heads)]


class WordMaps:
    """Maps over words of placed sentences, float16 [2 + words, heads, 2 + words] each, made when first asked for.

    Rows attend to columns. Position 0 stands for the special tokens in front of the text and 1 for those behind it
    (attention to a group is summed, from it averaged, as for the tokens of a word); words follow, in the order of the
    treebank. A word without a token has zeros; words that share their tokens have the same numbers. A position that a
    text does not have (a model without special tokens) has zeros.

    Attributes:
        placed: The sentences.
        heads: Channels.
    """

    def __init__(
        self, model: HeadModel, placed: Placed, *, memory: int, cancel: Cancel | None = None, what: str = "reading maps"
    ) -> None:
        """Nothing is computed yet.

        Args:
            model: A HeadModel.
            placed: Sentences as it sees them.
            memory: Bytes of maps that stay, at most; the maps of other sentences are computed at each `load`.
            cancel: Says whether to stop.
            what: For the message of a cancelled run.
        """
        self.placed = placed
        self._model = model
        self._sites = sites_of(model)
        self.heads = heads_of(self._sites)
        self._free = memory
        self._kept: dict[int, Halves] = {}
        self._cancel = cancel
        self._what = what
        self._units = [_units(sentence) for sentence in placed.sentences]

    def load(self, index: Sequence[int]) -> dict[int, Halves]:
        """The maps of some sentences, by number; those that fit are kept for the next time."""
        found = {i: self._kept[i] for i in index if i in self._kept}
        missing = [i for i in index if i not in found]
        for i, maps in self._computed(missing):
            found[i] = maps
            if maps.nbytes <= self._free:
                self._kept[i] = maps
                self._free -= maps.nbytes
        return found

    def _computed(self, index: Sequence[int]) -> Iterator[tuple[int, Halves]]:
        if not index:
            return
        done: dict[int, Halves] = {}
        rows: list[Tensor] = []
        seen: list[Tensor] = []
        first, last = self._sites[0], self._sites[-1]

        def look(site: Site, batch: Batch, maps: Tensor) -> None:
            if site is first:
                units = [self._units[i] for i in batch.index]
                rows[:] = [membership(units, maps.shape[-1], maps.device)]
                seen.clear()
            seen.append(word_maps(maps, rows[0]).to(torch.float16))
            if site is last:
                whole = torch.cat(seen, 1).permute(0, 2, 1, 3).cpu().numpy()  # [rows, units, heads, units]
                for row, i in enumerate(batch.index):
                    done[i] = _by_word(whole[row], self.placed.sentences[i])

        examples = [sentence.example for sentence in self.placed.sentences]
        stream(self._model, examples, look, sites=self._sites, order=index, what=self._what, cancel=self._cancel)
        yield from done.items()


def _units(sentence: PlacedSentence) -> NDArray[np.int64]:
    """Per token its position: 0 and 1 for special tokens in front and behind, 2 and more for the units of words."""
    special = np.asarray(sentence.example.source.special, dtype=bool)
    words = np.flatnonzero(~special)
    begin = int(words[0]) if len(words) else len(special)
    units = np.where(sentence.units >= 0, sentence.units + MARKS, -1)
    units[special & (np.arange(len(special)) < begin)] = 0
    units[special & (np.arange(len(special)) > begin)] = 1
    return units


def _by_word(maps: Halves, sentence: PlacedSentence) -> Halves:
    """From units to the words of the treebank, on both sides."""
    own = np.array([0, 1, *(-1 if u is None else u + MARKS for u in sentence.unit_of)])
    short = MARKS + sentence.n_units - len(maps)
    if short > 0:  # nothing but special tokens in front, say
        maps = np.pad(maps, ((0, short), (0, 0), (0, short)))
    found: Halves = maps[own][:, :, own]
    found[own < 0] = 0
    found[:, :, own < 0] = 0
    return found
