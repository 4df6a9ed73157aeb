"""What has been seen so far? Sums over texts from which scores and their standard errors are made at any moment."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwidgets.models.model import HeadModel
from headwidgets.models.sites import Site
from headwidgets.provenance import made
from headwidgets.scores import HeadScores
from headwidgets.wire.documents import KindName

Floats = NDArray[np.float64]
_FIRST, _LARGEST = 16, 64


def chunks(total: int, seed: int) -> list[list[int]]:
    """A seeded random order of texts, cut into chunks of 16, 16, 32, then every 64.

    What was seen at the end of a chunk is a random sample of the set, whatever is sorted inside one.
    """
    order: list[int] = np.random.default_rng(seed).permutation(total).tolist()
    found: list[list[int]] = []
    start, size = 0, _FIRST
    while start < total:
        found.append(order[start : start + size])
        start += size
        size = min(_LARGEST, start)
    return found


class Tally:
    """Sums of x, of x^2, of w, of w^2 and of x w over texts, by site; x [heads] a text's number and w its weight.

    The score is the ratio of the sums of x and w; its standard error that of a ratio over clusters (Cochran 1977,
    section 6.4), which is that of a mean where every weight is 1. Nothing is kept per text.

    Attributes:
        n: Texts seen.
    """

    def __init__(self, model: HeadModel, sites: Sequence[Site] | None = None) -> None:
        self.model = model
        self.sites = list(model.sites if sites is None else sites)
        self.sums = {site: np.zeros((3, site.n_heads)) for site in self.sites}  # x, x^2, x w
        self.weights = {site: np.zeros(2) for site in self.sites}  # w, w^2
        self.n = 0

    def add(self, site: Site, numbers: Floats, weights: Floats | None = None) -> None:
        """Take in some texts' numbers.

        Args:
            site: Whose heads.
            numbers: [texts, heads].
            weights: [texts]; 1 by default.
        """
        w = np.ones(len(numbers)) if weights is None else weights
        self.sums[site] += np.stack([numbers.sum(0), (numbers**2).sum(0), (numbers * w[:, None]).sum(0)])
        self.weights[site] += [w.sum(), (w**2).sum()]

    def means(self) -> tuple[dict[KindName, Floats], dict[KindName, Floats] | None]:
        """Scores and standard errors so far, [layers, heads] by kind; NaN where nothing was measured."""
        values: dict[KindName, Floats] = {k: np.full(self.model.shape(k), np.nan) for k in self.model.kinds}
        errors: dict[KindName, Floats] = {k: array.copy() for k, array in values.items()}
        for site in self.sites:
            (plain, squares, crossed), (total, square) = self.sums[site], self.weights[site]
            if total == 0:
                continue
            mean = plain / total
            values[site.kind][site.layer, : site.n_heads] = mean
            if self.n > 1:
                residual = np.maximum(squares - 2 * mean * crossed + mean**2 * square, 0)
                errors[site.kind][site.layer, : site.n_heads] = np.sqrt(self.n / (self.n - 1) * residual) / total
        return values, errors if self.n > 1 else None

    def scores(self, listed: Any, *, name: str, unit: str = "", **settings: Any) -> HeadScores:
        """What is known so far, with how it was made."""
        values, errors = self.means()
        return HeadScores(
            values,
            stderr=errors,
            n=self.n,
            name=name,
            unit=unit,
            provenance=made(self.model, listed, **settings),
            fingerprint=self.model.fingerprint,
        )
