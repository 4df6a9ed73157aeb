"""Relevance of heads on whole models: against plain autograd, by its books, and under other batchings."""

import threading

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from headwidgets import Head, load
from headwidgets.attribution import importance, propagate_relevance
from headwidgets.attribution.integration.passes import held
from headwidgets.attribution.relevance import measuring
from headwidgets.attribution.relevance.ledger import Ledger
from headwidgets.attribution.relevance.propagate import propagate, traced
from headwidgets.attribution.relevance.rules import Rule
from headwidgets.attribution.targets import Goal, reader, task_of
from headwidgets.errors import Cancelled, InputError, UnsupportedError
from headwidgets.models.interventions import Cut
from headwidgets.models.visit import frozen
from tests.models.tiny import CONFIGS, DECODERS, SEQ2SEQ, made

TEXTS = ["the cat sat on the mat", "she said that the very old house was big and he hated it", "a dog"]
PAIRS = [("the cat sat on the mat", "a dog ran"), ("the old house was big", "he hated it"), ("a dog", "a")]
CASES = [("bert", "sequence"), ("gpt2", "causal"), ("llama", "causal"), ("t5", "seq2seq"), ("bart", "seq2seq"),
         ("marian", "seq2seq")]  # fmt: skip
RULES = ("ratio", "plus-minus", "attnlrp")


def texts_of(family):
    return PAIRS if family in SEQ2SEQ else TEXTS


# ---- an independent version: gradients of a model whose non-linearities are held --------------------------------


def half(t):
    return 0.5 * t + 0.5 * t.detach()


class Held(TorchFunctionMode):
    """Plain autograd through this is relevance divided by the input (Achtibat et al. 2024, appendix on gradients)."""

    def __init__(self, full):
        super().__init__()
        self.full = full

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func.__name__
        if name in ("gelu", "relu", "silu", "tanh"):
            x = args[0]
            with torch.no_grad():
                factor = torch.where(x == 0, torch.zeros_like(x), func(*args, **kwargs) / x)
            return x * factor
        if name == "layer_norm":
            x, (weight, bias, eps) = args[0], _norm_of(*args[2:], **kwargs)
            middle = x - x.mean(-1, keepdim=True)
            return middle / (x.var(-1, unbiased=False, keepdim=True) + eps).sqrt().detach() * weight + bias
        if name == "rsqrt":
            return func(*args, **kwargs).detach()
        if name == "mul" and all(isinstance(a, torch.Tensor) and a.requires_grad for a in args):
            return half(args[0]) * half(args[1])
        if name == "scaled_dot_product_attention":
            return self.attend(*args, **kwargs)
        return func(*args, **kwargs)

    def attend(self, q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
        k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
        scores = half(q) @ half(k).transpose(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
        if is_causal:
            scores = scores + torch.full(scores.shape[-2:], float("-inf")).triu(1)
        if attn_mask is not None:
            scores = scores.masked_fill(~attn_mask, -1e30) if attn_mask.dtype == torch.bool else scores + attn_mask
        weights = scores.softmax(-1)
        return half(weights) @ half(v) if self.full else weights.detach() @ v


def _norm_of(weight, bias, eps):
    return weight, bias, eps


def by_gradient(model, text, full, target=-1, number=0):
    """Shares of heads [layers, heads] by kind, of one text's one target: output times held gradient."""
    batch = next(model.batches(model.encode([text])))
    outputs = {}

    def keep(site, own):
        outputs[site] = own
        return own

    tables = {m for m in model.model.modules() if isinstance(m, torch.nn.Embedding) and m.embedding_dim > 4}
    hooks = [m.register_forward_hook(lambda _, __, out: out.requires_grad_()) for m in tables]
    activations = [m for m in model.model.modules() if type(m).__name__ == "NewGELUActivation"]  # of many operations
    hooks += [m.register_forward_hook(lambda _, x, out: x[0] * (out / x[0]).detach()) for m in activations]
    with frozen(model.model), model.visit(outputs={s: lambda own, s=s: keep(s, own) for s in model.sites}), Held(full):
        logits = model.forward(batch).logits[0]
    for hook in hooks:
        hook.remove()
    logits = logits[None] if logits.dim() == 1 else logits
    row = logits[number if model.is_encoder_decoder else -1]
    sites = list(outputs)
    slopes = torch.autograd.grad(row[row.argmax() if target < 0 else target], [outputs[s] for s in sites])
    found = {kind: np.full(model.shape(kind), np.nan) for kind in model.kinds}
    for site, slope in zip(sites, slopes, strict=True):
        own = (outputs[site] * slope).detach().sum((0, 1, 3)).double().numpy()
        found[site.kind][site.layer, : site.n_heads] = own / np.abs(own).sum() * np.sign(row.max().item())
    return found


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize(("family", "head"), CASES)
def test_plain_rules_are_output_times_a_held_gradient(family, head, full):
    model = made(family, head)
    text = texts_of(family)[0]
    result = propagate_relevance(model, text, rule="attnlrp", attention="full" if full else "constant", eps=1e-9)
    each = [by_gradient(model, text, full, number=i) for i in range(result.targets)]
    for kind, values in result.scores.values.items():
        wanted = np.mean([one[kind] for one in each], 0)
        np.testing.assert_allclose(values, wanted, rtol=0.02, atol=2e-3)
    if family != "llama":  # no products of two: there the paper's rule and AttnLRP's are one
        ratio = propagate_relevance(model, text, attention="full" if full else "constant", eps=1e-9).scores
        for kind, values in ratio.values.items():
            np.testing.assert_allclose(values, result.scores.values[kind], atol=1e-6)


# ---- books -------------------------------------------------------------------------------------------------


def books(model, texts, rule):
    """The ledger of each backward pass over a batch, with what it was asked."""
    batch = next(model.batches(model.encode(texts)))
    task = task_of(model)
    goals = []
    for example in batch.examples:
        places = list(range(len(example.target))) if example.target else [len(example.source) - 1]
        goals.append(Goal([] if task == "classes" else places, [-1] * (1 if task == "classes" else len(places)), None))
    ledger = Ledger(len(batch))
    with held(model):
        for _, valid in propagate(model, batch, reader(model, task, "logit", goals), goals, rule, ledger):
            yield ledger, valid


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize(("family", "head"), CASES)
def test_what_leaves_a_block_is_what_arrived_less_what_its_steps_lost(family, head, name):
    """Two counts of one thing: probes around blocks against the sum of the steps' losses."""
    rule = Rule(name, 1e-5, name != "ratio", True, False)
    model = made(family, head)
    for ledger, valid in books(model, texts_of(family), rule):
        assert len(ledger.size) == sum(model.shape(k)[0] for k in model.kinds if k != "cross")
        for place, arrived in ledger.arriving.items():
            scale = np.maximum(ledger.size[place], np.abs(ledger.leak(place)))
            difference = arrived - ledger.leaving[place] - ledger.leak(place)
            assert (np.abs(difference) <= 1e-3 * scale + 1e-9).all()
            assert (ledger.size[place][~valid] == 0).all()


@pytest.mark.parametrize(("family", "head"), CASES)
def test_the_z_rule_is_never_negative_and_rescaling_keeps_the_sum(family, head):
    model = made(family, head)
    result = propagate_relevance(model, texts_of(family), rule="plus-minus")
    for kind, values in result.scores.values.items():
        assert (values > 0).all()
        np.testing.assert_allclose(values.sum(1), 1, rtol=1e-6)
        assert kind == "cross" or (result.leak[kind].mean > 0.1).all()  # half is lost wherever products have one sign
    last = result.leak["decoder" if "decoder" in model.kinds else "encoder"]
    alone = last.arriving[-1:] if "cross" in model.kinds else last.arriving  # else some goes to the encoder
    np.testing.assert_allclose(alone, 1, rtol=1e-3)
    np.testing.assert_allclose(last.size, last.arriving, rtol=1e-6)
    if family != "bert":
        return
    absolute = propagate_relevance(model, texts_of(family), rule="plus-minus", sign="absolute").scores
    for kind, values in absolute.values.items():
        np.testing.assert_allclose(values, result.scores.values[kind], rtol=1e-6)


def test_without_biases_the_paper_s_rule_loses_nothing():
    leak = propagate_relevance(made("t5", "seq2seq"), PAIRS).leak
    for stack in ("encoder", "decoder"):
        assert np.abs([leak[stack].low, leak[stack].high]).max() < 1e-3
    assert leak["decoder"].arriving[-1] == pytest.approx(1, abs=1e-3)
    passed = leak["decoder"].leaving.sum() - leak["decoder"].arriving[:-1].sum()  # to the first block and the encoder
    assert passed == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(
    "options", [{"rule": "ratio"}, {"rule": "attnlrp"}, {"rule": "plus-minus", "bias": "absorbed"}]
)
def test_a_head_that_says_nothing_has_no_relevance(options):
    model = made("bert", "sequence")
    with torch.no_grad():
        value = model.model.bert.encoder.layer[1].attention.self.value
        value.weight[4:8] = 0
        value.bias[4:8] = 0
    scores = propagate_relevance(model, TEXTS, **options).scores.values["encoder"]
    assert scores[1, 1] == 0
    assert (np.abs(scores[1, [0, 2, 3]]) > 1e-3).all()


def test_a_pruned_head_has_no_relevance():
    model = made("bert", "sequence")
    with model.gated(pruned=[Head("encoder", 1, 2)]):
        values = propagate_relevance(model, TEXTS).scores.values["encoder"]
    assert values[1, 2] == 0
    np.testing.assert_allclose(np.abs(propagate_relevance(model, TEXTS[0]).scores.values["encoder"]).sum(1), 1)


@pytest.mark.parametrize("attention", ["constant", "full"])
def test_cut_edges_are_cut_for_relevance_too(attention):
    model = made("gpt2", "causal")
    options = {"attention": attention, "eps": 1e-9}
    whole = propagate_relevance(model, TEXTS[0], **options).scores.values["decoder"]
    with model.intervene(Cut([(5, j) for j in range(6)], heads=[Head("decoder", 1, 3)])):  # all that the last one reads
        cut = propagate_relevance(model, TEXTS[0], **options).scores.values["decoder"]
    with model.intervene(Cut([])):
        same = propagate_relevance(model, TEXTS[0], **options).scores.values["decoder"]
    np.testing.assert_allclose(same, whole, rtol=1e-3, atol=1e-4)
    assert cut[1, 3] == 0
    assert abs(whole[1, 3]) > 0.01


def test_memory_that_runs_out_is_halved(monkeypatch):
    model = made("bert", "sequence")
    wanted = propagate_relevance(model, TEXTS).scores.values["encoder"]

    def short(own, batch, *args):
        if len(batch) > 1:
            raise torch.OutOfMemoryError("out of memory")
        return propagate(own, batch, *args)

    monkeypatch.setattr(measuring, "propagate", short)
    result = propagate_relevance(model, TEXTS)
    np.testing.assert_allclose(result.scores.values["encoder"], wanted, rtol=1e-4, atol=1e-5)
    assert "1 texts at a time" in result.notes[0]


def test_relevance_that_grows_without_bound_is_said(monkeypatch):
    """Gated layers under the paper's rule for products; AttnLRP's halves do not mind."""
    config = CONFIGS["llama"]()
    config.num_hidden_layers = 12
    model = made("llama", "causal", config=config)
    monkeypatch.setattr(measuring, "_LARGE", 20)
    with pytest.warns(UserWarning, match="sum of absolute relevance grew"):
        result = propagate_relevance(model, TEXTS[0])
    assert "decoder layer 0" in result.notes[0]
    assert result.notes[0] in result.report()
    assert result.scores.provenance["settings"]["largest_size_decoder"] > 20
    halves = propagate_relevance(model, TEXTS[0], rule="attnlrp")
    assert not halves.notes
    assert (halves.leak["decoder"].size < 3).all()


# ---- batches, padding, restoring -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["plus-minus", "attnlrp"])
@pytest.mark.parametrize(("family", "head"), [*CASES[:-1], ("deberta-v2", "sequence"), ("falcon", "causal")])
def test_batches_and_padding_change_nothing(family, head, name):
    model = made(family, head)
    options = {"rule": name, "attention": "constant" if family == "deberta-v2" else None}
    together = propagate_relevance(model, texts_of(family), **options)
    alone = [propagate_relevance(model, text, **options) for text in texts_of(family)]
    weights = [one.targets for one in alone]
    assert together.targets == sum(weights)
    for kind, values in together.scores.values.items():
        mean = np.average([one.scores.values[kind] for one in alone], 0, weights)
        np.testing.assert_allclose(values, mean, rtol=1e-3, atol=1e-4)
    for stack, leak in together.leak.items():
        assert np.isfinite(leak.mean).all()
        np.testing.assert_allclose(leak.mean, np.average([one.leak[stack].mean for one in alone], 0, weights),
                                   rtol=2e-2, atol=2e-3)  # fmt: skip


@pytest.mark.parametrize(("family", "head"), [*CASES, ("albert", "sequence"), ("gemma2", "causal")])
def test_the_traced_model_says_the_same_and_is_left_as_it_was(family, head):
    model = made(family, head)
    before = {name: value.clone() for name, value in model.model.state_dict().items()}
    kept = {name: (set(m.__dict__), m.training) for name, m in model.model.named_modules()}
    learning = [p.requires_grad for p in model.model.parameters()]
    batch = next(model.batches(model.encode(texts_of(family))))
    with torch.no_grad(), model.visit():
        bare = model.forward(batch).logits
    for _ in range(2):
        with held(model), traced(model, Rule("attnlrp", 1e-6, True, True, False), Ledger(len(batch)), batch) as starts:
            logits = model.forward(batch).logits
        torch.testing.assert_close(logits.detach(), bare, rtol=1e-4, atol=1e-4)
        assert len(starts) == (2 if head == "seq2seq" else 1)
    fails = model.sites[-1].projection.register_forward_hook(lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        propagate_relevance(model, texts_of(family))
    fails.remove()
    _unchanged(model, before, kept, learning)
    with torch.no_grad(), model.visit():
        assert torch.equal(model.forward(batch).logits, bare)


def _unchanged(model, before, kept, learning):
    for name, value in model.model.state_dict().items():
        assert torch.equal(value, before[name])
    assert {name: (set(m.__dict__), m.training) for name, m in model.model.named_modules()} == kept
    assert [p.requires_grad for p in model.model.parameters()] == learning
    assert model.model.config._attn_implementation in ("sdpa", "eager")


def test_another_thread_sees_the_bare_model():
    model = made("bert", "sequence")
    batch = next(model.batches(model.encode(TEXTS)))
    with torch.no_grad():
        bare = model.model(**batch.inputs).logits
    seen = []

    def other():
        with torch.no_grad():
            seen.append(model.model(**batch.inputs).logits)

    ledger = Ledger(len(batch))
    with held(model), traced(model, Rule("ratio", 1e-5, False, True, False), ledger, batch):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert torch.equal(seen[0], bare)
    assert not ledger.heads


# ---- what is seeded ------------------------------------------------------------------------------------------


def test_positions_are_targets_of_their_own():
    model = made("gpt2", "causal")
    text = TEXTS[0]
    everywhere = propagate_relevance(model, text, positions="all")
    each = [propagate_relevance(model, text, positions=[p]).scores.values["decoder"] for p in range(6)]
    assert everywhere.targets == 6
    np.testing.assert_allclose(everywhere.scores.values["decoder"], np.mean(each, 0), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(propagate_relevance(model, text).scores.values["decoder"], each[-1])
    start = each[0]  # one position: what follows cannot matter
    np.testing.assert_allclose(propagate_relevance(model, "the dog", positions=[0]).scores.values["decoder"], start,
                               rtol=1e-4, atol=1e-5)  # fmt: skip


def test_the_right_answer_may_be_seeded():
    model = made("bert", "sequence")
    with torch.no_grad(), model.visit():
        logits = model.forward(next(model.batches(model.encode([TEXTS[0]])))).logits[0]
    best, worst = int(logits.argmax()), int(logits.argmin())
    predicted = propagate_relevance(model, TEXTS[:1]).scores.values["encoder"]
    for label, same in ((best, True), (worst, False)):
        gold = propagate_relevance(model, TEXTS[:1], [label], target="gold").scores.values["encoder"]
        assert np.allclose(gold, predicted) == same


def test_words_masks_numbers_and_references():
    words = made("bert", "token")
    assert propagate_relevance(words, TEXTS[0]).targets == 6
    labels = [[0, 2, 1, 2, 0, 1]]
    assert propagate_relevance(words, [TEXTS[0].split()], labels, target="gold").targets == 6
    assert propagate_relevance(made("bert", "masked"), "the [MASK] sat on the [MASK]").targets == 2
    translation = made("bart", "seq2seq")
    given = propagate_relevance(translation, [p[0] for p in PAIRS], [p[1] for p in PAIRS], target="gold")
    paired = propagate_relevance(translation, PAIRS, target="gold")
    np.testing.assert_array_equal(given.scores.values["cross"], paired.scores.values["cross"])
    free = propagate_relevance(translation, PAIRS)
    assert np.abs(free.scores.values["cross"] - paired.scores.values["cross"]).max() > 1e-3


# ---- the front -------------------------------------------------------------------------------------------------


def test_importance_by_relevance_streams_and_says_how_it_was_made():
    model = made("bert", "sequence")
    texts = [f"the {a} {b} sat" for a in ("big", "old", "new", "red", "small") for b in ("dog", "cat", "bird", "tree")]
    partial, progress = [], []
    scores = importance(model, texts, method="relevance", rule="attnlrp", sign="absolute", on_partial=partial.append,
                        on_progress=lambda done, total: progress.append((done, total)))  # fmt: skip
    settings = scores.provenance["settings"]
    result = propagate_relevance(model, texts, rule="attnlrp", sign="absolute")
    np.testing.assert_array_equal(scores.values["encoder"], result.scores.values["encoder"])
    assert settings["rule"] == "attnlrp"
    assert settings["attention"] == "full"
    assert settings["largest_leak_encoder"] == pytest.approx(result.leak["encoder"].largest, abs=1e-6)
    assert partial[0].n == 16
    assert progress[-1] == (20, 20)
    assert scores.n == 20
    each = [propagate_relevance(model, t, rule="attnlrp", sign="absolute").scores.values["encoder"] for t in texts]
    np.testing.assert_allclose(scores.stderr["encoder"], np.std(each, 0, ddof=1) / 20**0.5, rtol=0.01, atol=1e-5)
    report = result.report()
    assert "attnlrp" in report
    assert "encoder 1: " in report
    frame = result.to_frame()
    assert list(frame["stack"]) == ["encoder"] * 2
    np.testing.assert_array_equal(frame["softmax"], result.leak["encoder"].causes["softmax"])
    with pytest.raises(Cancelled):
        importance(model, texts, method="relevance", cancel=lambda: True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"rule": "epsilon"}, "ratio, plus-minus, attnlrp"),
        ({"sign": "both"}, "signed, absolute"),
        ({"target": 1}, "predicted, gold"),
        ({"eps": 0}, "eps as a number above 0"),
        ({"positions": [1]}, "language models"),
        ({"attention": "half"}, "constant, full"),
    ],
)
def test_options_are_checked(options, said):
    with pytest.raises(InputError, match=said):
        propagate_relevance(made("bert", "sequence"), TEXTS, **options)


OTHERS = ["modernbert", "mpnet", "electra", "gemma2", "bloom", "mpt", "gpt_neox", "gptj", "opt", "qwen3", "lfm2",
          "gpt_oss", "pegasus", "mt5"]  # fmt: skip


@pytest.mark.parametrize("family", OTHERS)
def test_families_need_no_table(family):
    """Also those that compute their own softmax, write over tensors, rotate, gate, convolve or have no biases."""
    head = "seq2seq" if family in SEQ2SEQ else "causal" if family in DECODERS else "sequence"
    model = made(family, head)
    result = propagate_relevance(model, texts_of(family), rule="attnlrp")
    for values in result.scores.values.values():
        measured = values[~np.isnan(values).any(1)]
        assert (np.abs(measured).sum(1) <= 1 + 1e-6).all()
        assert (np.abs(measured).sum(1) > 0.1).all()
    assert set(result.plain) == ({"grouped_mm"} if family == "gpt_oss" else set())


def test_what_cannot_be_followed_is_said():
    with pytest.raises(UnsupportedError, match="attention='constant'"):
        propagate_relevance(made("bloom", "causal"), TEXTS, rule="plus-minus")
    with pytest.raises(UnsupportedError, match="sliding band"):
        propagate_relevance(made("longformer", "sequence"), TEXTS)
    broken = made("bert", "sequence")
    with torch.no_grad():
        broken.model.classifier.bias.fill_(float("nan"))
    with pytest.raises(InputError, match="not finite"):
        propagate_relevance(broken, TEXTS)
    with pytest.raises(InputError, match="position 1"):
        propagate_relevance(made("gpt2", "causal"), "a dog", positions=[1], target="gold")


def test_half_precision_is_traced_in_a_copy():
    model = made("bert", "sequence")
    full = propagate_relevance(model, TEXTS).scores.values["encoder"]
    model.model.bfloat16()
    result = propagate_relevance(model, TEXTS)
    assert "float32 copy" in result.notes[0]
    assert np.abs(result.scores.values["encoder"] - full).max() < 0.05
    assert next(model.model.parameters()).dtype == torch.bfloat16


@pytest.mark.data
def test_real_weights_leak_little_and_add_up(data_folder):
    model = load(str(data_folder / "models" / "sst2"))
    lines = (data_folder / "data" / "sst2" / "stsa.binary.dev").read_text("utf-8").splitlines()
    texts = [line.split(" ", 1)[1] for line in lines[:8]]
    most = {"ratio": 0.3, "attnlrp": 1.0, "plus-minus": 0.9}
    for name in RULES:
        result = propagate_relevance(model, texts, rule=name)
        leak = result.leak["encoder"]
        assert np.isfinite(leak.mean).all()
        assert leak.largest < most[name]
        np.testing.assert_allclose(leak.mean, sum(leak.causes.values()), atol=1e-9)
        values = result.scores.values["encoder"]
        assert (np.abs(values).sum(1) <= 1 + 1e-6).all()
        if name == "plus-minus":
            np.testing.assert_allclose(values.sum(1), 1, rtol=1e-6)
            np.testing.assert_allclose(leak.arriving, 1, rtol=1e-2)
    single = by_gradient(model, texts[0], full=False)["encoder"]
    own = propagate_relevance(model, texts[0], eps=1e-9).scores.values["encoder"]
    np.testing.assert_allclose(own, single, rtol=0.02, atol=2e-3)
    assert F.cosine_similarity(torch.tensor(own).flatten(), torch.tensor(single).flatten(), 0) > 0.999
