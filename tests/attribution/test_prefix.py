"""Passes that begin at a layer give to the bit what a full pass gives."""

import pytest
import torch

from headwidgets.models.prefix import Prefix, stacks_of
from tests.models.tiny import SEQ2SEQ, made

FAMILIES = [
    *((family, "sequence") for family in ("bert", "roberta", "distilbert", "modernbert", "deberta-v2", "bart")),
    *((family, "causal") for family in ("gpt2", "llama", "qwen2", "gemma2", "gpt_neox", "bloom", "opt")),
    *((family, "seq2seq") for family in ("t5", "bart", "marian")),
]

LATE = ("bloom",)
"""Families whose attention module adds the residual itself, so that its block is not entered at the projection."""


def texts(family, head):
    if family in SEQ2SEQ and head == "seq2seq":
        return [("the cat sat on the mat", "a dog ran"), ("a bird", "the tree was big and old")]
    return ["the cat sat on the mat", "a bird ran"]


def recorded(model, family, head):
    batch = next(model.batches(model.encode(texts(family, head))))
    prefix = Prefix(model.sites)
    outputs = {}
    with (
        torch.no_grad(),
        model.visit(outputs={s: lambda o, s=s: outputs.__setitem__(s, o.flatten(2).clone()) for s in model.sites}),
        prefix.recording(model.model),
    ):
        full = model.forward(batch).logits
    return batch, prefix, outputs, full


@pytest.mark.parametrize(("family", "head"), FAMILIES)
def test_resumed_pass_is_bit_equal(family, head):
    model = made(family, head)
    batch, prefix, outputs, full = recorded(model, family, head)
    rows = torch.arange(2)
    for site in model.sites:
        inputs = prefix.inputs(site, batch.inputs, rows)
        with torch.no_grad(), model.visit(), prefix.resumed(site, rows):
            assert torch.equal(model.forward(inputs).logits, full), site
        assert prefix.can_enter(site) == (family not in LATE), f"{family}: {site}"
        if family in LATE:
            continue
        with torch.no_grad(), model.visit(), prefix.resumed(site, rows, outputs[site]):
            assert torch.equal(model.forward(inputs).logits, full), site


@pytest.mark.parametrize(("family", "head"), [("bert", "sequence"), ("t5", "seq2seq"), ("llama", "causal")])
def test_blocks_before_the_site_do_not_run(family, head):
    model = made(family, head)
    batch, prefix, _, _ = recorded(model, family, head)
    last = model.sites[-1]
    ran = []
    hooks = [s.projection.register_forward_hook(lambda *_, s=s: ran.append(s)) for s in model.sites]
    with torch.no_grad(), model.visit(), prefix.resumed(last, torch.arange(2)):
        model.forward(prefix.inputs(last, batch.inputs, torch.arange(2)))
    for hook in hooks:
        hook.remove()
    assert ran
    assert all(s.block is last.block for s in ran)


@pytest.mark.parametrize(("family", "head"), FAMILIES)
def test_rows_may_be_repeated_and_reordered(family, head):
    model = made(family, head)
    batch, prefix, outputs, full = recorded(model, family, head)
    rows = torch.tensor([1, 0, 1, 1])
    for site in model.sites:
        inputs = prefix.inputs(site, batch.inputs, rows)
        given = None if family in LATE else outputs[site][rows]
        with torch.no_grad(), model.visit(), prefix.resumed(site, rows, given):
            got = model.forward(inputs).logits
        torch.testing.assert_close(got, full[rows], rtol=1e-4, atol=1e-4)


def test_what_the_heads_say_is_used():
    model = made("bert", "sequence")
    batch, prefix, outputs, full = recorded(model, "bert", "sequence")
    rows = torch.arange(2)
    site = model.sites[0]
    with torch.no_grad(), model.visit(), prefix.resumed(site, rows, outputs[site] * 0.5):
        entered = model.forward(prefix.inputs(site, batch.inputs, rows)).logits
    with torch.no_grad(), model.gated(gates={"encoder": [[0.5] * 4, [1.0] * 4]}):
        gated = model.forward(batch).logits
    torch.testing.assert_close(entered, gated, rtol=1e-5, atol=1e-5)
    assert not torch.allclose(entered, full, atol=1e-3)


def test_albert_has_no_list_of_blocks():
    model = made("albert", "sequence")
    assert stacks_of(model.sites) == []


def test_forwards_come_back_also_after_an_exception():
    model = made("bert", "sequence")
    batch, prefix, _, full = recorded(model, "bert", "sequence")
    with pytest.raises(KeyError), prefix.resumed(model.sites[1], torch.arange(2)):
        raise KeyError
    assert not any("forward" in module.__dict__ for module in model.model.modules())
    with torch.no_grad(), model.visit():
        assert torch.equal(model.forward(batch).logits, full)
