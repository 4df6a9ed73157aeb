"""One text's attribution while its layers come in."""

from typing import TYPE_CHECKING, Any

import numpy as np

from headwidgets.attribution import targets
from headwidgets.attribution.integration.integrate import Layer
from headwidgets.attribution.integration.passes import Clean
from headwidgets.attribution.result import Attribution, Words
from headwidgets.attribution.targets import Goal
from headwidgets.models.model import HeadModel
from headwidgets.models.sites import Site
from headwidgets.provenance import made
from headwidgets.text.alignment import groups
from headwidgets.text.examples import Example, Side
from headwidgets.text.tokens import pieces, token_labels, word_labels
from headwidgets.wire.documents import KindName

if TYPE_CHECKING:
    from headwidgets.attribution.paths import Plan


class Draft:
    """One text's attribution while its layers come in."""

    def __init__(self, example: Example, goal: Goal, plan: "Plan", keep: str) -> None:
        self.example, self.goal, self.plan = example, goal, plan
        self.notes: list[str] = []
        self.unsettled: list[str] = []
        self.value = float("nan")
        kinds: dict[KindName, tuple[int, int]] = {}
        for site in plan.sites:
            layers, heads = kinds.get(site.kind, (0, 0))
            kinds[site.kind] = max(layers, site.layer + 1), max(heads, site.n_heads)
        self.change = {k: np.full(n, np.nan) for k, (n, _) in kinds.items()}
        self.gap = {k: np.full(n, np.nan) for k, (n, _) in kinds.items()}
        self.steps = {k: np.zeros(n, dtype=np.int64) for k, (n, _) in kinds.items()}
        self.totals = {k: np.full(shape, np.nan) for k, shape in kinds.items()}
        self.largest = {k: np.full(shape, np.nan) for k, shape in kinds.items()}
        self.sides = {k: self._sides(k) for k in kinds}
        shapes = {k: (*kinds[k], *(len(side) for side in self.sides[k])) for k in kinds}
        self.maps = {k: np.full(s, np.nan, dtype=np.float32) for k, s in shapes.items()} if keep == "maps" else None
        self.attention = {k: v.copy() for k, v in self.maps.items()} if self.maps is not None else None

    def _sides(self, kind: KindName) -> tuple[Any, Any]:
        source, target = self.example.source, self.example.target
        if target is None or kind == "encoder":
            return source, source
        return target, source if kind == "cross" else target

    def add(self, done: Clean, layer: Layer, site: Site, row: int) -> None:
        """Take one layer."""
        kind, at, heads = site.kind, site.layer, site.n_heads
        query, key = (len(side) for side in self.sides[kind])
        entries = layer.maps[row, :, :query, :key]
        self.value = float(done.values[row])
        self.change[kind][at] = layer.change[row]
        self.gap[kind][at] = layer.gap[row]
        self.steps[kind][at] = layer.steps[row]
        self.totals[kind][at, :heads] = entries.sum((1, 2)).cpu().numpy()
        self.largest[kind][at, :heads] = entries.amax((1, 2)).cpu().numpy()
        if self.maps is not None and self.attention is not None:
            self.maps[kind][at, :heads] = entries.cpu().numpy()
            own = next(s for s in done.maps if (s.kind, s.layer) == (kind, at))
            self.attention[kind][at, :heads] = done.maps[own].detach()[row, :, :query, :key].float().cpu().numpy()
        if not layer.settled[row]:
            self.unsettled.append(
                f"{kind} layer {at}: {layer.steps[row]} points in, the integral had not settled within the tolerance, "
                f"its integration error is {layer.gap[row]:.1e}."
            )

    def finish(self, model: HeadModel) -> Attribution:
        """The whole."""
        note = targets.saturation(self.plan.output, self.value, self.goal)
        tokenizer = model.tokenizer
        seen = {id(side): side for pair in self.sides.values() for side in pair}
        cache = {k: (pieces(side, tokenizer), token_labels(side, tokenizer)) for k, side in seen.items()}
        words = {k: _words(side, tokenizer) for k, side in seen.items()}
        return Attribution(
            text=self.example.text,
            value=self.value,
            target=self.goal.name,
            target_ids=tuple(self.goal.plus) + tuple(self.goal.minus or ()),
            output=self.plan.output,
            unit=targets.UNITS[self.plan.output],
            rule=self.plan.rule,
            tolerance=self.plan.tolerance,
            change=self.change,
            gap=self.gap,
            steps=self.steps,
            totals=self.totals,
            largest=self.largest,
            tokens={k: (cache[id(q)][0], cache[id(x)][0]) for k, (q, x) in self.sides.items()},
            labels={k: (cache[id(q)][1], cache[id(x)][1]) for k, (q, x) in self.sides.items()},
            notes=self.notes + self.unsettled + ([note] if note else []),
            provenance=made(
                model, [self.example.text], method="attribution", target=self.goal.name, **self.plan.settings
            ),
            kept_maps=self.maps,
            kept_attention=self.attention,
            positions=tuple(self.goal.positions),
            sides={k: (words[id(q)], words[id(x)]) for k, (q, x) in self.sides.items()},
        )


def _words(side: Side, tokenizer: Any) -> Words | None:
    if not side.spans:
        return None
    return Words(groups(side), word_labels(side, tokenizer))
