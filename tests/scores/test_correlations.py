"""Correlations and bootstrap intervals against SciPy, closed forms and simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from headwidgets import statistics as s


def test_pearson_and_spearman_against_an_independent_library():
    rng = np.random.default_rng(0)
    x = rng.normal(size=40)
    y = np.round(x + rng.normal(size=40), 0)  # with ties
    assert len(np.unique(y)) < 40
    assert s.pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)
    assert s.spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    assert s.ranks(y) == pytest.approx(stats.rankdata(y))
    both = np.stack([x, y])
    assert s.ranks(both) == pytest.approx(stats.rankdata(both, axis=-1))


def test_known_values():
    assert s.pearson(np.array([1, 2, 3.0]), np.array([1, 3, 2.0])) == pytest.approx(0.5)
    assert s.pearson(np.array([1, 2, 3.0]), np.array([-1, -2, -3.0])) == pytest.approx(-1)
    assert s.spearman(np.array([1, 2, 3.0]), np.array([1, 10, 1000.0])) == pytest.approx(1)
    assert s.ranks(np.array([5.0, 1, 5, 7])).tolist() == [2.5, 1, 2.5, 4]


def test_a_constant_side_has_no_correlation():
    x = np.arange(5.0)
    assert math.isnan(s.pearson(x, np.full(5, 0.1)))
    assert math.isnan(s.pearson(x, 1e6 + np.full(5, 0.1) * 3))
    assert math.isnan(s.spearman(np.full(5, 2.0), x))
    assert math.isnan(s.pearson(np.array([1.0]), np.array([1.0])))


def test_rows_are_computed_one_by_one():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 7, 9))
    assert s.pearson_rows(x, y) == pytest.approx([s.pearson(a, b) for a, b in zip(x, y, strict=True)])


def test_bca_against_an_independent_library():
    sample = np.random.default_rng(2).exponential(size=40)
    low, high = s.bootstrap(lambda places: float(sample[places].mean()), 40, samples=4000)
    other = stats.bootstrap((sample,), np.mean, n_resamples=4000, method="BCa", rng=np.random.default_rng(3))
    assert (low, high) == pytest.approx(tuple(other.confidence_interval), rel=0.03)
    assert (low, high) == s.bootstrap(lambda places: float(sample[places].mean()), 40, samples=4000)
    plain = s.bootstrap(lambda places: float(sample[places].mean()), 40, samples=4000, bca=False)
    assert plain[0] < low  # the correction follows the long tail
    assert plain[1] < high
    assert all(math.isnan(end) for end in s.bootstrap(lambda places: 1.0, 1))


def test_the_bootstrap_covers_what_was_drawn_from():
    """Of a mean of 30 normal numbers: between 90 and 97 % in 300 trials (percentiles are a little narrow)."""
    rng = np.random.default_rng(4)
    inside = 0
    for trial in range(300):
        sample = rng.normal(size=30)
        low, high = s.bootstrap(
            lambda places, sample=sample: float(sample[places].mean()), 30, seed=trial, samples=300, bca=False
        )
        inside += low <= 0 <= high
    assert 0.90 <= inside / 300 <= 0.97
