"""Every statistic equals a slow reference over the maps that eager attention returns, padded or not."""

import itertools

import numpy as np
import pytest

import headwidgets as hw
from headwidgets import patterns
from headwidgets.errors import InputError
from tests.models.tiny import made
from tests.patterns.reference import statistics

TEXTS = ["the cat sat on the mat", "a bird ran", "the old dog was good and the film was bad , very bad .", ". a"]
PAIRS = [
    (text, target) for text, target in zip(TEXTS, ["a dog ran", "he sat on it .", ", he", "the house"], strict=True)
]


def same(found, expected, tolerance=1e-6):
    for (name, kind), values in expected.items():
        np.testing.assert_allclose(found[name].values[kind], values, atol=tolerance, err_msg=f"{name} of {kind}")
    for name in found:
        for kind, values in found[name].values.items():
            assert (name, kind) in expected or np.isnan(values).all(), (name, kind)


@pytest.mark.parametrize(
    ("family", "head"),
    [("bert", "base"), ("electra", "base"), ("gpt2", "causal"), ("llama", "causal"), ("marian", "seq2seq")],
)
@pytest.mark.parametrize("together", [True, False])
def test_a_summary_equals_a_slow_reference(family, head, together):
    model = made(family, head)
    model.model.double()  # what batching alone does to the maps of these loud models is more than 1e-6 in float32
    texts = PAIRS if head == "seq2seq" else TEXTS
    for given in [texts] if together else [[text] for text in texts[1:3]]:
        same(patterns.summary(model, given), statistics(model, model.encode(given)))


@pytest.mark.parametrize("family", ["mistral", "gemma2", "modernbert"])
def test_what_a_sliding_window_hides_is_no_candidate(family):
    model = made(family, "causal" if family != "modernbert" else "base")
    kind = model.kinds[0]
    width = 4 if family != "modernbert" else 2

    def seen(_, layer):
        full = {"mistral": False, "gemma2": layer % 2 == 1, "modernbert": layer % 2 == 0}[family]
        if kind == "encoder":
            return lambda i, j: full or abs(i - j) <= width
        return lambda i, j: j <= i and (full or i - j < width)

    same(patterns.summary(model, TEXTS), statistics(model, model.encode(TEXTS), seen=seen))
    assert set(model.kinds) == {kind}


def word_pieces():
    """A tiny BERT whose tokenizer splits words."""
    t = pytest.importorskip("transformers")
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##do", "##able", "the", "cat", "sat", ".", "##s"]
    names = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    tokenizer = t.BertTokenizer(vocab={piece: i for i, piece in enumerate(pieces)}, **names)
    return hw.wrap(made("bert").model, tokenizer)


def test_words_are_read_from_maps_over_words():
    model = word_pieces()
    text = "the undoable cats sat."
    words = [["[CLS]"], ["the"], ["un", "##do", "##able"], ["cat", "##s"], ["sat"], ["."], ["[SEP]"]]
    found = patterns.summary(model, [text, "the cats sat"], words=True)
    alone = patterns.summary(model, [text], words=True)
    maps = model.attend(text).maps["encoder"].astype(np.float64)
    starts = np.cumsum([0] + [len(word) for word in words])
    assert starts[-1] == maps.shape[-1]
    merged = np.stack([maps[..., a:b].sum(-1) for a, b in itertools.pairwise(starts)], -1)
    merged = np.stack([merged[..., a:b, :].mean(-2) for a, b in itertools.pairwise(starts)], -2)
    previous = np.mean([merged[..., i, i - 1] for i in range(1, 6)], 0)
    np.testing.assert_allclose(alone["offset-1"].values["encoder"], previous, atol=1e-6)
    np.testing.assert_allclose(alone["confidence"].values["encoder"], merged[..., 1:6, 1:6].max(-1).mean(-1), atol=1e-6)
    np.testing.assert_allclose(alone["punctuation"].values["encoder"], merged[..., 1:6, 5].mean(-1), atol=1e-6)
    np.testing.assert_allclose(alone["separators"].values["encoder"], merged[..., 1:6, 6].mean(-1), atol=1e-6)
    entropies = -(merged[..., 1:6, :] * np.log(merged[..., 1:6, :])).sum(-1).mean(-1)
    np.testing.assert_allclose(alone["entropy"].values["encoder"], entropies, atol=1e-6)
    assert np.abs(found["entropy"].values["encoder"] - alone["entropy"].values["encoder"]).max() > 1e-3
    tokens = patterns.summary(model, [text])
    assert np.abs(tokens["entropy"].values["encoder"] - alone["entropy"].values["encoder"]).max() > 1e-3


def test_a_causal_head_has_no_next_token_and_no_separators():
    found = patterns.summary(made("gpt2", "causal"), TEXTS)
    for name in ("offset+1", "offset+2", "peak+1", "separators", "separators_from_separators"):
        assert np.isnan(found[name].values["decoder"]).all()
        assert np.isnan(found.uniform[name]["decoder"])
    assert (found["first_from_first"].values["decoder"] == 1).all()
    assert (found["entropy_relative"].values["decoder"] <= 1 + 1e-6).all()


def test_an_indifferent_head_is_what_a_map_of_equal_weights_has():
    found = patterns.summary(made("bert"), ["the cat sat", "a bird ran on the mat"])
    lengths = np.array([5, 8])  # with [CLS] and [SEP]
    queries = lengths - 2
    expected = {
        "entropy": (queries * np.log(lengths)).sum() / queries.sum(),
        "entropy_relative": 1,
        "separators": (queries / lengths).sum() / queries.sum(),
        "offset-1": (queries / lengths).sum() / queries.sum(),
        "entropy_content": (queries * np.log(queries)).sum() / queries.sum(),
        "confidence": (queries / lengths).sum() / queries.sum(),
    }
    assert {name: found.uniform[name]["encoder"] for name in expected} == pytest.approx(expected, abs=1e-6)
    assert np.isnan(found.uniform["peak-1"]["encoder"])


def test_standard_errors_treat_a_text_as_a_cluster():
    model = made("bert")
    texts = [
        f"{a} {b} {c}" for a in ("the", "a") for b in ("cat", "old dog", "bird") for c in ("ran", "sat on the mat .")
    ]
    found = patterns.summary(model, texts)
    n = len(texts)
    apart = [patterns.summary(model, texts[:i] + texts[i + 1 :]) for i in range(n)]
    for name in ("entropy", "offset-1", "separators", "distance_content", "peak+1"):
        left_out = np.array([own[name].values["encoder"] for own in apart])
        jackknife = np.sqrt((n - 1) / n * ((left_out - left_out.mean(0)) ** 2).sum(0))
        np.testing.assert_allclose(found[name].stderr["encoder"], jackknife, rtol=0.2, atol=1e-6)
    assert found["punctuation"].n == 6
    assert found["entropy"].groups["encoder"].shape == (6, 2, 4)
    sizes = found["entropy"].group_sizes
    assert sizes.sum() == n
    weights = np.stack([found["first_from_first"].groups["encoder"], found["first_from_first"].groups["encoder"]])
    mean = (weights[0] * sizes[:, None, None]).sum(0) / n  # one query per text, so a plain mean over groups
    np.testing.assert_allclose(mean, found["first_from_first"].values["encoder"], atol=1e-6)


def test_singles_say_what_the_summary_says():
    model = made("bert")
    found = patterns.summary(model, TEXTS, tokens={"negation": ["not", "bad"]}, offsets=[-1, 3])
    alone = {
        "confidence": patterns.confidence(model, TEXTS),
        "confidence_content": patterns.confidence(model, TEXTS, keys="content"),
        "entropy_first": patterns.entropy(model, TEXTS, query="first"),
        "entropy_relative_content": patterns.entropy(model, TEXTS, keys="content", relative=True),
        "offset+3": patterns.offset(model, TEXTS, 3),
        "peak-1": patterns.offset(model, TEXTS, peaks=True),
        "distance": patterns.mean_distance(model, TEXTS),
        "separators_from_separators": patterns.separators(model, TEXTS, source="separators"),
        "first": patterns.token_attention(model, TEXTS, "first"),
        "punctuation_content": patterns.token_attention(model, TEXTS, keys="content"),
        "negation": patterns.token_attention(model, TEXTS, ["not", "bad"]),
        "negation_from_negation": patterns.token_attention(model, TEXTS, lambda t: t in ("not", "bad"), source="same"),
    }
    for name, scores in alone.items():
        np.testing.assert_allclose(scores.values["encoder"], found[name].values["encoder"], atol=1e-7, err_msg=name)
        assert scores.n == found[name].n
    assert alone["negation"].n == 1
    only = patterns.summary(model, TEXTS, punctuation=["."])
    assert only["punctuation"].provenance["settings"]["punctuation"] == "."
    assert np.abs(only["punctuation"].values["encoder"] - found["punctuation"].values["encoder"]).max() > 1e-3


def test_an_encoder_decoders_encoder_needs_no_targets():
    model = made("marian", "seq2seq")
    sources = [source for source, _ in PAIRS]
    found = patterns.summary(model, sources, kind="encoder")
    assert found.kinds == ("encoder",)
    both = patterns.summary(model, PAIRS)
    for name in found:
        np.testing.assert_allclose(found[name].values["encoder"], both[name].values["encoder"], atol=1e-5)


def test_partial_results_come_from_a_random_sample_and_the_end_does_not_depend_on_it():
    model = made("bert")
    texts = [TEXTS[i % 3] for i in range(140)]
    seen, steps = [], []
    found = patterns.summary(
        model, texts, on_partial=lambda s: seen.append(s["entropy"].n), on_progress=lambda a, b: steps.append((a, b))
    )
    assert seen == [17, 34, 68, 136]
    assert steps[-1] == (140, 140)
    other = patterns.summary(model, texts[::-1], seed=3)
    for name in found:
        np.testing.assert_allclose(found[name].values["encoder"], other[name].values["encoder"], atol=1e-6)
    with pytest.raises(hw.Cancelled):
        patterns.summary(model, texts, cancel=lambda: True)
    assert all(not s.attention._forward_pre_hooks and not s.projection._forward_pre_hooks for s in model.sites)


def test_a_summary_is_read_back(tmp_path):
    found = patterns.summary(made("gpt2", "causal"), TEXTS)
    back = hw.read(found.save(tmp_path / "where"))
    assert isinstance(back, hw.PatternSummary)
    assert (back.names, back.labels, back.charts, back.n) == (found.names, found.labels, found.charts, found.n)
    for name in found:
        np.testing.assert_array_equal(back[name].values["decoder"], found[name].values["decoder"])
        np.testing.assert_array_equal(back.uniform[name]["decoder"], found.uniform[name]["decoder"])
    frame = back.to_frame()
    row = frame[(frame.statistic == "offset-1") & (frame.layer == 1) & (frame["head"] == 2)].iloc[0]
    assert row.value == found["offset-1"].values["decoder"][1, 2]
    assert row.stderr == found["offset-1"].stderr["decoder"][1, 2]
    assert "clark2019" in back.cite()
    assert back.head(hw.Head("decoder", 1, 2))["offset-1"] == row.value


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda m: patterns.summary(m, []), "at least one text"),
        (lambda m: patterns.summary(m, TEXTS, kind="cross"), "kind of attention that the model has"),
        (lambda m: patterns.summary(m, TEXTS, offsets=[1.5]), "whole number of positions"),
        (lambda m: patterns.summary(m, TEXTS, offsets=-1), "expected offsets as whole numbers"),
        (lambda m: patterns.summary(m, TEXTS, tokens={"first": ["a"]}), "a name of your own"),
        (lambda m: patterns.summary(m, TEXTS, tokens={"entropy": ["a"]}), "would be two statistics"),
        (lambda m: patterns.summary(m, TEXTS, tokens={"mine": 3}), r"tokens\['mine'\] as a collection"),
        (lambda m: patterns.summary(m, TEXTS, punctuation="."), "punctuation as a collection"),
        (lambda m: patterns.summary(m, TEXTS)["entropie"], "a statistic out of confidence"),
        (lambda m: patterns.summary(m.model, TEXTS), "hw.load"),
        (lambda m: patterns.confidence(m, TEXTS, keys="some"), "keys='all' or keys='content'"),
        (lambda m: patterns.entropy(m, TEXTS, query="last"), "query to be one of text, first"),
        (lambda m: patterns.token_attention(m, TEXTS, "nouns"), "to as one of text"),
        (lambda m: patterns.token_attention(m, TEXTS, "first", keys="content"), "leaves the first key"),
        (lambda m: patterns.token_attention(m, TEXTS, ["house"]), "no text has what chosen tokens"),
        (lambda m: patterns.separators(made("gpt2", "causal"), TEXTS), "no text has what separators"),
        (lambda m: patterns.offset(made("gpt2", "causal"), TEXTS, 1), r"no text has what offset\+1"),
    ],
)
def test_what_does_not_fit_is_said(call, says):
    with pytest.raises(InputError, match=says):
        call(made("bert"))


def test_only_some_statistics():
    model = made("bert")
    texts = ["the cat sat on the mat", "a dog ran home"]
    some = patterns.summary(model, texts, statistics=["entropy", "confidence"])
    assert some.names == ("confidence", "entropy")
    whole = patterns.summary(model, texts)
    for name in some.names:
        assert some[name].values["encoder"] == pytest.approx(whole[name].values["encoder"])
    for wrong in ("entropy", ["entropie"], [], 3):
        with pytest.raises(InputError, match="statistics"):
            patterns.summary(model, texts, statistics=wrong)
