"""What has been seen so far? Sums over texts from which scores and their standard errors are made at any moment."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwidgets.models.model import HeadModel
from headwidgets.models.sites import Site
from headwidgets.provenance import checked_seed, made
from headwidgets.scores import HeadScores
from headwidgets.wire.documents import KindName

Floats = NDArray[np.float64]
_FIRST, _LARGEST = 16, 64
GROUPS = 32
"""Random groups of texts that scores keep, at most; each has two texts or more."""


def chunks(total: int, seed: int) -> list[list[int]]:
    """A seeded random order of texts, cut into chunks of 16, 16, 32, then every 64.

    What was seen at the end of a chunk is a random sample of the set, whatever is sorted inside one.
    """
    order: list[int] = np.random.default_rng(checked_seed(seed)).permutation(total).tolist()
    found: list[list[int]] = []
    start, size = 0, _FIRST
    while start < total:
        found.append(order[start : start + size])
        start += size
        size = min(_LARGEST, start)
    return found


def singles(order: list[list[int]]) -> list[list[int]]:
    """The texts of chunks, each one apart."""
    return [[i] for chunk in order for i in chunk]


class Tally:
    """Sums of x, of x^2, of w, of w^2 and of x w over texts, by site; x [heads] a text's number and w its weight.

    The score is the ratio of the sums of x and w; its standard error that of a ratio over clusters (Cochran 1977,
    section 6.4), which is that of a mean where every weight is 1. Nothing is kept per text but in which of `GROUPS`
    groups it is: their sums give split halves and a bootstrap later.

    Attributes:
        n: Texts seen.
    """

    def __init__(self, model: HeadModel, units: Sequence[Sequence[int]], sites: Sequence[Site] | None = None) -> None:
        """Begin with nothing.

        Args:
            model: A HeadModel.
            units: In random order, the texts that have a number together: one each (`singles`), or a batch.
            sites: What is measured; all by default.
        """
        self.model = model
        self.sites = list(model.sites if sites is None else sites)
        self.total = sum(map(len, units))
        self.n = 0
        self._count = count = min(GROUPS, len(units) // 2)
        self._group = np.zeros(self.total, dtype=np.int64)
        for rank, unit in enumerate(units):
            self._group[list(unit)] = rank % max(1, count)
        self._sums = {site: np.zeros((3, site.n_heads)) for site in self.sites}  # x, x^2, x w
        self._weights = {site: np.zeros(3) for site in self.sites}  # w, w^2, numbers
        self._grouped = {site: np.zeros((max(1, count), site.n_heads + 1)) for site in self.sites}  # x, w

    def add(self, site: Site, index: Sequence[int], numbers: Floats, weights: Floats | None = None) -> None:
        """Take in some units' numbers.

        Args:
            site: Whose heads.
            index: A text of each unit, [units].
            numbers: x, [units, heads].
            weights: w, [units]; 1 by default.
        """
        w = np.ones(len(numbers)) if weights is None else weights
        self._sums[site] += np.stack([numbers.sum(0), (numbers**2).sum(0), (numbers * w[:, None]).sum(0)])
        self._weights[site] += [w.sum(), (w**2).sum(), len(w)]
        np.add.at(self._grouped[site], self._group[list(index)], np.column_stack([numbers, w]))

    def unseen(self) -> list[Site]:
        """Sites of which nothing had any weight."""
        return [site for site, (total, *_) in self._weights.items() if total == 0]

    def scores(self, listed: Any, *, name: str, unit: str = "", **settings: Any) -> HeadScores:
        """What is known so far, with how it was made."""
        values = self._empty()
        errors = self._empty()
        groups = self._empty(self._count) if self.n == self.total and self._count > 1 else None
        sizes = np.bincount(self._group, minlength=self._count)
        for site in self.sites:
            (plain, squares, crossed), (total, square, n) = self._sums[site], self._weights[site]
            if total == 0:
                continue
            mean = plain / total
            values[site.kind][site.layer, : site.n_heads] = mean
            if n > 1:
                residual = np.maximum(squares - 2 * mean * crossed + mean**2 * square, 0)
                errors[site.kind][site.layer, : site.n_heads] = np.sqrt(n / (n - 1) * residual) / total
            if groups is not None:
                own = self._grouped[site]
                with np.errstate(invalid="ignore", divide="ignore"):
                    groups[site.kind][:, site.layer, : site.n_heads] = own[:, :-1] / own[:, -1:]
        return HeadScores(
            values,
            stderr=errors if self.n > 1 else None,
            n=self.n,
            groups=groups,
            group_sizes=None if groups is None else sizes,
            name=name,
            unit=unit,
            provenance=made(self.model, listed, **settings, of=self.total),
            fingerprint=self.model.fingerprint,
        )

    def _empty(self, *more: int) -> dict[KindName, Floats]:
        return {kind: np.full((*more, *self.model.shape(kind)), np.nan) for kind in self.model.kinds}
