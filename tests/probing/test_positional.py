"""Offsets of maxima against a slow count over eager maps, and heads whose answer is known."""

import numpy as np
import pytest
import torch

import headwidgets as hw
from headwidgets.errors import Cancelled, InputError
from headwidgets.probing.positional import positional
from tests.models.tiny import made

TEXTS = [
    "the cat sat on the mat",
    "a dog ran",
    "she liked the new film but he hated it",
    "it was not very good",
    "big red house under old tree in the small house",
    "bird",
]


def _slow(model, first=True, reach=8):
    """Per head and offset, hits and possible tokens of every text, one text at a time, from eager maps."""
    model.model.set_attn_implementation("eager")
    causal = "decoder" in model.kinds
    layers, heads = model.shape(model.kinds[0])
    queries = 0
    hits = np.zeros((len(TEXTS), layers, heads, 2 * reach + 1))
    possible = np.zeros((len(TEXTS), 2 * reach + 1))
    for number, example in enumerate(model.encode(TEXTS)):
        ids = torch.from_numpy(example.source.ids)[None]
        with torch.no_grad():
            maps = model.model(ids, output_attentions=True).attentions
        plain = [i for i, special in enumerate(example.source.special) if not special]
        for query in plain:
            keys = [k for k in plain if (not causal or k <= query) and (first or k > 0)]
            if len(keys) < 2:
                continue
            for key in keys:
                if abs(key - query) <= reach:
                    possible[number, key - query + reach] += 1
            queries += 1
            for layer in range(layers):
                for head in range(heads):
                    row = maps[layer][0, head, query]
                    best = max(keys, key=lambda k: float(row[k]))
                    if abs(best - query) <= reach:
                        hits[number, layer, head, best - query + reach] += 1
    return hits, possible, queries


@pytest.mark.parametrize(
    ("family", "head", "first"),
    [("bert", "masked", True), ("llama", "causal", True), ("gpt2", "causal", False)],
)
def test_shares_and_their_errors_are_those_of_a_slow_count(family, head, first):
    model = made(family, head)
    found = positional(model, TEXTS, first=first)
    hits, possible, queries = _slow(made(family, head), first)
    kind = model.kinds[0]
    total = hits.sum(0)
    best = np.where(possible.sum(0) * 2 >= queries, total * 1000 + possible.sum(0), -1).argmax(-1)
    n = len(TEXTS)
    for place in np.ndindex(best.shape):
        x, w = hits[(slice(None), *place, best[place])], possible[:, best[place]]
        share = x.sum() / w.sum()
        error = np.sqrt(n / (n - 1) * ((x - share * w) ** 2).sum()) / w.sum()
        assert found.offset[kind][place] == best[place] - 8
        assert found.share.values[kind][place] == pytest.approx(share)
        assert found.share.stderr[kind][place] == pytest.approx(error)
        assert found.counted[kind][place] == w.sum()
    assert found.share.n == n


def test_a_head_that_always_looks_one_back_is_positional_in_short_texts_too():
    model = made("gpt2", "causal")
    back = torch.zeros(16, 16)
    for query in range(16):
        back[query, max(0, query - 1)] = 0.75
        back[query, query] += 0.25
    look = hw.models.interventions.ReplaceMap(
        [hw.Head("decoder", 1, 2)], by=lambda maps: back[: maps.shape[-2], : maps.shape[-1]]
    )
    with model.intervene(look):
        found = positional(model, ["a dog", "the old tree"] * 12)
    assert hw.Head("decoder", 1, 2) in found.heads
    assert found.share[hw.Head("decoder", 1, 2)] == 1
    assert found.offset["decoder"][1, 2] == -1
    assert found.weight["decoder"][1, 2] == pytest.approx(0.75)
    assert found.counted["decoder"][1, 2] == 12 * (1 + 2)
    frame = found.to_frame().set_index(["layer", "head"])
    assert bool(frame.loc[(1, 2), "positional"])
    assert list(frame.columns) == ["kind", "offset", "share", "stderr", "n", "weight", "positional"]


def test_an_offset_that_few_tokens_can_see_makes_no_head_positional():
    """A head that always looks at the first token of the text is where only one token has it 5 back."""
    model = made("bert", "masked")
    first = torch.zeros(8, 8)
    first[:, 1] = 1
    with model.intervene(hw.models.interventions.ReplaceMap([hw.Head("encoder", 0, 0)], by=first)):
        found = positional(model, ["the cat sat on the mat", "a dog ran in the tree"] * 10)
    assert found.share[hw.Head("encoder", 0, 0)] == pytest.approx(1 / 6)
    assert found.offset["encoder"][0, 0] == 0


def test_a_token_without_a_choice_does_not_count():
    """The first token of a causal model, and the only word of a text, can look at themselves alone."""
    for family, head in (("gpt2", "causal"), ("bert", "masked")):
        found = positional(made(family, head), ["dog", "cat", "the mat", "a dog"])
        kind = found.share.kinds[0]
        assert found.counted[kind].max() <= (2 if family == "gpt2" else 4)
    with pytest.raises(InputError, match="two tokens"):
        positional(made("bert", "masked"), ["dog", "cat"])


def test_cross_attention_is_not_measured_and_bad_numbers_are_refused():
    model = made("bart", "seq2seq")
    found = positional(model, [("the cat sat", "a dog ran"), ("it was good", "the film is bad")])
    assert np.isnan(found.share.values["cross"]).all()
    assert np.isfinite(found.share.values["encoder"]).all()
    assert np.isfinite(found.share.values["decoder"]).all()
    assert (found.offset["decoder"] <= 0).all()
    with pytest.raises(InputError, match="share above 0"):
        positional(model, ["a"], threshold=2)
    with pytest.raises(InputError, match="reach as a whole number"):
        positional(model, ["a"], reach=0)
    with pytest.raises(Cancelled):
        positional(made("bert", "masked"), TEXTS, cancel=lambda: True)
