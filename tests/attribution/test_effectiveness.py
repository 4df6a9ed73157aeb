"""Pruning each text's own heads, against a slow loop over texts."""

import itertools

import numpy as np
import pytest
import torch

from headwidgets import Cancelled, Head, InputError, UnsupportedError, jobs
from headwidgets.attribution import attribute
from headwidgets.attribution.effectiveness import effectiveness
from tests.models.tiny import made

TEXTS = ["a fine film", "a dull film about a long dull war", "never was so much said", "fine", "so very long"]
LABELS = [1, 0, 1, 1, 0]


@pytest.fixture(scope="module")
def model():
    return made("bert", "sequence")


def right_share(model, texts, labels, pruned_of):
    hits = []
    for text, label in zip(texts, labels, strict=True):
        [example] = model.encode([text])
        with model.gated(pruned=pruned_of(text, label)), torch.no_grad():
            logits = model.forward(next(model.batches([example]))).logits
        hits.append(int(logits.argmax()) == label)
    return np.mean(hits)


def test_every_text_loses_its_own_heads(model):
    found = effectiveness(model, TEXTS, LABELS, orders=["attribution", "attention"])
    layers, heads = model.shape("encoder")
    assert found.n == 5
    assert found.heads == heads
    for curve in found.curves:
        sign = -1 if curve.strongest_first else 1

        def pruned_of(text, label, curve=curve, sign=sign, count=0):
            result = attribute(model, text, target=label, output="probability", tolerance=1e-2)
            maps = result.maps["encoder"] if curve.order == "attribution" else result.attention["encoder"]
            strength = maps.max((2, 3)) if curve.order == "attribution" else maps.max(3).mean(2)
            order = np.argsort(sign * strength, axis=1, kind="stable")[:, :count]
            return [Head("encoder", layer, int(h)) for layer in range(layers) for h in order[layer]]

        for count, estimate in zip(curve.counts, curve.estimates, strict=True):
            expected = right_share(model, TEXTS, LABELS, lambda t, k, c=count, p=pruned_of: p(t, k, count=c))
            assert estimate.value == pytest.approx(expected)
        values = [e.value for e in curve.estimates]
        steps = np.diff(curve.counts)
        area = sum(w * (a + b) / 2 for w, (a, b) in zip(steps, itertools.pairwise(values), strict=True)) / steps.sum()
        assert curve.area.value == pytest.approx(area)
        assert curve.area.low <= curve.area.value <= curve.area.high
    ends = {(c.estimates[0].value, c.estimates[-1].value) for c in found.curves}
    assert len(ends) == 1


def test_random_orders_follow_the_seed_and_the_document_has_all_curves(model):
    first, again, other = (
        effectiveness(model, TEXTS * 4, LABELS * 4, orders="random", seed=s, metric="loss", counts=[0, 1, 2])
        for s in (3, 3, 4)
    )
    values = [[e.value for e in found.curves[0].estimates] for found in (first, again, other)]
    assert values[0] == values[1]
    assert values[0][1] != values[2][1]
    document = first.document()
    assert [(c["name"], c["control"]) for c in document["curves"]] == [("random order", True)]
    assert document["baseline"]["value"] == pytest.approx(values[0][0])
    assert list(first.to_frame()["pruned per layer"]) == [0, 1, 2]


def test_progress_ends_at_its_total_and_a_cancel_is_heard(model):
    told = []
    partial = []
    effectiveness(
        model, TEXTS, LABELS, on_progress=lambda *a: told.append(a), on_partial=lambda e: partial.append(len(e.curves))
    )
    assert told[-1][0] == told[-1][1]
    assert all(a[0] <= b[0] for a, b in itertools.pairwise(told))
    assert partial == [1, 2, 3, 4, 5]
    stop = {"now": False}

    def halt(*_):
        stop["now"] = True

    with pytest.raises(Cancelled):
        effectiveness(model, TEXTS, LABELS, on_progress=halt, cancel=lambda: stop["now"])
    job = jobs.start(effectiveness, model, TEXTS, LABELS, orders="attention")
    assert job.result(60).curves[0].name == "attention weight, strongest first"


def test_what_cannot_be_asked_is_said(model):
    with pytest.raises(InputError, match="attribution, attention, random, got 'gradient'"):
        effectiveness(model, TEXTS, LABELS, orders=["gradient"])
    with pytest.raises(InputError, match="from 0 to"):
        effectiveness(model, TEXTS, LABELS, counts=[0, 99])
    with pytest.raises(InputError, match="at least two counts"):
        effectiveness(model, TEXTS, LABELS, counts=[1])
    with pytest.raises(UnsupportedError, match="classifier of texts"):
        effectiveness(made("gpt2", "causal"), TEXTS, LABELS)
