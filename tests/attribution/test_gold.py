"""The right answer and the model's own as targets."""

import numpy as np
import pytest
import torch

from headwidgets.attribution import attribute
from headwidgets.errors import InputError
from tests.attribution.test_paths import TEXT, calm
from tests.attribution.test_targets import logits_of
from tests.models.tiny import made

FEW = {"steps": 2}


def same(one, other):
    assert one.target_ids == other.target_ids
    assert one.value == pytest.approx(other.value)
    for kind in one.kinds:
        np.testing.assert_array_equal(one.maps[kind], other.maps[kind])


def test_classes():
    model = calm("bert", "sequence")
    model.model.config.id2label = {0: "bad", 1: "fair", 2: "good"}
    predicted = attribute(model, TEXT, **FEW)
    same(attribute(model, TEXT, target="predicted", **FEW), predicted)
    texts = [TEXT, "a bird"]
    both = attribute(model, texts, target="gold", labels=["good", 0], **FEW)
    assert [one.target for one in both] == ["good", "bad"]
    for one, other in zip(both, attribute(model, texts, target=[2, 0], **FEW), strict=True):
        same(one, other)
    same(attribute(model, TEXT, target="gold", labels="fair", **FEW), attribute(model, TEXT, target=1, **FEW))
    for wrong, sentence in (
        ({"target": "gold"}, "give labels="),
        ({"labels": [1]}, 'target="gold", got target=None'),
        ({"target": "gold", "labels": [1, 2]}, "one label per text, 1 in all, got 2"),
        ({"target": "gold", "labels": "great"}, "no class of this model"),
    ):
        with pytest.raises(InputError, match=sentence):
            attribute(model, TEXT, **wrong)


def test_a_class_of_that_name_goes_first():
    model = calm("bert", "sequence")
    model.model.config.id2label = {0: "gold", 1: "silver", 2: "predicted"}
    assert attribute(model, TEXT, target="gold", **FEW).target_ids == (0,)
    assert attribute(model, TEXT, target="predicted", **FEW).target_ids == (2,)


def test_contrasts_with_them():
    model = calm("bert", "sequence")
    z = logits_of(model, TEXT)
    order = z.argsort(descending=True).tolist()
    result = attribute(model, TEXT, target=("predicted", order[2]), **FEW)
    assert result.target_ids == (order[0], order[2])
    assert result.target == f"LABEL_{order[0]} against LABEL_{order[2]}"
    assert result.value == pytest.approx(float(z[order[0]] - z[order[2]]), abs=1e-5)
    result = attribute(model, TEXT, target=("gold", "predicted"), labels=order[1], **FEW)
    assert result.value == pytest.approx(float(z[order[1]] - z[order[0]]), abs=1e-5)
    with pytest.raises(InputError, match=f"both are 'LABEL_{order[0]}'"):
        attribute(model, TEXT, target=("predicted", order[0]), **FEW)
    with pytest.raises(InputError, match="two different targets"):
        attribute(model, TEXT, target=("gold", 1), labels=1, **FEW)


def test_words_of_a_token_classifier():
    model = calm("bert", "token")
    labels = [[0, 1, 2, 0, 1, 2]]
    result = attribute(model, [TEXT], target="gold", labels=labels, position=3, **FEW)[0]
    assert result.target_ids == (2,), "[CLS] is position 0, the third word position 3"
    assert result.positions == (3,)
    same(attribute(model, TEXT, target="gold", labels=labels[0], position=3, **FEW), result)
    with pytest.raises(InputError, match="position 0 of text 0 has no label"):
        attribute(model, [TEXT], target="gold", labels=labels, position=0)


def test_language_models():
    model = calm("llama", "causal")
    ids = model.tokenizer(TEXT)["input_ids"]
    assert attribute(model, TEXT, target="gold", position=1, **FEW).target_ids == (ids[2],)
    assert attribute(model, TEXT, target="gold", labels="tree", **FEW).target == "tree"
    with pytest.raises(InputError, match="no token of the text follows position 5"):
        attribute(model, TEXT, target="gold")
    masked = calm("bert", "masked")
    assert attribute(masked, "the [MASK] sat", target="gold", labels="cat", **FEW).target == "cat"
    with pytest.raises(InputError, match="give labels="):
        attribute(masked, "the [MASK] sat", target="gold")


def test_encoder_decoders():
    model = calm("t5", "seq2seq")
    pair = (TEXT, "a dog ran")
    whole = attribute(model, pair, **FEW)
    same(attribute(model, pair, target="gold", **FEW), whole)
    same(attribute(model, TEXT, target="gold", labels="a dog ran", **FEW), whole)
    z = logits_of(model, pair)
    own = attribute(model, pair, target="predicted", **FEW)
    assert own.target_ids == tuple(z.argmax(-1).tolist())
    assert own.value == pytest.approx(float(z.log_softmax(-1).max(-1).values.sum()), abs=1e-4)
    one = attribute(model, pair, target="predicted", position=1, **FEW)
    assert one.target_ids == (int(z[1].argmax()),)
    assert attribute(model, pair, position=1, **FEW).target_ids == (whole.target_ids[1],)
    with pytest.raises(InputError, match="already is a pair"):
        attribute(model, pair, target="gold", labels="a cat")


def test_several_classes_and_values():
    model = made("bert", "sequence", problem_type="multi_label_classification")
    model = type(model)(model.model, model.tokenizer)
    result = attribute(model, TEXT, target="gold", labels=[[2]], output="probability", **FEW)
    assert result.value == pytest.approx(float(logits_of(model, TEXT)[2].sigmoid()), abs=1e-5)
    with pytest.raises(InputError, match="2 right classes"):
        attribute(model, TEXT, target="gold", labels=[[0, 2]])
    with pytest.raises(InputError, match="predicts one number"):
        attribute(made("bert", "sequence", num_labels=1), TEXT, target="gold", labels=1.0)


def test_a_dataset_brings_its_labels():
    import datasets

    model = calm("bert", "sequence")
    rows = datasets.Dataset.from_dict({"text": [TEXT, "a bird"], "label": [2, 0]})
    assert [one.target_ids for one in attribute(model, rows, target="gold", **FEW)] == [(2,), (0,)]


def test_no_gradient_of_the_users_is_needed():
    model = calm("bert", "sequence")
    with torch.no_grad():
        assert attribute(model, TEXT, target="gold", labels=1, **FEW).target_ids == (1,)
