"""Correlations of scores: closed forms, simulated scores of known reliability, and what does not fit."""

import numpy as np
import pytest

from headwidgets import HeadScores, InputError
from headwidgets.attribution import correlation, resampling
from headwidgets.attribution.correlation import Correlation, compare_correlations, correlate
from headwidgets.attribution.resampling import of_layers

LAYERS, HEADS, GROUPS = 12, 12, 32


def grouped(truth, noise, rng, name="a", shared=None):
    """Scores whose groups of examples each add noise; `shared` is noise that heads have in common, [groups, heads]."""
    each = truth[None] + rng.normal(size=(GROUPS, *truth.shape)) * noise * np.sqrt(GROUPS)
    if shared is not None:
        each = each + shared
    return HeadScores(
        {"encoder": each.mean(0)},
        name=name,
        n=GROUPS * 4,
        stderr={"encoder": each.std(0, ddof=1) / np.sqrt(GROUPS)},
        groups={"encoder": each},
        group_sizes=[4] * GROUPS,
    )


def pair(rng, r, shape=(LAYERS, HEADS)):
    x = rng.normal(size=shape)
    return x, r * x + np.sqrt(1 - r**2) * rng.normal(size=shape)


def test_the_closed_form():
    a = [[1.0, 2.0], [3.0, 4.0]]
    b = [[1.0, 3.0], [2.0, 4.0]]
    found = correlate(a, b)
    assert found.pearson.value == pytest.approx(0.8)
    assert found.spearman.value == pytest.approx(0.8)
    # layer means taken off: -.5 .5 -.5 .5 against -1 1 -1 1
    assert found.within_layers.value == pytest.approx(1.0)
    assert found.pearson.low <= 0.8 <= found.pearson.high
    assert found.ceiling is None
    assert found.reliability == (None, None)
    assert "independent between heads" in found.resampled
    assert found.x.tolist() == [1, 2, 3, 4]


def test_ties_have_the_mean_of_their_ranks():
    found = correlate([[1.0, 1.0, 2.0, 5.0]], [[1.0, 2.0, 3.0, 4.0]])
    assert found.spearman.value == pytest.approx(np.corrcoef([1.5, 1.5, 3, 4], [1, 2, 3, 4])[0, 1])


def test_layers_are_centred_one_by_one():
    values = np.array([[1.0, 3.0, 10.0, 20.0], [1.0, 1.0, 4.0, 4.0]])
    layers = np.array([[0, 0, 1, 1], [0, 0, 0, 1]])
    assert of_layers(values, layers).tolist() == [[-1, 1, -5, 5], [-1, -1, 2, 0]]


def test_heads_that_one_did_not_measure_are_left_out_and_counted():
    rng = np.random.default_rng(0)
    x, y = pair(rng, 0.5)
    x[0, 3] = y[5, 5] = y[7, 1] = np.nan
    found = correlate(x, y)
    known = np.isfinite(x) & np.isfinite(y)
    assert found.missing == 3
    assert len(found.heads) == LAYERS * HEADS - 3
    assert found.pearson.value == pytest.approx(np.corrcoef(x[known], y[known])[0, 1])
    assert found.document()["missing"] == 3


def test_the_same_seed_gives_the_same_interval_and_another_does_not():
    x, y = pair(np.random.default_rng(1), 0.4)
    first, again, other = (correlate(x, y, seed=seed).pearson for seed in (0, 0, 1))
    assert first == again
    assert first != other
    assert first.low == pytest.approx(other.low, abs=0.03)


def coverage(trials, make, truth):
    """How often the interval that `correlate` gives to Pearson's r holds the truth."""
    inside = 0
    for trial in range(trials):
        scores = make(np.random.default_rng(trial))
        heads, _ = correlation._common(scores, None)
        measured = [correlation._measured(one, heads) for one in scores]
        layers = correlation._layers(heads)
        found = resampling.intervals([resampling.pearson], measured, layers, seed=trial, samples=300)[0]
        inside += found.low <= truth <= found.high
    return inside / trials


def test_the_interval_over_heads_covers_the_correlation_that_was_drawn_from():
    """With noise: of scores measured on so many examples, which is less than that of the true importances."""

    def make(rng):
        x, y = pair(rng, 0.7)
        return grouped(x, 0.5, rng, "a"), grouped(y, 0.5, rng, "b")

    assert 0.90 <= coverage(120, make, 0.7 / (1 + 0.5**2)) <= 0.99


def test_errors_that_heads_share_widen_the_interval():
    """Every group of examples moves half of the heads of both scores together: a bootstrap over heads is too sure."""
    pattern = np.tile([1.0, 1.0, -1.0, -1.0], (LAYERS, HEADS // 4))
    size = 0.6

    def noisy(rng, grouping=True):
        x, y = pair(rng, 0.0)
        moved = [rng.normal(size=(GROUPS, 1, 1)) * size * np.sqrt(GROUPS) * pattern for _ in "ab"]
        found = [
            grouped(truth, 0.1, rng, name, shared) for truth, name, shared in zip((x, y), "ab", moved, strict=True)
        ]
        if grouping:
            return found
        return [HeadScores(one.values, name=one.name) for one in found]

    assert coverage(100, noisy, 0.0) >= 0.88
    assert coverage(100, lambda rng: noisy(rng, grouping=False), 0.0) <= 0.80


def test_halves_give_the_ceiling():
    """Noise as large as the differences: reliability 1/2 each, so r is at most 1/2."""
    rng = np.random.default_rng(2)
    truth = rng.normal(size=(24, 32))
    a, b = grouped(truth, 1.0, rng, "a"), grouped(truth, 1.0, rng, "b")
    found = correlate(a, b)
    assert found.reliability == pytest.approx((0.5, 0.5), abs=0.06)
    assert found.ceiling.value == pytest.approx(0.5, abs=0.06)
    assert found.ceiling.low < found.pearson.value < found.ceiling.high
    assert "32 groups" in found.resampled
    plain = [HeadScores(one.values, stderr=one.stderr, name=one.name) for one in (a, b)]
    assert correlate(*plain).reliability == pytest.approx(found.reliability, abs=0.03)
    assert correlate(a, plain[1]).resampled.endswith("not the examples of b, whose scores carry no groups")


def test_the_difference_of_two_correlations_is_paired():
    rng = np.random.default_rng(3)
    a = rng.normal(size=(LAYERS, HEADS))
    common = rng.normal(size=(LAYERS, HEADS))
    b = 0.5 * a + common + 0.1 * rng.normal(size=a.shape)
    c = 0.5 * a + common + 0.1 * rng.normal(size=a.shape)
    ab, ac = correlate(a, b, names=("a", "b")), correlate(a, c, names=("a", "c"))
    found = compare_correlations(ab, ac)
    assert found.pearson.value == pytest.approx(ab.pearson.value - ac.pearson.value)
    width = found.pearson.high - found.pearson.low
    assert width < 0.4 * np.hypot(ab.pearson.high - ab.pearson.low, ac.pearson.high - ac.pearson.low)
    same = compare_correlations(ab, ab)
    assert (same.pearson.value, same.pearson.low, same.pearson.high) == (0, 0, 0)
    assert found.heads == LAYERS * HEADS
    assert str(found).startswith("r(a, b) - r(a, c) = ")


def test_the_interval_of_a_difference_covers_it():
    inside = 0
    for trial in range(60):
        rng = np.random.default_rng(trial)
        a, b = pair(rng, 0.8)
        c = 0.3 * a + np.sqrt(1 - 0.3**2) * rng.normal(size=a.shape)
        found = compare_correlations(*(correlate(a, x, samples=100) for x in (b, c)), samples=200, seed=trial).pearson
        inside += found.low <= 0.5 <= found.high
    assert 0.88 <= inside / 60 <= 1.0


@pytest.mark.parametrize(
    ("a", "b", "options", "message"),
    [
        (np.ones((2, 2)), np.ones((2, 3)), {}, "same heads: for encoder .* 2 layers of 2 heads, .* 2 of 3"),
        (np.full((2, 3), 0.5), np.arange(6).reshape(2, 3), {}, r"the first scores are the same for every head \(0.5\)"),
        ([[1.0, 2.0, 3.0]], [[1.0, 2.0, 4.0]], {}, "at least 4 heads that both measured, got 3"),
        ([[1.0, 2.0, 3.0, 4.0]], "nonsense", {}, "expected HeadScores or an array"),
        ({"decoder": [[1, 2, 3, 4]]}, [[1, 2, 3, 5]], {}, "same kinds of attention.*decoder.*encoder"),
        ([[1, 2, 3, 4]], [[1, 2, 3, 5]], {"kind": "cross"}, "has encoder, not 'cross'"),
        ([[1, 2, 3, 4]], [[1, 2, 3, 5]], {"samples": 10}, "at least 100 samples"),
        ([[1, 2, 3, 4]], [[1, 2, 3, 5]], {"names": "ab"}, "names as a pair"),
    ],
)
def test_what_does_not_fit_is_said(a, b, options, message):
    with pytest.raises(InputError, match=message):
        correlate(a, b, **options)


def test_one_kind_of_several():
    rng = np.random.default_rng(4)
    a = HeadScores({"encoder": rng.normal(size=(2, 4)), "cross": rng.normal(size=(2, 4))}, name="a")
    b = HeadScores({"encoder": rng.normal(size=(2, 4))}, name="b")
    with pytest.raises(InputError, match="say kind='encoder'"):
        correlate(a, b)
    found = correlate(a, b, kind="encoder")
    assert {head.kind for head in found.heads} == {"encoder"}
    assert isinstance(found, Correlation)


def test_one_head_in_every_layer_has_no_correlation_within_layers():
    rng = np.random.default_rng(5)
    found = correlate(rng.normal(size=(6, 1)), rng.normal(size=(6, 1)))
    assert np.isnan(found.within_layers.value)
    assert found.document()["correlation"]["within_layers"] is None


def test_a_frame_and_a_document_hold_every_head():
    rng = np.random.default_rng(6)
    x, y = pair(rng, 0.5)
    found = correlate(grouped(x, 0.2, rng, "a"), y, names=("sst2", "mrpc"))
    frame = found.to_frame()
    assert list(frame.columns) == ["kind", "layer", "head", "x", "y", "x_stderr", "y_stderr"]
    assert len(frame) == LAYERS * HEADS
    assert frame["y_stderr"].isna().all()
    document = found.document()
    assert (document["x_name"], document["y_name"]) == ("sst2", "mrpc")
    assert document["heads"][13].tolist() == [0, 1, 1]
    assert document["x_error"][13] == pytest.approx(frame["x_stderr"][13])
    assert document["y_error"] is None
