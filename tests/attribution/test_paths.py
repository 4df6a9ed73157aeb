"""Attribution against the definition, against finite differences, and against itself under other batchings."""

import copy

import numpy as np
import pytest
import torch

from headwidgets import HeadModel
from headwidgets.attribution import attribute, importance
from headwidgets.errors import InputError
from tests.attribution import reference
from tests.models.tiny import SEQ2SEQ, made

TEXT = "the cat sat on the mat"
LONG = "she said that the very old house on the mat was big and red but he hated it"
PAIR = (TEXT, "a dog ran")
CASES = [
    *((family, "sequence", TEXT) for family in ("bert", "roberta", "distilbert", "electra", "albert", "modernbert")),
    *((family, "sequence", TEXT) for family in ("deberta-v2", "gpt2", "bart")),
    *((family, "causal", TEXT) for family in ("gpt2", "llama", "qwen2", "gemma2", "gpt_neox", "opt", "bloom")),
    *((family, "seq2seq", PAIR) for family in ("bart", "marian", "t5")),
]
SMOOTH = {
    "t5": {"dense_act_fn": "gelu_new"},
    "marian": {"activation_function": "gelu"},
    "opt": {"activation_function": "gelu"},
}
"""Where the default is ReLU, whose kinks no rule with few points integrates (see the test of its own)."""


def calm(family, head):
    """A tiny model whose weights are loud enough to show mistakes and calm enough for a 100-point reference."""
    model = made(family, head, **SMOOTH.get(family, {}))
    with torch.no_grad():
        for parameter in model.model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(0.25 if family == "t5" else 0.5)
        if family == "distilbert":  # its classifier has a ReLU of its own: keep it open
            model.model.pre_classifier.bias.add_(20.0)
    return model


def reader(model, result, family, head):
    """F of one text, written down once more: the chosen target's number from the logits."""

    def read(outputs):
        logits = outputs.logits[0].float()
        if head == "seq2seq":
            labels = torch.tensor(result.target_ids)
            return logits.log_softmax(-1)[torch.arange(len(labels)), labels].sum()
        row = logits if head == "sequence" else logits[-1]
        target = result.target_ids[0]
        if head == "causal":
            return row[target] - row.mean()
        others = torch.cat([row[:target], row[target + 1 :]])
        return row[target] - others.logsumexp(0)

    return read


@pytest.mark.parametrize(("family", "head", "text"), CASES)
def test_agrees_with_the_definition(family, head, text):
    model = calm(family, head)
    result = attribute(model, text)
    assert result.output == {"sequence": "log-odds", "causal": "logit", "seq2seq": "log-probability"}[head]
    read = reader(model, result, family, head)
    [example] = model.encode([text])
    maps, batch, value = reference.clean_maps(model, example, read)
    assert result.value == pytest.approx(value, abs=1e-4)
    assert not result.notes
    for site in model.sites:
        own = result.maps[site.kind][site.layer]
        expected = reference.integral(model, batch, site, maps[site], read, 100)
        change = reference.change(model, batch, site, maps[site], read)
        allowed = 1e-3 * max(abs(change), 0.1) + 1e-5
        assert result.change[site.kind][site.layer] == pytest.approx(change, abs=2e-5 * max(1, abs(value)))
        assert abs(expected.sum() - change) < 20 * allowed, "the reference itself has not converged"
        assert np.abs(own - expected).max() <= max(allowed, 0.01 * np.abs(expected).max()), site
        assert result.gap[site.kind][site.layer] <= allowed, site
        np.testing.assert_allclose(result.attention[site.kind][site.layer], maps[site][0].numpy(), atol=1e-6)


def test_finite_differences_of_single_entries():
    model = calm("bert", "sequence")
    result = attribute(model, TEXT, target=1, output="probability", tolerance=1e-5)
    double = HeadModel(copy.deepcopy(model.model).double(), model.tokenizer)

    def read(outputs):
        return outputs.logits[0].softmax(-1)[1]

    [example] = double.encode([TEXT])
    maps, batch, _ = reference.clean_maps(double, example, read)
    x, w = np.polynomial.legendre.leggauss(24)
    for site in double.sites:
        own = result.maps["encoder"][site.layer]
        flat = np.argsort(-np.abs(own), axis=None)[:3]
        for head, query, key in zip(*np.unravel_index(flat, own.shape), strict=True):
            total = 0.0
            for point, weight in zip((x + 1) / 2, w / 2, strict=True):
                nudge = torch.zeros_like(maps[site])
                nudge[0, head, query, key] = 1e-5
                with torch.no_grad():
                    up = reference.output_at(double, batch, site, point * maps[site] + nudge, read)
                    down = reference.output_at(double, batch, site, point * maps[site] - nudge, read)
                total += weight * float(up - down) / 2e-5
            expected = float(maps[site][0, head, query, key]) * total
            assert own[head, query, key] == pytest.approx(expected, rel=1e-3, abs=1e-7)


def test_last_layer_of_a_classifier_reads_one_row():
    result = attribute(calm("bert", "sequence"), TEXT)
    last = result.maps["encoder"][-1]
    assert np.abs(last[:, 0]).max() > 1e-4
    assert np.all(last[:, 1:] == 0)
    assert np.abs(result.maps["encoder"][0][:, 1:]).max() > 1e-4


def test_mean_pooling_reads_every_row():
    """A head that reads all positions: the shortcut for one position must not be taken."""
    model = calm("distilbert", "sequence")
    model.model.pre_classifier.register_forward_pre_hook(lambda *_: None)
    forward = model.model.distilbert.forward

    def pooled(*args, **keywords):
        output = forward(*args, **keywords)
        output.last_hidden_state = output.last_hidden_state.mean(1, keepdim=True)
        return output

    model.model.distilbert.forward = pooled
    result = attribute(model, TEXT)
    assert np.all(np.abs(result.maps["encoder"][-1]).max((0, 2)) > 0)
    assert np.nanmax(result.gap["encoder"]) < 1e-3


MIXED = [("bert", "sequence"), ("gpt2", "sequence"), ("gpt2", "causal"), ("llama", "causal"), ("t5", "seq2seq")]


@pytest.mark.parametrize(("family", "head"), [*MIXED, ("marian", "seq2seq")])
def test_batched_equals_single_and_padding_changes_nothing(family, head):
    model = calm(family, head)
    texts = [TEXT, LONG, "a bird"]
    if family in SEQ2SEQ:
        texts = [(TEXT, "a dog ran"), (LONG, "he"), ("a bird", "the tree was big and old")]
    batched = attribute(model, texts, steps=4)
    for text, one in zip(texts, batched, strict=True):
        alone = attribute(model, text, steps=4)
        assert alone.target_ids == one.target_ids
        for kind in alone.kinds:
            assert alone.maps[kind].shape == one.maps[kind].shape
            np.testing.assert_allclose(alone.maps[kind], one.maps[kind], rtol=2e-3, atol=2e-5)
            np.testing.assert_allclose(alone.change[kind], one.change[kind], rtol=1e-3, atol=2e-5)


def test_adaptive_batches_equal_single_texts():
    model = calm("bert", "sequence")
    batched = attribute(model, [TEXT, LONG, "a bird"])
    for text, one in zip([TEXT, LONG, "a bird"], batched, strict=True):
        alone = attribute(model, text)
        assert alone.steps["encoder"].tolist() == one.steps["encoder"].tolist()
        np.testing.assert_allclose(alone.maps["encoder"], one.maps["encoder"], rtol=2e-3, atol=2e-5)


@pytest.mark.parametrize(("rule", "shift"), [("left", 0.0), ("right", 1.0), ("midpoint", 0.5)])
def test_published_rules_by_name(rule, shift):
    model = calm("bert", "sequence")
    result = attribute(model, TEXT, target=2, output="probability", rule=rule, steps=5)
    assert result.steps["encoder"].tolist() == [5, 5]

    def read(outputs):
        return outputs.logits[0].softmax(-1)[2]

    [example] = model.encode([TEXT])
    maps, batch, _ = reference.clean_maps(model, example, read)
    for site in model.sites:
        total = torch.zeros_like(maps[site])
        for k in range(5):
            leaf = ((k + shift) / 5 * maps[site]).requires_grad_()
            total += torch.autograd.grad(reference.output_at(model, batch, site, leaf, read), leaf)[0] / 5
        np.testing.assert_allclose(result.maps["encoder"][site.layer], (maps[site] * total)[0].numpy(), atol=2e-6)
    assert attribute(model, TEXT, rule=rule).steps["encoder"].tolist() == [20, 20]


def test_tolerance_is_kept_by_sharp_integrands():
    """Weights drawn at full size: the integrand turns sharply, so more points are needed, and are taken."""
    model = made("bert", "sequence")
    result = attribute(model, LONG, tolerance=1e-3)
    precise = attribute(model, LONG, steps=400)
    assert result.steps["encoder"].max() > 9
    for layer in range(2):
        allowed = 1e-3 * max(abs(result.change["encoder"][layer]), 0.1) + 1e-4
        assert result.gap["encoder"][layer] < allowed or any(f"layer {layer}" in note for note in result.notes)
        assert np.abs(result.maps["encoder"][layer] - precise.maps["encoder"][layer]).max() < allowed


def test_kinks_are_reported_not_hidden():
    """A ReLU network's gradient jumps along the path: more points are spent, and what is left is said."""
    result = attribute(made("t5", "seq2seq", dense_act_fn="relu"), (TEXT, "a dog ran"))
    for kind in result.kinds:
        for layer, gap in enumerate(result.gap[kind]):
            allowed = 1e-3 * max(abs(result.change[kind][layer]), 0.1) + 1e-5
            assert gap <= allowed or any(f"{kind} layer {layer}:" in note for note in result.notes)
    assert max(steps.max() for steps in result.steps.values()) > 20


def test_the_model_comes_back_as_it_was():
    model = calm("gpt2", "sequence")
    model.model.config.pad_token_id = None
    model.model.train()
    model.model.config._attn_implementation = "eager"
    before = {name: p.requires_grad for name, p in model.model.named_parameters()}
    attribute(model, [TEXT, LONG])
    assert model.model.config.pad_token_id is None
    assert model.model.training
    assert model.model.config._attn_implementation == "eager"
    assert {name: p.requires_grad for name, p in model.model.named_parameters()} == before
    assert all(p.grad is None for p in model.model.parameters())
    assert not any("forward" in module.__dict__ for module in model.model.modules())


@pytest.mark.parametrize(("family", "head"), [("bert", "sequence"), ("gpt2", "causal"), ("llama", "causal")])
@pytest.mark.parametrize("how", ["gates", "zero", "mean"])
def test_inside_an_intervention_the_changed_model_is_attributed(family, head, how):
    model = calm(family, head)
    [kind] = model.kinds
    gates = np.linspace(0.2, 1.5, 8).reshape(2, 4)
    options = {
        "gates": {"gates": {kind: gates}},
        "zero": {"pruned": [(kind, 0, 1), (kind, 1, 2)]},
        "mean": {"pruned": [(kind, 0, 1), (kind, 1, 2)], "ablation": "mean", "reference": [LONG, "a bird ran"]},
    }[how]
    plain = attribute(model, TEXT)
    with model.gated(**options):
        result = attribute(model, TEXT)
        read = reader(model, result, family, head)
        [example] = model.encode([TEXT])
        maps, batch, value = reference.clean_maps(model, example, read)
        assert result.value == pytest.approx(value, abs=1e-4)
        for site in model.sites:
            expected = reference.integral(model, batch, site, maps[site], read, 60)
            assert np.abs(result.maps[kind][site.layer] - expected).max() <= 2e-3 * max(1, np.abs(expected).max())
            assert result.gap[kind][site.layer] <= 1e-3 * max(abs(result.change[kind][site.layer]), 0.1) + 1e-5
    assert result.value != pytest.approx(plain.value, abs=1e-3)


def test_works_inside_no_grad_inference_mode_and_autocast():
    model = calm("bert", "sequence")
    expected = attribute(model, TEXT).maps["encoder"]
    for context in (torch.no_grad(), torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16)):
        with context:
            np.testing.assert_array_equal(attribute(model, TEXT).maps["encoder"], expected)


def test_half_precision_weights_stay_and_a_float32_copy_is_attributed():
    model = calm("bert", "sequence")
    precise = attribute(model, TEXT, target=1)
    model.model.to(torch.bfloat16)
    result = attribute(model, TEXT, target=1)
    assert all(p.dtype == torch.bfloat16 for p in model.model.parameters())
    assert any("float32 copy" in note for note in result.notes)
    assert np.nanmax(result.gap["encoder"]) < 1e-3
    np.testing.assert_allclose(result.maps["encoder"], precise.maps["encoder"], atol=0.05)


def test_half_precision_without_room_for_a_copy(monkeypatch):
    model = calm("bert", "sequence")
    model.model.to(torch.bfloat16)
    monkeypatch.setattr("headwidgets.attribution.paths.free_bytes", lambda _: 1000)
    result = attribute(model, TEXT, target=1)
    assert any("does not fit" in note for note in result.notes)
    assert np.isfinite(result.maps["encoder"]).all()
    assert (result.gap["encoder"] >= 0).all()


def test_a_layer_that_does_not_settle_is_said_aloud():
    model = made("t5", "seq2seq", dense_act_fn="relu")
    with pytest.warns(UserWarning, match="had not settled within the tolerance") as caught:
        found = attribute(model, PAIR)
    assert "steps=256" in str(caught[0].message)
    assert caught[0].filename == __file__, "the warning points at the caller"
    assert any("encoder layer 0" in note for note in found.notes)
    assert found.gap["encoder"][0] > found.tolerance * max(0.1, abs(found.change["encoder"][0]))


@pytest.mark.parametrize(("family", "head"), [("llama", "causal"), ("gemma2", "causal"), ("bert", "sequence")])
def test_sharp_turns_are_found_by_bisection(family, head):
    """Weights drawn at full size, as in language models whose first layers switch a large activation on."""
    model = made(family, head)
    result = attribute(model, [TEXT, "a bird", LONG])
    for one, text in zip(result, (TEXT, "a bird", LONG), strict=True):
        assert not one.notes
        [kind] = one.kinds
        allowed = 1e-3 * np.maximum(np.abs(one.change[kind]), 0.1) + 1e-4
        assert (one.gap[kind] <= allowed).all()
        if text is LONG:
            continue
        precise = attribute(model, text, steps=2000).maps[kind]
        off = np.abs(one.maps[kind] - precise).max((1, 2, 3))
        assert (off <= np.minimum(allowed, 1e-2 * np.abs(precise).max((1, 2, 3)) + 1e-4)).all()
    assert max(one.steps[kind].max() for one in result) > 100, "these turn too sharply for one rule over the path"


def test_bisection_halves_its_work_when_memory_runs_out(monkeypatch):
    model = made("llama", "causal")
    expected = attribute(model, TEXT)
    forward = model.model.model.forward

    def small(input_ids, *args, **keywords):
        if len(input_ids) > 16:
            raise torch.OutOfMemoryError("out of memory")
        return forward(input_ids, *args, **keywords)

    monkeypatch.setattr(model.model.model, "forward", small)
    result = attribute(model, TEXT)
    np.testing.assert_allclose(result.maps["decoder"], expected.maps["decoder"], rtol=1e-3, atol=1e-5)
    assert any("integration points at a time" in note for note in result.notes)


def test_a_model_that_was_not_wrapped_gets_a_sentence():
    model = made("bert", "sequence")
    for call in (attribute, importance):
        with pytest.raises(InputError, match=r"hw\.wrap"):
            call(model.model, "the cat")
