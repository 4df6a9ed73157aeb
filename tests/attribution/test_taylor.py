"""The slope of the loss in a head's gate, against finite differences of a loss written down once more."""

import numpy as np
import pytest
import torch

from headwidgets import Head
from headwidgets.attribution import importance
from headwidgets.errors import Cancelled, InputError
from tests.models.tiny import made

TEXTS = [
    "the cat sat",
    "a big red bird saw the dog on the mat",
    "he liked the film",
    "it was bad",
    "the new house was in the old tree",
]
LABELS = [0, 2, 1, 1, 0]
STEP = 1e-4


def double(family, head):
    model = made(family, head)
    model.model.double()
    return model


def loss_of(model, text, right, handlers):
    """Mean cross entropy of one text's right answers, float64; `right` is {position (or -1 for the text): class}."""
    batch = next(model.batches(model.encode([text])))
    with torch.no_grad(), model.visit(outputs=handlers):
        logits = model.forward(batch).logits[0].double().numpy()
    rows = logits[None] if logits.ndim == 1 else logits
    logs = rows - rows.max(-1, keepdims=True)
    logs -= np.log(np.exp(logs).sum(-1, keepdims=True))
    return -np.mean([logs[position, answer] for position, answer in right.items()])


def slopes_of(model, text, right, per_position=False, size=STEP):
    """By kind, central differences [layers, heads] or [layers, heads, positions]."""
    batch = next(model.batches(model.encode([text])))
    found = {kind: [] for kind in model.kinds}
    for site in model.sites:
        length = batch.query_mask[site.kind].shape[1]
        places = list(range(length)) if per_position else [slice(None)]
        rows = np.zeros((site.n_heads, len(places)))
        for head in range(site.n_heads):
            for k, place in enumerate(places):
                ends = []
                for step in (size, -size):

                    def turn(own, head=head, place=place, step=step):
                        own = own.clone()
                        own[:, place, head] *= 1 + step
                        return own

                    ends.append(loss_of(model, text, right, {site: turn}))
                rows[head, k] = (ends[0] - ends[1]) / (2 * size)
        found[site.kind].append(rows)
    return {kind: np.stack(rows) for kind, rows in found.items()}


def right_of(model, head, text, label):
    if head == "sequence":
        return {0: label}
    ids = model.encode([text])[0].source.ids
    return {p: int(ids[p + 1]) for p in range(len(ids) - 1)}


FAMILIES = [("bert", "sequence"), ("gpt2", "causal"), ("llama", "causal"), ("albert", "sequence")]


@pytest.mark.parametrize(("family", "head"), FAMILIES)
def test_each_level_equals_finite_differences_in_the_gate(family, head):
    model = double(family, head)
    texts = TEXTS[:3]
    labels = LABELS[:3] if head == "sequence" else None
    rights = [right_of(model, head, t, y) for t, y in zip(texts, LABELS, strict=False)]
    size, noise = (2e-3, 3e-4) if family == "llama" else (STEP, 2e-5)  # its norms compute in float32 in any dtype
    (kind,) = model.kinds
    for level in ("position", "example", "batch"):
        scores = importance(model, texts, labels, method="taylor", level=level, batch_size=3)
        found = [slopes_of(model, t, r, level == "position", size)[kind] for t, r in zip(texts, rights, strict=True)]
        each = np.stack([np.abs(own).sum(-1) if level == "position" else own[..., 0] for own in found])
        expected = np.abs(each.mean(0)) if level == "batch" else np.abs(each).mean(0)
        np.testing.assert_allclose(scores.values[kind], expected, rtol=2e-3, atol=noise)
        if level == "example":
            error = np.abs(each).std(0, ddof=1) / np.sqrt(3)
            np.testing.assert_allclose(scores.stderr[kind], error, rtol=5e-3, atol=noise)


def test_encoder_decoders_and_token_classifiers_use_their_own_loss():
    model = double("bart", "seq2seq")
    pairs = [("the cat sat", "a dog ran"), ("it was bad", "the film was not good")]
    scores = importance(model, pairs, method="taylor")
    for kind in model.kinds:
        each = []
        for example in model.encode(pairs):
            wanted = model.tokenizer.encode(example.text[1])
            each.append(slopes_of(model, example.text, dict(enumerate(wanted)))[kind][..., 0])
        np.testing.assert_allclose(scores.values[kind], np.abs(each).mean(0), rtol=2e-3, atol=2e-5)
    words = double("bert", "token")
    scores = importance(words, ["the cat sat"], [[0, 2, 1]], method="taylor")
    each = slopes_of(words, "the cat sat", {1: 0, 2: 2, 3: 1})["encoder"][..., 0]
    np.testing.assert_allclose(scores.values["encoder"], np.abs(each), rtol=2e-3, atol=2e-5)


@pytest.mark.parametrize("level", ["position", "example", "batch"])
@pytest.mark.parametrize("ablation", ["option", "zero", "mean"])
def test_a_second_round_after_pruning_still_has_slopes(level, ablation):
    model = made("bert", "sequence")
    first = importance(model, TEXTS, LABELS, method="taylor", level=level)
    gone = first.ranking()[-2:] + first.ranking()[:1]
    options = {"method": "taylor", "level": level}
    if ablation == "option":
        second = importance(model, TEXTS, LABELS, **options, pruned=gone)
    else:
        with model.gated(gone, ablation=ablation, reference=None if ablation == "zero" else TEXTS):
            second = importance(model, TEXTS, LABELS, **options)
    left = [h for h in model.heads() if h not in gone]
    assert all(second[h] == 0 for h in gone)
    assert all(second[h] > 0 for h in left)
    assert max(abs(second[h] - first[h]) for h in left) > 1e-3
    assert first.values["encoder"].tolist() == importance(model, TEXTS, LABELS, **options).values["encoder"].tolist()


@pytest.mark.parametrize("level", ["position", "example"])
@pytest.mark.parametrize(("family", "head"), [("bert", "sequence"), ("gpt2", "causal"), ("t5", "seq2seq")])
def test_padding_and_batches_do_not_matter(family, head, level):
    model = made(family, head)
    texts = [(t, "a dog ran") for t in TEXTS] if head == "seq2seq" else TEXTS
    labels = LABELS if head == "sequence" else None
    together = importance(model, texts, labels, method="taylor", level=level)
    alone = [
        importance(model, [t], None if labels is None else [labels[i]], method="taylor", level=level)
        for i, t in enumerate(texts)
    ]
    for kind in model.kinds:
        mean = np.mean([a.values[kind] for a in alone], 0)
        np.testing.assert_allclose(together.values[kind], mean, rtol=1e-4, atol=1e-5)


def test_normalised_by_layer():
    model = made("bert", "sequence")
    plain = importance(model, TEXTS, LABELS, method="taylor")
    scores = importance(model, TEXTS, LABELS, method="taylor", normalise="layer")
    norm = np.linalg.norm(plain.values["encoder"], axis=1, keepdims=True)
    np.testing.assert_allclose(scores.values["encoder"], plain.values["encoder"] / norm, rtol=1e-12)
    np.testing.assert_allclose(scores.stderr["encoder"], plain.stderr["encoder"] / norm, rtol=1e-12)
    assert scores.name == "taylor, normalised by layer"


def test_a_model_in_half_precision_is_measured_in_float32():
    half, full = made("bert", "sequence"), made("bert", "sequence")
    half.model.bfloat16()
    full.model.bfloat16().float()
    gone = [Head("encoder", 0, 1)]
    for options in ({}, {"pruned": gone}):
        found, expected = (importance(m, TEXTS, LABELS, method="taylor", **options) for m in (half, full))
        np.testing.assert_allclose(found.values["encoder"], expected.values["encoder"], rtol=1e-5, atol=1e-6)
    with half.gated(gone):
        inside = importance(half, TEXTS, LABELS, method="taylor")
    np.testing.assert_allclose(inside.values["encoder"], found.values["encoder"], rtol=1e-5, atol=1e-6)
    assert half.model.dtype == torch.bfloat16


def test_groups_add_up_to_the_whole():
    model = made("bert", "sequence")
    texts, labels = TEXTS * 14, LABELS * 14
    for level in ("example", "batch"):
        scores = importance(model, texts, labels, method="taylor", level=level, batch_size=8)
        assert scores.group_sizes.sum() == 70
        mean = np.average(scores.groups["encoder"], axis=0, weights=scores.group_sizes)
        np.testing.assert_allclose(mean, scores.values["encoder"], rtol=1e-5)


def test_the_model_is_as_it_was_and_dropout_is_off():
    model = made("bert", "sequence")
    model.model.train()
    before = [(p.requires_grad, p.grad) for p in model.model.parameters()]
    first = importance(model, TEXTS, LABELS, method="taylor")
    again = importance(model, TEXTS, LABELS, method="taylor")
    np.testing.assert_array_equal(first.values["encoder"], again.values["encoder"])
    assert model.model.training
    assert [(p.requires_grad, p.grad) for p in model.model.parameters()] == before
    assert not any(m._forward_pre_hooks for m in model.model.modules())


def test_partial_scores_are_a_sample_and_a_cancel_is_heard():
    model = made("bert", "sequence")
    texts, labels = TEXTS * 14, LABELS * 14
    seen = []
    whole = importance(model, texts, labels, method="taylor", seed=3, on_partial=seen.append)
    assert [s.n for s in seen] == [16, 32, 64]
    assert whole.n == 70
    order = np.random.default_rng(3).permutation(70)[:16]
    few = importance(model, [texts[i] for i in order], [labels[i] for i in order], method="taylor")
    np.testing.assert_allclose(seen[0].values["encoder"], few.values["encoder"], rtol=1e-4, atol=1e-6)
    calls = []
    with pytest.raises(Cancelled):
        importance(
            model, texts, labels, method="taylor", on_progress=lambda *a: calls.append(a), cancel=lambda: len(calls) > 0
        )
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": "token"}, "position, example, batch"),
        ({"normalise": "model"}, "'layer' or None"),
        ({"batch_size": 0}, "at least 1"),
        ({"pruned": [Head("encoder", 9, 0)]}, "layer 9"),
        ({"pooling": "max"}, "it knows level, batch_size, normalise, pruned, seed"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(InputError, match=message):
        importance(made("bert", "sequence"), TEXTS, LABELS, method="taylor", **options)
