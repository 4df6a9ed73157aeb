"""Pruning curves: least important first, each point the evaluation with those heads pruned."""

import warnings

import numpy as np
import pytest

import headwidgets as hw
from headwidgets import Cancelled, Head, HeadScores, InputError, jobs, pruning
from headwidgets.provenance import data_fingerprint, made
from tests.models.test_evaluate import LABELS, TEXTS, bert  # noqa: F401 - a fixture

SCORES = HeadScores({"encoder": [[1, 5, 3, np.nan], [8, 2, 7, 6]]}, name="importance")
ORDER = [Head("encoder", *place) for place in [(0, 3), (0, 0), (1, 1), (0, 2), (0, 1), (1, 3), (1, 2), (1, 0)]]


def test_each_point_is_the_evaluation_with_the_least_important_heads_pruned(bert):  # noqa: F811
    curve = pruning.curve(bert, SCORES, TEXTS, LABELS, counts=[0, 3, 8, 3])
    assert curve.counts == [0, 3, 8]
    assert curve.ranking == SCORES.ranking() == ORDER[::-1]
    for count, estimate in zip(curve.counts, curve.estimates, strict=True):
        assert estimate == bert.evaluate(TEXTS, LABELS, pruned=ORDER[:count])
    assert curve.estimates[0].change is None
    assert curve.estimates[2].change is not None
    assert (curve.method, curve.metric, curve.ablation) == ("importance", "accuracy", "zero")
    assert "3: 0." in repr(curve)
    assert [point["count"] for point in curve.data()] == [0, 3, 8]


def test_a_ranking_is_a_list_too_and_counts_have_a_default(bert):  # noqa: F811
    curve = pruning.curve(bert, SCORES.ranking(), TEXTS[:20], LABELS[:20])
    assert curve.counts == list(range(9))
    assert curve.method == ""
    assert pruning.default_counts(144) == [6 * i for i in range(25)]
    assert pruning.default_counts(1000)[-1] == 1000


def test_another_ablation_and_metric(bert):  # noqa: F811
    options = {"metric": "loss", "ablation": "mean", "reference": TEXTS[100:], "seed": 2}
    curve = pruning.curve(bert, SCORES, TEXTS[:30], LABELS[:30], counts=[4], **options)
    assert curve.estimates[0] == bert.evaluate(TEXTS[:30], LABELS[:30], pruned=ORDER[:4], **options)
    assert curve.provenance["settings"]["ablation"] == curve.estimates[0].ablation == "mean"


def test_a_frame(bert):  # noqa: F811
    frame = pruning.curve(bert, SCORES, TEXTS[:20], LABELS[:20], counts=[0, 4]).to_frame()
    assert list(frame["count"]) == [0, 4]
    assert list(frame["ratio"]) == [0, 0.5]
    assert frame["change"][0] == 0
    assert frame.attrs["provenance"]["settings"]["ranking"] == "importance"
    assert frame.attrs["method"] == "importance"


def test_measuring_and_judging_on_the_same_texts_gives_a_warning(bert):  # noqa: F811
    own = HeadScores(SCORES.values, name="importance", provenance=made(bert, TEXTS[:20][::-1]))
    with pytest.warns(UserWarning, match="measured on the same texts"):
        curve = pruning.curve(bert, own, TEXTS[:20], LABELS[:20], counts=[0])
    assert curve.provenance["settings"]["ranking_on_same_texts"] is True
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        curve = pruning.curve(bert, own, TEXTS[20:40], LABELS[20:40], counts=[0])
    assert curve.provenance["settings"]["ranking_on_same_texts"] is False


def test_fingerprints_of_texts():
    assert data_fingerprint(["a", "b"]) == data_fingerprint(["b", "a"])
    assert data_fingerprint(["a", "b"]) != data_fingerprint(["a", "b", "b"])
    assert data_fingerprint([("a", "b")]) != data_fingerprint(["a", "b"])


def test_partial_curves_and_progress_reach_a_job_and_it_can_be_cancelled(bert):  # noqa: F811
    job = jobs.start(pruning.curve, bert, SCORES, TEXTS, LABELS, counts=[0, 2, 4])
    seen = []
    job.on_change(lambda j: j.partial and seen.append((len(j.partial.counts), j.progress)))
    curve = job.result(60)
    assert curve.counts == [0, 2, 4]
    assert {n for n, _ in seen} == {1, 2, 3}
    assert job.progress == (450, 450)
    job = jobs.start(pruning.curve, bert, SCORES, TEXTS * 30, LABELS * 30)
    job.on_change(lambda j: j.partial and j.cancel())
    with pytest.raises(Cancelled):
        job.result(120)
    assert job.partial.counts == [0]


def test_scores_of_a_ragged_model_skip_heads_that_do_not_exist(bert):  # noqa: F811
    wide = HeadScores({"encoder": np.arange(10.0).reshape(2, 5)}, name="x")
    assert len(pruning.pruning_order(bert, wide)) == 8


@pytest.mark.parametrize(
    ("ranking", "counts", "message"),
    [
        ([], None, "got none"),
        ([Head("encoder", 0, 0)] * 2, None, "encoder.L0H0 twice"),
        ([Head("encoder", 0, 9)], None, "no head 9"),
        ("importance", None, "hw.attribution.importance"),
        (SCORES, [0, 9], "from 0 to 8.*got 9"),
        (SCORES, [-1], "got -1"),
        (SCORES, [], "at least one count"),
        (HeadScores({"decoder": [[1.0]]}, name="x"), None, "got none"),
    ],
)
def test_what_does_not_fit_is_said(bert, ranking, counts, message):  # noqa: F811
    with pytest.raises(InputError, match=message):
        hw.pruning.curve(bert, ranking, TEXTS[:5], LABELS[:5], counts=counts)


@pytest.mark.data
def test_sst2_with_heads_pruned(data_folder):
    """0.883 on all 872 sentences is inside the interval from 160 of them; without heads little more than chance."""
    lines = (data_folder / "data/sst2/stsa.binary.dev").read_text("utf-8").splitlines()[:160]
    labels, texts = [int(line[0]) for line in lines], [line[2:] for line in lines]
    model = hw.load(str(data_folder / "models/sst2"))
    curve = pruning.curve(model, model.heads(), texts, labels, counts=[0, 72])
    assert curve.estimates[0].low < 0.883 < curve.estimates[0].high
    assert curve.estimates[1].value < 0.7
    assert curve.estimates[1].change.high < -0.1


@pytest.mark.parametrize("counts", [3, [0.5], ["a"], [float("nan")]])
def test_counts_are_whole_numbers(bert, counts):  # noqa: F811
    with pytest.raises(InputError, match="list of whole numbers"):
        pruning.curve(bert, SCORES, TEXTS, LABELS, counts=counts)


def test_a_model_that_is_not_wrapped_and_a_missing_ranking_are_refused(bert):  # noqa: F811
    with pytest.raises(InputError, match=r"hw\.wrap\(model, tokenizer\), got BertForSequenceClassification"):
        pruning.curve(bert.model, SCORES, TEXTS, LABELS)
    with pytest.raises(InputError, match="expected HeadScores or a list of heads, got None"):
        pruning.curve(bert, None, TEXTS, LABELS)
