"""Where attention maps come from: a forward pass that looks at the layers asked for, or maps somebody has."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headwidgets.errors import InputError, VerificationError
from headwidgets.models.families import Kind
from headwidgets.models.maps import MapHandler
from headwidgets.models.memory import check_fits
from headwidgets.models.sites import Site
from headwidgets.text.examples import Example, Side

Map = NDArray[np.float32]
Place = tuple[Kind, int]
"""A kind and a layer."""
Visitor = Callable[[Place, Map], None]
"""Gets the map [heads, query, key] of one layer at a time."""

_WORKING_COPIES = 4
"""Copies of one layer's map that exist at once while it is computed: products, scores, probabilities, float32."""


class MapSource(Protocol):
    """Gives maps, layer by layer."""

    def visit(self, places: Sequence[Place], visitor: Visitor) -> None:
        """Call `visitor` with the map of each of `places`, in the order in which they come."""

    def close(self) -> None:
        """Free what is held."""


def sides_of(example: Example, kind: Kind) -> tuple[Side, Side]:
    """The side whose positions are the rows of a kind's maps, and that of the columns."""
    if example.target is None or kind == "encoder":
        return example.source, example.source
    return example.target, example.target if kind == "decoder" else example.source


def row_tolerance(dtype: torch.dtype) -> float:
    """How far a row's sum may be from 1 for maps that were computed in `dtype`."""
    return 1e-3 if dtype in (torch.float32, torch.float64) else 3e-2


def checked(name: str, values: Map, shape: tuple[int, int], *, sums: float | None) -> Map:
    """A captured map [heads, query, key], if it is one.

    Args:
        name: The site, for errors.
        values: What was captured.
        shape: Query and key positions that the text has.
        sums: How far rows may be from 1; None where they need not sum to 1.

    Raises:
        VerificationError: another shape, NaN, or rows that do not sum to 1; the message names the site.
    """
    if values.ndim != 3 or values.shape[1:] != shape:
        raise VerificationError(
            f"{name}: expected maps of {shape[0]} x {shape[1]} tokens, the model computed {list(values.shape)}"
        )
    if not np.isfinite(values).all():
        heads = np.flatnonzero(~np.isfinite(values).all(axis=(1, 2)))
        raise VerificationError(
            f"{name}: the attention of head {', '.join(map(str, heads[:8]))} has NaN or infinite numbers; look for "
            "NaN in the weights of this layer and those before it, or run the model in float32"
        )
    if sums is not None:
        worst = float(np.abs(values.sum(axis=-1, dtype=np.float64) - 1).max())
        if worst > sums:
            raise VerificationError(f"{name}: rows of an attention map sum to 1, here one is off by {worst:.2g}")
    return values


class ForwardSource:
    """Maps of one example by forward passes of the model, one per request.

    The first pass keeps a fingerprint of the model's output. A later one must give the same output: maps fetched after
    the weights or gates have changed would belong to another model.
    """

    def __init__(self, model: Any, example: Example) -> None:
        self.model = model
        self.example = example
        self.batch = next(iter(model.batches([example])))
        self.output: NDArray[np.float32] | None = None

    def visit(self, places: Sequence[Place], visitor: Visitor) -> None:
        """See `MapSource.visit`."""
        model = self.opened()
        sites = [model.site(*place) for place in places]
        self._check_memory(sites)
        handlers: dict[Site, MapHandler] = {site: self._handler(site, visitor) for site in sites}
        with model.visit(attention=handlers), torch.inference_mode():
            outputs = model.forward(self.batch)
        self._check_output(outputs)

    def opened(self) -> Any:
        """The model, as long as it is held.

        Raises:
            InputError: the maps were closed.
        """
        if self.model is None:
            raise InputError("these maps are closed: call attend() again")
        return self.model

    def close(self) -> None:
        """See `MapSource.close`."""
        self.model = self.batch = None

    def _handler(self, site: Site, visitor: Visitor) -> MapHandler:
        query, key = (len(side) for side in sides_of(self.example, site.kind))
        sums = row_tolerance(self.model.model.dtype) if self.model.family.rows_sum_to_one else None

        def look(weights: Tensor) -> None:
            values = weights.detach()[0].to("cpu", torch.float32).numpy()
            name = f"{site.kind} layer {site.layer} of {self.model.name}"
            visitor((site.kind, site.layer), checked(name, values, (query, key), sums=sums))

        return look

    def _check_memory(self, sites: Sequence[Site]) -> None:
        most = 0
        for site in sites:
            query, key = (len(side) for side in sides_of(self.example, site.kind))
            most = max(most, site.n_heads * query * key * 4 * _WORKING_COPIES)
        check_fits(
            most,
            self.model.device,
            what=f"the attention of one layer over {len(self.example)} tokens",
            instead="shorten the text, or load the model in bfloat16",
        )

    def _check_output(self, outputs: Any) -> None:
        first = next((v for v in outputs.values() if isinstance(v, Tensor) and v.is_floating_point()), None)
        if first is None:
            return
        flat = first.detach().reshape(-1)
        now = flat[:: max(1, flat.numel() // 4096)].to("cpu", torch.float32).numpy()
        if self.output is None:
            self.output = now
        elif not np.allclose(now, self.output, rtol=1e-3, atol=1e-3 * (1e-3 + float(np.abs(self.output).max()))):
            raise InputError(
                "the model's output for this text has changed since attend() was called (weights, gates or an "
                "intervention), and this map was not fetched yet: call attend() again"
            )


class StoredSource:
    """Maps that somebody already has."""

    def __init__(self, maps: dict[Place, Map]) -> None:
        self.maps = maps

    def visit(self, places: Sequence[Place], visitor: Visitor) -> None:
        """See `MapSource.visit`."""
        for place in places:
            visitor(place, self.maps[place])

    def close(self) -> None:
        """See `MapSource.close`."""
        self.maps = {}
