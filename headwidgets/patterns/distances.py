"""How alike do heads attend? Jensen-Shannon distances between all heads, in one pass over many texts."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headwidgets.errors import InputError, MemoryLimitError
from headwidgets.jobs import Cancel, Progress, blocking
from headwidgets.models.memory import SHARE, free_bytes, readable
from headwidgets.models.model import HeadModel, expect_model
from headwidgets.models.sites import Site
from headwidgets.models.streaming import stream
from headwidgets.models.tally import GROUPS, chunks
from headwidgets.patterns.alike import KEYS, DistanceSums, HeadDistances, KeysName
from headwidgets.patterns.divergence import pairwise
from headwidgets.provenance import checked_seed, made
from headwidgets.scores import Head
from headwidgets.text.examples import Batch, Example, Side, as_texts
from headwidgets.wire.documents import KindName


@blocking
def distance(
    model: HeadModel,
    texts: Any,
    *,
    kind: KindName | None = None,
    keys: KeysName = "all",
    special_queries: bool = False,
    most_queries: int | None = 128,
    seed: int = 0,
    on_progress: Progress | None = None,
    on_partial: Callable[[HeadDistances], None] | None = None,
    cancel: Cancel | None = None,
) -> HeadDistances:
    """Mean Jensen-Shannon divergence between the rows of every two heads of a kind, over the tokens of many texts.

    Heads of different kinds look at different texts, or from different ones, and have no distance. A query that sees
    only one key says nothing and is left out (the first one of a causal model).

    Args:
        model: A HeadModel.
        texts: Texts; for encoder-decoders (source, target), or sources whose targets are generated.
        kind: Only heads of this kind; all kinds by default.
        keys: ``all``, as published; or ``content``: without special tokens and the first key, and rows add up to 1
            again. Heads that rest on a separator or a sink are alike for that alone; this says what else they do.
        special_queries: Rows of special tokens count too, as published.
        most_queries: Of a text with more tokens than this so many rows are drawn at random; a text still weighs as
            its tokens do. None for all rows.
        seed: Of the order in which texts are seen, and of rows that are drawn.
        on_progress: Called with texts done and texts in all.
        on_partial: Called with the distances of the texts seen so far.
        cancel: Says whether to stop.

    Returns:
        `HeadDistances`, in nats per token (0 to ln 2), with standard errors that treat a text's tokens as a cluster.

    Raises:
        InputError: a kind that the model lacks, fewer than two heads, no row with two keys to look at.
        MemoryLimitError: the rows of one text do not fit.
        Cancelled: told to stop.

    Reference:
        Clark et al. 2019, section 6, where divergences are summed over tokens, not averaged.
    """
    expect_model(model)
    seed = checked_seed(seed)
    _check(model, kind, keys, most_queries)
    listed = as_texts(texts)
    examples = model.encode(listed)
    kinds = [k for k in model.kinds if kind is None or k == kind]
    order = chunks(len(examples), seed)
    number = {text: rank for rank, text in enumerate(i for chunk in order for i in chunk)}
    groups = min(GROUPS, len(examples))
    sums = {k: DistanceSums(_heads(model, k), groups) for k in kinds}
    rows = Rows(model, sums, keys, special_queries, most_queries, seed)
    done = 0

    def after(batch: Batch) -> None:
        nonlocal done
        for k in kinds:
            found = rows.apart(k, batch)
            if found is not None:
                index, numbers, weights = found
                sums[k].add([number[i] % groups for i in index], numbers, weights)
        rows.clear()
        done += len(batch)
        if on_progress is not None:
            on_progress(done, len(examples))

    def result() -> HeadDistances:
        settings = {"keys": keys, "special_queries": special_queries, "most_queries": most_queries, "seed": seed}
        record = made(model, listed, method="distance", kind=kind, **settings, of=len(examples), n=done)
        return HeadDistances.of(sums, n=done, keys=keys, provenance=record, fingerprint=model.fingerprint)

    sites = [site for site in model.sites if site.kind in kinds]
    for chunk in order:
        for part in _fitting(model, examples, chunk, kinds, most_queries):
            stream(
                model, examples, rows.look, sites=sites, order=part, what="measuring distances", after=after,
                cancel=cancel, max_tokens=1024,
            )  # fmt: skip
        if on_partial is not None and done < len(examples) and any(s.weight > 0 for s in sums.values()):
            on_partial(result())
    for k in kinds:
        if sums[k].weight <= 0:
            what = "content keys (keys='content')" if keys == "content" else "keys"
            raise InputError(f"no text has a token that sees two {what} in {k} attention, so no distance is known")
    return result()


class Rows:
    """Rows of one batch, of all heads of a kind together."""

    def __init__(
        self,
        model: HeadModel,
        kinds: Any,
        keys: KeysName,
        special_queries: bool,
        most_queries: int | None,
        seed: int,
    ) -> None:
        self._model = model
        self._kinds = list(kinds)
        self._keys, self._special, self._most, self._seed = keys, bool(special_queries), most_queries, seed
        self._kept: dict[KindName, list[tuple[int, Tensor]]] = {}
        self._picked: dict[KindName, tuple[list[NDArray[np.int64]], list[int], Tensor, Tensor]] = {}

    def look(self, site: Site, batch: Batch, maps: Tensor) -> None:
        """Keep the rows of one site: [rows, heads, drawn queries, keys]."""
        if site.kind not in self._picked:
            self._picked[site.kind] = self._pick(site.kind, batch, maps)
        _, _, places, mask = self._picked[site.kind]
        if not places.shape[1]:
            return
        index = places[:, None, :, None].expand(-1, maps.shape[1], -1, maps.shape[-1])
        own = maps.gather(2, index).float() * mask[:, None, None, :]
        self._kept.setdefault(site.kind, []).append((site.layer, own))

    def clear(self) -> None:
        """The batch is done."""
        self._kept.clear()
        self._picked.clear()

    def apart(self, kind: KindName, batch: Batch) -> tuple[list[int], NDArray[np.float64], NDArray[np.float64]] | None:
        """Texts, their sums over tokens for every pair [texts, pairs], and their numbers of tokens."""
        kept = self._kept.get(kind)
        if not kept:
            return None
        drawn, eligible, _, _ = self._picked[kind]
        rows = torch.cat([own for _, own in sorted(kept, key=lambda one: one[0])], dim=1)  # [rows, heads, query, key]
        row_of = np.repeat(np.arange(len(drawn)), [len(own) for own in drawn])
        place = np.concatenate([np.arange(len(own)) for own in drawn])
        picked = rows[torch.from_numpy(row_of).to(rows.device), :, torch.from_numpy(place).to(rows.device)]
        mass = picked.sum(-1, keepdim=True)
        if self._keys == "content":
            known = (mass > 0).all(1).squeeze(-1).cpu().numpy()  # a row of zeros says nothing about that head
            picked, row_of = picked[torch.from_numpy(known).to(picked.device)], row_of[known]
            mass = mass[torch.from_numpy(known).to(mass.device)]
            picked = picked / mass
        counts = np.bincount(row_of, minlength=len(drawn))
        present = np.flatnonzero(counts)
        if not len(present):
            return None
        member = (row_of[None, :] == present[:, None]) * (np.array(eligible)[present] / counts[present])[:, None]
        sums = pairwise(picked, torch.from_numpy(member)).cpu().double().numpy()
        weights = np.array(eligible, dtype=np.float64)[present]
        return [batch.index[row] for row in present], sums, weights

    def _pick(
        self, kind: KindName, batch: Batch, maps: Tensor
    ) -> tuple[list[NDArray[np.int64]], list[int], Tensor, Tensor]:
        """Which queries of each row are looked at, of how many, the same padded, and which keys count."""
        drawn, eligible = [], []
        mask = np.zeros((len(batch), maps.shape[-1]), dtype=bool)
        for row, (example, number) in enumerate(zip(batch.examples, batch.index, strict=True)):
            query, key = sides(example, kind)
            mask[row, : len(key)] = True
            if self._keys == "content":
                mask[row, : len(key)] = ~np.array(key.special, dtype=bool)
                mask[row, 0] = False
            places = np.arange(len(query))
            seen = np.cumsum(mask[row])[places] if kind == "decoder" else np.full(len(query), mask[row].sum())
            own = places[(seen >= 2) & (self._special | ~np.array(query.special, dtype=bool))]
            eligible.append(len(own))
            if self._most is not None and len(own) > self._most:
                generator = np.random.default_rng((self._seed, number))
                own = np.sort(generator.choice(own, self._most, replace=False))
            drawn.append(own)
        padded = np.zeros((len(batch), max(map(len, drawn))), dtype=np.int64)
        for row, own in enumerate(drawn):
            padded[row, : len(own)] = own
        device = maps.device
        return drawn, eligible, torch.from_numpy(padded).to(device), torch.from_numpy(mask).to(device)


def sides(example: Example, kind: KindName) -> tuple[Side, Side]:
    """The positions that a kind of attention looks from, and those that it looks at."""
    target = example.target or example.source
    if kind == "encoder":
        return example.source, example.source
    return target, example.source if kind == "cross" else target


def _heads(model: HeadModel, kind: KindName) -> list[Head]:
    return sorted(model.heads(kind), key=lambda head: (head.layer, head.index))


def _check(model: HeadModel, kind: Any, keys: Any, most: Any) -> None:
    if kind is not None:
        model.sites_of(kind)
    if keys not in KEYS:
        raise InputError(f"expected keys= as one of {', '.join(KEYS)}, got {keys!r}")
    if most is not None and (isinstance(most, bool) or not isinstance(most, (int, np.integer)) or most < 1):
        raise InputError(f"expected most_queries= as a whole number of at least 1, or None for all, got {most!r}")
    for k in model.kinds:
        if (kind is None or k == kind) and len(model.heads(k)) < 2:
            raise InputError(f"expected at least two heads to compare, got {len(model.heads(k))} of {k} attention")


def _fitting(
    model: HeadModel, examples: Sequence[Example], chunk: list[int], kinds: Sequence[KindName], most: int | None
) -> list[list[int]]:
    """A chunk, cut so that the rows of its texts fit into memory together.

    Raises:
        MemoryLimitError: one text alone does not fit.
    """
    free = free_bytes(model.device)
    if free is None:
        return [chunk]
    heads = sum(len(model.heads(k)) for k in kinds)
    room = SHARE * free / (4 * 3 * heads)  # numbers per head; kept, put together and picked

    def need(i: int) -> int:
        length = len(examples[i])
        return length * (length if most is None else min(most, length))

    found: list[list[int]] = []
    longest = 0
    for i in sorted(chunk, key=need):
        longest = need(i)
        if longest > room:
            raise MemoryLimitError(
                f"text {i} has {len(examples[i])} tokens: the rows of {heads} heads take "
                f"{readable(12 * heads * longest)}, and {readable(SHARE * free)} may be used; pass a smaller "
                "most_queries=, one kind=, or shorter texts"
            )
        if found and (len(found[-1]) + 1) * longest <= room:
            found[-1].append(i)
        else:
            found.append([i])
    return found
