"""Which heads look a fixed way off? The offset at which a head's maxima are, and how often they are there."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headwidgets.errors import InputError
from headwidgets.jobs import Cancel, Progress, blocking
from headwidgets.models.model import HeadModel, expect_model
from headwidgets.models.sites import Site
from headwidgets.models.streaming import stream
from headwidgets.models.tally import chunks
from headwidgets.patterns.measuring import encoded
from headwidgets.provenance import made
from headwidgets.scores import Head, HeadScores, import_pandas
from headwidgets.text.examples import Batch, Side
from headwidgets.wire.documents import KindName

Floats = NDArray[np.float64]
THRESHOLD = 0.9
"""Voita et al. 2019, section 5.1: "at least 90 % of the time"."""


@dataclass(frozen=True)
class PositionalHeads:
    """How often each head's maximum is at one and the same offset.

    Attributes:
        share: Of the tokens from which the head's own most frequent offset can be seen, how many have their maximum
            there; standard errors are over texts.
        offset: By kind, int64 [layers, heads]: that offset, key minus query; 0 where `share` is NaN.
        weight: By kind, float64 [layers, heads]: mean attention weight of the maxima at that offset.
        counted: By kind, int64 [layers, heads]: the tokens of `share`.
        threshold: What a positional head reaches.
    """

    share: HeadScores
    offset: Mapping[KindName, NDArray[np.int64]]
    weight: Mapping[KindName, Floats]
    counted: Mapping[KindName, NDArray[np.int64]]
    threshold: float

    @property
    def heads(self) -> list[Head]:
        """Positional heads, the most regular first."""
        return [head for head in self.share.ranking() if self.share[head] >= self.threshold]

    def to_frame(self) -> Any:
        """A pandas DataFrame: kind, layer, head, offset, share, stderr, n (tokens), weight, positional.

        Raises:
            InputError: pandas is not installed.
        """
        frame = import_pandas("positional(...).to_frame()").DataFrame(self.share.to_frame())
        frame = frame.rename(columns={"value": "share"})
        for name, arrays in (("offset", self.offset), ("n", self.counted), ("weight", self.weight)):
            frame[name] = np.concatenate([np.asarray(arrays[kind]).ravel() for kind in self.share.kinds])
        frame["positional"] = frame["share"] >= self.threshold
        return frame[["kind", "layer", "head", "offset", "share", "stderr", "n", "weight", "positional"]]

    def __repr__(self) -> str:
        found = ", ".join(f"{head} ({self.offset[head.kind][head.layer, head.index]:+d})" for head in self.heads[:8])
        more = f", and {len(self.heads) - 8} more" if len(self.heads) > 8 else ""
        return f"PositionalHeads({len(self.heads)} at {self.threshold:.0%}: {found or 'none'}{more}; n={self.share.n})"


@blocking
def positional(
    model: HeadModel,
    texts: Any,
    *,
    threshold: float = THRESHOLD,
    reach: int = 8,
    first: bool = True,
    kind: KindName | None = None,
    seed: int = 0,
    on_progress: Progress | None = None,
    on_partial: Callable[[PositionalHeads], None] | None = None,
    cancel: Cancel | None = None,
) -> PositionalHeads:
    """Count at which offset each head's largest weight is, over the self-attention of all texts.

    Special tokens and padding are neither queries nor keys. A share is of the tokens from which its offset leads to
    such a key (the first token has none before it), so short texts do not lower it; an offset that fewer than half of
    the tokens can see does not count. A token that can see one key only has no choice and is left out (the first of a
    causal model, the only word of a text). Cross-attention is not measured.

    Args:
        model: A HeadModel.
        texts: Texts; for encoder-decoders (source, target), or sources whose targets are generated.
        threshold: Share that a positional head reaches.
        reach: Offsets from minus this to plus this are counted.
        first: Whether the first position of a text may be a maximum; False leaves the attention sink of causal
            models out.
        kind: Only this kind of self-attention; ``encoder`` of an encoder-decoder needs no targets.
        seed: Of the order in which texts are seen.
        on_progress: Called with texts done and texts in all.
        on_partial: Called with what is known so far.
        cancel: Says whether to stop.

    Raises:
        InputError: no text has two tokens that are not special; numbers that do not fit.
        Cancelled: told to stop.

    Reference:
        Voita et al. 2019, section 5.1.
    """
    expect_model(model)
    if isinstance(threshold, bool) or not isinstance(threshold, (int, float)) or not 0 < threshold <= 1:
        raise InputError(f"expected threshold as a share above 0 and up to 1, got {threshold!r}")
    if isinstance(reach, bool) or not isinstance(reach, int) or reach < 1:
        raise InputError(f"expected reach as a whole number of at least 1, got {reach!r}")
    listed, examples, sites = encoded(model, texts, kind)
    reach = min(reach, max(map(len, examples)))  # farther off there is no token
    counts = _Counts(model, [site for site in sites if site.kind != "cross" and site.has_map], reach, first)
    done = 0

    def after(batch: Batch) -> None:
        nonlocal done
        done += len(batch)
        if on_progress is not None:
            on_progress(done, len(examples))

    def found() -> PositionalHeads:
        record = made(
            model, listed, method="positional", threshold=threshold, reach=reach, first=first, seed=seed,
            excluded="special tokens",
        )  # fmt: skip
        return counts.result(done, threshold, record)

    for chunk in chunks(len(examples), seed):
        stream(
            model, examples, counts.look, sites=counts.sites, order=chunk, what="counting offsets", after=after,
            cancel=cancel,
        )  # fmt: skip
        if on_partial is not None and done < len(examples):
            on_partial(found())
    if not any(own[0].any() for own in counts.possible.values()):
        raise InputError("no text has two tokens that are not special to choose from, so no maximum can be counted")
    return found()


class _Counts:
    """Sums over texts, by site: of hits x, of x^2 and of x w [heads, offsets]; of candidates w and w^2 [offsets]."""

    def __init__(self, model: HeadModel, sites: Sequence[Site], reach: int, first: bool) -> None:
        self.model, self.sites, self.reach, self.first = model, list(sites), reach, first
        self.width = 2 * reach + 1
        self.hits = {site: np.zeros((4, site.n_heads, self.width)) for site in self.sites}
        self.possible = {site: np.zeros((2, self.width)) for site in self.sites}
        self.queries = dict.fromkeys(self.sites, 0.0)

    def look(self, site: Site, batch: Batch, maps: Tensor) -> None:
        """Take in one map."""
        rows, heads, length, _ = maps.shape
        allowed = self._candidates(site, batch, length).to(maps.device)  # [rows, query, key]
        off = torch.arange(length, device=maps.device)[None] - torch.arange(length, device=maps.device)[:, None]
        w = np.zeros((rows, self.width))
        for at in range(self.width):
            w[:, at] = (allowed & (off == at - self.reach)).sum((1, 2)).cpu().numpy()
        largest, key = maps.masked_fill(~allowed[:, None], -1).max(-1)  # [rows, heads, query]
        moved = key - torch.arange(length, device=maps.device) + self.reach
        counted = allowed.any(-1)[:, None] & (moved >= 0) & (moved < self.width)
        cell = torch.arange(rows * heads, device=maps.device).view(rows, heads, 1) * self.width + moved
        size = rows * heads * self.width
        x = torch.bincount(cell[counted], minlength=size).view(rows, heads, -1).double().cpu().numpy()
        weights = largest[counted].double()
        total = torch.bincount(cell[counted], weights, minlength=size).view(rows, heads, -1).cpu().numpy()
        self.hits[site] += np.stack([x.sum(0), (x**2).sum(0), (x * w[:, None]).sum(0), total.sum(0)])
        self.possible[site] += np.stack([w.sum(0), (w**2).sum(0)])
        self.queries[site] += float(allowed.any(-1).sum())

    def _candidates(self, site: Site, batch: Batch, length: int) -> Tensor:
        sides: list[Side] = [e.source if site.kind == "encoder" else (e.target or e.source) for e in batch.examples]
        ordinary = torch.zeros(len(sides), length, dtype=torch.bool)
        for row, side in enumerate(sides):
            ordinary[row, : len(side)] = ~torch.tensor(side.special, dtype=torch.bool)
        keys = ordinary.clone()
        if not self.first:
            keys[:, 0] = False
        allowed = ordinary[:, :, None] & keys[:, None]
        allowed = allowed.tril() if site.kind == "decoder" else allowed
        return allowed & (allowed.sum(-1, keepdim=True) >= 2)

    def result(self, n: int, threshold: float, record: Any) -> PositionalHeads:
        """What is known after `n` texts."""
        kinds = self.model.kinds
        share = {kind: np.full(self.model.shape(kind), np.nan) for kind in kinds}
        errors = {kind: np.full(self.model.shape(kind), np.nan) for kind in kinds}
        weight = {kind: np.full(self.model.shape(kind), np.nan) for kind in kinds}
        offset = {kind: np.zeros(self.model.shape(kind), dtype=np.int64) for kind in kinds}
        counted = {kind: np.zeros(self.model.shape(kind), dtype=np.int64) for kind in kinds}
        for site in self.sites:
            (w, squares), (x, xx, xw, total) = self.possible[site], self.hits[site]
            if not w.any():
                continue
            # Ties go to the offset that more tokens can see.
            best = np.where(2 * w >= self.queries[site], x * (w.max() + 1) + w, -1).argmax(-1)
            own = np.arange(site.n_heads)
            place = site.kind, (site.layer, slice(0, site.n_heads))
            hits, seen = x[own, best], w[best]
            mean = hits / np.maximum(seen, 1)
            residual = np.maximum(xx[own, best] - 2 * mean * xw[own, best] + mean**2 * squares[best], 0)
            share[place[0]][place[1]] = mean
            if n > 1:
                errors[place[0]][place[1]] = np.sqrt(n / (n - 1) * residual) / np.maximum(seen, 1)
            offset[place[0]][place[1]] = best - self.reach
            counted[place[0]][place[1]] = seen
            weight[place[0]][place[1]] = total[own, best] / np.maximum(hits, 1)
        scores = HeadScores(
            share,
            stderr=errors if n > 1 else None,
            n=n,
            name="positional",
            unit="of tokens",
            provenance=record,
            fingerprint=self.model.fingerprint,
        )
        return PositionalHeads(scores, offset, weight, counted, threshold)
