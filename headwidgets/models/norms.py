"""Norm-based maps: attention weights times the size of what they carry (Kobayashi et al. 2020).

A head adds ``sum_j A_ij f(x_j)`` to what its layer says at position i, where ``f(x_j) = v_j W`` is the value vector of
token j through the head's slice W of the output projection, without the projection's bias. The map of the head is
``|A_ij f(x_j)| = A_ij |f(x_j)|`` (section 3), that of the layer ``|sum_h A^h_ij f^h(x_j)|``: vectors are added before
their size is taken, since heads may cancel each other. A large weight on a separator often carries a small vector.

Value vectors are read by differentiating the product ``A V`` by A, whatever module computes it: one backward pass of
that product alone gives as many columns of V as the text has query positions.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from headwidgets.errors import InputError, UnsupportedError
from headwidgets.models.attention import AttentionMaps
from headwidgets.models.capture import ForwardSource, Map, Place, Visitor, checked
from headwidgets.models.sites import Site
from headwidgets.models.visit import frozen, visit
from headwidgets.text.alignment import to_words

_CHUNK_BYTES = 64 * 2**20
"""Bytes of transformed vectors that exist at once."""

Seen = Callable[[Site, Tensor, Tensor], None]
"""Gets a site, its map [heads, query, key] and its value vectors [heads, key, head_dim]."""


def why_not(model: Any) -> str:
    """Why a model has no norm-based maps, as a sentence; empty where it has them."""
    name = getattr(model.model.config, "model_type", type(model.model).__name__)
    if not model.family.maps:
        return f"a {name} model has no attention maps, so there is nothing to weigh by norms"
    if not model.family.gates_scale_maps:
        note = model.family.note or "something else stands between the maps and the output projection"
        return f"a {name} model has no norm-based maps: {note}"
    return ""


class NormMaps(AttentionMaps):
    """Norm-based maps of one text: everything `AttentionMaps` has, in the unit of the layer's output vectors.

    ``norms[Head("encoder", 2, 5)]`` is ``|A_ij f(x_j)|``, float32 [query, key]; `summed` the map of a whole layer. At
    word level columns of a split word are summed and rows averaged, as for attention weights: an upper bound of the
    size of what the whole word carries. Gates and other changes of heads' outputs are left out.
    """

    def summed(self, kind: Any, layer: int) -> Map:
        """The map of a layer, float32 [query, key]: the norm of the sum over heads (not the sum of their norms).

        Raises:
            InputError: no such layer, or one without attention.
        """
        layers, _ = self.shape(kind)
        if not isinstance(layer, (int, np.integer)) or (kind, layer) not in self._heads:
            raise InputError(f"there is no attention in {kind} layer {layer}: layers are 0 to {layers - 1}")
        key = (kind, layer, "summed")
        kept = self._cached(key)
        if kept is not None:
            return kept
        if isinstance(self._source, NormSource):
            found = self._source.summed((kind, layer))
        else:
            tokens = self._tokens_of()
            query, columns = self.sides[kind]
            found = np.asarray(to_words(tokens.summed(kind, layer), query, columns), dtype=np.float32)
        self._keep(key, found)
        return found

    def _tokens_of(self) -> "NormMaps":
        found: NormMaps = self._source.tokens  # type: ignore[attr-defined]
        return found

    def __repr__(self) -> str:
        return super().__repr__().replace("AttentionMaps", "NormMaps", 1)


def why_not_of(maps: AttentionMaps) -> str:
    """Why no norms belong to these attention maps, as a sentence; empty where they do."""
    source: Any = maps._source
    source = getattr(source, "tokens", maps)._source  # maps over words are made of maps over tokens
    if not isinstance(source, ForwardSource):
        return (
            "these maps were stitched from what generate() returned, which has no value vectors: use "
            "attend(prompt, generate=n).norms"
        )
    return "these maps are closed: call attend() again" if source.model is None else why_not(source.model)


def norms_of(maps: AttentionMaps) -> NormMaps:
    """The norm-based maps that belong to attention maps over tokens: see `AttentionMaps.norms`."""
    reason = why_not_of(maps)
    if reason:
        raise UnsupportedError(reason)
    source = cast(ForwardSource, maps._source)
    return NormMaps(
        NormSource(source),
        text=maps.text,
        tokenizer=maps._tokenizer,
        sides=maps.sides,
        heads=maps._heads,
        memory=maps.memory,
        generated=maps.generated,
    )


class NormSource:
    """Norm-based maps of one example by forward passes of the model; a `MapSource`.

    The output of each pass must be that of the pass which gave the attention maps.
    """

    def __init__(self, forward: ForwardSource) -> None:
        self.forward = forward

    def visit(self, places: Sequence[Place], visitor: Visitor) -> None:
        """See `MapSource.visit`."""

        def take(site: Site, weights: Tensor, values: Tensor) -> None:
            sizes = torch.cat([part.norm(dim=-1) for _, part in transformed(site, values)], dim=1)
            self._send(site, weights.float() * sizes[:, None, :], visitor)

        self._look(places, take)

    def summed(self, place: Place) -> Map:
        """The map of a layer [query, key]: the norm of the sum over its heads."""
        found: list[Map] = []

        def take(site: Site, weights: Tensor, values: Tensor) -> None:
            parts = [_norm_of_sum(weights[:, :, where], part) for where, part in transformed(site, values)]
            self._send(site, torch.cat(parts, dim=1)[None], lambda _, maps: found.append(maps[0]))

        self._look([place], take)
        return found[0]

    def close(self) -> None:
        """See `MapSource.close`."""
        self.forward.close()

    def _send(self, site: Site, maps: Tensor, visitor: Visitor) -> None:
        name = f"the norms of {site.kind} layer {site.layer} of {self.forward.model.name}"
        shape = (maps.shape[1], maps.shape[2])
        visitor((site.kind, site.layer), checked(name, maps.to("cpu", torch.float32).numpy(), shape, sums=None))

    def _look(self, places: Sequence[Place], seen: Seen) -> None:
        model = self.forward.opened()
        sites = [model.site(*place) for place in places]
        self.forward._check_memory(sites)
        with _values(model, sites, seen):
            outputs = model.forward(self.forward.batch)
        self.forward._check_output(outputs)


@contextmanager
def _values(model: Any, sites: Sequence[Site], seen: Seen) -> Iterator[None]:
    """While a batch of one text runs, call `seen` with the map and the value vectors of each of `sites`."""
    maps: dict[Site, Tensor] = {}

    def keep(site: Site, weights: Tensor) -> Tensor:
        maps[site] = weights.detach().requires_grad_()
        return maps[site]

    def read(site: Site, outputs: Tensor) -> Tensor:
        weights = maps.pop(site)
        seen(site, weights.detach()[0], _differentiated(site, weights, outputs)[0])
        return outputs.detach()

    with (
        torch.inference_mode(False),
        torch.enable_grad(),
        model.lock,
        frozen(model.model),
        visit(
            model,
            attention={site: partial(keep, site) for site in sites},
            outputs={site: partial(read, site) for site in sites},
            innermost=True,
        ),
    ):
        yield


def _differentiated(site: Site, weights: Tensor, outputs: Tensor) -> Tensor:
    """Value vectors [batch, heads, key, head_dim] of ``outputs = weights V``, where `weights` is a leaf.

    Raises:
        UnsupportedError: the heads' outputs are something else.
    """
    rows, width = outputs.shape[1], outputs.shape[-1]
    found = []
    for first in range(0, width, rows):
        n = min(rows, width - first)
        seed = torch.zeros_like(outputs)
        index = torch.arange(n, device=outputs.device)
        seed[:, index, :, first + index] = 1  # row i of the map is followed to column first + i of V
        (slope,) = torch.autograd.grad(outputs, weights, seed, retain_graph=first + rows < width, allow_unused=True)
        if slope is None:
            break
        found.append(slope[:, :, :n].transpose(2, 3))
    values = torch.cat(found, dim=-1).detach() if found else None
    exact = outputs.dtype in (torch.float32, torch.float64)
    if values is not None:
        product = torch.matmul(weights.detach().float(), values.float()).transpose(1, 2)
        bound = (1e-4 if exact else 5e-2) * float(outputs.detach().abs().max()) + 1e-12
        if not bool(torch.isfinite(product).all()) or float((product - outputs.detach()).abs().max()) <= bound:
            return values
    raise UnsupportedError(
        f"{site.kind} layer {site.layer}: what {type(site.attention).__name__} gives to its output projection is not "
        "its map times value vectors, so there are no norm-based maps"
    )


def transformed(site: Site, values: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Value vectors [heads, key, head_dim] through each head's slice of the output projection, some keys at a time.

    Yields:
        Which keys, and float32 [heads, those keys, width of the layer].
    """
    weight = projected(site.projection).to(values.device)
    slices = weight.view(site.n_heads, site.head_dim, -1)
    step = max(1, _CHUNK_BYTES // (4 * site.n_heads * slices.shape[-1]))
    for first in range(0, values.shape[1], step):
        where = slice(first, first + step)
        yield where, torch.matmul(values[:, where].float(), slices)


def projected(projection: nn.Module) -> Tensor:
    """The matrix of an output projection, float32 [in, out], whatever the module keeps it as.

    Plain modules are read; others (adapters, quantised weights) are asked what they make of each unit vector.
    """
    weight = getattr(projection, "weight", None)
    if isinstance(weight, Tensor) and weight.dim() == 2 and weight.is_floating_point():
        if type(projection) is nn.Linear:
            return weight.detach().float().T
        if type(projection).__name__ == "Conv1D":
            return weight.detach().float()
    width = int(projection.in_features)  # type: ignore[arg-type]
    parameters = [p for p in (*projection.parameters(), *projection.buffers()) if p.is_floating_point()]
    dtype = parameters[0].dtype if parameters else torch.float32
    device = next((p.device for p in projection.parameters()), torch.device("cpu"))
    units = torch.eye(width, dtype=dtype, device=device)
    with torch.no_grad():  # `forward`, not the call: hooks of ours stand there
        found: Tensor = projection.forward(units) - projection.forward(torch.zeros_like(units[:1]))
    return found.float()


def _norm_of_sum(weights: Tensor, vectors: Tensor) -> Tensor:
    """``|sum_h A^h_ij f^h_j|`` [query, key] from weights [heads, query, key] and vectors [heads, key, width].

    By the inner products of the heads' vectors at each key, so that no [query, key, width] is made.
    """
    wide = torch.float32 if vectors.device.type == "mps" else torch.float64
    by_key = vectors.to(wide).transpose(0, 1)
    inner = torch.matmul(by_key, by_key.transpose(1, 2))  # [key, heads, heads]
    shares = weights.to(wide).permute(2, 1, 0)  # [key, query, heads]
    squares = (torch.matmul(shares, inner) * shares).sum(-1)
    return squares.clamp(min=0).sqrt().T


__all__ = ["NormMaps", "norms_of", "projected", "why_not", "why_not_of"]
