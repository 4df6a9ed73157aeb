"""Interventions: what heads' outputs and maps become, for the time of a ``with`` block.

Everything is one of two things: a function of the heads' outputs before the output projection, or a function of the
attention map. `Scale`, `Replace`, `Cut` and `ReplaceMap` say which; `intervene` puts any number of them on in the
order given; blocks nest, the outer one acts first. Gradients flow through all of them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headwidgets.errors import InputError
from headwidgets.models.handlers import (
    Other,
    averaged,
    blend,
    chained,
    computed,
    constant,
    cutting,
    edge_of,
    patched,
    putting,
    resampled,
)
from headwidgets.models.maps import MapHandler
from headwidgets.models.recording import Rows, Run, means, record
from headwidgets.models.sites import Site
from headwidgets.models.visit import OutputHandler

__all__ = ["ABLATIONS", "Cut", "Replace", "ReplaceMap", "Run", "Scale", "gated", "intervene", "record"]

ABLATIONS = ("zero", "mean", "resample")
"""What a pruned head's output becomes; the first as published."""


@dataclass(frozen=True)
class Scale:
    """Multiply heads' outputs; the same as scaling their maps.

    Attributes:
        heads: Which heads.
        factor: By what; 0 prunes. A number, or a tensor [batch].
        gates: In place of `heads`: by kind, factors [layers, heads] or [batch, layers, heads].
    """

    heads: Iterable[Any] = ()
    factor: Any = 0.0
    gates: Mapping[Any, Any] | None = None


@dataclass(frozen=True)
class Replace:
    """Put something in the place of heads' outputs.

    Attributes:
        heads: Which heads.
        by: ``zero``; ``mean`` over all positions of the reference texts (special tokens too, padding not);
            ``resample``: another reference text, drawn per row, its positions stretched to the row's, first on first
            and last on last; a `Run` of as many texts as there are rows (or of one) and of their lengths; an array
            that broadcasts to [batch, query, heads given, head_dim]; or a function of such an array and the `Site`.
        reference: Texts for ``mean`` and ``resample``.
        positions: Only these query positions, counted without padding; all by default.
        seed: Of ``resample``.
    """

    heads: Iterable[Any]
    by: Any = "zero"
    reference: Any = None
    positions: Sequence[int] | None = None
    seed: int = 0


@dataclass(frozen=True)
class Cut:
    """Set entries of attention maps to 0.

    Attributes:
        edges: (query, key) pairs of positions, counted from 0.
        heads: In which heads; or
        kind: in all heads of a kind (the model's only one by default), and
        layer: of one layer of it.
        renormalise: Let the rest of a cut row sum to 1 again.
    """

    edges: Sequence[tuple[int, int]]
    heads: Iterable[Any] | None = None
    kind: Any = None
    layer: int | None = None
    renormalise: bool = False


@dataclass(frozen=True)
class ReplaceMap:
    """Put something in the place of attention maps.

    Attributes:
        heads: Which heads.
        by: An array that broadcasts to [batch, heads given, query, key], or a function of such an array.
    """

    heads: Iterable[Any]
    by: Any


Change = Scale | Replace | Cut | ReplaceMap


class _Plan:
    """Handlers by site, collected from changes in their order."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.outputs: dict[Site, OutputHandler] = {}
        self.attention: dict[Site, MapHandler] = {}
        self.rows = Rows()

    def add_output(self, site: Site, handler: OutputHandler) -> None:
        self.outputs[site] = chained(self.outputs[site], handler) if site in self.outputs else handler

    def add_map(self, site: Site, handler: MapHandler) -> None:
        self.attention[site] = chained(self.attention[site], handler) if site in self.attention else handler

    def by_site(self, heads: Iterable[Any]) -> dict[Site, list[tuple[int, int]]]:
        """By site, (index of the head, its place among the heads given)."""
        found: dict[Site, list[tuple[int, int]]] = {}
        for place, head in enumerate(self.model.check_heads(heads)):
            found.setdefault(self.model.site(head.kind, head.layer), []).append((head.index, place))
        return found

    # ---- outputs ------------------------------------------------------------------------------------

    def scale(self, change: Scale) -> None:
        if change.gates is not None:
            if tuple(change.heads):
                raise InputError("Scale takes heads= with factor=, or gates=; got both")
            for site, factors in self.model.gate_tensors((), change.gates).items():
                self.add_output(site, blend(factors))
            return
        for site, places in self.by_site(change.heads).items():
            factor = torch.as_tensor(change.factor, device=self.model.device)
            closed = torch.zeros(site.n_heads, dtype=torch.bool, device=self.model.device)
            closed[[index for index, _ in places]] = True
            gates = torch.where(closed, factor[..., None].float(), 1.0)
            self.add_output(site, blend(gates))

    def replace(self, change: Replace) -> None:
        chosen = self.by_site(change.heads)
        if not chosen:
            return
        others = self._others(change, chosen)
        for site, places in chosen.items():
            self.add_output(site, self._replacing(site, places, others[site], change.positions))

    def _replacing(
        self,
        site: Site,
        places: list[tuple[int, int]],
        other: Other,
        positions: Sequence[int] | None,
    ) -> OutputHandler:
        index = [i for i, _ in places]

        def handle(heads: Tensor) -> Tensor:
            closed = torch.zeros(site.n_heads, dtype=torch.bool, device=heads.device)
            closed[index] = True
            where = closed[:, None].expand(heads.shape)
            if positions is not None:
                mask = self.rows.mask(site, heads)
                rank = mask.long().cumsum(1) - 1
                at = torch.isin(rank, torch.as_tensor(list(positions), device=heads.device)) & mask
                where = where & at[:, :, None, None]
            return torch.where(where, other(heads), heads)

        return handle

    def _others(self, change: Replace, chosen: dict[Site, list[tuple[int, int]]]) -> dict[Site, Other]:
        by = change.by
        if isinstance(by, str):
            return self.ablation(by, list(chosen), change.reference, change.seed)
        if isinstance(by, Run):
            missing = [site for site in chosen if site not in by.outputs]
            if missing:
                raise InputError(f"the recorded run has no outputs of {missing[0].kind} layer {missing[0].layer}")
            return {site: patched(by, site, self.rows) for site in chosen}
        if callable(by):
            return {site: computed(site, places, by) for site, places in chosen.items()}
        array = torch.as_tensor(np.asarray(by) if not isinstance(by, Tensor) else by).to(self.model.device)
        return {site: constant(places, array) for site, places in chosen.items()}

    def ablation(self, by: str, sites: list[Site], reference: Any, seed: int) -> dict[Site, Other]:
        """By site, what a pruned head's output becomes."""
        if by not in ABLATIONS:
            raise InputError(f"expected an ablation out of {', '.join(ABLATIONS)}, got {by!r}")
        if by == "zero":
            return dict.fromkeys(sites, torch.zeros_like)
        if reference is None:
            raise InputError(f"ablation {by!r} needs reference= texts to take the heads' outputs from")
        if by == "mean":
            found = means(self.model, reference, sites)
            return {site: averaged(found[site]) for site in sites}
        run = record(self.model, reference, sites)
        return {site: resampled(run, site, self.rows, seed) for site in sites}

    # ---- maps ---------------------------------------------------------------------------------------

    def cut(self, change: Cut) -> None:
        edges = [edge_of(edge) for edge in change.edges]
        if change.heads is not None:
            chosen = {s: [i for i, _ in places] for s, places in self.by_site(change.heads).items()}
        else:
            kind = change.kind or (self.model.kinds[0] if len(self.model.kinds) == 1 else None)
            if kind is None:
                raise InputError(f"Cut needs heads=, or kind= one of {', '.join(self.model.kinds)}")
            sites = self.model.sites_of(kind) if change.layer is None else [self.model.site(kind, change.layer)]
            chosen = {site: list(range(site.n_heads)) for site in sites}
        for site, index in chosen.items() if edges else ():
            self.add_map(site, cutting(site, index, edges, change.renormalise))

    def replace_map(self, change: ReplaceMap) -> None:
        for site, places in self.by_site(change.heads).items():
            self.add_map(site, putting(places, change.by))


@contextmanager
def _applied(plan: _Plan) -> Iterator[Any]:
    with ExitStack() as stack:
        stack.enter_context(plan.model.lock)
        stack.enter_context(plan.rows.watching(plan.model))
        stack.enter_context(plan.model.visit(outputs=plan.outputs, attention=plan.attention, evaluation=False))
        yield plan.model


@contextmanager
def intervene(model: Any, *changes: Change) -> Iterator[Any]:
    """Put changes on in the order given, for the time of a ``with`` block.

    Args:
        model: A HeadModel.
        changes: `Scale`, `Replace`, `Cut`, `ReplaceMap`. Reference texts of ``mean`` and ``resample`` are run when
            the block begins, under the interventions that surround it.

    Raises:
        InputError: a head, shape or name that does not fit.
        UnsupportedError: the family has no maps, or another run's outputs meet generate with a cache.
    """
    plan = _Plan(model)
    with model.lock:
        for change in changes:
            if isinstance(change, Scale):
                plan.scale(change)
            elif isinstance(change, Replace):
                plan.replace(change)
            elif isinstance(change, Cut):
                plan.cut(change)
            elif isinstance(change, ReplaceMap):
                plan.replace_map(change)
            else:
                raise InputError(f"expected Scale, Replace, Cut or ReplaceMap, got {type(change).__name__}")
        with _applied(plan):
            yield model


@contextmanager
def gated(
    model: Any,
    pruned: Iterable[Any] = (),
    *,
    gates: Mapping[Any, Any] | None = None,
    ablation: str = "zero",
    reference: Any = None,
    seed: int = 0,
) -> Iterator[Any]:
    """Heads closed, for the time of a ``with`` block: ``gate * output + (1 - gate) * ablation``.

    Args:
        model: A HeadModel.
        pruned: Heads whose gate is 0.
        gates: By kind, factors [layers, heads] or [batch, layers, heads]; 1 is open.
        ablation: What a closed head's output becomes: ``zero``, ``mean`` or ``resample`` (see `Replace`).
        reference: Texts for ``mean`` and ``resample``.
        seed: Of ``resample``.

    Raises:
        InputError: a head, a shape or an ablation that does not fit.
    """
    factors = model.gate_tensors(pruned, gates)
    plan = _Plan(model)
    with model.lock:
        others = plan.ablation(ablation, list(factors), reference, seed)
        for site, gate in factors.items():
            plan.add_output(site, blend(gate, None if ablation == "zero" else others[site]))
        with _applied(plan):
            yield model
