"""What an attribution holds."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwidgets.errors import InputError
from headwidgets.scores import HeadScores
from headwidgets.wire.documents import KindName, Provenance, Token

Floats = NDArray[np.float64]
Maps = NDArray[np.float32]


@dataclass
class Attribution:
    """How much each link of each head adds to one output of one text (Hao et al. 2021).

    For one layer at a time, all its maps A are scaled from 0 to 1 and the output's gradient is integrated; the entries
    of a layer add up to F(A) - F(0), its `change`. Layers are different quantities: each asks what the output owes to
    this layer's attention while all others stay.

    Attributes:
        text: The text, as given.
        value: The output F on the unchanged text.
        target: What was attributed, for a reader.
        target_ids: Class or token indices behind `target`.
        output: ``log-odds``, ``probability``, ``log-probability``, ``logit`` (mean-centred), or ``value`` (regression).
        unit: Of the output; empty for a pure number.
        rule: Of the integration.
        tolerance: Asked for; relative to ``max(|change|, 0.1)`` of a layer.
        change: By kind, float64 [layers], F(A) - F(0).
        gap: By kind, float64 [layers], |sum of the entries - change|: the integration error of the layer's total,
            in units of the output. A small gap says that the integral is right, not that the explanation is.
        steps: By kind, int64 [layers], points of the rule, all of them counted.
        totals: By kind, float64 [layers, heads], sum of a head's entries.
        largest: By kind, float64 [layers, heads], a head's largest entry (signed).
        tokens: By kind, (query tokens, key tokens) as the tokenizer made them.
        labels: By kind, the same positions for a reader (wire `Token`).
        notes: Sentences about what a reader should know.
        provenance: How it was made.
    """

    text: Any
    value: float
    target: str
    target_ids: tuple[int, ...]
    output: str
    unit: str
    rule: str
    tolerance: float
    change: dict[KindName, Floats]
    gap: dict[KindName, Floats]
    steps: dict[KindName, NDArray[np.int64]]
    totals: dict[KindName, Floats]
    largest: dict[KindName, Floats]
    tokens: dict[KindName, tuple[list[str], list[str]]]
    labels: dict[KindName, tuple[list[Token], list[Token]]]
    notes: list[str] = field(default_factory=list)
    provenance: Provenance | None = field(default=None, repr=False)
    kept_maps: dict[KindName, Maps] | None = field(default=None, repr=False)
    kept_attention: dict[KindName, Maps] | None = field(default=None, repr=False)

    @property
    def kinds(self) -> tuple[KindName, ...]:
        """The kinds of attention that were attributed."""
        return tuple(self.change)

    @property
    def maps(self) -> dict[KindName, Maps]:
        """By kind, the attribution, float32 [layers, heads, query, key]; NaN where a layer has no such head."""
        return self._kept(self.kept_maps)

    @property
    def attention(self) -> dict[KindName, Maps]:
        """By kind, the attention maps of the unchanged text, float32 [layers, heads, query, key]."""
        return self._kept(self.kept_attention)

    def _kept(self, maps: dict[KindName, Maps] | None) -> dict[KindName, Maps]:
        if maps is None:
            raise InputError("the maps were not kept; call attribute(..., keep='maps')")
        return maps

    def heads(self, pooling: str = "max") -> HeadScores:
        """One number per head of this text: its largest entry (``max``) or the sum of its entries (``sum``)."""
        if pooling not in ("max", "sum"):
            raise InputError(f"expected pooling 'max' or 'sum', got {pooling!r}")
        chosen = self.largest if pooling == "max" else self.totals
        return HeadScores(
            dict(chosen),
            name=f"attribution ({pooling})",
            unit=self.unit,
            n=1,
            provenance=self.provenance,
            fingerprint=str(self.provenance["settings"].get("fingerprint", "")) if self.provenance else None,
        )

    def __repr__(self) -> str:
        shapes = ", ".join(f"{kind} {v.shape[0]}x{v.shape[1]}" for kind, v in self.totals.items())
        worst = max((float(np.nanmax(g)) for g in self.gap.values() if not np.isnan(g).all()), default=float("nan"))
        return (
            f"Attribution({self.output} of {self.target!r} = {self.value:.4g}; {shapes}; integration error at most "
            f"{worst:.1e})"
        )
