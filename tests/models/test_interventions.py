"""Interventions against outcomes computed by hand."""

import numpy as np
import pytest
import torch

from headwidgets import Head, InputError, UnsupportedError
from headwidgets.models.interventions import Cut, Replace, ReplaceMap, Scale, record
from headwidgets.models.recording import means
from tests.models.tiny import made

TEXTS = ["the cat sat", "a big red dog ran on the mat", "she liked the film"]


@pytest.fixture(scope="module")
def bert():
    return made("bert", "sequence")


def batch_of(model, texts=TEXTS):
    return next(model.batches(model.encode(texts), sort=False))


def logits(model, batch):
    with torch.no_grad():
        return model.forward(batch).logits


def outputs_of(model, batch, site):
    """The heads' outputs as the projection gets them, seen by a hook of our own."""
    seen = []
    handle = site.projection.register_forward_pre_hook(lambda _, args: seen.append(args[0].detach().clone()))
    logits(model, batch)
    handle.remove()
    return seen[0].view(*seen[0].shape[:2], site.n_heads, site.head_dim)


def by_hand(model, batch, site, change):
    """Logits with the projection's input changed by a hook of our own."""

    def hook(_, args):
        heads = args[0].view(*args[0].shape[:2], site.n_heads, site.head_dim).clone()
        return (change(heads).reshape(args[0].shape),)

    handle = site.projection.register_forward_pre_hook(hook)
    result = logits(model, batch)
    handle.remove()
    return result


def put(heads, index, value):
    heads[:, :, index] = value
    return heads


def test_zero_is_pruned_and_everything_is_put_back(bert):
    batch, site = batch_of(bert), bert.site("encoder", 1)
    bare = logits(bert, batch)
    expected = by_hand(bert, batch, site, lambda heads: put(heads, [0, 2], 0))
    heads = [Head("encoder", 1, 0), Head("encoder", 1, 2)]
    with bert.gated(heads):
        torch.testing.assert_close(logits(bert, batch), expected)
    for change in (Scale(heads), Replace(heads, by="zero")):
        with bert.intervene(change):
            torch.testing.assert_close(logits(bert, batch), expected)
    assert not torch.allclose(expected, bare)
    assert torch.equal(logits(bert, batch), bare)


def test_scaling_by_a_number_a_batch_and_gates(bert):
    batch, site, head = batch_of(bert), bert.site("encoder", 0), Head("encoder", 0, 3)
    half = by_hand(bert, batch, site, lambda heads: put(heads, 3, heads[:, :, 3] * 0.5))
    gates = np.ones((2, 4))
    gates[0, 3] = 0.5
    for change in (Scale([head], 0.5), Scale(gates={"encoder": gates})):
        with bert.intervene(change):
            torch.testing.assert_close(logits(bert, batch), half)
    bare = logits(bert, batch)
    with bert.intervene(Scale([head], torch.tensor([1.0, 0.5, 1.0]))):
        mixed = logits(bert, batch)
    torch.testing.assert_close(mixed, torch.stack([bare[0], half[1], bare[2]]))
    with pytest.raises(InputError, match="heads= with factor=, or gates="), bert.intervene(Scale([head], gates={})):
        pass


def test_an_open_gate_changes_no_bit(bert):
    batch = batch_of(bert)
    bare = logits(bert, batch)
    with bert.gated(gates={"encoder": np.ones((2, 4))}, ablation="mean", reference=TEXTS):
        assert torch.equal(logits(bert, batch), bare)


def test_mean_is_the_mean_over_all_positions_of_the_reference(bert):
    batch, site, head = batch_of(bert), bert.site("encoder", 0), Head("encoder", 0, 1)
    reference = ["the cat sat on a tree", "it was good", "old house"]
    rows = [outputs_of(bert, batch_of(bert, [text]), site)[0] for text in reference]
    mean = torch.cat(rows).mean(0)[1]
    expected = by_hand(bert, batch, site, lambda heads: put(heads, 1, mean))
    with bert.gated([head], ablation="mean", reference=reference):
        torch.testing.assert_close(logits(bert, batch), expected)
    with bert.intervene(Replace([head], by="mean", reference=reference)):
        torch.testing.assert_close(logits(bert, batch), expected)


def test_a_half_open_gate_lets_half_of_the_mean_through(bert):
    batch, site = batch_of(bert), bert.site("encoder", 0)
    mean = means(bert, TEXTS)[site][1]
    gates = np.ones((2, 4))
    gates[0, 1] = 0.5
    expected = by_hand(bert, batch, site, lambda heads: put(heads, 1, 0.5 * heads[:, :, 1] + 0.5 * mean))
    with bert.gated(gates={"encoder": gates}, ablation="mean", reference=TEXTS):
        torch.testing.assert_close(logits(bert, batch), expected)


def test_resample_lays_another_text_over_each_row(bert):
    batch, site, head = batch_of(bert), bert.site("encoder", 1), Head("encoder", 1, 2)
    donor = outputs_of(bert, batch_of(bert, ["it was good"]), site)[0, :, 2]  # 5 positions with [CLS] and [SEP]

    def stretched(heads):
        for row, length in enumerate((5, 10, 6)):
            places = np.rint(np.arange(length) * 4 / (length - 1)).astype(int)
            assert (places[0], places[-1]) == (0, 4)
            heads[row, :length, 2] = donor[places]
        return heads

    expected = by_hand(bert, batch, site, stretched)
    with bert.gated([head], ablation="resample", reference=["it was good"]):
        torch.testing.assert_close(logits(bert, batch), expected)


def test_resampling_is_drawn_with_its_seed(bert):
    batch, head = batch_of(bert), Head("encoder", 1, 2)
    reference = ["it was good", "a bad film", "the old house", "he ran quickly and sat"]
    found = []
    for seed in (0, 0, 1, 2, 3):
        with bert.gated([head], ablation="resample", reference=reference, seed=seed):
            found.append(logits(bert, batch))
    assert torch.equal(found[0], found[1])
    assert any(not torch.equal(found[0], other) for other in found[2:])


TASKS = {
    "bert": "sequence",
    "gpt2": "causal",
    "albert": "sequence",
    "llama": "causal",
    "marian": "seq2seq",
    "t5": "seq2seq",
}


@pytest.mark.parametrize(("family", "head"), TASKS.items())
def test_patching_with_a_run_of_the_same_texts_changes_nothing(family, head):
    model = made(family, head)
    texts = [(text, "the dog ran") for text in TEXTS] if model.is_encoder_decoder else TEXTS
    batch = batch_of(model, texts)
    bare = logits(model, batch)
    run = model.record(texts)
    with model.intervene(Replace(model.heads(), by=run)):
        torch.testing.assert_close(logits(model, batch), bare, rtol=1e-5, atol=1e-5)


def test_patching_all_heads_of_the_last_layer_at_cls_carries_the_answer_over(bert):
    """[CLS] of the last layer sees other positions through its heads only; the residual stream stays its own."""
    source, target = ["he hated the bad film"], ["she liked the old film"]
    run = record(bert, source)
    heads = bert.heads()
    batch = batch_of(bert, target)
    with bert.intervene(Replace(heads, by=run)):
        everything = logits(bert, batch)
    with bert.intervene(Replace(heads[4:], by=run, positions=[0])):
        only_cls = logits(bert, batch)
    site = bert.site("encoder", 1)
    given = run.outputs[site][0][0]

    def hand(heads):
        heads[0, 0] = given
        return heads

    torch.testing.assert_close(only_cls, by_hand(bert, batch, site, hand))
    assert not torch.allclose(everything, logits(bert, batch))


def test_a_run_of_one_text_goes_to_all_rows_of_its_length(bert):
    run = record(bert, ["the cat sat"])
    batch = batch_of(bert, ["the dog ran", "a bird saw"])
    site = bert.site("encoder", 0)
    expected = by_hand(bert, batch, site, lambda heads: put(heads, 0, run.outputs[site][0][:, 0]))
    with bert.intervene(Replace([Head("encoder", 0, 0)], by=run)):
        torch.testing.assert_close(logits(bert, batch), expected)


def test_lengths_and_numbers_must_agree_when_patching(bert):
    run = record(bert, ["the cat sat"])
    change = Replace([Head("encoder", 0, 0)], by=run)
    with pytest.raises(InputError, match="row 0 has 6 positions and the recorded text 5"), bert.intervene(change):
        logits(bert, batch_of(bert, ["the cat sat on"]))
    two = Replace([Head("encoder", 0, 0)], by=record(bert, TEXTS[:2]))
    with pytest.raises(InputError, match="has 2 texts and this pass 3"), bert.intervene(two):
        logits(bert, batch_of(bert))
    partial = Replace([Head("encoder", 0, 0)], by=record(bert, TEXTS, [bert.site("encoder", 1)]))
    with pytest.raises(InputError, match="no outputs of encoder layer 0"), bert.intervene(partial):
        pass


def test_arrays_and_functions(bert):
    batch, site = batch_of(bert), bert.site("encoder", 0)
    heads = [Head("encoder", 0, 2), Head("encoder", 0, 0)]
    array = np.arange(8, dtype=np.float32).reshape(2, 4)
    expected = by_hand(bert, batch, site, lambda h: put(put(h, 2, torch.tensor(array[0])), 0, torch.tensor(array[1])))
    with bert.intervene(Replace(heads, by=array)):
        torch.testing.assert_close(logits(bert, batch), expected)
    doubled = by_hand(bert, batch, site, lambda h: put(h, [2, 0], h[:, :, [2, 0]] * 2))
    with bert.intervene(Replace(heads, by=lambda outputs, where: outputs * 2)):
        torch.testing.assert_close(logits(bert, batch), doubled)
    with pytest.raises(InputError, match="to broadcast to"), bert.intervene(Replace(heads, by=np.ones(7))):
        logits(bert, batch)


def test_changes_act_in_order_and_blocks_nest(bert):
    batch, site, head = batch_of(bert), bert.site("encoder", 0), Head("encoder", 0, 0)
    expected = by_hand(bert, batch, site, lambda heads: put(heads, 0, 0.25 * heads[:, :, 0]))
    with bert.intervene(Scale([head], 0.5), Scale([head], 0.5)):
        torch.testing.assert_close(logits(bert, batch), expected)
    with bert.intervene(Scale([head], 0.5)), bert.gated(gates={"encoder": np.array([[0.5, 1, 1, 1], [1, 1, 1, 1]])}):
        torch.testing.assert_close(logits(bert, batch), expected)
    ones = by_hand(bert, batch, site, lambda heads: put(heads, 0, 0.5))
    with bert.intervene(Replace([head], by=np.ones(4)), Scale([head], 0.5)):
        torch.testing.assert_close(logits(bert, batch), ones)


def maps_of(model, text):
    found = {}

    def see(site):
        return lambda weights: found.__setitem__(site, weights.clone())

    with model.visit(attention={site: see(site) for site in model.sites}), torch.no_grad():
        model.forward(batch_of(model, [text]))
    return found


@pytest.mark.parametrize("family", ["bert", "deberta-v2"])
def test_cut_edges_are_zero(family):
    model = made(family, "sequence")
    site, text = model.site("encoder", 0), "the cat sat on"
    before = maps_of(model, text)[site]
    heads = [Head("encoder", 0, 1)]
    with model.intervene(Cut([(0, 2), (3, 3)], heads=heads)):
        cut = maps_of(model, text)[site]
    expected = before.clone()
    expected[:, 1, 0, 2] = expected[:, 1, 3, 3] = 0
    torch.testing.assert_close(cut, expected)
    with model.intervene(Cut([(0, 2)], heads=heads, renormalise=True)):
        again = maps_of(model, text)[site]
    assert again[0, 1, 0, 2] == 0
    torch.testing.assert_close(again.sum(-1), before.sum(-1))
    torch.testing.assert_close(again[:, 1, 0], expected[:, 1, 0] / expected[:, 1, 0].sum(-1, keepdim=True))
    torch.testing.assert_close(again[:, 1, 1:], before[:, 1, 1:])


def test_cutting_every_edge_is_pruning_without_the_head(bert):
    batch = batch_of(bert, ["the cat sat"])
    every = [(i, j) for i in range(5) for j in range(5)]
    with bert.gated(bert.heads()[:4]):
        expected = logits(bert, batch)
    for change in (Cut(every, layer=0), Cut(every, layer=0, renormalise=True)):
        with bert.intervene(change):
            torch.testing.assert_close(logits(bert, batch), expected)
    with bert.gated(bert.heads()):
        expected = logits(bert, batch)
    with bert.intervene(Cut(every)):
        torch.testing.assert_close(logits(bert, batch), expected)


def test_cut_says_what_it_needs(bert):
    for edges, message in (([(0, 99)], "5 query"), ([(-1, 0)], "from 0"), ([(1, 2, 3)], "pairs"), (["ab"], "pairs")):
        with pytest.raises(InputError, match=message), bert.intervene(Cut(edges)):
            logits(bert, batch_of(bert, ["the cat sat"]))
    with bert.intervene(Cut([])):
        logits(bert, batch_of(bert))
    marian = made("marian", "seq2seq")
    with pytest.raises(InputError, match="kind= one of encoder, decoder, cross"), marian.intervene(Cut([(0, 0)])):
        pass


def test_maps_can_be_replaced(bert):
    site, text, head = bert.site("encoder", 1), "the cat sat", Head("encoder", 1, 2)
    uniform = np.full((5, 5), 0.2, dtype=np.float32)
    with bert.intervene(ReplaceMap([head], by=uniform)):
        changed = maps_of(bert, text)[site]
    torch.testing.assert_close(changed[0, 2], torch.tensor(uniform))
    with bert.intervene(ReplaceMap([head], by=lambda weights: weights.flip(-1))):
        flipped = maps_of(bert, text)[site]
    torch.testing.assert_close(flipped[0, 2], maps_of(bert, text)[site][0, 2].flip(-1))
    with pytest.raises(InputError, match="maps that broadcast"), bert.intervene(ReplaceMap([head], by=np.ones((3, 3)))):
        logits(bert, batch_of(bert, [text]))


def test_gradients_flow(bert):
    batch, site = batch_of(bert), bert.site("encoder", 0)
    gates = torch.ones(2, 4, dtype=torch.float64, requires_grad=True)
    with bert.gated(gates={"encoder": gates}, ablation="mean", reference=TEXTS):
        bert.forward(batch).logits[:, 0].sum().backward()
    step = 1e-3
    shifted = []
    for sign in (1, -1):
        moved = np.ones((2, 4))
        moved[0, 2] += sign * step
        with bert.gated(gates={"encoder": moved}, ablation="mean", reference=TEXTS):
            shifted.append(logits(bert, batch)[:, 0].double().sum())
    assert gates.grad[0, 2] == pytest.approx(float(shifted[0] - shifted[1]) / (2 * step), rel=2e-2)
    run = record(bert, TEXTS, [site], gradient=True)
    with bert.intervene(Replace([Head("encoder", 0, 1)], by=run)):
        gradient = torch.autograd.grad(bert.forward(batch).logits[:, 0].sum(), run.outputs[site][0])[0]
    assert gradient[:, 1].abs().sum() > 0
    assert gradient[:, 0].abs().sum() == 0
    assert all(p.requires_grad for p in bert.model.parameters())


def test_everything_comes_off_after_an_exception(bert):
    batch = batch_of(bert)
    bare = logits(bert, batch)
    before = {name: len(m._forward_pre_hooks) for name, m in bert.model.named_modules()}
    head = Head("encoder", 0, 0)
    changes = [Scale([head]), Cut([(0, 0)], heads=[head]), Replace([head], by="mean", reference=TEXTS)]

    def fail():
        logits(bert, batch)
        raise RuntimeError("inside")

    with pytest.raises(RuntimeError, match="inside"), bert.intervene(*changes):
        fail()
    with pytest.raises(InputError, match="no head 9"), bert.intervene(*changes, Scale([Head("encoder", 0, 9)])):
        pass
    assert before == {name: len(m._forward_pre_hooks) for name, m in bert.model.named_modules()}
    assert torch.equal(logits(bert, batch), bare)
    assert bert.model.config._attn_implementation == "sdpa"


@pytest.mark.parametrize(("call", "message"), [
    (lambda m: m.gated([Head("encoder", 0, 0)], ablation="nil"), "zero, mean, resample, got 'nil'"),
    (lambda m: m.gated([Head("encoder", 0, 0)], ablation="mean"), "needs reference="),
    (lambda m: m.gated([Head("encoder", 7, 0)]), "layer 7"),
    (lambda m: m.gated([Head("decoder", 0, 0)]), "'decoder'"),
    (lambda m: m.gated(["L0H0"]), "Head.kind, layer, index"),
    (lambda m: m.gated(gates={"encoder": np.ones((3, 4))}), r"\[2, 4\]"),
    (lambda m: m.intervene("zero"), "got str"),
    (lambda m: m.intervene(Replace([Head("encoder", 0, 0)], by="noise")), "'noise'"),
])  # fmt: skip
def test_what_does_not_fit_is_said(bert, call, message):
    with pytest.raises(InputError, match=message), call(bert):
        logits(bert, batch_of(bert))


def test_gates_for_another_batch(bert):
    gates = np.ones((2, 2, 4))
    with pytest.raises(InputError, match="batch of 3, got 2"), bert.gated(gates={"encoder": gates}):
        logits(bert, batch_of(bert))


@pytest.mark.parametrize("family", ["gpt2", "llama", "marian", "t5"])
@pytest.mark.parametrize("ablation", ["zero", "mean"])
def test_gates_act_during_generate_with_cache(family, ablation):
    model = made(family, "seq2seq" if family in ("marian", "t5") else "causal")
    inputs = {"input_ids": torch.tensor([[8, 9, 10, 11]]), "attention_mask": torch.ones(1, 4, dtype=torch.long)}
    heads = model.heads()[1::2]
    texts = [("the cat sat", "a dog ran")] if model.is_encoder_decoder else ["the cat sat on a mat"]
    options = {"max_new_tokens": 6, "min_new_tokens": 6, "do_sample": False}
    bare = model.model.generate(**inputs, **options)
    with model.gated(heads, ablation=ablation, reference=texts):
        cached = model.model.generate(**inputs, **options, use_cache=True)
        plain = model.model.generate(**inputs, **options, use_cache=False)
    assert torch.equal(cached, plain)
    assert not torch.equal(cached, bare)


def test_resampling_while_generating_is_refused_in_words():
    model = made("gpt2", "causal")
    inputs = torch.tensor([[8, 9, 10, 11]])
    with (
        pytest.raises(UnsupportedError, match="use ablation='zero' or 'mean'"),
        model.gated(model.heads()[:1], ablation="resample", reference=["the cat sat on a mat"]),
    ):
        model.model.generate(
            inputs, attention_mask=torch.ones_like(inputs), max_new_tokens=3, min_new_tokens=3, do_sample=False
        )


def test_recording_leaves_out_padding_and_takes_all_sites():
    model = made("marian", "seq2seq")
    texts = [("the cat sat", "a dog"), ("the big red dog ran", "it was not very good")]
    run = record(model, texts)
    assert set(run.outputs) == set(model.sites)
    for i, (source, target) in enumerate([(4, 3), (6, 6)]):
        assert run.outputs[model.site("encoder", 0)][i].shape[0] == source
        assert run.outputs[model.site("cross", 0)][i].shape[0] == target
    site = model.site("decoder", 1)
    torch.testing.assert_close(run.mean(site), means(model, texts)[site])


@pytest.mark.parametrize("heads", [3, None, "encoder", [("encoder", 0.5, 1)], [("encoder", float("inf"), 1)]])
def test_what_is_no_list_of_heads_is_refused(bert, heads):
    with pytest.raises(InputError, match=r"expected (a list of )?heads"):
        bert.check_heads(heads)


def test_heads_read_from_a_table_of_numbers_are_heads(bert):
    assert bert.check_heads([("encoder", 1.0, np.int64(2))]) == [Head("encoder", 1, 2)]


@pytest.mark.parametrize(
    ("gates", "said"),
    [
        (np.ones((2, 4)), "expected gates as {kind: array"),
        ({"encoder": [["a"] * 4] * 2}, "as an array of numbers"),
        ({"encoder": np.full((2, 4), np.nan)}, "finite numbers, got NaN"),
    ],
)
def test_gates_that_are_no_numbers_by_kind_are_refused(bert, gates, said):
    with pytest.raises(InputError, match=said), bert.gated(gates=gates):
        pass
