"""The slope of the loss in attention weights equals finite differences, weight by weight."""

import numpy as np
import pytest
import torch

from headwidgets import patterns
from headwidgets.errors import InputError
from headwidgets.models.outcomes import Questions
from headwidgets.patterns.gradient import TARGETS
from tests.models.tiny import made
from tests.patterns.reference import classes, sides

TEXTS = ["the cat sat on .", "a bird", "it was not very good , but new"]


def by_differences(model, family, texts, labels, kind, layer, head, step=1e-3):
    """By class, the mean over pairs of |dL/dA|, by moving one weight at a time."""
    questions = Questions(model, texts, labels, "loss", seed=0)
    site = model.site(kind, layer)
    sums, counts = {}, {}

    def loss(batch, at, change):
        def move(maps):
            moved = maps.clone()
            moved[0, head, at[0], at[1]] += change
            return moved

        with torch.no_grad(), model.visit(attention={site: move}):
            verdict = questions.judge(batch.index, questions.logits(batch), hits=False)
        return float(verdict.losses[0]) / max(1, verdict.weights[0])

    for i, example in enumerate(questions.examples):
        (batch,) = model.batches(questions.examples, order=[i])
        query, key = sides(example, kind)
        marks = classes(key)
        for q in range(len(query)):
            for k in range(len(key)):
                if kind == "decoder" and (k > q or (family == "mistral" and q - k >= 4)):
                    continue
                names = [n for n in ("separators", "first") if marks[n][k]]
                if marks["content"][k]:
                    names = ["punctuation" if marks["punctuation"][k] else "other"]
                slope = abs(loss(batch, (q, k), step) - loss(batch, (q, k), -step)) / (2 * step)
                for name in names:
                    sums[name] = sums.get(name, 0) + slope
                    counts[name] = counts.get(name, 0) + 1
    return {name: sums[name] / counts[name] for name in sums}


@pytest.mark.parametrize(
    ("family", "head", "labels", "kind", "texts"),
    [
        ("bert", "sequence", [0, 1, 2], "encoder", TEXTS),
        ("bert", "masked", None, "encoder", TEXTS),
        ("gpt2", "causal", None, "decoder", TEXTS),
        ("mistral", "causal", None, "decoder", TEXTS),
        ("marian", "seq2seq", ["a dog .", "he", "she sat"], "cross", TEXTS),
    ],
)
def test_slopes_are_finite_differences(family, head, labels, kind, texts):
    model = made(family, head)
    with torch.no_grad():
        for parameter in model.model.parameters():
            parameter.mul_(0.6)  # less loud, so that a small step is on a straight piece
    found = patterns.gradient(model, texts, labels)
    model.model.double()
    for layer, index in ((0, 1), (1, 0)):
        expected = by_differences(model, family, texts, labels, kind, layer, index)
        for name in TARGETS:
            value = found[f"gradient_{name}"].values[kind][layer, index]
            if name in expected:
                assert value == pytest.approx(expected[name], rel=0.02, abs=1e-6), (name, layer)
            else:
                assert np.isnan(value)
    assert found.n == 3


def test_gradients_leave_the_model_as_it_was_and_partial_ones_come():
    model = made("bert", "sequence")
    seen = []
    texts = [TEXTS[i % 3] for i in range(20)]
    found = patterns.gradient(model, texts, [0] * 20, on_partial=lambda s: seen.append(s.n))
    assert seen == [16]
    assert all(p.requires_grad and p.grad is None for p in model.model.parameters())
    again = patterns.gradient(model, texts, [0] * 20, seed=5)
    for name in found:
        np.testing.assert_allclose(found[name].values["encoder"], again[name].values["encoder"], rtol=1e-4, atol=1e-7)
    # a classifier reads one position of the last layer, yet no head there has slope 0
    assert (found["gradient_other"].values["encoder"][-1] > 0).all()


def test_half_precision_is_measured_on_a_float32_copy():
    model = made("bert", "sequence")
    whole = patterns.gradient(model, TEXTS, [0, 1, 2])
    model.model.bfloat16()
    half = patterns.gradient(model, TEXTS, [0, 1, 2])
    assert next(model.model.parameters()).dtype == torch.bfloat16
    a, b = (found["gradient_other"].values["encoder"].ravel() for found in (whole, half))
    assert np.corrcoef(a, b)[0, 1] > 0.9


def test_a_bare_encoder_has_no_loss():
    with pytest.raises(InputError, match="nothing on top"):
        patterns.gradient(made("bert"), TEXTS)
