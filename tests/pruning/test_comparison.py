"""Comparing rankings: curves are those of `curve`, areas and differences those of a slow re-implementation."""

import json

import numpy as np
import pytest
from scipy import stats

import headwidgets as hw
from headwidgets import Cancelled, Head, HeadScores, InputError, jobs, pruning
from headwidgets.models.evaluate import Evaluator
from headwidgets.provenance import made
from headwidgets.pruning.areas import Table, mean_height
from headwidgets.pruning.comparison import RANDOM
from tests.models.test_evaluate import LABELS, TEXTS, bert  # noqa: F401 - a fixture

FIRST = HeadScores({"encoder": [[1, 5, 3, 4], [8, 2, 7, 6]]}, name="importance")
SECOND = [Head("encoder", *place) for place in [(0, 3), (0, 0), (1, 1), (0, 2), (0, 1), (1, 3), (1, 2), (1, 0)]]
COUNTS = [0, 3, 4, 8]
RANKINGS = {"first": FIRST, "second": SECOND}
N = 24


@pytest.fixture(scope="module")
def compared(bert):  # noqa: F811
    return pruning.compare(bert, RANKINGS, TEXTS[:N], LABELS[:N], COUNTS, random=5, seed=3)


def right(model, pruned):
    """Per text, whether the bare model with gated heads is right, one text at a time."""
    found = []
    for text, label in zip(TEXTS[:N], LABELS[:N], strict=True):
        found.append(model.evaluate([text], [label], pruned=pruned).value)
    return np.array(found)


def test_curves_are_those_of_one_ranking(compared, bert):  # noqa: F811
    for name, ranking in RANKINGS.items():
        alone = pruning.curve(bert, ranking, TEXTS[:N], LABELS[:N], counts=COUNTS)
        assert compared.curves[name].estimates == pytest.approx(alone.estimates)
        assert compared.curves[name].ranking == alone.ranking
    assert compared.heads == 8
    assert compared.n == N


def test_areas_and_paired_differences_against_a_slow_implementation(compared, bert):  # noqa: F811
    orders = {"first": FIRST.ranking()[::-1], "second": SECOND[::-1]}
    table = {name: np.array([right(bert, order[:c]) for c in COUNTS]) for name, order in orders.items()}
    areas = {name: np.trapezoid(rows, np.array(COUNTS) / 8, axis=0) for name, rows in table.items()}
    for name, per_text in areas.items():
        expected = stats.ttest_1samp(per_text, 0).confidence_interval()
        found = compared.areas[name]
        assert found.value == pytest.approx(per_text.mean())
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-3)
    paired = stats.ttest_rel(areas["first"], areas["second"]).confidence_interval()
    found = compared.differences["first", "second"]
    assert found.value == pytest.approx((areas["first"] - areas["second"]).mean())
    assert (found.low, found.high) == pytest.approx((paired.low, paired.high), rel=1e-3, abs=1e-6)


def test_the_random_orders_are_seeded_and_their_band_is_that_of_the_draws(compared, bert):  # noqa: F811
    heads = sorted(bert.heads())
    curves = []
    for draw in range(5):
        order = [heads[i] for i in np.random.default_rng((3, draw)).permutation(8)]
        curves.append([bert.evaluate(TEXTS[:N], LABELS[:N], pruned=order[:c]).value for c in COUNTS])
    assert compared.random.draws == 5
    assert compared.random.mean == pytest.approx(np.mean(curves, axis=0))
    assert compared.random.low == pytest.approx(np.quantile(curves, 0.025, axis=0))
    assert compared.random.areas == pytest.approx(np.trapezoid(curves, np.array(COUNTS) / 8, axis=1))
    assert compared.areas[RANDOM].value == pytest.approx(np.mean(compared.random.areas))
    assert compared.random.low[0] == compared.random.high[0] == compared.curves["first"].estimates[0].value


def test_differences_to_the_random_mean_are_paired_at_every_count(compared):
    for name, curve in compared.curves.items():
        found = compared.to_random[name]
        assert [d.value for d in found] == pytest.approx(
            [e.value - m for e, m in zip(curve.estimates, compared.random.mean, strict=True)]
        )
        for end in (0, -1):  # none and all pruned are the same for every order
            assert (found[end].value, found[end].low, found[end].high) == (0, 0, 0)
        assert compared.worse_than_random(name) == [c for c, d in zip(COUNTS, found, strict=True) if d.high < 0]
    with pytest.raises(InputError, match=r"first, second, got 'third'"):
        compared.worse_than_random("third")


def simulated(rng, n, draws, gap):
    """Right answers of a curve and of random ones that truly are `gap` lower on average, with hard and easy texts."""
    hard = rng.normal(size=n)
    base = np.array([1.5, 0.8, 0.0])[:, None]
    table = Table([0, 2, 4], np.ones(n))
    table.add("own", (hard + base + rng.normal(size=(3, n)) > 0).astype(float))
    for _ in range(draws):
        table.add(RANDOM, (hard + base + rng.normal() * 0.4 - gap + rng.normal(size=(3, n)) > 0).astype(float))
    return table


def test_the_interval_of_a_difference_to_the_random_mean_covers_no_difference():
    """Both draws of orders and texts vary; between 91 and 99 % in 300 trials."""
    inside = 0
    for trial in range(300):
        found = simulated(np.random.default_rng(trial), 80, 20, 0.0).area("own", RANDOM)
        inside += found.low <= 0.0 <= found.high
    # the probability of being right is almost linear here, so random shifts of mean 0 leave its mean in place
    assert 0.91 <= inside / 300 <= 0.99


def test_the_mean_height_of_uneven_counts():
    assert mean_height([0, 1, 10], np.array([1.0, 0.5, 0.5])) == pytest.approx((0.75 + 4.5) / 10)


def test_what_two_curves_share_is_computed_once(bert, monkeypatch):  # noqa: F811
    asked = []
    compute = Evaluator._ask
    monkeypatch.setattr(
        Evaluator, "_ask", lambda self, c, batch: asked.append((c, *batch.index)) or compute(self, c, batch)
    )
    pruning.compare(bert, {"a": SECOND, "b": SECOND}, TEXTS[:10], LABELS[:10], [0, 4, 8], random=2)
    texts = [(candidate, i) for candidate, *index in asked for i in index]
    assert len(texts) == len(set(texts))
    assert len({candidate for candidate, _ in texts}) == 5  # none, all, and three different sets of four


def test_another_metric_and_a_function(bert):  # noqa: F811
    loss = pruning.compare(bert, RANKINGS, TEXTS[:N], LABELS[:N], COUNTS, random=2, metric="loss")
    assert loss.metric == "loss"
    above = loss.to_random["first"]
    assert loss.worse_than_random("first") == [c for c, d in zip(COUNTS, above, strict=True) if d.low > 0]

    def share_right(found, wanted):
        return (found == wanted).mean()

    called = pruning.compare(bert, RANKINGS, TEXTS[:N], LABELS[:N], COUNTS, random=2, metric=share_right)
    plain = pruning.compare(bert, RANKINGS, TEXTS[:N], LABELS[:N], COUNTS, random=2)
    for name in (*RANKINGS, RANDOM):
        assert called.areas[name].value == pytest.approx(plain.areas[name].value)
        width = [one.areas[name].high - one.areas[name].low for one in (called, plain)]
        assert width[0] == pytest.approx(width[1], rel=0.6)
    assert called.differences["first", RANDOM].value == pytest.approx(plain.differences["first", RANDOM].value)


def test_partial_comparisons_progress_and_cancelling(bert):  # noqa: F811
    job = jobs.start(pruning.compare, bert, RANKINGS, TEXTS[:N], LABELS[:N], COUNTS, random=3)
    seen = []
    job.on_change(
        lambda j: j.partial and seen.append((len(j.partial.curves), j.partial.random and j.partial.random.draws))
    )
    found = job.result(60)
    assert found.random.draws == 3
    assert {(1, None), (2, None), (2, 2)} <= set(seen)
    assert job.progress == (5 * len(COUNTS) * N,) * 2
    with pytest.raises(Cancelled):
        pruning.compare(bert, RANKINGS, TEXTS[N:], LABELS[N:], COUNTS, cancel=lambda: True)


def test_a_frame_a_document_and_a_file(compared, tmp_path):
    frame = compared.to_frame()
    assert set(frame["ranking"]) == {"first", "second", RANDOM}
    assert frame.attrs["areas"]["first"][0] == compared.areas["first"].value
    document = compared.document()
    assert [curve["name"] for curve in document["curves"]] == [RANDOM, "first", "second"]
    assert [curve["control"] for curve in document["curves"]] == [True, False, False]
    assert document["curves"][0]["draws"] == 5
    path = compared.save(tmp_path / "x")
    assert json.loads(path.read_text("utf-8"))["document"] == "curves"
    with pytest.raises(InputError, match="open it in JupyterLab"):
        hw.read(path)


def test_a_ranking_measured_on_the_same_texts_is_named(bert):  # noqa: F811
    own = HeadScores(FIRST.values, name="importance", provenance=made(bert, TEXTS[:10]))
    with pytest.warns(UserWarning, match=r"mine: the ranking \(importance\) was measured on the same texts"):
        found = pruning.compare(bert, {"mine": own}, TEXTS[:10], LABELS[:10], [0, 8], random=0)
    assert "mine" in found.notes[0]
    assert found.provenance["settings"]["ranking_on_same_texts"] == "mine"
    assert found.random is None
    with pytest.raises(InputError, match="no random orders"):
        found.worse_than_random("mine")


@pytest.mark.parametrize(
    ("rankings", "options", "message"),
    [
        ({}, {}, "rankings by name.*got none"),
        (SECOND, {}, "rankings by name.*got list"),
        (
            {"a": SECOND, "b": SECOND[:-1]},
            {},
            r"same heads; encoder.L1H0 is in only one of a \(8 heads\) and b \(7 heads\)",
        ),
        ({RANDOM: SECOND}, {}, "taken by the control"),
        (RANKINGS, {"random": -1}, "0 or more"),
        (RANKINGS, {"counts": [3]}, "at least two counts"),
        (RANKINGS, {"counts": [0, 9]}, "from 0 to 8"),
    ],
)
def test_what_does_not_fit_is_said(bert, rankings, options, message):  # noqa: F811
    with pytest.raises(InputError, match=message):
        pruning.compare(bert, rankings, TEXTS[:5], LABELS[:5], **options)


def test_outcomes_are_there_once_computed(bert):  # noqa: F811
    measure = Evaluator(bert, TEXTS[:N], LABELS[:N])
    with pytest.raises(InputError, match="not evaluated on all texts yet"):
        measure.outcomes(SECOND[:2])
    value = measure.exact(SECOND[:2]).value
    numerators, weights = measure.outcomes(SECOND[:2])
    assert numerators.sum() / weights.sum() == value
    assert measure.on([0, 5], SECOND[:2]) == numerators[[0, 5]].mean()
