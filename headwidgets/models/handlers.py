"""What an intervention does inside the model: functions of heads' outputs and of attention maps."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headwidgets.errors import InputError
from headwidgets.models.maps import MapHandler
from headwidgets.models.recording import Rows, Run, donor_of, overlay
from headwidgets.models.sites import Site
from headwidgets.models.visit import OutputHandler

Other = Callable[[Tensor], Tensor]
"""Of the outputs [batch, query, heads, head_dim], what a closed head lets through."""


def blend(gates: Tensor, other: Other | None = None) -> OutputHandler:
    """``gate * output + (1 - gate) * other``.

    Args:
        gates: [heads] or [batch, heads]; a gate of 1 leaves the output as it is, to the bit.
        other: Of the outputs [batch, query, heads, head_dim], what a closed gate lets through; 0 by default.
    """

    def handle(heads: Tensor) -> Tensor:
        gate = gates.to(heads.dtype)
        if gate.dim() == 2 and gate.shape[0] not in (1, heads.shape[0]):
            raise InputError(f"expected gates for a batch of {heads.shape[0]}, got {gate.shape[0]}")
        gate = gate[:, None, :, None] if gate.dim() == 2 else gate[:, None]
        kept = heads * gate
        return kept if other is None else kept + (1 - gate) * other(heads)

    return handle


def chained(first: Any, second: Any) -> Any:
    """One handler after the other; None leaves a value as it is."""

    def both(value: Tensor) -> Tensor:
        changed = first(value)
        changed = value if changed is None else changed
        again = second(changed)
        return changed if again is None else again

    return both


def averaged(mean: Tensor) -> Other:
    """A head's mean output [heads, head_dim] at every position."""
    return lambda heads: mean.to(heads.device, heads.dtype).expand(heads.shape)


def resampled(run: Run, site: Site, rows: Rows, seed: int, own: Mapping[int, int] | None = None) -> Other:
    """Outputs of a reference text drawn per row; `own` says which text of `run` a row is itself."""

    def other(heads: Tensor) -> Tensor:
        donors = [donor_of(i, len(run), seed, (own or {}).get(i)) for i in rows.identities(heads.shape[0])]
        return overlay(run, site, donors, rows.mask(site, heads), heads, stretch=True)

    return other


def patched(run: Run, site: Site, rows: Rows) -> Other:
    """Outputs of another run of as many texts as there are rows, or of one; lengths must agree."""

    def other(heads: Tensor) -> Tensor:
        batch = heads.shape[0]
        if len(run) not in (1, batch):
            raise InputError(f"the recorded run has {len(run)} texts and this pass {batch}: expected as many, or one")
        donors = [0] * batch if len(run) == 1 else list(range(batch))
        return overlay(run, site, donors, rows.mask(site, heads), heads, stretch=False)

    return other


def _spread(heads: Tensor, index: list[int], values: Tensor, what: str) -> Tensor:
    """`values` of some heads [batch, query, given, head_dim] at those heads' places."""
    try:
        shaped = values.to(heads.dtype).expand(*heads.shape[:2], len(index), heads.shape[-1])
    except RuntimeError:
        raise InputError(
            f"expected {what} to broadcast to [batch, query, heads, head_dim] = "
            f"{[*heads.shape[:2], len(index), heads.shape[-1]]}, got {list(values.shape)}"
        ) from None
    return heads.index_copy(2, torch.as_tensor(index, device=heads.device), shaped)


def computed(site: Site, places: list[tuple[int, int]], function: Callable[..., Any]) -> Other:
    """What a function of some heads' outputs [batch, query, given, head_dim] and of the site returns."""
    index = [i for i, _ in places]
    return lambda heads: _spread(heads, index, function(heads[:, :, index], site), "the function's result")


def constant(places: list[tuple[int, int]], array: Tensor) -> Other:
    """An array that broadcasts to [batch, query, heads given, head_dim]."""
    index, order = [i for i, _ in places], [place for _, place in places]
    own = array[..., order, :] if array.dim() >= 2 and array.shape[-2] > 1 else array
    return lambda heads: _spread(heads, index, own, "the replacement")


def edge_of(edge: Any) -> tuple[int, int]:
    """A pair of positions, checked."""
    try:
        query, key = (int(i) for i in edge)
    except (TypeError, ValueError):
        raise InputError(f"expected edges as (query, key) pairs of positions, got {edge!r}") from None
    if query < 0 or key < 0:
        raise InputError(f"expected edges as positions counted from 0, got ({query}, {key})")
    return query, key


def cutting(site: Site, index: list[int], edges: list[tuple[int, int]], renormalise: bool) -> MapHandler:
    """Entries of some heads' maps become 0."""

    def cut(weights: Tensor) -> Tensor:
        n_query, n_key = weights.shape[-2:]
        for query, key in edges:
            if query >= n_query or key >= n_key:
                raise InputError(
                    f"cannot cut edge ({query}, {key}): the map of {site.kind} layer {site.layer} has {n_query} query "
                    f"and {n_key} key positions"
                )
        keep = torch.ones(weights.shape[1], n_query, n_key, dtype=weights.dtype, device=weights.device)
        queries, keys = zip(*edges, strict=True)
        for head in index:
            keep[head, list(queries), list(keys)] = 0
        left = weights * keep
        if not renormalise:
            return left
        before, after = weights.sum(-1, keepdim=True), left.sum(-1, keepdim=True)
        touched = (keep == 0).any(-1)[None, :, :, None] & (after > 0)
        return torch.where(touched, left * (before / torch.where(after > 0, after, 1)), left)

    return cut


def putting(places: list[tuple[int, int]], by: Any) -> MapHandler:
    """Some heads' maps become an array, or what a function of them returns."""
    index, order = [i for i, _ in places], [place for _, place in places]

    def put(weights: Tensor) -> Tensor:
        if callable(by):
            given = by(weights[:, index])
        else:
            given = torch.as_tensor(np.asarray(by) if not isinstance(by, Tensor) else by).to(weights.device)
            given = given[..., order, :, :] if given.dim() >= 3 and given.shape[-3] > 1 else given
        wanted = (weights.shape[0], len(index), *weights.shape[-2:])
        try:
            shaped = given.to(weights.dtype).expand(wanted)
        except RuntimeError:
            raise InputError(
                f"expected maps that broadcast to [batch, heads, query, key] = {list(wanted)}, got {list(given.shape)}"
            ) from None
        return weights.index_copy(1, torch.as_tensor(index, device=weights.device), shaped)

    return put
