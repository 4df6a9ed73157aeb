"""A pass ends where the last map was seen, and leaves the model as it was."""

import numpy as np
import pytest
import torch

from headwidgets import patterns
from headwidgets.models.streaming import stream
from tests.models.tiny import made

TEXTS = ["the cat sat on the mat", "a bird ran"]


def calls_of(module, run):
    """How often a module ran; without a hook, since a pass does not end before what somebody's hook waits for."""
    seen = []
    own = module.forward

    def counted(*args, **keywords):
        seen.append(1)
        return own(*args, **keywords)

    module.forward = counted
    try:
        run()
    finally:
        del module.forward
    return len(seen)


def test_what_follows_the_last_map_is_not_computed():
    model = made("bert", "masked")
    layers = model.model.bert.encoder.layer
    run = lambda: patterns.summary(model, TEXTS)  # noqa: E731
    assert calls_of(layers[0].intermediate, run) == 1
    assert calls_of(layers[1].attention.self.query, run) == 1
    assert calls_of(layers[1].intermediate, run) == 0
    assert calls_of(model.model.cls, run) == 0


@pytest.mark.parametrize(
    ("family", "head"),
    [("bert", "sequence"), ("gpt2", "causal"), ("bloom", "causal"), ("t5", "seq2seq"), ("albert", "base")],
)
def test_every_map_is_seen_once_and_the_model_is_as_it_was(family, head):
    model = made(family, head)
    pairs = [(text, "a dog ran") for text in TEXTS]
    examples = model.encode(pairs if head == "seq2seq" else TEXTS)
    (batch,) = model.batches(examples)
    with torch.no_grad():
        before = model.forward(batch)[0]
    seen, batches = [], []
    stream(model, examples, lambda site, *_: seen.append(site), after=batches.append, max_tokens=8)
    assert len(batches) == 2
    assert seen == [*model.sites, *model.sites] or set(seen) == set(model.sites)
    assert len(seen) == 2 * len(model.sites)
    with torch.no_grad():
        np.testing.assert_array_equal(model.forward(batch)[0].numpy(), before.numpy())


def test_a_model_that_collects_outputs_runs_to_its_end():
    model = made("bert", "masked")
    model.model.config.output_hidden_states = True
    assert calls_of(model.model.cls, lambda: patterns.summary(model, TEXTS)) == 1


def test_errors_of_the_looker_are_not_swallowed():
    model = made("bert")

    def look(*_):
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        stream(model, model.encode(TEXTS), look)


def test_gates_of_the_last_layer_are_reached_around_a_pass():
    model = made("bert")
    texts = ["the cat sat on the mat", "a dog ran"]
    last = [head for head in model.heads() if head.layer == 1]
    whole = patterns.confidence(model, texts)
    with model.gated(pruned=last):
        assert patterns.confidence(model, texts).values["encoder"] == pytest.approx(whole.values["encoder"])
    first = [head for head in model.heads() if head.layer == 0]
    with model.gated(pruned=first):
        changed = patterns.confidence(model, texts).values["encoder"]
    assert changed[0] == pytest.approx(whole.values["encoder"][0])
    assert abs(changed[1] - whole.values["encoder"][1]).max() > 1e-3


def test_a_hook_of_the_users_own_sees_the_whole_pass():
    model = made("gpt2", "causal")
    seen = []
    handle = model.model.register_forward_hook(lambda *_: seen.append(True))
    try:
        patterns.confidence(model, ["the cat sat", "a dog"])
    finally:
        handle.remove()
    assert seen
