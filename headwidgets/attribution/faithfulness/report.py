"""What checks of an attribution found: numbers with intervals, and a short report in plain words."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headwidgets.scores import Interval, import_pandas
from headwidgets.wire.documents import Provenance


@dataclass(frozen=True)
class Deletion:
    """What the output loses without the strongest links, beside random links like them.

    Attributes:
        share: Of the links that can be cut.
        links: Cut in every text, on average.
        change: Of F without the strongest links, averaged over texts.
        random: The same without matched random links: mean over draws, and the middle 95 % of the draws.
        difference: `change` less the mean of the draws; 95 % interval over texts, for one text over draws.
        below: Draws whose change is as low as `change` or lower.
        draws: In all.
        weight: Attention weight of the links cut, on average.
        random_weight: The same of the random ones.
        alike: Of the random links, the share that is like its counterpart in weight and (about) offset; the others are
            like theirs in weight, as far as there are any.
    """

    share: float
    links: float
    change: Interval
    random: Interval
    difference: Interval
    below: int
    draws: int
    weight: float
    random_weight: float
    alike: float

    @property
    def p_value(self) -> float:
        """Chance of so low a change among matched random links, one-sided: (below + 1) / (draws + 1)."""
        return (self.below + 1) / (self.draws + 1)


@dataclass(frozen=True)
class Agreement:
    """Rank agreement (Spearman) of heads' attributions with what the output loses without each head.

    Attributes:
        name: ``attribution``, or how the weights of the model that was attributed were drawn.
        rho: Over all heads; 95 % interval over texts, for one text over heads; of a control, over its draws.
        within: The same of the ranks within each layer, since totals of different layers are different quantities.
        similarity: Of a control, rank agreement of the sizes of single links with the real attribution; else None.
        over: What the intervals are over.
        draws: Of the weights; 0 for the attribution itself.
    """

    name: str
    rho: Interval
    within: Interval
    similarity: Interval | None
    over: str
    draws: int


@dataclass
class Faithfulness:
    """The checks of one attribution, or of several.

    Attributes:
        deletions: One per share of links cut.
        agreement: With exact ablation of single heads.
        controls: The same for models with random weights, where agreement should vanish.
        output: Name of F.
        unit: Of F.
        n: Texts.
        heads: Heads compared per text.
        seed: Of everything drawn.
        integration_error: Largest gap of any layer, relative to ``max(|change|, 0.1)``.
        target: What was attributed, of the first text.
        notes: Sentences about what a reader should know.
        provenance: How it was made.
    """

    deletions: list[Deletion]
    agreement: Agreement
    controls: list[Agreement]
    output: str
    unit: str
    n: int
    heads: int
    seed: int
    integration_error: float
    target: str
    notes: list[str] = field(default_factory=list)
    provenance: Provenance | None = field(default=None, repr=False)

    @property
    def text(self) -> str:
        """The report."""
        return "\n".join(self._lines())

    def __str__(self) -> str:
        return self.text

    def _lines(self) -> list[str]:
        texts = "1 text" if self.n == 1 else f"{self.n} texts"
        of = f" of {self.target!r}" if self.n == 1 else ""
        lines = [f"Does the attribution say what the model does? {self.output}{of}, {texts}, seed {self.seed}."]
        if self.n == 1:
            lines.append("One text is an anecdote: pass a list of attributions before judging a model by this.")
        lines += [
            "",
            f"Integration error: at most {self.integration_error:.2%} of a layer's change. It says that the integral "
            "is right, not that the explanation is; the checks below are about that.",
            "",
            "1. Cutting links",
            *(self._deletion(one) for one in self.deletions),
            "   Cutting takes the model off the inputs that it knows, which the random links do as well; so it is the "
            "difference that counts. It cannot tell which of several links that stand in for each other matters.",
            "",
            "2. Heads: attribution against ablation",
            f"   Rank agreement of a head's total attribution with what the output loses without the head: "
            f"{_shown(self.agreement.rho)}, within layers {_shown(self.agreement.within)} "
            f"({self.heads} heads, 95 % over {self.agreement.over}).",
            "   Totals of different layers are different quantities (each is about its own layer, with all others in "
            "place), so the number within layers is the safer one. Ablation takes one head at a time: heads that back "
            "each other up look idle to it.",
        ]
        if self.controls:
            lines += ["", "3. The same with random weights, where agreement should vanish"]
            lines += [self._control(one) for one in self.controls]
            lines.append(
                "   A control that vanishes shows that the attribution depends on what the model has learned, not that "
                "it is right."
            )
        if self.notes:
            lines += ["", *(f"Note: {note}" for note in self.notes)]
        return lines

    def _deletion(self, one: Deletion) -> str:
        unit = f" {self.unit}" if self.unit else ""
        links = f"{one.links:.0f} link{'' if round(one.links) == 1 else 's'}"
        verdict = (
            f"no draw lowers it as much (p = {one.p_value:.2g})"
            if not one.below
            else f"{one.below} of {one.draws} draws lower it as much or more (p = {one.p_value:.2g})"
        )
        return (
            f"   Without the strongest {one.share:.0%} ({links} a text, mean weight {one.weight:.2g}) the output "
            f"changes by {one.change.value:+.3g}{unit}; without random links of like weight and offset (mean weight "
            f"{one.random_weight:.2g}; {one.alike:.0%} alike in both) by {one.random.value:+.3g} "
            f"({one.random.low:+.3g} to {one.random.high:+.3g}): {verdict}. Difference {_shown(one.difference)}{unit}."
        )

    def _control(self, one: Agreement) -> str:
        alike = (
            ""
            if one.similarity is None
            else f"; sizes of single links agree with the real ones by {_shown(one.similarity)}"
        )
        return (
            f"   {one.name[:1].upper()}{one.name[1:]} drawn anew ({one.draws} draws): agreement {_shown(one.rho)}, "
            f"within layers {_shown(one.within)}{alike}."
        )

    def to_frame(self) -> Any:
        """One row per number, as a pandas data frame."""
        pandas = import_pandas("to_frame()")
        rows: list[dict[str, Any]] = []

        def add(check: str, what: str, found: Interval | None, draws: int) -> None:
            if found is not None:
                rows.append({
                    "check": check, "what": what, "value": found.value, "low": found.low, "high": found.high,
                    "n": self.n, "draws": draws, "seed": self.seed,
                })  # fmt: skip

        for one in self.deletions:
            name = f"deletion of {one.share:.3g}"
            add(name, "change", one.change, one.draws)
            add(name, "change, random", one.random, one.draws)
            add(name, "difference", one.difference, one.draws)
        for own in (self.agreement, *self.controls):
            add(f"ablation, {own.name}", "rank agreement", own.rho, own.draws)
            add(f"ablation, {own.name}", "rank agreement within layers", own.within, own.draws)
            add(f"ablation, {own.name}", "similarity of links", own.similarity, own.draws)
        frame = pandas.DataFrame(rows)
        frame.attrs = {"output": self.output, "unit": self.unit, "provenance": self.provenance}
        return frame


def _shown(found: Interval) -> str:
    if math.isnan(found.value):
        return "not known"
    if not (np.isfinite(found.low) and np.isfinite(found.high)):
        return f"{found.value:+.2f}"
    return f"{found.value:+.2f} ({found.low:+.2f} to {found.high:+.2f})"
