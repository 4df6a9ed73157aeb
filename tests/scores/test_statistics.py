"""Intervals cover what they say they cover: simulated, with seeds and stated bounds."""

import math

import numpy as np
import pytest
from scipy import stats

from headwidgets import statistics as s

TRIALS = 3000


@pytest.mark.parametrize("freedom", [1, 2, 3, 5, 19, 63, 500])
def test_students_quantiles(freedom):
    assert s.t_value(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=2e-3)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 6, 9, 19, 60, 400, 2001, 10**6])
def test_tails_of_students_t_are_those_of_a_table(freedom):
    for value in (0.0, 0.3, 1.0, -2.1, 4.5, 7.0):
        assert s.t_tail(value, freedom) == pytest.approx(2 * stats.t.sf(abs(value), freedom), rel=1e-4, abs=1e-13)
    assert s.t_tail(3.0, 0) == 1


def test_wilson_against_the_formula_of_an_independent_library():
    for right, n in [(0, 10), (7, 10), (81, 263), (872, 872)]:
        expected = stats.binomtest(right, n).proportion_ci(method="wilson")
        assert s.wilson(right / n, n) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert s.wilson(0.3, 0) == (0.0, 1.0)
    assert s.wilson(0.3, math.inf) == (0.3, 0.3)


def coverage(intervals, truth):
    return np.mean([low - 1e-12 <= truth <= high + 1e-12 for low, high in intervals])


@pytest.mark.parametrize(("p", "n"), [(0.5, 32), (0.88, 64), (0.88, 872), (0.97, 128)])
def test_the_interval_for_new_data_covers_the_rate_it_was_drawn_from(p, n):
    """Between 93 and 98 % in 3,000 trials (Wilson's interval oscillates around 95 %)."""
    rng = np.random.default_rng(1)
    found = [s.proportion((rng.random(n) < p).astype(float), np.ones(n), n)[0] for _ in range(TRIALS)]
    assert 0.93 <= coverage(found, p) <= 0.98


@pytest.mark.parametrize(("right", "n"), [(768, 32), (768, 256), (768, 800), (820, 128), (436, 64)])
def test_the_partial_interval_covers_the_value_on_the_whole_set(right, n):
    """Between 93 and 99 % in 3,000 random orders of 872 examples."""
    rng = np.random.default_rng(2)
    everyone = np.zeros(872)
    everyone[:right] = 1
    found = [s.proportion(rng.permutation(everyone)[:n], np.ones(n), 872)[1] for _ in range(TRIALS)]
    assert 0.93 <= coverage(found, right / 872) <= 0.99


def test_the_partial_interval_shrinks_to_a_point_and_never_leaves_what_is_possible():
    rng = np.random.default_rng(3)
    answers = (rng.random(100) < 0.9).astype(float)
    widths = []
    for n in (20, 50, 80, 99, 100):
        low, high = s.proportion(answers[:n], np.ones(n), 100)[1]
        right = answers[:n].sum()
        assert right / 100 <= low + 1e-12
        assert high <= (right + 100 - n) / 100 + 1e-12
        widths.append(high - low)
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] == 0


def clusters(rng, n, p=0.9):
    """Sentences of 3 to 30 words whose words go right together: some are hard, most are easy."""
    words = rng.integers(3, 31, n)
    ease = rng.beta(9 * p, 9 * (1 - p), n)
    return rng.binomial(words, ease).astype(float), words.astype(float)


def test_words_of_a_sentence_count_as_a_cluster():
    """At least 92 %; the interval that forgets the clusters covers less than 75 %."""
    rng = np.random.default_rng(4)
    right, naive = [], []
    for _ in range(TRIALS):
        numerators, weights = clusters(rng, 100)
        right.append(s.proportion(numerators, weights, 100)[0])
        naive.append(s.wilson(numerators.sum() / weights.sum(), weights.sum()))
    assert 0.92 <= coverage(right, 0.9) <= 0.98
    assert coverage(naive, 0.9) < 0.75


def test_clusters_in_a_finite_set():
    """At least 91 % in 3,000 random orders of 400 sentences, 100 of them seen."""
    rng = np.random.default_rng(5)
    numerators, weights = clusters(rng, 400)
    truth = numerators.sum() / weights.sum()
    found = []
    for _ in range(TRIALS):
        order = rng.permutation(400)[:100]
        found.append(s.proportion(numerators[order], weights[order], 400)[1])
    assert 0.91 <= coverage(found, truth) <= 0.99
    assert s.proportion(numerators, weights, 400)[1] == (truth, truth)


@pytest.mark.parametrize("n", [32, 256])
def test_means_of_skewed_losses(n):
    """At least 90 % for exponential losses, new data and whole set alike."""
    rng = np.random.default_rng(6)
    new, part = [], []
    everyone = rng.exponential(size=4 * n)
    for _ in range(TRIALS):
        new.append(s.mean(rng.exponential(size=n), np.ones(n), n)[0])
        part.append(s.mean(rng.permutation(everyone)[:n], np.ones(n), 4 * n)[1])
    assert 0.90 <= coverage(new, 1.0) <= 0.97
    assert 0.90 <= coverage(part, everyone.mean()) <= 0.97
    assert s.mean(everyone, np.ones(4 * n), 4 * n)[1] == pytest.approx((everyone.mean(), everyone.mean()))


@pytest.mark.parametrize(("gain", "loss", "n"), [(0.02, 0.05, 128), (0.01, 0.01, 872), (0.05, 0.25, 64), (0, 0.03, 32)])
def test_the_paired_change_covers_the_true_change(gain, loss, n):
    """At least 93 %; at most 99.5 % where some three examples change (with fewer it is wide: nothing is known)."""
    rng = np.random.default_rng(7)
    found = []
    for _ in range(TRIALS):
        drawn = rng.random(n)
        before = (drawn < 0.9 - gain).astype(float)
        now = before.copy()
        now[drawn < loss] = 0
        now[(drawn > 0.9 - gain) & (drawn < 0.9)] = 1
        found.append(s.paired_change(now, before, np.ones(n), bounded=True))
    assert 0.93 <= coverage(found, gain - loss) <= (0.995 if (gain + loss) * n > 3 else 1)


def test_no_change_in_the_sample_is_no_proof_of_none():
    low, high = s.paired_change(np.ones(100), np.ones(100), np.ones(100), bounded=True)
    assert -0.03 < low < 0 < high < 0.03
    words = np.full(100, 7.0)
    assert s.paired_change(words, words, words, bounded=True) == (low, high)


def test_paired_is_narrower_than_two_intervals():
    rng = np.random.default_rng(8)
    before = rng.exponential(size=200)
    now = before + 0.1 + 0.05 * rng.standard_normal(200)
    low, high = s.paired_change(now, before, np.ones(200), bounded=False)
    assert low < 0.1 < high
    assert high - low < 0.1 * (2 * 1.96 * math.sqrt(2 / 200))


def test_one_example_has_no_interval_of_a_mean():
    assert all(math.isnan(x) for x in s.mean(np.ones(1), np.ones(1), 1)[0])
    assert math.isnan(s.jackknife(lambda i: 1.0, 1))
    assert s.proportion(np.ones(1), np.ones(1), 1)[0][0] < 0.3


def test_the_jackknife_of_a_smooth_statistic():
    """At least 91 % for an F1 score of 300 examples."""
    rng = np.random.default_rng(9)
    truth = 2 * 0.4 * 0.8 / (0.4 + 0.4 * 0.8 + 0.6 * 0.1)
    found = []
    for _ in range(600):
        label = rng.random(300) < 0.4
        guess = np.where(label, rng.random(300) < 0.8, rng.random(300) < 0.1)

        def f1(i, label=label, guess=guess):
            return 2 * (label[i] & guess[i]).sum() / (label[i].sum() + guess[i].sum())

        half = s.jackknife(f1, 300)
        value = f1(np.arange(300))
        found.append((value - half, value + half))
    assert 0.91 <= coverage(found, truth) <= 0.985


def test_a_statistic_that_fails_on_some_group_has_no_interval():
    def needs_all(index):
        if len(index) < 10:
            raise ValueError("only one class present")
        return 1.0

    assert math.isnan(s.jackknife(needs_all, 10))
