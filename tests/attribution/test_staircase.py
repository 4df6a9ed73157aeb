"""Layers entered together give what each gives alone."""

import pytest
import torch

from headwidgets.attribution import targets
from headwidgets.attribution.integration import integrate
from headwidgets.attribution.integration.passes import clean, held
from headwidgets.models.staircase import Entry, can_climb
from tests.attribution.test_paths import LONG, TEXT, calm

FAMILIES = [
    *(
        (family, "sequence")
        for family in ("bert", "roberta", "distilbert", "electra", "modernbert", "deberta-v2", "gpt2")
    ),
    *(
        (family, "causal")
        for family in ("gpt2", "llama", "qwen2", "gemma2", "gpt_neox", "opt", "phi", "gptj", "falcon")
    ),
]


def cleaned(model, texts):
    task = targets.task_of(model)
    examples = model.encode(texts)
    found = targets.goals(model, task, examples, None, None)
    read = targets.reader(model, task, targets.default_output(task, None), found)
    batch = next(model.batches(examples, sort=False))
    return clean(model, batch, read, lambda outputs: targets.settle(model, read, found, outputs), model.sites)


@pytest.mark.parametrize(("family", "head"), FAMILIES)
@pytest.mark.parametrize("texts", [[TEXT], [TEXT, LONG]])
def test_layers_together_equal_layers_alone(family, head, texts):
    model = calm(family, head)
    with held(model):
        done = cleaned(model, texts)
        assert done.climbs == can_climb(done.prefix, model.sites)
        assert done.climbs, family
        assert done.reading is not None, "only one position is read, and should have been found to be"
        generator = torch.Generator().manual_seed(0)
        entries, alone, slopes = [], [], []
        for site in model.sites:
            rows = torch.randint(len(texts), (3,), generator=generator)
            scale = torch.rand(3, 1, 1, generator=generator)
            leaf = (done.start(site)[rows] * scale).requires_grad_()
            entries.append(Entry(site, rows, leaf))
            values = done.run(site, rows, leaf)
            alone.append(values.detach())
            slopes.append(torch.autograd.grad(values.sum(), leaf)[0])
        together = done.climb(entries)
        torch.testing.assert_close(together.detach(), torch.cat(alone), rtol=1e-4, atol=1e-4)
        for got, expected in zip(
            torch.autograd.grad(together.sum(), [e.outputs for e in entries]), slopes, strict=True
        ):
            torch.testing.assert_close(got, expected, rtol=1e-3, atol=1e-4)


def test_some_layers_only():
    model = calm("bert", "sequence")
    with held(model):
        done = cleaned(model, [TEXT])
        last = model.sites[-1]
        leaf = done.start(last).repeat(2, 1, 1)
        rows = torch.zeros(2, dtype=torch.long)
        torch.testing.assert_close(done.climb([Entry(last, rows, leaf)]), done.run(last, rows, leaf))


def test_encoder_decoders_go_layer_by_layer():
    model = calm("t5", "seq2seq")
    with held(model):
        assert not cleaned(model, [(TEXT, "a dog ran")]).climbs


def test_a_model_that_cannot_climb_is_integrated_all_the_same(monkeypatch):
    model = calm("bert", "sequence")
    expected = integrate_maps(model)
    monkeypatch.setattr(integrate, "_climb", lambda *_: (_ for _ in ()).throw(RuntimeError("shapes")))
    for got, wanted in zip(integrate_maps(model), expected, strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-3, atol=1e-6)


def integrate_maps(model):
    with held(model):
        done = cleaned(model, [TEXT])
        layers = integrate.integrate(done, model.sites, rule=None, tolerance=1e-3, cancel=None, notes=[])
        return [layer.maps for _, layer in layers]
