"""Patching against a slow loop over heads, its approximation against finite differences."""

import dataclasses
import threading

import numpy as np
import pytest
import torch

import headwidgets as hw
from headwidgets.attribution import Patching, importance, patch
from headwidgets.attribution.patching.pairs import corresponding
from headwidgets.errors import Cancelled, InputError, UnsupportedError
from headwidgets.models.interventions import Replace, record
from headwidgets.scores import Head
from headwidgets.statistics import spearman
from headwidgets.text.examples import Batch
from tests.models.tiny import made, make, tokenizer

CLEAN = ["the cat sat on the mat", "a dog ran", "the old bird saw a big tree"]
CORRUPTED = ["the dog sat on the mat", "a cat ran", "the new bird saw a red house"]
TARGET = "a dog ran"
FAMILIES = [
    ("bert", "sequence"), ("albert", "sequence"), ("llama", "causal"), ("gemma2", "causal"), ("bloom", "causal"),
    ("gpt2", "causal"), ("t5", "seq2seq"), ("marian", "seq2seq"),
]  # fmt: skip


def task(head):
    """Pairs and options for a kind of model, and the metric written down once more: of logits [tokens, classes]."""
    if head == "seq2seq":
        return [(c, TARGET) for c in CLEAN], [(c, TARGET) for c in CORRUPTED], {}
    if head == "causal":
        return CLEAN, CORRUPTED, {"answers": ("sat", "ran")}
    return CLEAN, CORRUPTED, {"answers": (2, 0)}


def read(model, head, batch):
    outputs = model.forward(batch)
    if head == "sequence":
        return outputs.logits[:, 2] - outputs.logits[:, 0]
    if head == "causal":
        good, bad = (model.tokenizer.convert_tokens_to_ids(w) for w in ("sat", "ran"))
        return outputs.logits[:, -1, good] - outputs.logits[:, -1, bad]
    labels = torch.tensor(batch.examples[0].labels)
    return outputs.logits[0].log_softmax(-1)[torch.arange(len(labels)), labels].sum()[None]


def slow(model, head, into, donors, run=record):
    """One pair and one head at a time, by the public interventions: effects [pairs, heads] and the metric [pairs]."""
    effects, base = [], []
    for text, donor in zip(into, donors, strict=True):
        batch = next(model.batches(model.encode([text])))
        given = run(model, [donor])
        with torch.no_grad(), model.visit():
            base.append(float(read(model, head, batch)))
            row = []
            for one in model.heads():
                with model.intervene(Replace([one], by=given)):
                    row.append(float(read(model, head, batch)) - base[-1])
        effects.append(row)
    return np.array(effects), np.array(base)


@pytest.mark.parametrize(("family", "head"), FAMILIES)
def test_exact_patching_is_the_slow_loop(family, head):
    model = made(family, head)
    clean, corrupted, options = task(head)
    found = patch(model, clean, corrupted, **options)
    expected, base = slow(model, head, corrupted, clean)
    np.testing.assert_allclose(found.corrupted, base, atol=2e-5)
    np.testing.assert_allclose(found.effects["exact"], expected, atol=5e-5 * max(1, np.abs(base).max()))
    assert np.abs(expected).max() > 1e-2
    other = patch(model, clean, corrupted, method="exact", direction="noising", **options)
    expected, base = slow(model, head, clean, corrupted)
    np.testing.assert_allclose(other.effects["exact"], expected, atol=5e-5 * max(1, np.abs(base).max()))
    np.testing.assert_allclose(other.difference, -found.difference, atol=2e-5)


@pytest.mark.parametrize(
    ("family", "head"), [("bert", "sequence"), ("albert", "sequence"), ("llama", "causal"), ("t5", "seq2seq")]
)
def test_the_approximation_is_the_derivative_of_patching_by_degrees(family, head):
    model = made(family, head)
    model.model.double()
    clean, corrupted, options = task(head)
    found = patch(model, clean[:2], corrupted[:2], method="gradient", **options)
    h = 1e-4

    def by_degrees(sign):
        def run(model, donor):
            pair = next(i for i in range(2) if clean[i] == donor[0])
            own, other = record(model, [corrupted[pair]]), record(model, donor)
            mixed = {s: [a + sign * h * (b - a) for a, b in zip(own.outputs[s], other.outputs[s], strict=True)]
                     for s in own.outputs}  # fmt: skip
            return dataclasses.replace(other, outputs=mixed)

        return slow(model, head, corrupted[:2], clean[:2], run)[0]

    expected = (by_degrees(1) - by_degrees(-1)) / (2 * h)
    np.testing.assert_allclose(found.effects["gradient"], expected, rtol=2e-3, atol=2e-3 * np.abs(expected).max())


def test_all_heads_of_the_last_layer_add_up_where_what_follows_is_linear():
    """The last attention's patches, one by one, sum to the patch of all of them when no norm or kink comes after."""
    model = made("gpt2", "causal")
    model.model.transformer.ln_f = torch.nn.Identity()
    for block in model.model.transformer.h[-1:]:
        block.mlp = torch.nn.Identity()
        block.ln_2 = torch.nn.Identity()
    found = patch(model, CLEAN, CORRUPTED, answers=("sat", "ran"))
    last = [i for i, one in enumerate(found.heads) if one.layer == 1]
    np.testing.assert_allclose(found.effects["exact"][:, last], found.effects["gradient"][:, last], atol=1e-4)
    for i, (text, donor) in enumerate(zip(CORRUPTED, CLEAN, strict=True)):
        batch = next(model.batches(model.encode([text])))
        with torch.no_grad(), model.visit(), model.intervene(
            Replace([found.heads[i] for i in last], by=record(model, [donor]))
        ):  # fmt: skip
            together = float(read(model, "causal", batch))
        assert found.effects["exact"][i, last].sum() == pytest.approx(together - found.corrupted[i], abs=1e-4)


def test_shares_are_ratios_of_means_with_the_jackknifes_error():
    model = made("bert", "sequence")
    clean = [f"{a} {b} {v}" for a in ("the", "a") for b in ("cat", "dog", "bird") for v in ("ran", "sat", "saw")]
    corrupted = [text.replace("the", "not").replace("a ", "very ", 1) for text in clean]
    found = patch(model, clean, corrupted, answers=(2, 0), method="exact")
    own = found.effects["exact"]
    share = own.mean(0) / found.difference.mean()
    np.testing.assert_allclose(found.exact.values["encoder"].ravel(), share)
    np.testing.assert_allclose(found.exact_raw.values["encoder"].ravel(), own.mean(0))
    np.testing.assert_allclose(found.exact_raw.stderr["encoder"].ravel(), own.std(0, ddof=1) / np.sqrt(len(clean)))
    n = len(clean)
    left = np.array([np.delete(own, i, 0).mean(0) / np.delete(found.difference, i).mean() for i in range(n)])
    jackknife = np.sqrt((n - 1) / n * ((left - left.mean(0)) ** 2).sum(0))
    np.testing.assert_allclose(found.exact.stderr["encoder"].ravel(), jackknife, rtol=0.3)
    assert found.exact.n == found.exact_raw.n == n
    for scores in (found.exact, found.exact_raw):
        assert len(scores.group_sizes) == 9
        together = np.average(scores.groups["encoder"], axis=0, weights=scores.group_sizes)
        np.testing.assert_allclose(together, scores.values["encoder"], rtol=1e-5, atol=1e-7)
    assert found.exact_raw.unit == "logits"
    assert found.exact.unit == "share of the difference"
    assert found.gradient is None


def test_padding_and_company_change_nothing():
    for family, head in (("bert", "sequence"), ("llama", "causal"), ("marian", "seq2seq")):
        model = made(family, head)
        clean, corrupted, options = task(head)
        together = patch(model, clean, corrupted, **options)
        for i in range(3):
            alone = patch(model, [clean[i]], [corrupted[i]], **options)
            for method in ("exact", "gradient"):
                np.testing.assert_allclose(alone.effects[method][0], together.effects[method][i], rtol=1e-3, atol=1e-3)


def test_a_metric_of_ones_own_is_the_named_one():
    model = made("llama", "causal")
    named = patch(model, CLEAN, CORRUPTED, answers=("sat", "ran"))
    good, bad = (model.tokenizer.convert_tokens_to_ids(w) for w in ("sat", "ran"))
    seen = set()

    def metric(outputs, batch: Batch):
        seen.update(batch.index)
        last = batch.inputs["attention_mask"].sum(-1) - 1
        row = outputs.logits[torch.arange(len(last)), last]
        return row[:, good] - row[:, bad]

    own = patch(model, CLEAN, CORRUPTED, metric=metric)
    assert own.metric == "metric"
    assert seen == {0, 1, 2}
    for method in ("exact", "gradient"):
        np.testing.assert_allclose(own.effects[method], named.effects[method], atol=2e-4)


def test_the_shared_continuation_is_scored_token_by_token():
    model = made("gpt2", "causal")
    found = patch(model, CLEAN[:1], CORRUPTED[:1], metric="log-probability", method="exact")
    batch = next(model.batches(model.encode(CLEAN[:1])))
    ids = batch.inputs["input_ids"][0]
    with torch.no_grad(), model.visit():
        logs = model.forward(batch).logits[0].log_softmax(-1)
    expected = sum(float(logs[i - 1, ids[i]]) for i in range(2, len(ids)))  # "the cat" differs from "the dog" at 1
    assert found.clean[0] == pytest.approx(expected, abs=1e-4)


def test_answers_are_what_the_model_says_and_pairs_that_say_the_same_are_counted():
    model = made("bert", "sequence")
    words = ["cat", "dog", "bird", "tree", "house", "big", "film", "good", "bad", "hated", "liked"]
    texts = [f"the {word} was not {word}" for word in words]
    with torch.no_grad(), model.visit():
        logits = torch.cat([model.forward(next(model.batches(model.encode([t])))).logits for t in texts])
        model.model.classifier.bias -= logits.mean(0)  # or a tiny model says the same of every text
        said = (logits - logits.mean(0)).argmax(-1).tolist()
    assert len(set(said)) == 3
    other = texts[1:] + texts[:1]
    found = patch(model, texts, other, method="exact")
    same = [i for i, (a, b) in enumerate(zip(said, said[1:] + said[:1], strict=True)) if a == b]
    assert sorted(found.skipped) == same
    assert found.n == len(texts) - len(same)
    assert (found.difference > 0).all()
    assert same
    assert f"first is pair {same[0]}" in " ".join(found.notes)


def test_texts_of_unequal_length_are_counted_or_aligned():
    model = made("llama", "causal")
    clean = [*CLEAN, "the big dog ran"]
    corrupted = [*CORRUPTED, "the very red cat ran"]
    options = {"answers": ("sat", "ran"), "method": "exact"}
    found = patch(model, clean, corrupted, **options)
    assert list(found.skipped) == [3]
    assert found.numbers == [0, 1, 2]
    assert "4 tokens and the corrupted one 5" in found.notes[-1]
    with pytest.raises(InputError, match=r"none of the 1 pairs can be patched; pair 0: .*positions='last'"):
        patch(model, clean[3:], corrupted[3:], **options)
    for positions in ("last", "aligned"):
        got = patch(model, clean[3:], corrupted[3:], positions=positions, **options)
        places = corresponding(*(model.encode([t])[0].source for t in (clean[3], corrupted[3])), positions)
        assert [p.tolist() for p in places] == ([[3], [4]] if positions == "last" else [[0, 3], [0, 4]])
        given = record(model, clean[3:])
        batch = next(model.batches(model.encode(corrupted[3:])))
        with torch.no_grad(), model.visit():
            for column, one in enumerate(model.heads()):
                site = model.site(one.kind, one.layer)

                def put(own, site=site, index=one.index, places=places, given=given):
                    own = own.clone()
                    own[0, places[1], index] = given.outputs[site][0][places[0], index]
                    return own

                with model.visit(outputs={site: put}):
                    value = float(read(model, "causal", batch))
                assert got.effects["exact"][0, column] == pytest.approx(value - got.corrupted[0], abs=1e-4)
    last = patch(model, CLEAN, CORRUPTED, positions=[-1], **options)
    np.testing.assert_allclose(
        last.effects["exact"], patch(model, CLEAN, CORRUPTED, positions="last", **options).effects["exact"], atol=1e-6
    )


def test_the_agreement_is_of_means_over_heads():
    model = made("gpt2", "causal")
    found = patch(model, CLEAN, CORRUPTED, answers=("sat", "ran"), seed=3)
    exact, gradient = found.effects["exact"].mean(0), found.effects["gradient"].mean(0)
    agreement = found.agreement
    assert agreement.pearson.value == pytest.approx(np.corrcoef(exact, gradient)[0, 1])
    assert agreement.pearson.low <= agreement.pearson.value <= agreement.pearson.high
    assert agreement.worst == found.heads[int(np.abs(exact - gradient).argmax())]
    assert str(agreement.worst) in str(agreement)
    assert agreement.pearson == patch(model, CLEAN, CORRUPTED, answers=("sat", "ran"), seed=3).agreement.pearson
    frame = found.to_frame()
    assert len(frame) == 8
    np.testing.assert_allclose(frame["exact_raw"], exact)
    with pytest.raises(InputError, match="exact was not measured"):
        _ = patch(model, CLEAN, CORRUPTED, answers=("sat", "ran"), method="gradient").agreement


def test_one_pair_gives_an_agreement_without_an_interval():
    found = patch(made("gpt2", "causal"), CLEAN[:1], CORRUPTED[:1], answers=("sat", "ran"))
    assert "1 pair (which gives no interval)" in str(found.agreement)
    assert "nan" not in str(found.agreement)


def test_the_interval_of_the_agreement_lies_about_its_value_and_covers():
    """What pairs add to heads is shared by both methods: bootstrap draws of rho lie above it, by themselves."""
    generator = np.random.default_rng(0)
    heads, pairs, times = 72, 16, 30
    true = 0.1 * generator.standard_t(3, heads)

    def drawn() -> tuple[np.ndarray, np.ndarray]:
        shared = 0.4 * generator.normal(size=(pairs, heads))
        other = 0.9 * (true + shared) + 0.12 * generator.normal(size=(pairs, heads))
        return true + shared, other

    usual = np.mean([spearman(*(x.mean(0) for x in drawn())) for _ in range(400)])
    covered = 0
    for _ in range(times):
        exact, gradient = drawn()
        found = Patching(
            heads=[Head("encoder", i // 12, i % 12) for i in range(heads)], shapes={"encoder": (6, 12)},
            effects={"exact": exact, "gradient": gradient}, clean=np.ones(pairs), corrupted=np.zeros(pairs),
            numbers=range(pairs), skipped={}, metric="m", metric_unit="", direction="denoising", provenance=None,
            fingerprint="",
        ).agreement  # fmt: skip
        for one in (found.pearson, found.spearman):
            low, value, high = np.arctanh([one.low, one.value, one.high])
            assert value == pytest.approx((low + high) / 2)
        assert found.slope.low < found.slope.value < found.slope.high
        covered += found.spearman.low <= usual <= found.spearman.high
    assert 0.8 * times <= covered


def test_a_metric_that_does_not_differ_gives_no_shares():
    model = made("llama", "causal")
    found = patch(model, CLEAN, CORRUPTED, metric=lambda o, b: o.logits[:, 0].sum(-1))
    assert not found.normalised
    assert np.isnan(found.exact.values["decoder"]).all()
    assert "not defined" in found.notes[0]
    assert np.isfinite(found.exact_raw.values["decoder"]).all()
    with pytest.raises(InputError, match="raw effects"):
        importance(model, CLEAN, method="patching", corrupted=CORRUPTED, metric=lambda o, b: o.logits[:, 0].sum(-1))


def test_importance_knows_patching():
    model = made("llama", "causal")
    expected = patch(model, CLEAN, CORRUPTED, answers=("sat", "ran"))
    pairs = list(zip(CLEAN, CORRUPTED, strict=True))
    exact = importance(model, pairs, method="patching", answers=("sat", "ran"))
    np.testing.assert_allclose(exact.values["decoder"], expected.exact.values["decoder"], atol=1e-5)
    near = importance(model, CLEAN, ("sat", "ran"), method="patching", corrupted=CORRUPTED, approximate=True)
    np.testing.assert_allclose(near.values["decoder"], expected.gradient.values["decoder"], atol=1e-5)
    assert exact.n == 3
    assert exact.provenance["settings"]["direction"] == "denoising"
    with pytest.raises(InputError, match="corrupted= texts"):
        importance(model, CLEAN, method="patching")


def test_it_reports_streams_stops_and_leaves_the_model_alone():
    model = made("llama", "causal")
    model.model.train()
    before = {name: value.clone() for name, value in model.model.state_dict().items()}
    clean, corrupted = CLEAN * 7, CORRUPTED * 7
    steps, parts = [], []
    found = patch(model, clean, corrupted, answers=("sat", "ran"),
                  on_progress=lambda done, total: steps.append((done, total)), on_partial=parts.append)  # fmt: skip
    assert steps[-1] == (21 * 9, 21 * 9)
    assert [p.n for p in parts] == [16]
    assert isinstance(parts[0], Patching)
    assert found.numbers == list(range(21))
    np.testing.assert_allclose(found.effects["exact"][:3], found.effects["exact"][3:6], atol=1e-4)
    assert model.model.training
    assert all(p.requires_grad and p.grad is None for p in model.model.parameters())
    assert all(torch.equal(before[name], value) for name, value in model.model.state_dict().items())
    stop = threading.Event()
    with pytest.raises(Cancelled):
        patch(model, clean, corrupted, answers=("sat", "ran"), on_progress=lambda *_: stop.set(), cancel=stop.is_set)
    assert not model.model.model.layers[0].self_attn.o_proj._forward_pre_hooks
    job = hw.jobs.start(patch, model, CLEAN, CORRUPTED, answers=("sat", "ran"))
    assert job.result().n == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "fast"}, "exact, gradient, both"),
        ({"direction": "up"}, "denoising, noising"),
        ({"metric": "accuracy"}, "logit-difference, log-probability"),
        ({"answers": "sat"}, "between two answers"),
        ({"answers": [("sat", "ran")]}, "one answer for all pairs or 3"),
        ({"answers": ("sat", "unheard-of")}, "unheard-of"),
        ({"answers": ("sat", "sat")}, "two different targets"),
        ({"metric": "log-probability"}, "take metric='logit-difference'"),
        ({"corrupted": CORRUPTED[:2]}, r"as many corrupted texts as clean ones \(3\), got 2"),
        ({"corrupted": CLEAN}, "nothing to patch"),
        ({"positions": "first"}, "'all', 'last', 'aligned'"),
        ({"positions": [1, "2"]}, "whole numbers"),
        ({"positions": [5]}, "pair 1 has 3 positions"),
        ({"metric": lambda o, b: o.logits, "answers": None}, r"a tensor of shape \[3\], got shape \[3, 7, 60\]"),
        ({"metric": lambda o, b: 1.0, "answers": None}, "got float"),
        ({"metric": lambda o, b: o.logits.detach().sum((1, 2)), "answers": None}, "no gradient"),
        ({"metric": lambda o, b: o.logits.sum((1, 2)) * float("nan"), "answers": None}, "not finite"),
        ({"metric": lambda o, b: o.logits.sum((1, 2))}, "answers= and position= belong to named metrics"),
    ],
)
def test_what_does_not_fit_is_said(change, message):
    model = made("llama", "causal")
    options = {"clean": CLEAN, "corrupted": CORRUPTED, "answers": ("sat", "ran"), **change}
    with pytest.raises(InputError, match=message):
        patch(model, options.pop("clean"), options.pop("corrupted"), **options)


def test_models_that_cannot_be_asked_are_named():
    base = made("bert")
    with pytest.raises(UnsupportedError, match="a metric of your own"):
        patch(base, CLEAN, CORRUPTED)
    found = patch(base, CLEAN, CORRUPTED, metric=lambda o, b: o.last_hidden_state[:, 0, 0])
    assert np.abs(found.effects["exact"]).max() > 1e-3
    with pytest.raises(InputError, match=r"hw\.load"):
        patch(make("bert"), CLEAN, CORRUPTED)
    broken = make("llama", "causal")
    broken.model.layers[1].self_attn.v_proj.weight.data[0, 0] = float("nan")
    with pytest.raises(InputError, match="decoder layer 1 are not finite"):
        patch(hw.wrap(broken, tokenizer("llama")), CLEAN, CORRUPTED, answers=("sat", "ran"))
    broken = make("llama", "causal")
    broken.config.quantization_config = {"quant_method": "gptq"}
    quantised = hw.wrap(broken, tokenizer("llama"))
    with pytest.raises(UnsupportedError, match=r"quantised.*method='exact'"):
        patch(quantised, CLEAN, CORRUPTED, answers=("sat", "ran"))
    assert patch(quantised, CLEAN, CORRUPTED, answers=("sat", "ran"), method="exact").n == 3


def test_it_patches_inside_another_intervention():
    model = made("bert", "sequence")
    closed = [hw.Head("encoder", 0, 1)]
    with model.gated(closed):
        found = patch(model, CLEAN, CORRUPTED, answers=(2, 0))
    column = found.heads.index(closed[0])
    np.testing.assert_allclose(found.effects["exact"][:, column], 0, atol=1e-6)
    np.testing.assert_allclose(found.effects["gradient"][:, column], 0, atol=1e-6)
    assert np.abs(found.effects["exact"]).max() > 1e-3


def test_when_memory_runs_out_it_goes_on_with_half_and_says_so():
    model = made("gpt2", "causal")

    def metric(outputs, batch):
        if len(batch) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return outputs.logits[:, 0].square().sum(-1)

    expected = patch(model, CLEAN, CORRUPTED, metric=lambda outputs, _: outputs.logits[:, 0].square().sum(-1))
    found = patch(model, CLEAN, CORRUPTED, metric=metric)
    np.testing.assert_allclose(found.effects["exact"], expected.effects["exact"], atol=1e-4)
    assert any("3 patched heads at a time" in note for note in found.notes)
