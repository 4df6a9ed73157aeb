"""What has been seen so far, of many statistics at once? Sums over texts, and scores made of them at any moment."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headwidgets.models.model import HeadModel
from headwidgets.models.sites import Site
from headwidgets.models.tally import GROUPS
from headwidgets.provenance import checked_seed
from headwidgets.scores import HeadScores
from headwidgets.wire.documents import KindName, Provenance

Floats = NDArray[np.float64]


class Sums:
    """Of every statistic and head: sums over texts of x, w, x^2, w^2 and x w; x a text's sum and w its weight.

    A score is the ratio of the sums of x and w; its standard error that of a ratio over clusters (Cochran 1977, section
    6.4), texts being the clusters. Nothing is kept per text but in which of `GROUPS` random groups it is.

    Attributes:
        n: Texts seen.
    """

    def __init__(self, model: HeadModel, sites: Sequence[Site], n_statistics: int, total: int, seed: int) -> None:
        """Begin with nothing.

        Args:
            model: A HeadModel.
            sites: What is measured.
            n_statistics: How many numbers each head has.
            total: Texts in all.
            seed: Of the groups.
        """
        self.model, self.sites, self.total, self.n = model, list(sites), total, 0
        self._count = count = min(GROUPS, total // 2)
        self._group = np.zeros(total, dtype=np.int64)
        order = np.random.default_rng(checked_seed(seed)).permutation(total)
        self._group[order] = np.arange(total) % max(1, count)
        self._moments = {site: np.zeros((6, n_statistics, site.n_heads)) for site in self.sites}
        self._grouped = {site: np.zeros((2, max(1, count), n_statistics, site.n_heads)) for site in self.sites}

    def add(self, site: Site, index: Sequence[int], x: Floats, w: Floats) -> None:
        """Take in texts.

        Args:
            site: Whose heads.
            index: Which texts.
            x: Sums, [statistics, texts, heads].
            w: Weights, of the same shape; a text of weight 0 says nothing.
        """
        self._moments[site] += np.stack(
            [x.sum(1), w.sum(1), (x * x).sum(1), (w * w).sum(1), (x * w).sum(1), (w > 0).sum(1)]
        )
        member = np.zeros((len(self._grouped[site][0]), len(index)))
        member[self._group[list(index)], np.arange(len(index))] = 1
        for number, given in enumerate((x, w)):
            self._grouped[site][number] += np.einsum("gt,sth->gsh", member, given, optimize=True)

    def weight(self, kind: str, statistic: int = 0) -> float:
        """The summed weight of a statistic in a kind of attention."""
        return float(sum(self._moments[site][1, statistic].sum() for site in self.sites if site.kind == kind))

    def mean(self, kind: KindName, statistic: int) -> float:
        """The mean over all heads of a kind; NaN where nothing was measured."""
        own = [self._moments[site][:2, statistic] for site in self.sites if site.kind == kind]
        total = sum(float(numbers[1].sum()) for numbers in own)
        return sum(float(numbers[0].sum()) for numbers in own) / total if total else float("nan")

    def scores(self, statistic: int, *, name: str, unit: str, record: Provenance) -> HeadScores:
        """What is known so far of one statistic; `record` says how it was made."""
        values, errors = self._empty(), self._empty()
        complete = self.n == self.total and self._count > 1
        groups = self._empty(self._count) if complete else None
        most = 0
        for site in self.sites:
            x, w, xx, ww, xw, n = self._moments[site][:, statistic]
            most = max(most, int(n.max()))
            with np.errstate(invalid="ignore", divide="ignore"):
                mean = x / w
                residual = np.maximum(xx - 2 * mean * xw + mean**2 * ww, 0)
                error = np.where(n > 1, np.sqrt(n / (n - 1) * residual) / w, np.nan)
                values[site.kind][site.layer, : site.n_heads] = mean
                errors[site.kind][site.layer, : site.n_heads] = error
                if groups is not None:
                    own = self._grouped[site][:, :, statistic]
                    groups[site.kind][:, site.layer, : site.n_heads] = own[0] / own[1]
        return HeadScores(
            values,
            stderr=errors if most > 1 else None,
            n=most,
            groups=groups,
            group_sizes=None if groups is None else np.bincount(self._group, minlength=self._count),
            name=name,
            unit=unit,
            provenance=record,
            fingerprint=self.model.fingerprint,
        )

    def _empty(self, *more: int) -> dict[KindName, Floats]:
        kinds = dict.fromkeys(site.kind for site in self.sites)
        return {kind: np.full((*more, *self.model.shape(kind)), np.nan) for kind in kinds}
