"""Head importance against its definition, written down once more."""

import gc

import numpy as np
import pytest
import torch

from headwidgets import jobs
from headwidgets.attribution import attribute, importance
from headwidgets.errors import Cancelled, InputError
from headwidgets.provenance import data_fingerprint
from tests.attribution.test_paths import LONG, TEXT, calm
from tests.models.tiny import made

TEXTS = [TEXT, LONG, "a bird ran", "the dog was good and the film was bad"]
LABELS = [0, 2, 1, 2]


def test_attribution_is_the_mean_of_each_texts_largest_entry():
    model = calm("bert", "sequence")
    scores = importance(model, TEXTS, LABELS)
    single = [attribute(model, t, target=y, output="probability") for t, y in zip(TEXTS, LABELS, strict=True)]
    largest = np.array([a.maps["encoder"].max((2, 3)) for a in single])
    assert scores.n == 4
    assert scores.name == "attribution"
    np.testing.assert_allclose(scores.values["encoder"], largest.mean(0), rtol=0.02, atol=1e-4)
    np.testing.assert_allclose(scores.stderr["encoder"], largest.std(0, ddof=1) / 2, rtol=0.05, atol=1e-4)
    mean = importance(model, TEXTS, LABELS, pooling="mean").values["encoder"]
    np.testing.assert_allclose(mean, np.mean([a.maps["encoder"].mean((2, 3)) for a in single], 0), rtol=0.02, atol=1e-4)


def test_labels_matter_and_may_be_names():
    model = calm("bert", "sequence")
    names = [model.model.config.id2label[i] for i in LABELS]
    by_index = importance(model, TEXTS, LABELS).values["encoder"]
    np.testing.assert_array_equal(importance(model, TEXTS, names).values["encoder"], by_index)
    assert np.abs(importance(model, TEXTS, [1, 0, 2, 0]).values["encoder"] - by_index).max() > 1e-3


def naive_confidence(model, texts):
    """Largest weight among ordinary keys, over ordinary queries of all texts."""
    found = {kind: [] for kind in model.kinds}
    for example in model.encode(texts):
        maps = {}
        handlers = {s: lambda m, s=s, maps=maps: maps.__setitem__(s, m[0].numpy()) for s in model.sites}
        with torch.no_grad(), model.visit(attention=handlers):
            model.forward(next(model.batches([example])))
        for kind in model.kinds:
            query = example.source if example.target is None or kind == "encoder" else example.target
            key = query if kind != "cross" else example.source
            keys = ~np.array(key.special)
            rows = np.stack([maps[s][:, :, keys].max(-1) for s in model.sites_of(kind)], 0)
            found[kind].append(rows[:, :, ~np.array(query.special)])
    return {kind: np.concatenate(rows, -1).mean(-1) for kind, rows in found.items()}


@pytest.mark.parametrize(
    ("family", "head"), [("bert", "sequence"), ("gpt2", "causal"), ("t5", "seq2seq"), ("albert", "base")]
)
def test_confidence_leaves_special_tokens_and_padding_out(family, head):
    model = made(family, head)
    texts = [(t, "a dog ran") for t in TEXTS] if head == "seq2seq" else TEXTS
    scores = importance(model, texts, method="confidence")
    for kind, expected in naive_confidence(model, texts).items():
        np.testing.assert_allclose(scores.values[kind], expected, atol=1e-6)
        assert (scores.stderr[kind] >= 0).all()
    assert scores.n == 4


def test_confidence_has_the_jackknifes_standard_error():
    model = made("bert", "sequence")
    texts = [
        f"{a} {b} {c}" for a in ("the", "a") for b in ("cat", "old dog", "bird") for c in ("ran", "sat on the mat")
    ]
    scores = importance(model, texts, method="confidence")
    left_out = np.array(
        [
            importance(model, texts[:i] + texts[i + 1 :], method="confidence").values["encoder"]
            for i in range(len(texts))
        ]
    )
    n = len(texts)
    jackknife = np.sqrt((n - 1) / n * ((left_out - left_out.mean(0)) ** 2).sum(0))
    np.testing.assert_allclose(scores.stderr["encoder"], jackknife, rtol=0.15)


def test_random_is_seeded():
    model = made("bert")
    a, b = (importance(model, TEXTS, method="random", seed=s).values["encoder"] for s in (0, 1))
    np.testing.assert_array_equal(a, importance(model, TEXTS, method="random", seed=0).values["encoder"])
    assert (a != b).all()


def test_language_models_need_no_labels_and_encoder_decoders_take_references():
    assert importance(calm("gpt2", "causal"), TEXTS).unit == "logits"
    model = calm("t5", "seq2seq")
    pairs = [(t, "a dog ran") for t in TEXTS]
    given = importance(model, pairs)
    apart = importance(model, TEXTS, ["a dog ran"] * 4)
    for kind in ("encoder", "decoder", "cross"):
        np.testing.assert_allclose(given.values[kind], apart.values[kind], rtol=1e-4, atol=1e-6)


def test_token_classifiers_use_every_words_class():
    model = calm("bert", "token")
    labels = [[0, 1, 2, 0, 1, 2], [0, 1, 2]]
    scores = importance(model, [TEXT, "a bird ran"], labels)
    assert scores.unit == "nats"
    other = importance(model, [TEXT, "a bird ran"], [[2, 1, 2, 0, 1, 2], [0, 1, 2]])
    assert np.abs(scores.values["encoder"] - other.values["encoder"]).max() > 1e-4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "gradient"}, "attribution, .*confidence, random"),
        ({"colour": "red"}, "no option 'colour': it knows pooling, output"),
        ({"pooling": "median"}, "max, mean"),
        ({"labels": [0, 1]}, "4 in all"),
        ({"labels": [0, 1, 2, 7]}, "label 3"),
        ({"labels": None}, "labels"),
        ({"texts": []}, "at least one text"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(InputError, match=message):
        importance(made("bert", "sequence"), **{"texts": TEXTS, "labels": LABELS, **options})


MANY = [TEXT, LONG, "a bird ran", "the dog was good and the film was bad", "it ran"] * 8
ANSWERS = [0, 2, 1, 2, 0] * 8


@pytest.mark.parametrize("method", ["attribution", "confidence"])
def test_partial_scores_are_those_of_a_random_sample(method):
    model = calm("bert", "sequence")
    seen = []
    whole = importance(model, MANY, ANSWERS, method=method, seed=4, on_partial=seen.append)
    assert [s.n for s in seen] == [16, 32]
    assert all(s.provenance["settings"]["of"] == 40 for s in [*seen, whole])
    order = np.random.default_rng(4).permutation(40)
    few = importance(model, [MANY[i] for i in order[:32]], [ANSWERS[i] for i in order[:32]], method=method)
    for name in ("values", "stderr"):
        np.testing.assert_allclose(
            getattr(seen[1], name)["encoder"], getattr(few, name)["encoder"], rtol=2e-3, atol=1e-5
        )
    halves = np.average(whole.groups["encoder"], axis=0, weights=whole.group_sizes)
    if method == "attribution":  # confidence weighs a text by its queries
        np.testing.assert_allclose(halves, whole.values["encoder"], rtol=1e-3, atol=1e-6)
    first = np.isin(np.arange(40), order[::20])  # with 20 groups, ranks 0 and 20 are in the first
    chosen = np.flatnonzero(first)
    own = importance(model, [MANY[i] for i in chosen], [ANSWERS[i] for i in chosen], method=method)
    np.testing.assert_allclose(whole.groups["encoder"][0], own.values["encoder"], rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize("method", ["attribution", "taylor", "ablation", "confidence", "random"])
def test_every_method_runs_as_a_job(method):
    model = calm("bert", "sequence")
    job = jobs.start(importance, model, MANY, ANSWERS, method=method)
    plain = importance(model, MANY, ANSWERS, method=method)
    np.testing.assert_allclose(job.result(60).values["encoder"], plain.values["encoder"], rtol=1e-4, atol=1e-6)
    settings = plain.provenance["settings"]
    assert settings["method"] == method
    assert settings["seed"] == 0
    if method != "random":
        assert job.partial.n == 32
        assert job.progress[0] == job.progress[1] > 0
        assert (plain.n, settings["data"]) == (40, data_fingerprint(MANY))
        assert plain.stderr["encoder"].shape == plain.values["encoder"].shape


@pytest.mark.parametrize("method", ["attribution", "taylor", "ablation", "confidence"])
def test_cancel_and_progress(method):
    model = made("bert", "sequence")
    seen = []
    importance(model, TEXTS, LABELS, method=method, on_progress=lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1] > 0
    with pytest.raises(Cancelled):
        importance(model, TEXTS, LABELS, method=method, cancel=lambda: True)


@pytest.mark.parametrize("method", ["attribution", "taylor", "ablation"])
def test_a_layer_that_is_not_finite_is_named(method):
    model = made("bert", "sequence")
    model.site("encoder", 1).projection.weight.data[0, 0] = float("nan")
    with pytest.raises(InputError, match="encoder layer 1 are not finite"):
        importance(model, TEXTS, LABELS, method=method)


def largest_held(run, every=4):
    """Most bytes alive in tensors while `run` runs, seen at some of its calls."""
    peak, calls = [0], [0]

    def look(*_):
        calls[0] += 1
        if calls[0] % every == 0:
            gc.collect()
            alive = [t.untyped_storage() for t in gc.get_objects() if type(t) in (torch.Tensor, torch.nn.Parameter)]
            peak[0] = max(peak[0], sum({s.data_ptr(): s.nbytes() for s in alive}.values()))

    gc.collect()
    gc.freeze()  # what was there before is not looked at again each time
    try:
        run(look)
    finally:
        gc.unfreeze()
    assert peak[0]
    return peak[0]


def test_memory_does_not_grow_with_examples():
    model = calm("bert", "sequence")
    few = largest_held(lambda look: importance(model, [LONG] * 64, [0] * 64, on_progress=look), 1)
    many = largest_held(lambda look: importance(model, [LONG] * 256, [0] * 256, on_progress=look), 1)
    assert many < 1.1 * few
