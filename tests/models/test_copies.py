"""A copy under interventions answers as the model does, and leaves nothing behind."""

import numpy as np
import pytest
import torch

from headwidgets.attribution import attribute, faithfulness, importance
from headwidgets.models import maps, taps
from headwidgets.models.copies import copied
from headwidgets.models.interventions import Cut, Replace, Scale
from headwidgets.models.model import HeadModel
from tests.models.tiny import made

TEXTS = ["the cat sat on the mat", "a big dog ran on the tree"]
CHANGES = {
    "map": Cut([(0, 1), (2, 3)], kind="encoder", layer=1),
    "gate": Scale([("encoder", 1, 1)], 0.3),
    "output": Replace([("encoder", 0, 1)], "zero"),
}
FAMILIES = ("bert", "deberta-v2", "albert")


def logits(model: HeadModel) -> torch.Tensor:
    batch = next(model.batches(model.encode(TEXTS)))
    with model.visit(), torch.no_grad():
        found: torch.Tensor = model.forward(batch).logits
    return found


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("change", CHANGES)
def test_a_copy_answers_as_the_model_does(family, change):
    model = made(family, "sequence")
    plain = logits(model)
    implementation = model.model.config._attn_implementation
    with model.intervene(CHANGES[change]):
        changed = logits(model)
        with copied(model) as twin:
            assert torch.equal(logits(twin), changed)
            with copied(twin) as again:
                assert torch.equal(logits(again), changed)
        assert torch.equal(logits(model), changed)
    assert not torch.allclose(changed, plain)
    assert torch.equal(logits(model), plain)
    assert not maps.active
    assert not taps._asking
    assert model.model.config._attn_implementation == implementation
    assert not any("forward" in module.__dict__ for module in model.model.modules())


def test_a_copy_has_weights_of_its_own():
    model = made("bert", "sequence")
    before = logits(model)
    with copied(model, lambda root: root.classifier.weight.data.zero_()) as twin:
        assert not torch.allclose(logits(twin), before)
    assert torch.equal(logits(model), before)


@pytest.mark.parametrize("family", FAMILIES)
def test_half_precision_is_measured_under_changes_of_maps(family):
    half, full = made(family, "sequence"), made(family, "sequence")
    half.model.bfloat16()
    full.model.bfloat16().float()
    with half.intervene(CHANGES["map"]), full.intervene(CHANGES["map"]):
        for own, other in zip(
            (attribute(half, TEXTS[0], 0).totals, importance(half, TEXTS, [0, 1], "taylor").values),
            (attribute(full, TEXTS[0], 0).totals, importance(full, TEXTS, [0, 1], "taylor").values),
            strict=True,
        ):
            np.testing.assert_array_equal(own["encoder"], other["encoder"])
    assert not np.allclose(attribute(full, TEXTS[0], 0).totals["encoder"], own["encoder"])


def test_random_weights_stand_under_the_same_changes():
    model = made("bert", "sequence")
    with model.intervene(CHANGES["map"]):
        report = faithfulness(model, attribute(model, TEXTS[0], 0), twins=1)
    assert len(report.controls) == 2
