"""One pass over maps: what does every head find, and how far away does it look on average?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headwidgets.models.model import HeadModel
from headwidgets.models.sites import Site
from headwidgets.models.streaming import membership, stream, word_maps
from headwidgets.probing.linking.asking import Asked
from headwidgets.probing.linking.examples import Direction
from headwidgets.probing.linking.placed import PlacedExamples
from headwidgets.text.examples import Batch

Packed: TypeAlias = NDArray[np.uint8]
REACH = 64
"""Offsets of a head's own profile; what is farther counts as this far."""
Profiles: TypeAlias = dict[Site, NDArray[np.float32]]
"""By site, mean attention by offset from -REACH to REACH, [heads, offsets]."""


@dataclass
class Seen:
    """What heads found.

    Attributes:
        hits: By direction and site, one bit per instance and head, [instances, bytes].
        by_offset: The same for what each head would find if it looked by its profile alone; empty without profiles.
        profiles: By site, mean attention by offset.
        predicted: By direction, instance and site, the position found; only of instances that are kept.
    """

    hits: dict[Direction, dict[Site, Packed]]
    by_offset: dict[Direction, dict[Site, Packed]]
    profiles: Profiles
    predicted: dict[tuple[Direction, int], dict[Site, NDArray[np.int32]]] = field(default_factory=dict)


@dataclass
class _Questions:
    """The questions of one direction in one batch, on the device."""

    rows: Tensor
    positions: Tensor
    which: Tensor
    sizes: Tensor
    allowed: Tensor
    right: Tensor
    instances: NDArray[np.int64]


def look(
    model: HeadModel,
    placed: PlacedExamples,
    asked: Sequence[Asked],
    *,
    profiles: Profiles | None = None,
    keep: Mapping[Direction, set[int]] | None = None,
    max_tokens: int = 1024,
    step: Callable[[int], None] | None = None,
    cancel: Callable[[], bool] | None = None,
) -> Seen:
    """Ask every head every question, in one pass without gradients; no map is kept.

    Args:
        model: A HeadModel.
        placed: Examples.
        asked: Their questions, by direction.
        profiles: Of the heads, measured before: what they would find by offset alone is found out too.
        keep: By direction, instances of which the word found is kept.
        max_tokens: Padded positions per batch, at most.
        step: Called with the number of examples of every batch that is done.
        cancel: Says whether to stop.
    """
    sites = placed.sites

    def empty() -> dict[Direction, dict[Site, Packed]]:
        return {a.direction: {s: np.zeros((len(a), -(-s.n_heads // 8)), np.uint8) for s in sites} for a in asked}

    seen = Seen(empty(), empty() if profiles is not None else {}, {})
    keep = keep or {}
    sums = {site: np.zeros((site.n_heads, 2 * REACH + 1)) for site in sites}
    current: dict[str, tuple[Tensor, Tensor, list[_Questions]]] = {}

    def prepare(batch: Batch, length: tuple[int, int]) -> tuple[Tensor, Tensor, list[_Questions]]:
        own = [placed.examples[i] for i in batch.index]
        query = membership([one.query.units for one in own], length[0], model.device)
        key = membership([one.key.units for one in own], length[1], model.device) if placed.cross else query
        questions = [_questions(a, batch.index, (query if not a.by_row else key).shape[1], model.device) for a in asked]
        return query, key, questions

    def see(site: Site, batch: Batch, maps: Tensor) -> None:
        if not current:
            current["now"] = prepare(batch, (maps.shape[-2], maps.shape[-1]))
        query, key, questions = current["now"]
        words = word_maps(maps, query, key)
        sums[site] += _by_offset(words.sum(0))
        for a, q in zip(asked, questions, strict=True):
            if not len(q.instances):
                continue
            found, right = _answers(words, a.by_row, q)
            hits = _merged(right, q.instances, len(a))
            seen.hits[a.direction][site][hits[0]] = hits[1]
            if keep.get(a.direction):
                _note(seen, a.direction, site, q.instances, found, right, keep[a.direction])
            if profiles is not None:
                shape = profiles[site], words.shape[-2:]
                alike = _spread(*shape, model.device).expand(len(batch), -1, -1, -1)
                _, right = _answers(alike, a.by_row, q)
                hits = _merged(right, q.instances, len(a))
                seen.by_offset[a.direction][site][hits[0]] = hits[1]

    def after(batch: Batch) -> None:
        current.clear()
        if step is not None:
            step(len(batch))

    wanted = [i for i, _ in enumerate(placed.examples) if any(a.parts[i] is not None for a in asked)]
    if wanted:
        stream(
            model,
            [one.example for one in placed.examples],
            see,
            sites=sites,
            order=wanted,
            max_tokens=max_tokens,
            what="looking for links",
            after=after,
            cancel=cancel,
        )
    counts = _pairs(placed, wanted)
    seen.profiles = {site: (own / np.maximum(counts, 1)).astype(np.float32) for site, own in sums.items()}
    return seen


def _questions(asked: Asked, index: Sequence[int], width: int, device: torch.device) -> _Questions:
    parts = [(row, part) for row, i in enumerate(index) if (part := asked.parts[i]) is not None]
    total = sum(len(part.first) for _, part in parts)
    allowed = np.zeros((total, width), dtype=bool)
    right = np.zeros((total, width), dtype=bool)
    rows, positions, which, instances = [], [], [], np.zeros(total, dtype=np.int64)
    at = 0
    for row, part in parts:
        n, size = part.allowed.shape
        allowed[at : at + n, :size], right[at : at + n, :size] = part.allowed, part.right
        which.append(part.asked[:, 0] + at)
        positions.append(part.asked[:, 1])
        rows.append(np.full(len(part.asked), row))
        instances[at : at + n] = part.instance + part.start
        at += n

    def sent(array: NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(array).to(device)

    def joined(arrays: list[NDArray[np.int64]]) -> NDArray[np.int64]:
        return np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int64)

    numbers = joined(which)
    sizes = np.bincount(numbers, minlength=total).astype(np.float32)
    return _Questions(
        sent(joined(rows)), sent(joined(positions)), sent(numbers), sent(sizes), sent(allowed), sent(right), instances
    )


def _answers(words: Tensor, by_row: bool, q: _Questions) -> tuple[Tensor, Tensor]:
    """The position that every head finds for every question (-1 for none), and whether it is right.

    Args:
        words: [rows, heads, query, key].
        by_row: Rows are asked, else columns.
        q: The questions.

    Returns:
        Two tensors [questions, heads].
    """
    own = words[q.rows, :, q.positions] if by_row else words[q.rows, :, :, q.positions]
    if len(q.which) != len(q.sizes):
        total = own.new_zeros((len(q.sizes), *own.shape[1:])).index_add_(0, q.which, own)
        own = total / q.sizes[:, None, None]
    values, found = own.masked_fill(~q.allowed[:, None], -1.0).max(-1)
    right = q.right.gather(1, found) & (values > 0)
    return torch.where(values > 0, found, -1), right


def _merged(right: Tensor, instances: NDArray[np.int64], total: int) -> tuple[NDArray[np.int64], Packed]:
    """From questions to instances, packed."""
    hits = right.cpu().numpy()
    starts = np.flatnonzero(np.diff(instances, prepend=-1))
    if len(starts) != len(instances):
        hits = np.logical_or.reduceat(hits, starts, axis=0)
    return instances[starts], np.packbits(hits, axis=1)


def _note(
    seen: Seen,
    direction: Direction,
    site: Site,
    instances: NDArray[np.int64],
    found: Tensor,
    right: Tensor,
    wanted: set[int],
) -> None:
    """Keep what is found for some instances; of several questions the first, or the first that is right."""
    for at in np.flatnonzero(np.isin(instances, list(wanted))).tolist():
        key = (direction, int(instances[at]))
        own = found[at].cpu().numpy().astype(np.int32)
        before = seen.predicted.setdefault(key, {})
        before[site] = np.where(right[at].cpu().numpy(), own, before[site]) if site in before else own


def _by_offset(total: Tensor) -> NDArray[np.float64]:
    """Sums of a map over its diagonals: [heads, query, key] to [heads, 2 REACH + 1], by key - query."""
    heads, n, m = total.shape
    places = torch.arange(m, device=total.device)[None] - torch.arange(n, device=total.device)[:, None]
    places = places.clamp(-REACH, REACH) + REACH
    out = total.new_zeros((heads, 2 * REACH + 1))
    out.index_add_(1, places.flatten(), total.reshape(heads, -1))
    return out.double().cpu().numpy()


def _pairs(placed: PlacedExamples, index: Sequence[int]) -> NDArray[np.float64]:
    """How many pairs of words there are at every offset."""
    counts = np.zeros(2 * REACH + 1)
    for i in index:
        n, m = placed.examples[i].query.n, placed.examples[i].key.n
        offsets = np.arange(-(n - 1), m)
        # pairs with key - query = d: queries from max(0, -d) to min(n, m - d)
        sizes = np.minimum(n, m - offsets) - np.maximum(0, -offsets)
        np.add.at(counts, np.clip(offsets, -REACH, REACH) + REACH, np.maximum(sizes, 0))
    return counts


def _spread(profile: NDArray[np.float32], shape: Sequence[int], device: torch.device) -> Tensor:
    """A map that depends on the offset alone, [1, heads, query, key]; positive, so that something is always found."""
    n, m = shape
    places = np.arange(m)[None] - np.arange(n)[:, None]
    own = profile[:, np.clip(places, -REACH, REACH) + REACH] + np.float32(1e-9)
    return torch.from_numpy(np.ascontiguousarray(own))[None].to(device)


def unpack(packed: Mapping[Site, Packed], instances: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Hits of some instances by every head, sites one after the other; bool [instances, heads]."""
    parts = [np.unpackbits(bits[instances], axis=1, count=site.n_heads) for site, bits in packed.items()]
    return np.concatenate(parts, axis=1).astype(bool)
