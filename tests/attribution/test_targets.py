"""What is attributed: every output, target and position, and sentences for those that do not fit."""

import numpy as np
import pytest
import torch

from headwidgets.attribution import attribute
from headwidgets.errors import Cancelled, InputError, UnsupportedError
from tests.attribution.test_importance import largest_held
from tests.attribution.test_paths import LONG, TEXT, calm
from tests.models.tiny import made


def logits_of(model, text):
    with torch.no_grad(), model.visit():
        return model.forward(next(model.batches(model.encode([text])))).logits[0].double()


def test_outputs_of_a_classifier():
    model = calm("bert", "sequence")
    z = logits_of(model, TEXT)
    p = z.softmax(-1)
    expected = {
        "probability": p[1],
        "log-probability": p[1].log(),
        "log-odds": (p[1] / (1 - p[1])).log(),
        "logit": z[1] - z.mean(),
    }
    for output, value in expected.items():
        result = attribute(model, TEXT, target=1, output=output)
        assert result.value == pytest.approx(float(value), abs=1e-5)
        assert result.gap["encoder"].max() < 1e-3
    assert attribute(model, TEXT).output == "log-odds"


def test_contrasts_are_differences():
    model = calm("bert", "sequence")
    z = logits_of(model, TEXT)
    p = z.softmax(-1)
    assert attribute(model, TEXT, target=(0, 2)).value == pytest.approx(float(z[0] - z[2]), abs=1e-5)
    assert attribute(model, TEXT, target=(0, 2), output="probability").value == pytest.approx(
        float(p[0] - p[2]), abs=1e-6
    )
    result = attribute(model, TEXT, target=("LABEL_0", 2))
    assert result.target == "LABEL_0 against LABEL_2"
    assert result.target_ids == (0, 2)


def test_default_target_is_the_prediction_and_names_come_from_the_model():
    model = calm("bert", "sequence")
    model.model.config.id2label = {0: "bad", 1: "fair", 2: "good"}
    result = attribute(model, TEXT)
    assert result.target == ["bad", "fair", "good"][int(logits_of(model, TEXT).argmax())]
    assert attribute(model, TEXT, target="good").target_ids == (2,)


def test_token_classifier_at_a_position():
    model = calm("bert", "token")
    z = logits_of(model, TEXT)
    result = attribute(model, TEXT, position=2, target=1, output="logit")
    assert result.value == pytest.approx(float(z[2, 1] - z[2].mean()), abs=1e-5)
    last = result.maps["encoder"][-1]
    assert np.abs(last[:, 2]).max() > 0
    assert np.all(np.delete(last, 2, axis=1) == 0)
    with pytest.raises(InputError, match="position="):
        attribute(model, TEXT)


def test_masked_language_model_reads_the_mask():
    model = calm("bert", "masked")
    result = attribute(model, "the [MASK] sat", target="cat")
    z = logits_of(model, "the [MASK] sat")[2]
    cat = model.tokenizer.convert_tokens_to_ids("cat")
    assert result.value == pytest.approx(float(z[cat] - z.mean()), abs=1e-4)
    with pytest.raises(InputError, match="0 masked tokens"):
        attribute(model, TEXT)


def test_next_token_of_a_language_model():
    model = calm("llama", "causal")
    z = logits_of(model, TEXT)
    result = attribute(model, TEXT)
    assert result.output == "logit"
    assert result.target_ids == (int(z[-1].argmax()),)
    assert result.value == pytest.approx(float(z[-1].max() - z[-1].mean()), abs=1e-4)
    earlier = attribute(model, TEXT, target="cat", position=1)
    cat = model.tokenizer.convert_tokens_to_ids("cat")
    assert earlier.value == pytest.approx(float(z[1, cat] - z[1].mean()), abs=1e-4)
    assert np.all(earlier.maps["decoder"][:, :, 2:] == 0), "a later position cannot matter"


def test_encoder_decoder_sums_log_probabilities_and_has_three_kinds():
    model = calm("t5", "seq2seq")
    pair = (TEXT, "a dog ran")
    result = attribute(model, pair)
    labels = torch.tensor(model.tokenizer("a dog ran")["input_ids"])
    z = logits_of(model, pair)
    assert result.kinds == ("encoder", "decoder", "cross")
    assert result.target_ids == tuple(labels.tolist())
    assert result.value == pytest.approx(float(z.log_softmax(-1)[torch.arange(4), labels].sum()), abs=1e-4)
    assert result.maps["cross"].shape == (2, 4, 4, 7)
    assert len(result.tokens["cross"][0]) == len(result.labels["cross"][0]) == 4
    assert len(result.tokens["cross"][1]) == 7
    one = attribute(model, pair, position=1)
    assert one.value == pytest.approx(float(z[1].log_softmax(-1)[labels[1]]), abs=1e-4)
    assert attribute(model, pair, kind="cross").kinds == ("cross",)


def test_encoder_decoder_generates_what_is_not_given():
    model = calm("t5", "seq2seq")
    result = attribute(model, TEXT, steps=2)
    assert np.isfinite(result.maps["cross"]).all()


def test_regression_attributes_the_value():
    model = calm("bert", "sequence")
    alone = made("bert", "sequence", num_labels=1)
    result = attribute(alone, TEXT)
    assert result.output == "value"
    assert result.value == pytest.approx(float(logits_of(alone, TEXT)[0]), abs=1e-5)
    with pytest.raises(InputError, match="predicts a number"):
        attribute(alone, TEXT, output="probability")
    assert model.model.config.num_labels == 3


def test_saturated_probability_says_so():
    model = calm("bert", "sequence")
    with torch.no_grad():
        model.model.classifier.bias[0] += 20
    result = attribute(model, TEXT, output="probability")
    assert any("logit" in note for note in result.notes)
    assert not attribute(model, TEXT).notes


def test_no_probability_at_all():
    model = calm("bert", "sequence")
    with torch.no_grad():
        model.model.classifier.bias[0] += 400
    with pytest.raises(InputError, match="probability 0"):
        attribute(model, TEXT, target=1, output="probability")
    assert np.isfinite(attribute(model, TEXT, target=1).value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "angry"}, "LABEL_0"),
        ({"target": 3}, "0 to 2"),
        ({"target": (1, 1)}, "different"),
        ({"target": (0, 1, 2)}, "tuple of two"),
        ({"target": [0, 1]}, "one target or 1"),
        ({"output": "loss"}, "log-odds, probability"),
        ({"position": 0}, "every token"),
        ({"keep": "all"}, "'maps' or 'heads'"),
        ({"kind": "cross"}, "encoder"),
        ({"steps": -1}, "whole number"),
        ({"text": ""}, "empty"),
        ({"text": []}, "at least one"),
        ({"text": " ".join(["cat"] * 80)}, "64 positions"),
    ],
)
def test_bad_input_of_classifiers(options, message):
    with pytest.raises(InputError, match=message):
        attribute(made("bert", "sequence"), **{"text": TEXT, **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "the cat"}, "not one token"),
        ({"target": 60}, "0 to 59"),
        ({"target": 1.5}, "token"),
        ({"position": 6}, "0 to 5"),
        ({"position": "last"}, "whole number"),
    ],
)
def test_bad_input_of_language_models(options, message):
    with pytest.raises(InputError, match=message):
        attribute(made("gpt2", "causal"), TEXT, **options)


def test_models_without_a_prediction():
    with pytest.raises(UnsupportedError, match="has no prediction"):
        attribute(made("bert"), TEXT)
    with pytest.raises(UnsupportedError, match="sliding band"):
        attribute(made("longformer", "sequence"), TEXT)
    with pytest.raises(UnsupportedError, match="norm across heads"):
        attribute(made("bitnet", "causal"), TEXT)


def test_quantised_weights_are_refused():
    model = made("bert", "sequence")
    model.model.quantization_method = "bitsandbytes"
    with pytest.raises(UnsupportedError, match="quantised"):
        attribute(model, TEXT)


@pytest.mark.parametrize("layer", [0, 1])
def test_nan_weights_name_their_layer(layer):
    model = made("bert", "sequence")
    with torch.no_grad():
        model.sites[layer].projection.weight[0, 0] = float("nan")
    with pytest.raises(InputError, match=f"layer {layer}"):
        attribute(model, TEXT)


def test_cancel_stops_and_progress_is_told():
    model = made("bert", "sequence")
    seen = []
    attribute(model, [TEXT, LONG], on_progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (4, 4)
    with pytest.raises(Cancelled):
        attribute(model, TEXT, cancel=lambda: len(seen) > 0)
    assert not any("forward" in m.__dict__ for m in model.model.modules())


def test_heads_only():
    model = calm("bert", "sequence")
    whole, heads = attribute(model, TEXT), attribute(model, TEXT, keep="heads")
    np.testing.assert_allclose(heads.totals["encoder"], whole.maps["encoder"].sum((2, 3)), atol=1e-5)
    np.testing.assert_array_equal(heads.heads().values["encoder"], whole.maps["encoder"].max((2, 3)).astype(np.float64))
    with pytest.raises(InputError, match="keep='maps'"):
        _ = heads.maps


def test_memory_does_not_grow_with_points():
    """Tensors alive after each chunk of points: a rule with more points holds no more gradients."""
    model = calm("bert", "sequence")

    def held(steps):
        return largest_held(lambda look: attribute(model, LONG, steps=steps, cancel=lambda: bool(look())))

    gradient = 4 * 19 * 16  # bytes of one point's gradient
    assert held(1200) - held(200) < 1000 * gradient / 20, "what a point leaves behind is its place and weight"


def test_out_of_memory_halves_the_work(monkeypatch):
    model = calm("bert", "sequence")
    expected = attribute(model, TEXT, steps=16).maps["encoder"]
    forward = model.model.bert.forward

    def small(ids, *args, **keywords):
        if ids.shape[0] > 3:
            raise torch.OutOfMemoryError("out of memory")
        return forward(ids, *args, **keywords)

    monkeypatch.setattr(model.model.bert, "forward", small)
    result = attribute(model, TEXT, steps=16)
    np.testing.assert_allclose(result.maps["encoder"], expected, rtol=1e-4, atol=1e-6)
    assert any("Memory ran out" in note for note in result.notes)
