"""What relevance propagation found: scores of heads, and what was lost on the way to them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headwidgets.attribution.relevance.ledger import Floats, Ledger
from headwidgets.attribution.relevance.rules import RESCALING
from headwidgets.scores import HeadScores, import_pandas


@dataclass(frozen=True)
class Leak:
    """What the blocks of one stack lose, before any rescaling; arrays are float64 [layers].

    A share is what a block's steps did not hand on, divided by the sum of absolute relevance that arrived at the
    block's output, in one backward pass. With rescaling each step begins with what was put back, so that the shares of
    a block's steps may add up to more than 1.

    Attributes:
        mean: Mean share over targets.
        low: Smallest share.
        high: Largest share.
        arriving: Mean sum of relevance at the block's output; 1 was seeded.
        leaving: Mean sum of relevance at the block's inputs.
        size: Mean sum of absolute relevance at the block's output. Where it is far above 1, small denominators have
            made large numbers of both signs, and shares of heads are differences of those.
        causes: Mean share by cause: ``bias``, ``normalisation``, ``stabiliser``, ``softmax``, ``one sign`` (half of the
            relevance where all products have one sign), ``fallback``.
    """

    mean: Floats
    low: Floats
    high: Floats
    arriving: Floats
    leaving: Floats
    size: Floats
    causes: dict[str, Floats]

    @property
    def largest(self) -> float:
        """The largest share of any block and target, without its sign."""
        return float(np.nanmax(np.abs([self.low, self.high])))


@dataclass(frozen=True)
class Relevance:
    """Scores of heads by relevance, with the leak of every block.

    Attributes:
        scores: By head, its share of the relevance of its layer, averaged over targets.
        leak: By stack (``encoder``, ``decoder``).
        outside: By cause, what was lost outside all blocks (classifier, final norm), mean per target; 1 was seeded.
        targets: Backward passes taken: seeded targets.
        plain: Operations without a rule and how often they ran; they passed on input times gradient.
        notes: Sentences on what is special about this result.
    """

    scores: HeadScores
    leak: dict[str, Leak]
    outside: dict[str, float]
    targets: int
    plain: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def report(self) -> str:
        """The leak in words and numbers, one line a block."""
        settings = self.scores.provenance["settings"] if self.scores.provenance else {}
        lines = [
            f"Relevance by the {settings.get('rule')} rule, eps {settings.get('eps')}, {self.targets} targets. Lost in "
            "each block, as a share of what arrived at its output (its absolute sum is given), before any rescaling:"
        ]
        for stack, leak in self.leak.items():
            for layer in range(len(leak.mean)):
                causes = ", ".join(f"{c} {v[layer]:.3f}" for c, v in leak.causes.items() if abs(v[layer]) >= 5e-4)
                lines.append(
                    f"{stack} {layer}: {leak.mean[layer]:.3f} ({leak.low[layer]:.3f} to {leak.high[layer]:.3f}) of "
                    f"{leak.size[layer]:.3g}" + (f": {causes}" if causes else "")
                )
        if self.outside:
            lines.append("outside the blocks: " + ", ".join(f"{c} {v:.3f}" for c, v in self.outside.items()))
        if self.plain:
            named = ", ".join(f"{name} ({n})" for name, n in self.plain.items())
            lines.append(f"without a rule, by input times gradient: {named}")
        return "\n".join([*lines, *self.notes])

    def to_frame(self) -> Any:
        """A pandas DataFrame of the leak: stack, layer, mean, low, high, arriving, leaving, size and the causes.

        Raises:
            InputError: pandas is not installed.
        """
        pandas = import_pandas("relevance.to_frame()")
        return pandas.DataFrame(list(self._rows()))

    def _rows(self) -> Iterator[dict[str, Any]]:
        for stack, leak in self.leak.items():
            for layer in range(len(leak.mean)):
                names = ("mean", "low", "high", "arriving", "leaving", "size")
                numbers = {name: float(getattr(leak, name)[layer]) for name in names}
                yield {"stack": stack, "layer": layer, **numbers, **{c: v[layer] for c, v in leak.causes.items()}}


class Leaks:
    """Sums of ledgers over backward passes."""

    def __init__(self, stacks: dict[str, int]) -> None:
        self.shapes = stacks
        self.sums = {s: np.zeros((4, n)) for s, n in stacks.items()}  # share, arriving, leaving, size
        self.count = {s: np.zeros(n) for s, n in stacks.items()}
        self.low = {s: np.full(n, np.inf) for s, n in stacks.items()}
        self.high = {s: np.full(n, -np.inf) for s, n in stacks.items()}
        self.causes: dict[tuple[str, str], Floats] = {}
        self.outside: dict[str, float] = {}
        self.targets = 0

    def add(self, ledger: Ledger, valid: Any) -> None:
        """Take in the books of one backward pass, for the texts that had a target in it."""
        self.targets += int(valid.sum())
        for place, size in ledger.size.items():
            assert place is not None
            stack, layer = place
            rows = valid & (size > 0)
            if not rows.any():
                continue
            share = ledger.leak(place)[rows] / size[rows]
            leaving = ledger.leaving.get(place, np.zeros(ledger.texts))
            self.sums[stack][:, layer] += [
                share.sum(),
                ledger.arriving[place][rows].sum(),
                leaving[rows].sum(),
                size[rows].sum(),
            ]
            self.count[stack][layer] += rows.sum()
            self.low[stack][layer] = min(self.low[stack][layer], share.min())
            self.high[stack][layer] = max(self.high[stack][layer], share.max())
            for (at, cause), amount in ledger.lost.items():
                if at == place and cause != RESCALING:
                    own = self.causes.setdefault((stack, cause), np.zeros(self.shapes[stack]))
                    own[layer] += (amount[rows] / size[rows]).sum()
        for (at, cause), amount in ledger.lost.items():
            if at is None and cause != RESCALING:
                self.outside[cause] = self.outside.get(cause, 0.0) + float(amount[valid].sum())

    def found(self) -> tuple[dict[str, Leak], dict[str, float]]:
        """The leak by stack, and what was lost outside; NaN for blocks that no relevance reached."""
        leaks = {}
        for stack in self.shapes:
            count = np.where(self.count[stack] > 0, self.count[stack], np.nan)
            share, arriving, leaving, size = self.sums[stack] / count
            leaks[stack] = Leak(
                share,
                np.where(np.isnan(count), np.nan, self.low[stack]),
                np.where(np.isnan(count), np.nan, self.high[stack]),
                arriving,
                leaving,
                size,
                {cause: v / count for (at, cause), v in self.causes.items() if at == stack},
            )
        return leaks, {c: v / self.targets for c, v in self.outside.items()} if self.targets else {}

    def merge(self, other: "Leaks") -> None:
        """Take in the sums of others."""
        for stack in self.shapes:
            self.sums[stack] += other.sums[stack]
            self.count[stack] += other.count[stack]
            self.low[stack] = np.minimum(self.low[stack], other.low[stack])
            self.high[stack] = np.maximum(self.high[stack], other.high[stack])
        for key, amounts in other.causes.items():
            self.causes[key] = self.causes.get(key, np.zeros_like(amounts)) + amounts
        for cause, lost in other.outside.items():
            self.outside[cause] = self.outside.get(cause, 0.0) + lost
        self.targets += other.targets
