"""Completeness and definition on real weights: a classifier, a language model, and a translator."""

import copy
import gzip
import itertools

import numpy as np
import pytest
import torch

from headwidgets import HeadModel, load
from headwidgets.attribution import attribute
from tests.attribution import reference
from tests.models.tiny import made

SHORT = "a charming film"


def gaps(found):
    """By kind, the integration error of every layer, relative as the tolerance is."""
    return {kind: gap / np.maximum(np.abs(found.change[kind]), 0.1) for kind, gap in found.gap.items()}


def many(model, batch, n):
    """A batch of one text, n times."""
    return {name: value.expand(n, *value.shape[1:]) for name, value in batch.inputs.items()}


def at_points(model, batch, site, weights, read, points):
    """A * mean of dF/dA at the points, all passes whole and every map put in by hand, 50 in one pass."""
    total = torch.zeros_like(weights, dtype=torch.float64)
    for some in torch.tensor(points, dtype=weights.dtype).split(50):
        leaf = (some.view(-1, 1, 1, 1) * weights).requires_grad_()
        with model.visit(attention={site: lambda _, leaf=leaf: leaf}):
            values = read(model.forward(many(model, batch, len(some))))
        (gradient,) = torch.autograd.grad(values.sum(), leaf)
        total += gradient.double().sum(0, keepdim=True)
    return (weights.double() * total / len(points))[0].numpy()


def differences(model, batch, site, weights, read, entry, size=1e-5):
    """The same for one entry from the output alone: (F(A + e) - F(A - e)) / 2e at 32 Gauss points."""
    x, w = np.polynomial.legendre.leggauss(32)
    scaled = torch.tensor((x + 1) / 2, dtype=weights.dtype).view(-1, 1, 1, 1) * weights
    nudge = torch.zeros_like(weights)
    nudge[(0, *entry)] = size
    maps = torch.cat([scaled + nudge, scaled - nudge])
    with torch.no_grad(), model.visit(attention={site: lambda _: maps}):
        up, down = read(model.forward(many(model, batch, len(maps)))).chunk(2)
    slope = (up - down).double().numpy() / (2 * size)
    return float(weights[(0, *entry)]) * float((w / 2) @ slope)


@pytest.mark.data
def test_a_layer_of_a_classifier_is_the_sum_of_500_points_and_of_finite_differences(data_folder):
    model = load(str(data_folder / "models" / "sst2"))
    found = attribute(model, SHORT, output="probability", tolerance=1e-4)
    assert gaps(found)["encoder"].max() < 1e-4

    def read(outputs):
        return outputs.logits.softmax(-1)[..., found.target_ids[0]]

    [example] = model.encode([SHORT])
    maps, batch, _ = reference.clean_maps(model, example, read)
    site = model.sites[2]
    expected = at_points(model, batch, site, maps[site], read, (np.arange(500) + 0.5) / 500)
    own = found.maps["encoder"][2]
    assert np.abs(own - expected).max() < 1e-3 * np.abs(expected).max()

    double = HeadModel(copy.deepcopy(model.model).double(), model.tokenizer)
    maps, batch, _ = reference.clean_maps(double, example, read)
    for layer in (0, 3, 5):
        own, site = found.maps["encoder"][layer], double.sites[layer]
        for place in np.argsort(-np.abs(own), axis=None)[[0, 3]]:
            entry = tuple(int(i) for i in np.unravel_index(place, own.shape))
            expected = differences(double, batch, site, maps[site], read, entry)
            assert own[entry] == pytest.approx(expected, rel=2e-3), (layer, entry)


def test_a_loud_language_model_is_complete_at_any_position():
    """Random weights drawn wide (a standard deviation of 0.5), so that the path turns sharply."""
    model = made("llama", "causal")
    for position in (0, 2, 5):
        found = attribute(model, "the cat sat on the mat", target=("dog", "tree"), position=position)
        assert gaps(found)["decoder"].max() <= 1e-3, position
        total = found.maps["decoder"].sum((1, 2, 3), dtype=float)
        np.testing.assert_allclose(total, found.change["decoder"], rtol=2e-3, atol=2e-4)


def test_a_language_model_on_real_weights_is_complete(smollm2):
    """SmolLM2-135M, whose first two layers take 903 and 273 points for an error of 1e-3 of a longer text."""
    found = attribute(smollm2, "The keys", target=(" are", " is"), tolerance=2e-2)
    assert not found.notes
    assert gaps(found)["decoder"].max() <= 2e-2
    assert found.maps["decoder"].shape == (30, 9, 2, 2)


@pytest.mark.data
def test_a_translator_is_complete_in_all_three_kinds(data_folder):
    """ReLU: the gradient jumps along the path, so the tolerance is a loose one."""
    model = load(str(data_folder / "models" / "multi30k-en-de"))

    def lines(language):
        path = data_folder / "data" / "multi30k" / f"test_2016_flickr.{language}.gz"
        with gzip.open(path, "rt", encoding="utf-8") as file:
            return [line.strip() for line in itertools.islice(file, 200)]

    pairs = sorted(zip(lines("en"), lines("de"), strict=True), key=lambda pair: len(pair[0]))
    pair = pairs[5]
    found = attribute(model, pair, tolerance=2e-2)
    assert found.kinds == ("encoder", "decoder", "cross")
    for kind, relative in gaps(found).items():
        assert relative.max() <= 2e-2, kind
    ids = torch.tensor(found.target_ids)

    def read(outputs):
        return outputs.logits.log_softmax(-1)[:, torch.arange(len(ids)), ids].sum(-1)

    [example] = model.encode([pair])
    maps, batch, value = reference.clean_maps(model, example, read)
    assert found.value == pytest.approx(value, abs=1e-3)
    for kind in found.kinds:
        site = model.sites_of(kind)[1]
        expected = at_points(model, batch, site, maps[site], read, (np.arange(200) + 0.5) / 200)
        own = found.maps[kind][1]
        allowed = 2e-2 * max(abs(found.change[kind][1]), 0.1)
        assert np.abs(own - expected).max() < 1.2 * allowed, kind
        assert abs(own.sum() - expected.sum()) < 1.2 * allowed, kind
