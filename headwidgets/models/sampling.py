"""What was seen of a set so far, in which order, and how much fits in the next batch?"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwidgets.models.outcomes import Outcome

_AIM = 0.05
"""Seconds that a batch should take: half of the 0.1 in which a cancel is heard and a newer question answered."""
_FIRST_CHUNK = 32
_LARGEST_CHUNK = 256
_CPU_WORK, _GPU_WORK = 5e9, 5e11
"""Floating-point operations of a first batch."""


class Seen:
    """Outcomes of one candidate, by example; NaN where not known yet."""

    def __init__(self, total: int) -> None:
        self.numerators = np.full(total, np.nan)
        self.weights = np.zeros(total)
        self.predictions: list[NDArray[Any] | None] = [None] * total

    def missing(self, index: Sequence[int]) -> list[int]:
        """Those of `index` that are not known."""
        return [int(i) for i in np.asarray(index)[np.isnan(self.numerators[index])]]

    @property
    def count(self) -> int:
        """Examples known."""
        return int(np.count_nonzero(~np.isnan(self.numerators)))

    def learn(self, index: Sequence[int], outcome: Outcome, keep: bool) -> None:
        """Take in a batch; `keep` its predictions too."""
        self.weights[index] = outcome.weights
        for i, prediction in zip(index, outcome.predictions if keep else (), strict=keep):
            self.predictions[i] = prediction
        self.numerators[index] = outcome.numerators


class Pace:
    """How many tokens fit in a batch of the wanted duration, learned from the batches so far.

    Never below half of what a machine with two cores does in that time: on a busy machine every batch is slow,
    however small, and smaller ones would only make it worse.
    """

    def __init__(self, model: Any, most: int) -> None:
        weights = sum(p.numel() for block in {site.block for site in model.sites} for p in block.parameters())
        usual = (_CPU_WORK if model.device.type == "cpu" else _GPU_WORK) / (2 * max(weights, 1))
        self.most = most
        self.tokens = int(np.clip(usual, 1, most))
        self._least = max(1, self.tokens // 2)

    def learn(self, tokens: int, seconds: float) -> None:
        """Take in what a batch took."""
        wanted = tokens * _AIM / max(seconds, 1e-6)
        # grow at most twofold at a time: the first batch of a size is often slow, and longer rows cost more
        self.tokens = int(np.clip(wanted, self._least, min(self.most, 2 * self.tokens)))

    def halve(self) -> None:
        """Memory ran out: never again more than half of this."""
        self.most = self.tokens = self._least = max(1, self.tokens // 2)


def chunk_ends(total: int) -> list[int]:
    """Where the chunks of a set end: 32, 64, 128, ... examples, then every 256."""
    ends: list[int] = []
    size = _FIRST_CHUNK
    while not ends or ends[-1] < total:
        ends.append(min(total, (ends[-1] if ends else 0) + size))
        if len(ends) > 1:
            size = min(2 * size, _LARGEST_CHUNK)
    return ends
