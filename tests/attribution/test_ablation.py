"""One head out at a time, against the slow way: the metric with that head pruned, head by head."""

import numpy as np
import pytest

from headwidgets import Head, load
from headwidgets.attribution import ablate, importance
from headwidgets.attribution.importance.knockout import Trunk
from headwidgets.errors import Cancelled, InputError
from headwidgets.models.outcomes import Questions
from tests.attribution.test_taylor import LABELS, TEXTS
from tests.models.tiny import made

PAIRS = [(t, "a dog ran" if i % 2 else "it was a good film") for i, t in enumerate(TEXTS)]


def slow(model, texts, labels, metric, **options):
    """By kind, what the metric loses without each head."""
    sign = 1 if metric == "loss" else -1
    values = {kind: np.full(model.shape(kind), np.nan) for kind in model.kinds}
    for head in model.heads():
        change = model.evaluate(texts, labels, metric, pruned=[head], **options).change
        values[head.kind][head.layer, head.index] = sign * change.value
    return values


FAMILIES = [
    ("bert", "sequence"), ("distilbert", "sequence"), ("modernbert", "sequence"), ("albert", "sequence"),
    ("gpt2", "sequence"), ("gpt2", "causal"), ("llama", "causal"), ("gemma2", "causal"), ("gptj", "causal"),
    ("bert", "token"), ("bert", "masked"), ("bart", "seq2seq"), ("t5", "seq2seq"),
]  # fmt: skip


def data(head):
    if head == "token":
        words = [t.split() for t in TEXTS]
        return words, [[len(w) % 3 for w in row] for row in words]
    return (PAIRS if head == "seq2seq" else TEXTS), (LABELS if head == "sequence" else None)


@pytest.mark.parametrize(("family", "head"), FAMILIES)
def test_equals_a_slow_loop_over_heads(family, head):
    model = made(family, head)
    texts, labels = data(head)
    fast = ablate(model, texts, labels)
    for metric in ("loss", "accuracy"):
        for kind, expected in slow(model, texts, labels, metric).items():
            np.testing.assert_allclose(fast[metric].values[kind], expected, rtol=2e-4, atol=2e-5)
    assert fast["loss"].n == len(TEXTS)
    assert np.abs(fast["loss"].values[model.kinds[0]]).max() > 1e-3


@pytest.mark.parametrize("ablation", ["mean", "resample"])
@pytest.mark.parametrize(("family", "head"), [("bert", "sequence"), ("albert", "sequence"), ("bart", "seq2seq")])
@pytest.mark.parametrize("reference", [None, ["the old film was bad", "a cat sat on it"]])
def test_mean_and_resample_take_what_evaluate_takes(family, head, ablation, reference):
    model = made(family, head)
    texts, labels = data(head)
    if reference is not None and head == "seq2seq":
        reference = [(r, "a cat ran") for r in reference]
    options = {"ablation": ablation, "reference": reference, "seed": 5}
    fast = importance(model, texts, labels, method="ablation", **options)
    for kind, expected in slow(model, texts, labels, "loss", **options).items():
        np.testing.assert_allclose(fast.values[kind], expected, rtol=2e-4, atol=2e-5)
    assert fast.ablation == ablation


def test_the_standard_error_is_that_of_a_paired_difference():
    model = made("bert", "sequence")
    scores = importance(model, TEXTS, LABELS, method="ablation")
    each = np.stack([slow(model, [t], [y], "loss")["encoder"] for t, y in zip(TEXTS, LABELS, strict=True)])
    np.testing.assert_allclose(scores.stderr["encoder"], each.std(0, ddof=1) / np.sqrt(5), rtol=1e-3, atol=1e-5)


def test_inside_a_block_the_pruned_heads_are_gone_already():
    model = made("bert", "sequence")
    gone = [Head("encoder", 0, 1), Head("encoder", 1, 2)]
    with model.gated(gone):
        scores = importance(model, TEXTS, LABELS, method="ablation")
        base = model.evaluate(TEXTS, LABELS, "loss").value
    assert [scores[head] for head in gone] == pytest.approx([0, 0], abs=1e-6)
    head = Head("encoder", 1, 0)
    expected = model.evaluate(TEXTS, LABELS, "loss", pruned=[*gone, head]).value - base
    assert scores[head] == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize(("family", "narrow", "enters"), [("bert", True, True), ("albert", False, False)])
def test_shortcuts_are_taken_where_there_are_some(family, narrow, enters):
    model = made(family, "sequence")
    questions = Questions(model, TEXTS, LABELS, "loss")
    with model.visit():
        trunk = Trunk(model, questions, next(model.batches(questions.examples)))
    assert (trunk.reading is not None) == narrow
    assert all(trunk.prefix.can_enter(site) == enters for site in model.sites)


def test_numbers_have_no_accuracy():
    model = made("bert", "sequence", num_labels=1, problem_type="regression")
    labels = [0.5, 1.0, -1.0, 0.0, 2.0]
    found = ablate(model, TEXTS, labels)
    assert list(found) == ["loss"]
    np.testing.assert_allclose(
        found["loss"].values["encoder"], slow(model, TEXTS, labels, "loss")["encoder"], rtol=2e-4, atol=2e-5
    )
    with pytest.raises(InputError, match="predicts a number"):
        importance(model, TEXTS, labels, method="ablation", metric="accuracy")


def test_partial_scores_progress_and_cancel():
    model = made("bert", "sequence")
    texts, labels = TEXTS * 8, LABELS * 8
    seen, steps = [], []
    whole = ablate(model, texts, labels, seed=1, on_partial=seen.append, on_progress=lambda *a: steps.append(a))
    assert [s["loss"].n for s in seen] == [16, 32]
    assert steps[-1] == (40 * 8, 40 * 8)
    order = np.random.default_rng(1).permutation(40)[:16]
    few = ablate(model, [texts[i] for i in order], [labels[i] for i in order])
    for metric in ("loss", "accuracy"):
        np.testing.assert_allclose(
            seen[0][metric].values["encoder"], few[metric].values["encoder"], rtol=1e-3, atol=1e-5
        )
        mean = np.average(whole[metric].groups["encoder"], axis=0, weights=whole[metric].group_sizes)
        np.testing.assert_allclose(mean, whole[metric].values["encoder"], rtol=1e-4, atol=1e-6)
    calls = []
    with pytest.raises(Cancelled):
        ablate(model, texts, labels, on_progress=lambda *a: calls.append(a), cancel=lambda: len(calls) >= 2)
    assert len(calls) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "f1"}, "loss, accuracy"),
        ({"ablation": "noise"}, "zero, mean, resample"),
        ({"labels": None}, "labels"),
        ({"level": "example"}, "it knows metric, ablation, reference, seed"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(InputError, match=message):
        importance(made("bert", "sequence"), **{"texts": TEXTS, "labels": LABELS, "method": "ablation", **options})


@pytest.mark.data
def test_real_weights(data_folder):
    model = load(str(data_folder / "models" / "sst2"))
    lines = (data_folder / "data" / "sst2" / "stsa.binary.dev").read_text("utf-8").splitlines()[::220]
    labels, texts = [int(line[0]) for line in lines], [line[2:] for line in lines]
    found = ablate(model, texts, labels)
    slopes = importance(model, texts, labels, method="taylor")
    assert len(found["loss"].ranking()) == 72
    for head in [Head("encoder", layer, (5 * layer) % 12) for layer in (0, 2, 5)]:
        change = model.evaluate(texts, labels, "loss", pruned=[head]).change
        assert found["loss"][head] == pytest.approx(change.value, abs=1e-5)
        ends = []
        for gate in (1.02, 0.98):
            with model.gated(
                gates={"encoder": np.where(np.arange(72).reshape(6, 12) == 12 * head[1] + head[2], gate, 1)}
            ):
                ends.append([model.evaluate([t], [y], "loss").value for t, y in zip(texts, labels, strict=True)])
        slope = np.abs(np.subtract(*ends)).mean() / 0.04
        assert slopes[head] == pytest.approx(slope, rel=0.03, abs=1e-4)


@pytest.mark.data
def test_a_translators_three_kinds_of_heads(data_folder):
    model = load(str(data_folder / "models" / "multi30k-en-de"))
    pairs = [
        ("a man is riding a bike .", "ein mann fährt fahrrad ."),
        ("two dogs play in the snow .", "zwei hunde spielen im schnee ."),
    ]
    found = ablate(model, pairs)
    for head in [Head(kind, layer, 3) for kind in model.kinds for layer in range(2)]:
        for metric, sign in (("loss", 1), ("accuracy", -1)):
            change = model.evaluate(pairs, None, metric, pruned=[head]).change
            assert found[metric][head] == pytest.approx(sign * change.value, abs=1e-5)
