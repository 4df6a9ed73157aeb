"""The books of one backward pass: what arrived at each block, what left it, and what each step lost and to what."""

from collections import Counter
from collections.abc import Hashable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headwidgets.attribution.relevance.rules import RESCALING
from headwidgets.models.sites import Site

Place = tuple[str, int] | None
"""A stack (``encoder`` or ``decoder``) and a block's number in it; None is outside all blocks."""
Floats = NDArray[np.float64]


class Mixed(Exception):  # control flow, never leaves this folder
    """A tensor whose first dimension does not hold the texts one after another."""


class Ledger:
    """Sums per text, float64 [texts], of one backward pass after another.

    Attributes:
        texts: Rows of the batch.
        place: The block that runs now, in the forward pass.
        arriving: By block, the sum of relevance at its output.
        size: By block, the sum of its absolute values there.
        leaving: By block, the sum of relevance at its inputs.
        lost: By place and cause, relevance that a step did not hand on (``rescaling``: what was put back, negative).
        heads: By site, the sums over positions and numbers of each head's output: [texts, heads] with sign and without.
        plain: Steps without a rule, by name of the operation; input times gradient was taken.
    """

    def __init__(self, texts: int) -> None:
        self.texts = texts
        self.place: Place = None
        self.plain: Counter[str] = Counter()
        self.begin()

    def begin(self) -> None:
        """Empty the books of relevance, for the next backward pass."""
        self.arriving: dict[Place, Floats] = {}
        self.size: dict[Place, Floats] = {}
        self.leaving: dict[Place, Floats] = {}
        self.lost: dict[tuple[Place, str], Floats] = {}
        self.heads: dict[Site, tuple[Floats, Floats]] = {}

    def rows(self, values: Tensor) -> Floats:
        """Sums over all but the texts."""
        if values.dim() == 0 or values.shape[0] % self.texts:
            raise Mixed
        return _numbers(values.detach().reshape(self.texts, -1).sum(1, dtype=_wide(values)))

    def add(self, book: dict[Any, Floats], key: Hashable, amount: Floats) -> None:
        """Add to a sum."""
        book[key] = book[key] + amount if key in book else amount

    def lose(self, place: Place, cause: str, amount: Floats) -> None:
        """Relevance was lost."""
        if np.any(amount):
            self.add(self.lost, (place, cause), amount)

    def leak(self, place: Place) -> Floats:
        """What the steps of a block lost before any rescaling."""
        zero = np.zeros(self.texts)
        return sum((v for (at, cause), v in self.lost.items() if at == place and cause != RESCALING), zero)

    def see_heads(self, site: Site, relevance: Tensor, mask: Tensor) -> None:
        """Take the relevance of heads' outputs [texts, query, heads, head_dim]; `mask` [texts, query] is no padding."""
        kept = torch.where(mask[:, :, None, None], relevance, torch.zeros((), device=mask.device))
        wide = _wide(kept)
        self.heads[site] = _numbers(kept.sum((1, 3), dtype=wide)), _numbers(kept.abs().sum((1, 3), dtype=wide))


def _wide(values: Tensor) -> torch.dtype:
    return values.dtype if values.device.type == "mps" else torch.float64


def _numbers(values: Tensor) -> Floats:
    return values.cpu().numpy().astype(np.float64)
