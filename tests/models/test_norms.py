"""Norm-based maps: against the definition written down slowly, with eager attention and the modules' own weights."""

import copy
import itertools

import numpy as np
import pytest
import torch
from torch import nn

from headwidgets.errors import InputError, MemoryLimitError, UnsupportedError
from headwidgets.models.attend import attend
from headwidgets.models.norms import projected
from headwidgets.scores import Head
from tests.models.test_attend import TEXT, eager, eager_copy, ids_of
from tests.models.tiny import made

PAIR = (TEXT, "a small dog ran")


def split(values, n_heads):
    return values.reshape(values.shape[0], n_heads, -1).transpose(0, 1)


VALUES = {
    "bert": ("value", split),
    "albert": ("value", split),
    "deberta-v2": ("value_proj", split),
    "gpt2": ("c_attn", lambda x, n: split(x[:, 2 * x.shape[1] // 3 :], n)),
    "llama": ("v_proj", lambda x, n: split(x, 2).repeat_interleave(n // 2, dim=0)),
    "gemma2": ("v_proj", lambda x, n: split(x, 2).repeat_interleave(n // 2, dim=0)),
    "bloom": ("query_key_value", lambda x, n: x.reshape(len(x), n, 3, -1)[:, :, 2].transpose(0, 1)),
    "mpt": ("Wqkv", lambda x, n: split(x[:, 2 * x.shape[1] // 3 :], n)),
    "bart": ("v_proj", split),
    "marian": ("v_proj", split),
    "t5": ("v", split),
}
"""By family, the module that projects the values, and how its output [key, ...] becomes [heads, key, head_dim]."""


def slow(model, maps, family):
    """By (kind, layer): vectors A_ij f(x_j) [heads, query, key, width] by loops, the projection's output and bias."""
    bare = eager_copy(model)
    twin = type(model)(bare, model.tokenizer)
    name, read = VALUES[family]
    values, outputs, handles = {}, {}, []

    def keep(store, place):
        return lambda _, __, out: store.setdefault(place, []).append(out.detach()[0])

    for site in twin.sites:
        if site.call == 0:
            value = site.attention.get_submodule(name)
            handles.append(value.register_forward_hook(keep(values, (site.kind, site.layer))))
            handles.append(site.projection.register_forward_hook(keep(outputs, (site.kind, site.layer))))
    if model.is_encoder_decoder:
        target, source = ids_of(maps, "cross")
        attention = eager(model, input_ids=source, decoder_input_ids=target)
        bare(input_ids=source, decoder_input_ids=target, use_cache=False)
    else:
        ids, _ = ids_of(maps, maps.kinds[0])
        attention = eager(model, input_ids=ids)
        bare(input_ids=ids, **({"use_cache": False} if "decoder" in model.kinds else {}))
    for handle in handles:
        handle.remove()
    found = {}
    for site in twin.sites:
        first = (site.kind, site.layer - site.call)  # shared modules ran once per layer
        weights = torch.from_numpy(attention[site.kind][site.layer])
        vectors = read(values[first][site.call], site.n_heads)
        weight = site.projection.weight.detach()
        weight = weight.T if isinstance(site.projection, nn.Linear) else weight
        heads, rows, keys = weights.shape
        carried = torch.zeros(heads, rows, keys, weight.shape[1])
        for head, row, key in itertools.product(range(heads), range(rows), range(keys)):
            own = weight[head * site.head_dim : (head + 1) * site.head_dim]
            carried[head, row, key] = weights[head, row, key] * (vectors[head, key] @ own)
        bias = site.projection.bias
        found[site.kind, site.layer] = (
            carried,
            outputs[first][site.call],
            0.0 if bias is None else bias.detach(),
        )
    return found


def close(found, expected):
    np.testing.assert_allclose(found, expected, atol=2e-5 * float(np.abs(expected).max()))


@pytest.mark.parametrize("family", VALUES)
@torch.no_grad()
def test_norms_are_those_of_the_definition(family):
    seq2seq = family in ("bart", "marian", "t5")
    model = made(family, "seq2seq" if seq2seq else "base")
    maps = attend(model, PAIR if seq2seq else TEXT)
    expected = slow(model, maps, family)
    assert {kind for kind, _ in expected} == set(maps.kinds)
    for (kind, layer), (carried, output, bias) in expected.items():
        # the slow way is complete: what heads carry adds up to what the layer says
        close((carried.sum((0, 2)) + bias).numpy(), output.numpy())
        own = carried.norm(dim=-1).numpy()
        close(maps.norms.layer(kind, layer)[: len(own)], own)
        close(maps.norms[Head(kind, layer, 1)], own[1])
        close(maps.norms.summed(kind, layer), carried.sum(0).norm(dim=-1).numpy())
        assert not np.allclose(own.sum(0), carried.sum(0).norm(dim=-1).numpy(), rtol=0.05), "a sum of norms is larger"
    assert maps.norms.maps[kind].shape == maps.maps[kind].shape


def test_short_and_long_texts_read_the_same_value_vectors():
    # one row gives one column of V per pass, many rows give all of them in one
    model = made("gpt2", "base")
    long = attend(model, TEXT).norms[Head("decoder", 0, 2)]
    short = attend(model, "the").norms[Head("decoder", 0, 2)]
    assert short.shape == (1, 1)
    np.testing.assert_allclose(short[0, 0], long[0, 0], rtol=1e-5)


def test_chunks_of_keys_do_not_change_the_result(monkeypatch):
    model = made("llama", "base")
    maps = attend(model, TEXT)
    whole, summed = maps.norms.layer("decoder", 1), maps.norms.summed("decoder", 1)
    monkeypatch.setattr("headwidgets.models.norms._CHUNK_BYTES", 1)
    again = attend(model, TEXT).norms
    np.testing.assert_allclose(again.layer("decoder", 1), whole, rtol=1e-5)
    np.testing.assert_allclose(again.summed("decoder", 1), summed, rtol=1e-5)


def test_single_heads_are_there_where_a_layer_is_over_the_bound():
    model = made("bert", "base")
    whole = attend(model, TEXT).norms
    maps = attend(model, TEXT, memory=500)  # a map of 10 x 10 is 400 bytes, a layer four of them
    np.testing.assert_allclose(maps.norms[Head("encoder", 1, 3)], whole[Head("encoder", 1, 3)], rtol=1e-5)
    np.testing.assert_allclose(maps.norms.summed("encoder", 1), whole.summed("encoder", 1), rtol=1e-5)
    with pytest.raises(MemoryLimitError, match="take single heads"):
        maps.norms.layer("encoder", 1)


def test_norms_over_words_sum_columns_and_average_rows():
    model, text = made("bert", "base"), [["the cat", "sat", "on it"]]
    tokens, words = attend(model, text).norms, attend(model, text, words=True).norms

    def reduced(one):
        columns = np.stack([one[:, 0], one[:, 1] + one[:, 2], one[:, 3], one[:, 4] + one[:, 5], one[:, 6]], -1)
        mean = [columns[0], (columns[1] + columns[2]) / 2, columns[3], (columns[4] + columns[5]) / 2, columns[6]]
        return np.stack(mean)

    head = Head("encoder", 1, 2)
    np.testing.assert_allclose(words[head], reduced(tokens[head]), rtol=1e-5)
    np.testing.assert_allclose(words.summed("encoder", 1), reduced(tokens.summed("encoder", 1)), rtol=1e-5)
    assert words.word_level
    assert not tokens.word_level


def test_the_model_is_left_as_it_was():
    model = made("bert", "sequence")
    bare = model.model.train()
    before = copy.deepcopy(bare.state_dict())
    learning = [p.requires_grad for p in bare.parameters()]
    with torch.inference_mode():  # also inside somebody's own
        maps = attend(model, TEXT)
        norms = maps.norms.maps["encoder"]
    assert np.isfinite(norms).all()
    assert bare.training
    assert [p.requires_grad for p in bare.parameters()] == learning
    assert all(p.grad is None for p in bare.parameters())
    assert all(torch.equal(value, before[name]) for name, value in bare.state_dict().items())
    hooks = [len(m._forward_hooks) + len(m._forward_pre_hooks) for m in bare.modules()]
    assert not any(hooks)
    assert bare.config._attn_implementation == "sdpa"


def test_a_closed_gate_does_not_change_its_own_heads_norms():
    model = made("bert", "base")
    plain = attend(model, TEXT).norms.layer("encoder", 0)
    with model.gated(pruned=[Head("encoder", 0, 1)]):
        gated = attend(model, TEXT).norms.layer("encoder", 0)
    np.testing.assert_allclose(gated, plain, rtol=1e-5)


def test_norms_of_another_state_of_the_model_are_refused():
    model = made("bert", "sequence")
    maps = attend(model, TEXT)
    with torch.no_grad():
        model.model.classifier.weight.add_(1.0)
    with pytest.raises(InputError, match="has changed"):
        maps.norms[Head("encoder", 0, 0)]


def test_half_precision_reads_the_same_vectors():
    full = made("bert", "base")
    half = made("bert", "base")
    half.model.to(torch.bfloat16)
    expected = attend(full, TEXT).norms.maps["encoder"]
    found = attend(half, TEXT).norms.maps["encoder"]
    np.testing.assert_allclose(found, expected, atol=0.05 * expected.max())


def test_a_projection_of_any_sort_is_read_by_what_it_does():
    class Adapted(nn.Linear):
        def __init__(self, inner):
            super().__init__(inner.in_features, inner.out_features)
            self.load_state_dict(inner.state_dict())
            self.extra = nn.Linear(inner.in_features, inner.out_features, bias=False)

        def forward(self, x):
            return super().forward(x) + self.extra(x)

    module = Adapted(nn.Linear(6, 5))
    expected = (module.weight + module.extra.weight).T.detach()
    torch.testing.assert_close(projected(module), expected)


@pytest.mark.parametrize("family", ["bitnet", "diffllama"])
def test_families_whose_maps_do_not_weigh_their_values_say_so(family):
    maps = attend(made(family, "base"), TEXT)
    with pytest.raises(UnsupportedError, match="no norm-based maps"):
        _ = maps.norms


def test_something_between_map_and_projection_is_noticed(monkeypatch):
    from headwidgets.models import maps as module

    plain = module.attend

    def shifted(*args, **keywords):
        output, weights = plain(*args, **keywords)
        return output + 1, weights

    monkeypatch.setattr(module, "attend", shifted)
    maps = attend(made("bert", "base"), TEXT)
    with pytest.raises(UnsupportedError, match=r"encoder layer 1.*not its map times value vectors"):
        maps.norms.layer("encoder", 1)


def test_generated_text_has_norms_and_stitched_steps_say_why_not():
    model = made("gpt2", "causal")
    maps = attend(model, "the cat", generate=3)
    head = Head("decoder", 1, 1)
    assert maps.norms[head].shape == maps[head].shape == (5, 5)
    bare = eager_copy(model)
    ids = torch.as_tensor(model.encode(["the cat"])[0].source.ids)[None]
    output = bare.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=3,
        do_sample=False,
        output_attentions=True,
        return_dict_in_generate=True,
        pad_token_id=0,
    )
    stitched = type(maps).from_generate(model, "the cat", output)
    with pytest.raises(UnsupportedError, match=r"attend\(prompt, generate=n\)"):
        _ = stitched.norms


def test_what_is_not_there_is_said():
    model = made("bert", "base")
    maps = attend(model, TEXT)
    with pytest.raises(InputError, match="there is no attention in encoder layer 7"):
        maps.norms.summed("encoder", 7)
    maps.close()
    with pytest.raises(UnsupportedError, match="closed"):
        _ = maps.norms
