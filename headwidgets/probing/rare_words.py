"""Does a head look at the rarest word? (Voita et al. 2019, section 5.3)

A sentence counts whose rarest type is outside the most frequent ones (500 in the paper). Two questions are asked of
each head, since the paper leaves open which it means: how many of a sentence's tokens have their largest weight at its
rarest token (``token``), and in how many sentences the token that gets most weight, averaged over the tokens that can
see it, is the rarest (``sentence``). Tokens as rare as each other all count, and so does every occurrence of a type.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headwidgets.errors import InputError, UnsupportedError
from headwidgets.jobs import Cancel, Progress, blocking
from headwidgets.models.model import HeadModel, expect_model
from headwidgets.models.sites import Site
from headwidgets.models.streaming import membership, stream, word_maps
from headwidgets.models.tally import Tally, chunks, singles
from headwidgets.probing.frequencies import Frequencies, Pieces, frequencies_of, pieces_of
from headwidgets.probing.rare_result import RareWords
from headwidgets.probing.rarity import MEASURES, Guess, Rarity, guesses, least, weighed
from headwidgets.text.examples import Batch, as_texts
from headwidgets.text.treebank import Treebank


@blocking
def rare_words(
    model: HeadModel,
    texts: Any,
    frequencies: Any = None,
    *,
    words: bool | None = None,
    language: str = "en",
    common: int = 500,
    skip_first: bool | None = None,
    seed: int = 0,
    on_progress: Progress | None = None,
    on_partial: Callable[[RareWords], None] | None = None,
    cancel: Cancel | None = None,
) -> RareWords:
    """How often every head points at the rarest word, and at one of the two rarest.

    Special tokens and padding are neither queries nor keys. Causal heads are asked for the rarest of what they see:
    a query counts once it sees three positions or more.

    Args:
        model: A HeadModel; of an encoder-decoder the encoder is measured, on sources.
        texts: Texts, or a `Treebank`.
        frequencies: Of types: texts to count them in (a training corpus, say), ``"wordfreq"``, a mapping from words (or
            from tokens, with ``words=False``) to numbers, or None to count the measured texts.
        words: Words instead of tokens: attention to a split word is summed, from it averaged. By default tokens (as in
            the paper) where texts are counted, else words.
        language: Of ``"wordfreq"``.
        common: Only sentences count whose rarest type is outside of that many most frequent ones; 0 for all.
        skip_first: The first position of a text is no candidate; by default for causal models, where it is a sink.
        seed: Of the order in which texts are seen.
        on_progress: Called with texts done and texts in all.
        on_partial: Called with what is known of the texts seen so far.
        cancel: Says whether to stop.

    Returns:
        Fractions of queries and of sentences, by head, with baselines that look at the text alone.

    Raises:
        InputError: no text counts, or frequencies that do not fit.
        UnsupportedError: a model without maps.
        Cancelled: told to stop.

    Reference:
        Voita et al.: Analyzing Multi-Head Self-Attention, ACL 2019, section 5.3.
    """
    expect_model(model)
    if isinstance(common, bool) or not isinstance(common, (int, np.integer)) or common < 0:
        raise InputError(f"expected common= as a whole number from 0 on, got {common!r}")
    listed = [s.text for s in texts] if isinstance(texts, Treebank) else as_texts(texts)
    table, notes = frequencies_of(model, listed, frequencies, words=words, language=language)
    sites = [s for s in model.sites if s.has_map and (s.kind == "encoder" or not model.is_encoder_decoder)]
    if not sites:
        raise UnsupportedError(f"{type(model.model).__name__} has no attention maps to look at")
    causal = sites[0].kind == "decoder"
    skip = causal if skip_first is None else bool(skip_first)
    units, rarities = _counted(model, listed, table, int(common), causal, skip, notes)
    baselines = guesses(rarities, causal)
    order = chunks(len(units), seed)
    tallies = {name: _Pair(model, order, sites) for name in MEASURES}
    settings: dict[str, Any] = {
        "method": "rare-words",
        "frequencies": table.source,
        "level": "words" if table.words else "tokens",
        "common": int(common),
        "skip_first": skip,
        "seed": seed,
    }

    def result() -> RareWords:
        return RareWords(
            all_scores={
                name: pair.own.scores(listed, name=MEASURES[name], measure=name, **settings)
                for name, pair in tallies.items()
            },
            gains={
                name: pair.gain.scores(listed, name=f"{MEASURES[name]}, above the strongest baseline", **settings)
                for name, pair in tallies.items()
            },
            baselines={name: {g.name: g.value for g in found} for name, found in baselines.items()},
            frequencies=table.source,
            notes=tuple(notes),
        )

    best = {name: max(found, key=lambda g: g.value) for name, found in baselines.items()}
    done = 0
    for chunk in order:

        def after(batch: Batch) -> None:
            nonlocal done
            done += len(batch)
            if on_progress is not None:
                on_progress(done, len(units))

        look = _look(units, rarities, best, tallies, table.words, causal)
        stream(
            model, [p.example for p in units], look, sites=sites, order=chunk, what="measuring rare words",
            after=after, cancel=cancel,
        )  # fmt: skip
        for pair in tallies.values():
            pair.own.n = pair.gain.n = done
        if on_partial is not None and done < len(units):
            on_partial(result())
    return result()


@dataclass
class _Pair:
    """Sums of what heads do, and of how far it is above a baseline on the same text."""

    own: Tally
    gain: Tally

    def __init__(self, model: HeadModel, order: list[list[int]], sites: Sequence[Site]) -> None:
        self.own, self.gain = Tally(model, singles(order), sites), Tally(model, singles(order), sites)


def _counted(
    model: HeadModel, listed: list[Any], table: Frequencies, common: int, causal: bool, skip: bool, notes: list[str]
) -> tuple[list[Pieces], list[Rarity]]:
    """The texts that count, and what is rare in each."""
    limit, threshold = model.max_positions, table.threshold(common)
    units, rarities = [], []
    long = usual = 0
    for number, text in enumerate(listed):
        pieces = pieces_of(model, text, table.words, f"text {number}")
        if limit is not None and len(pieces.example.source) > limit:
            long += 1
            continue
        rarity = least(table.of(pieces.names), pieces.names, pieces.lengths, threshold, causal=causal, skip=skip)
        if rarity is None:
            usual += 1
            continue
        units.append(pieces)
        rarities.append(rarity)
    what = "words" if table.words else "tokens"
    if long:
        notes.append(f"{long} of {len(listed)} texts were left out: longer than the model's {limit} positions.")
    if usual:
        notes.append(
            f"{usual} of {len(listed)} texts do not count: they are shorter than three {what}, or none of their {what} "
            f"is outside the {common} most frequent of {table.source}."
        )
    if not units:
        raise InputError("expected texts with a rare word, got none that counts: " + " ".join(notes))
    return units, rarities


def _look(
    units: list[Pieces],
    rarities: list[Rarity],
    best: dict[str, Guess],
    tallies: dict[str, _Pair],
    words: bool,
    causal: bool,
) -> Callable[[Site, Batch, Tensor], None]:
    """What is done with each map."""
    prepared: list[Any] = [None, None]  # the batch, and what belongs to it

    def look(site: Site, batch: Batch, maps: Tensor) -> None:
        if prepared[0] is not batch:
            prepared[:] = [batch, _Prepared(batch, units, rarities, words, maps)]
        numbers, weights = prepared[1].measure(maps)
        for name, pair in tallies.items():
            x, w = numbers[name], weights[name]
            pair.own.add(site, batch.index, x, w)
            pair.gain.add(site, batch.index, x - best[name].hits[batch.index][:, None], w)

    return look


class _Prepared:
    """What one batch is measured by: candidates, queries that count, and what is rare."""

    def __init__(self, batch: Batch, units: list[Pieces], rarities: list[Rarity], words: bool, maps: Tensor) -> None:
        own = [units[i].units for i in batch.index]
        chosen = [rarities[i] for i in batch.index]
        self.member = membership(own, maps.shape[-1], maps.device)
        self.places: NDArray[np.int64] | None = None
        size = int(self.member.shape[1])
        if not words:  # tokens are only picked out, which costs less than a product
            self.places = np.zeros((len(own), size), dtype=np.int64)
            for row, unit in enumerate(own):
                found = np.flatnonzero(unit >= 0)
                self.places[row, : len(found)] = found
            self.index = torch.from_numpy(self.places).to(maps.device)

        def stacked(name: str, shape: tuple[int, ...]) -> Tensor:
            out = np.zeros((len(own), *shape), dtype=bool)
            for row, rarity in enumerate(chosen):
                array = getattr(rarity, name)
                out[row][tuple(slice(n) for n in array.shape)] = array
            return torch.from_numpy(out).to(maps.device)

        self.seen = stacked("seen", (size, size))
        self.queries = stacked("queries", (size,))
        self.keys = stacked("keys", (size,))
        self.rare = {k: stacked(f"rare{k}", (size, size)) for k in (1, 2)}
        self.whole = {k: stacked(f"whole{k}", (size,)) for k in (1, 2)}

    def measure(self, maps: Tensor) -> tuple[dict[str, NDArray[np.float64]], dict[str, NDArray[np.float64]]]:
        """Per text the sums of hits [rows, heads], and of what could be hit [rows]."""
        if self.places is None:
            small = word_maps(maps, self.member)
        else:
            heads, size = maps.shape[1], self.index.shape[1]
            rows = self.index[:, None, :, None].expand(-1, heads, -1, maps.shape[-1])
            columns = self.index[:, None, None, :].expand(-1, heads, size, -1)
            small = maps.gather(2, rows).gather(3, columns).float()
        pointed = small.masked_fill(~self.seen[:, None], -1).argmax(-1, keepdim=True)
        inside = self.seen & self.queries[..., None]
        seen_by = inside.sum(1)
        mean = (small * inside[:, None]).sum(2) / seen_by.clamp(min=1)[:, None]
        top = mean.masked_fill(~(self.keys & (seen_by > 0))[:, None], -1).argmax(-1, keepdim=True)
        numbers: dict[str, NDArray[np.float64]] = {}
        for k in (1, 2):
            rare = self.rare[k][:, None].expand(-1, small.shape[1], -1, -1)
            hit = rare.gather(-1, pointed)[..., 0] & self.queries[:, None]
            numbers[f"token{k}"] = weighed(hit.sum(-1))
            whole = self.whole[k][:, None].expand(-1, small.shape[1], -1)
            numbers[f"sentence{k}"] = weighed(whole.gather(-1, top)[..., 0])
        queries = weighed(self.queries.sum(-1))
        ones = np.ones(len(queries))
        return numbers, {name: queries if name.startswith("token") else ones for name in numbers}
