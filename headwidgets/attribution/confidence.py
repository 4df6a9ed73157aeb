"""How sure is a head of where it looks? Its largest attention weight, averaged over queries (Voita et al. 2019)."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headwidgets.errors import Cancelled, InputError
from headwidgets.models.model import HeadModel
from headwidgets.models.sites import Site
from headwidgets.provenance import made
from headwidgets.scores import HeadScores
from headwidgets.text.examples import Batch, Side, as_texts


def confidence(
    model: HeadModel,
    texts: Any,
    *,
    on_progress: Callable[[int, int], None] | None = None,
    cancel: Callable[[], bool] | None = None,
) -> HeadScores:
    """Mean over queries of the largest weight of a head's map, in one pass and with flat memory.

    Special tokens ([CLS], </s>, ...) and padding are neither queries nor keys; rows are not renormalised without them.

    Args:
        model: A HeadModel.
        texts: Texts; for encoder-decoders (source, target), or sources whose targets are generated.
        on_progress: Called with texts done and texts in all.
        cancel: Says whether to stop.

    Returns:
        Scores between 0 and 1; `n` is the number of texts. Standard errors treat a text's queries as a cluster.

    Raises:
        InputError: no text has a token that is not special.
        Cancelled: told to stop.
    """
    listed = as_texts(texts)
    examples = model.encode(listed)
    shapes = {site: site.n_heads for site in model.sites}
    sums = {site: torch.zeros(3, heads, dtype=torch.float64) for site, heads in shapes.items()}  # s, s^2, s w
    weights = {site: np.zeros(2) for site in model.sites}  # w, w^2
    current: list[Batch] = []

    def look(site: Site, maps: Tensor) -> None:
        queries, keys = _masks(current[0], site, maps)
        largest = torch.where(keys[:, None, None], maps, torch.zeros((), device=maps.device, dtype=maps.dtype)).amax(-1)
        per_text = (largest.float() * queries[:, None]).sum(-1).double().cpu()  # [rows, heads]
        count = queries.sum(-1).double().cpu()
        sums[site] += torch.stack([per_text.sum(0), (per_text**2).sum(0), (per_text * count[:, None]).sum(0)])
        weights[site] += [float(count.sum()), float((count**2).sum())]

    done = 0
    for batch in model.batches(examples, max_tokens=1024):
        if cancel is not None and cancel():
            raise Cancelled("measuring confidence was cancelled")
        current[:] = [batch]
        with model.visit(attention={s: partial(look, s) for s in model.sites}), torch.no_grad():
            model.forward(batch)
        done += len(batch)
        if on_progress is not None:
            on_progress(done, len(examples))
    return _scores(model, listed, len(examples), sums, weights)


def _sides(batch: Batch, site: Site) -> tuple[list[Side], list[Side]]:
    sources = [e.source for e in batch.examples]
    targets = [e.target or e.source for e in batch.examples]
    if site.kind == "encoder":
        return sources, sources
    return targets, sources if site.kind == "cross" else targets


def _masks(batch: Batch, site: Site, maps: Tensor) -> tuple[Tensor, Tensor]:
    """Bool [rows, query] and [rows, key]: tokens of the text itself."""
    query, key = _sides(batch, site)
    return _ordinary(query, maps.shape[-2], maps.device), _ordinary(key, maps.shape[-1], maps.device)


def _ordinary(sides: Sequence[Side], length: int, device: torch.device) -> Tensor:
    rows = [[not special for special in side.special] + [False] * (length - len(side)) for side in sides]
    return torch.tensor(rows, device=device)


def _scores(
    model: HeadModel, listed: list[Any], n: int, sums: dict[Site, Tensor], weights: dict[Site, Any]
) -> HeadScores:
    values = {kind: np.full(model.shape(kind), np.nan) for kind in model.kinds}
    errors = {kind: np.full(model.shape(kind), np.nan) for kind in model.kinds}
    for site, found in sums.items():
        total, square = weights[site]
        if total == 0:
            raise InputError(
                f"no text has a token for {site.kind} attention that is not special, so none can be measured"
            )
        plain, squares, crossed = found.numpy()
        mean = plain / total
        residual = np.maximum(squares - 2 * mean * crossed + mean**2 * square, 0)
        values[site.kind][site.layer, : site.n_heads] = mean
        if n > 1:
            errors[site.kind][site.layer, : site.n_heads] = np.sqrt(n / (n - 1) * residual) / total
    return HeadScores(
        values,
        stderr=errors if n > 1 else None,
        n=n,
        name="confidence",
        provenance=made(model, listed, method="confidence", excluded="special tokens"),
        fingerprint=model.fingerprint,
    )
