"""What cannot be attributed, or only just: a sentence that says so, or a result that is right all the same."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from headwidgets import HeadModel, wrap
from headwidgets.attribution import attribute
from headwidgets.errors import InputError, MemoryLimitError, UnsupportedError
from tests.attribution.test_paths import LONG, TEXT, calm
from tests.models.tiny import made, make, tokenizer

# ---- targets that are impossible, or certain ----------------------------------------------------------------------


@pytest.mark.parametrize("output", ["probability", "log-probability", "log-odds", "logit"])
def test_a_target_without_any_probability(output):
    model = calm("bert", "sequence")
    with torch.no_grad():
        model.model.classifier.bias[1] = float("-inf")
    with pytest.raises(InputError, match="never gives target 'LABEL_1'"):
        attribute(model, TEXT, target=1, output=output)
    with pytest.raises(InputError, match="never gives target"):
        attribute(model, TEXT, target=(0, 1), output=output)


def test_nothing_but_the_target_is_possible():
    model = calm("bert", "sequence")
    with torch.no_grad():
        model.model.classifier.bias[1:] = float("-inf")
    for output in ("log-odds", "logit"):
        with pytest.raises(InputError, match=f"{output} of target 'LABEL_0' is infinite"):
            attribute(model, TEXT, output=output)
    with torch.no_grad():
        model.model.classifier.bias[2] = 0
    assert np.isfinite(attribute(model, TEXT, target=0).value)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"output": "probability"}, "probability of 'LABEL_0' is 1.000000"),
        ({"output": "probability", "target": 1}, "probability of 'LABEL_1' is 0.000000"),
        ({"output": "log-probability"}, "log-probability of 'LABEL_0' is"),
        ({"output": "probability", "target": (0, 1)}, "difference of probabilities, LABEL_0 against LABEL_1"),
    ],
)
def test_saturated_outputs_say_so_and_offer_the_logit(options, sentence):
    model = calm("bert", "sequence")
    with torch.no_grad():
        model.model.classifier.bias[0] += 20
    [note] = attribute(model, TEXT, **options).notes
    assert sentence in note
    assert "may keep the integration error from closing" in note
    assert "output='logit'" in note
    assert not attribute(model, TEXT, output="logit").notes


# ---- short and empty texts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "head", "text"),
    [("bert", "sequence", "cat"), ("gpt2", "causal", "cat"), ("llama", "causal", "cat"), ("t5", "seq2seq", ("a", "a"))],
)
def test_one_token(family, head, text):
    model = calm(family, head)
    result = attribute(model, text)
    for kind in result.kinds:
        allowed = 1e-3 * np.maximum(np.abs(result.change[kind]), 0.1) + 1e-5
        assert (result.gap[kind] <= allowed).all()
        np.testing.assert_allclose(
            result.maps[kind].sum((1, 2, 3)), result.change[kind], atol=float(2 * allowed.max()), rtol=1e-3
        )
    if family in ("gpt2", "llama"):
        assert result.maps["decoder"].shape[2:] == (1, 1)
    assert all(len(side) == len(labels) for side, labels in zip(result.tokens[kind], result.labels[kind], strict=True))
    assert result.words().tokens.keys() == result.tokens.keys()


@pytest.mark.parametrize("text", ["", "  ", "\n\t", ("the cat", " "), [["", " "]]])
def test_texts_without_a_token_are_refused(text):
    with pytest.raises(InputError, match=r"empty|no words"):
        attribute(made("bert", "sequence"), text)
    with pytest.raises(InputError, match="text 1 is empty"):
        attribute(made("gpt2", "causal"), ["the cat", ""])


def test_rows_that_are_padding_almost_whole():
    """One token beside a long text: the row is padding but for it, in one batch or alone."""
    model = calm("gpt2", "causal")
    batched = attribute(model, ["cat", "cat " * 3 + LONG], steps=4)
    alone = attribute(model, "cat", steps=4)
    np.testing.assert_allclose(batched[0].maps["decoder"], alone.maps["decoder"], rtol=2e-3, atol=2e-5)


# ---- weights ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(dtype):
    model = calm("llama", "causal")
    precise = attribute(model, TEXT, target="tree")
    model.model.to(dtype)
    result = attribute(model, TEXT, target="tree")
    assert {p.dtype for p in model.model.parameters()} == {dtype}
    assert any("float32 copy" in note for note in result.notes)
    allowed = 1e-3 * np.maximum(np.abs(result.change["decoder"]), 0.1) + 1e-4
    assert (result.gap["decoder"] <= allowed).all()
    assert np.corrcoef(result.maps["decoder"].flat, precise.maps["decoder"].flat)[0, 1] > 0.99


def test_a_model_left_in_training_mode():
    model = calm("bert", "sequence")
    expected = attribute(model, TEXT)
    for module in model.model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.5
    model.model.train()
    model.model.bert.encoder.layer[0].eval()
    modes = [module.training for module in model.model.modules()]
    result = attribute(model, TEXT)
    np.testing.assert_array_equal(result.maps["encoder"], expected.maps["encoder"])
    assert result.value == expected.value
    assert [module.training for module in model.model.modules()] == modes
    with pytest.raises(InputError):
        attribute(model, TEXT, target=9)
    assert [module.training for module in model.model.modules()] == modes


class Packed(nn.Module):
    """A linear layer with its weights in eight bits, as quantising packages store them."""

    def __init__(self, linear):
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.scale = float(linear.weight.abs().max()) / 127
        whole = (linear.weight.detach() / self.scale).round().to(torch.int8)
        self.weight = nn.Parameter(whole, requires_grad=False)
        self.bias = linear.bias

    def forward(self, hidden):
        return nn.functional.linear(hidden, self.weight.float() * self.scale, self.bias)


def test_quantised_weights_are_refused_by_name():
    model = copy.deepcopy(calm("bert", "sequence").model)
    output = model.bert.encoder.layer[1].attention.output
    output.dense = Packed(output.dense)
    with pytest.raises(UnsupportedError, match=r"quantised \(bert\.encoder\.layer\.1\.attention\.output\.dense is a"):
        attribute(wrap(model, tokenizer("bert")), TEXT)


def test_dynamic_quantisation_is_refused():
    quantisation = pytest.importorskip("torch.ao.quantization", reason="this torch has no dynamic quantisation")
    if not torch.backends.quantized.supported_engines or torch.backends.quantized.engine == "none":
        pytest.skip("this processor has no quantised kernels")
    packed = quantisation.quantize_dynamic(calm("bert", "sequence").model, {nn.Linear}, dtype=torch.qint8)
    with pytest.raises(UnsupportedError, match="quantised"):
        attribute(wrap(packed, tokenizer("bert")), TEXT)


PLACES = {
    "query": "bert.encoder.layer.{}.attention.self.query.weight",
    "value bias": "bert.encoder.layer.{}.attention.self.value.bias",
    "projection": "bert.encoder.layer.{}.attention.output.dense.weight",
    "norm": "bert.encoder.layer.{}.attention.output.LayerNorm.weight",
    "feed-forward": "bert.encoder.layer.{}.output.dense.bias",
}


@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("place", PLACES)
def test_nan_weights_are_named_with_their_layer(layer, place):
    model = made("bert", "sequence")
    name = PLACES[place].format(layer)
    with torch.no_grad():
        model.model.get_parameter(name).flatten()[0] = float("nan")
    with pytest.raises(InputError, match=f"of encoder layer {layer} are not finite.*its weight {name} is not finite"):
        attribute(model, TEXT)


def test_nan_outside_the_layers_is_named():
    model = made("bert", "sequence")
    with torch.no_grad():
        model.model.bert.embeddings.LayerNorm.bias[0] = float("nan")
    with pytest.raises(InputError, match=r"its weight bert\.embeddings\.LayerNorm\.bias is not finite"):
        attribute(model, TEXT)
    model = made("bert", "sequence")
    with torch.no_grad():
        model.model.classifier.weight[0, 0] = float("nan")
    with pytest.raises(InputError, match=r"what follows them: its weight classifier\.weight is not finite"):
        attribute(model, TEXT)


def test_nan_in_an_encoder_decoder_names_kind_and_layer():
    model = made("t5", "seq2seq")
    with torch.no_grad():
        model.sites_of("cross")[1].projection.weight[0, 0] = float("nan")
    with pytest.raises(InputError, match="decoder layer 1 are not finite"):
        attribute(model, (TEXT, "a dog"))


def test_nan_of_the_dtype_alone():
    """Finite weights whose products overflow in half precision, where no float32 copy fits."""
    model = HeadModel(make("bert", "sequence"), tokenizer("bert"))
    with torch.no_grad():
        model.model.bert.encoder.layer[0].intermediate.dense.weight.mul_(3e4)
    model.model.half()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("headwidgets.attribution.paths.free_bytes", lambda _: 1000)
        with pytest.raises(InputError, match=r"layer 0 are not finite.*float16 overflows"):
            attribute(model, TEXT)


# ---- memory -------------------------------------------------------------------------------------------------------


def tight(model, monkeypatch, most):
    forward = model.model.bert.forward
    seen = []

    def small(ids, *args, **keywords):
        seen.append(len(ids))
        if len(ids) > most:
            raise torch.OutOfMemoryError("out of memory")
        return forward(ids, *args, **keywords)

    monkeypatch.setattr(model.model.bert, "forward", small)
    return seen


def test_texts_that_do_not_fit_together_are_halved(monkeypatch):
    model = calm("bert", "sequence")
    texts = [f"the {word} sat" for word in ("cat", "dog", "bird", "tree", "house", "mat")]
    expected = attribute(model, texts, steps=1, kind="encoder")
    seen = tight(model, monkeypatch, 4)
    told = []
    results = attribute(model, texts, steps=1, on_progress=lambda done, total: told.append((done, total)))
    assert seen[:3] == [6, 3, 3], "what was lost is done again, half by half"
    assert told[-1] == (12, 12)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    for one, other in zip(results, expected, strict=True):
        np.testing.assert_allclose(one.maps["encoder"], other.maps["encoder"], rtol=2e-3, atol=2e-5)
        assert any("going on with" in note and "texts at a time" in note for note in one.notes)


def test_not_even_one_text_fits(monkeypatch):
    model = calm("bert", "sequence")
    tight(model, monkeypatch, 0)
    with pytest.raises(MemoryLimitError, match="memory ran out with one text of 8 positions at a time"):
        attribute(model, [TEXT, TEXT])
