"""Induction scores against eager maps, on models whose answer is known."""

import numpy as np
import pytest
import torch

import headwidgets as hw
from headwidgets.errors import Cancelled, InputError, UnsupportedError
from headwidgets.probing import induction, repeated
from tests.models.tiny import made


@pytest.mark.parametrize(("family", "head"), [("llama", "causal"), ("gpt2", "causal"), ("bert", "masked")])
def test_it_is_the_mean_of_eager_maps(family, head):
    model = made(family, head)
    scores = induction(model, n=5, length=8, seed=3)
    texts = repeated(model, n=5, length=8, seed=3)
    begin = 1 if family == "bert" else 0
    model.model.set_attn_implementation("eager")
    found = []
    for example in texts:
        ids = example.source.ids
        assert len(ids) == 16 + 2 * begin
        own = ids[begin : begin + 16]
        assert len(set(own.tolist())) == 8
        with torch.no_grad():
            maps = model.model(torch.from_numpy(ids)[None], output_attentions=True).attentions
        row = []
        for second in range(8, 16):
            first = [i for i in range(8) if own[i] == own[second]]
            row.append([layer[0, :, begin + second, begin + first[0] + 1].numpy() for layer in maps])
        found.append(np.mean(row, 0))
    kind = model.kinds[0]
    np.testing.assert_allclose(scores.values[kind], np.mean(found, 0), atol=1e-5)
    np.testing.assert_allclose(scores.stderr[kind], np.std(found, 0, ddof=1) / np.sqrt(5), atol=1e-6)
    assert (scores.n, scores.name) == (5, "induction")
    assert scores.provenance["settings"]["seed"] == 3


def test_a_head_that_looks_a_fixed_way_back_scores_one():
    """Maps are put in the place of the model's own: one head looks 7 back, where the next token was before."""
    model = made("gpt2", "causal")
    eye = torch.zeros(16, 16)
    for query in range(16):
        eye[query, max(0, query - 7)] = 1
    with model.intervene(hw.models.interventions.ReplaceMap([hw.Head("decoder", 1, 2)], by=eye)):
        scores = induction(model, n=3, length=8)
    assert scores.values["decoder"][1, 2] == pytest.approx(1)
    assert scores.values["decoder"][0].max() < 0.9


def test_broken_sequences_share_the_second_copy_only():
    model = made("llama", "causal")
    for clean, broken in zip(repeated(model, n=3, length=9), repeated(model, n=3, length=9, broken=True), strict=True):
        np.testing.assert_array_equal(clean.source.ids[9:], broken.source.ids[9:])
        assert not set(broken.source.ids[:9].tolist()) & set(clean.source.ids.tolist())
    found = hw.attribution.patch(
        model, repeated(model, n=3, length=9), repeated(model, n=3, length=9, broken=True), metric="log-probability"
    )
    assert found.n == 3


def test_it_reports_and_stops_and_says_what_does_not_fit():
    model = made("llama", "causal")
    steps = []
    induction(model, n=4, length=5, on_progress=lambda done, total: steps.append((done, total)))
    assert steps[-1] == (4, 4)
    with pytest.raises(Cancelled):
        induction(model, n=4, length=5, cancel=lambda: True)
    with pytest.raises(InputError, match="length as a whole number of at least 2"):
        induction(model, length=1)
    with pytest.raises(InputError, match="half of the model's tokens"):
        induction(model, length=100)
    short = made("gpt2", "causal")
    short.model.config.n_positions = short.model.config.max_position_embeddings = 12
    with pytest.raises(InputError, match="length of at most 6, got 8"):
        induction(short, length=8)
    with pytest.raises(UnsupportedError, match="encoder-decoder"):
        induction(made("t5", "seq2seq"), length=5)
