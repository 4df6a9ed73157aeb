"""How sure is a head of where it looks? Its largest attention weight, averaged over queries (Voita et al. 2019)."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headwidgets.errors import Cancelled, InputError
from headwidgets.jobs import Cancel, Progress
from headwidgets.models.model import HeadModel
from headwidgets.models.sites import Site
from headwidgets.models.tally import Tally, chunks, singles
from headwidgets.scores import HeadScores
from headwidgets.text.examples import Batch, Side, as_texts


def measure(
    model: HeadModel,
    texts: Any,
    labels: Any = None,
    *,
    seed: int = 0,
    on_progress: Progress | None = None,
    on_partial: Callable[[HeadScores], None] | None = None,
    cancel: Cancel | None = None,
) -> HeadScores:
    """Mean over queries of the largest weight of a head's map, in one pass and with flat memory.

    Special tokens ([CLS], </s>, ...) and padding are neither queries nor keys; rows are not renormalised without them.

    Args:
        model: A HeadModel.
        texts: Texts; for encoder-decoders (source, target), or sources whose targets are generated.
        labels: Not looked at.
        seed: Of the order in which texts are seen.
        on_progress: Called with texts done and texts in all.
        on_partial: Called with the scores of the texts seen so far.
        cancel: Says whether to stop.

    Returns:
        Scores between 0 and 1; `n` is the number of texts. Standard errors treat a text's queries as a cluster.

    Raises:
        InputError: no text has a token that is not special.
        Cancelled: told to stop.
    """
    listed = as_texts(texts)
    examples = model.encode(listed)
    order = chunks(len(examples), seed)
    tally = Tally(model, singles(order))
    current: list[Batch] = []

    def look(site: Site, maps: Tensor) -> None:
        queries, keys = _masks(current[0], site, maps)
        largest = torch.where(keys[:, None, None], maps, torch.zeros((), device=maps.device, dtype=maps.dtype)).amax(-1)
        per_text = (largest.float() * queries[:, None]).sum(-1).cpu().numpy()  # [rows, heads]
        count = queries.sum(-1).cpu().numpy().astype(np.float64)
        tally.add(site, current[0].index, per_text.astype(np.float64), count)

    def scores() -> HeadScores:
        return tally.scores(listed, name="confidence", method="confidence", excluded="special tokens", seed=seed)

    for chunk in order:
        for batch in model.batches(examples, max_tokens=1024, order=chunk):
            if cancel is not None and cancel():
                raise Cancelled("measuring confidence was cancelled")
            current[:] = [batch]
            with model.visit(attention={s: partial(look, s) for s in model.sites}), torch.no_grad():
                model.forward(batch)
            tally.n += len(batch)
            if on_progress is not None:
                on_progress(tally.n, len(examples))
        if on_partial is not None and tally.n < len(examples):
            on_partial(scores())
    for site in tally.unseen():
        raise InputError(f"no text has a token for {site.kind} attention that is not special, so none can be measured")
    return scores()


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
