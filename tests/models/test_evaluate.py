"""Evaluation against numbers computed by hand, the anytime evaluator, and bad input."""

import json
import signal
import threading
import time
import warnings

import numpy as np
import pytest
import torch

import headwidgets as hw
from headwidgets import Cancelled, Head, InputError, MemoryLimitError, jobs
from headwidgets.models import evaluate as module
from headwidgets.models.evaluate import Evaluator, evaluate
from tests.models.tiny import WORDS, made, make, tokenizer

HEADS = [
    Head("encoder", 1, 2),
    Head("encoder", 0, 1),
    Head("encoder", 0, 0),
    Head("encoder", 0, 2),
    Head("encoder", 1, 0),
]


def sentences(n, seed=0, longest=12):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, rng.integers(2, longest + 1))) for _ in range(n)]


TEXTS = sentences(150)
LABELS = np.random.default_rng(1).integers(0, 3, 150).tolist()


@pytest.fixture(scope="module")
def bert():
    """A classifier whose answers differ between texts: its mean answer is taken off its bias."""
    model = made("bert", "sequence")
    with torch.no_grad():
        model.model.classifier.bias -= torch.stack(one_by_one(model, TEXTS)).mean(0)
    return model


def one_by_one(model, texts, pruned=()):
    """Logits of each text alone, heads closed by hooks of our own."""
    handles = []
    for head in pruned:
        site = model.site(head.kind, head.layer)

        def hook(_, args, site=site, index=head.index):
            heads = args[0].view(*args[0].shape[:2], site.n_heads, site.head_dim).clone()
            heads[:, :, index] = 0
            return (heads.reshape(args[0].shape),)

        handles.append(site.projection.register_forward_pre_hook(hook))
    with torch.no_grad():
        found = [model.model(**model.tokenizer(t, return_tensors="pt")).logits[0] for t in texts]
    for handle in handles:
        handle.remove()
    return found


def test_accuracy_and_its_paired_change(bert):
    estimate = bert.evaluate(TEXTS, LABELS, pruned=HEADS)
    before = np.array([int(row.argmax()) for row in one_by_one(bert, TEXTS)]) == LABELS
    now = np.array([int(row.argmax()) for row in one_by_one(bert, TEXTS, HEADS)]) == LABELS
    assert estimate.value == pytest.approx(now.mean())
    assert estimate.change.value == pytest.approx(now.mean() - before.mean())
    assert 0.2 < now.mean() != before.mean()
    assert estimate.low < estimate.value < estimate.high
    assert estimate.change.low < estimate.change.value < estimate.change.high
    assert (estimate.n, estimate.total, estimate.exact) == (150, 150, True)
    assert estimate.partial_low == estimate.partial_high == estimate.value
    assert estimate.ablation == "zero"
    assert set(estimate.pruned) == set(HEADS)
    settings = estimate.provenance["settings"]
    assert (settings["metric"], settings["ablation"], settings["pruned"], settings["seed"]) == (
        "accuracy",
        "zero",
        5,
        0,
    )
    assert "accuracy 0." in str(estimate)


def test_the_full_model_has_no_change(bert):
    estimate = bert.evaluate(TEXTS[:20], LABELS[:20])
    assert estimate.change is None
    assert estimate.data()["change"] is None
    assert estimate.value == np.mean(
        [int(r.argmax()) == y for r, y in zip(one_by_one(bert, TEXTS[:20]), LABELS, strict=False)]
    )


def test_loss_is_the_mean_cross_entropy(bert):
    estimate = bert.evaluate(TEXTS, LABELS, metric="loss", pruned=HEADS)
    rows = torch.stack(one_by_one(bert, TEXTS, HEADS))
    losses = torch.nn.functional.cross_entropy(rows, torch.tensor(LABELS), reduction="none").numpy()
    assert estimate.value == pytest.approx(losses.mean(), rel=1e-5)
    half = 1.976 * losses.std(ddof=1) / np.sqrt(150)
    assert estimate.high - estimate.value == pytest.approx(half, rel=1e-3)


def test_a_metric_of_the_users_own(bert):
    def macro_recall(predictions, labels):
        return float(np.mean([(predictions[labels == c] == c).mean() for c in range(3)]))

    estimate = bert.evaluate(TEXTS, LABELS, metric=macro_recall, pruned=HEADS)
    found = np.array([int(row.argmax()) for row in one_by_one(bert, TEXTS, HEADS)])
    before = np.array([int(row.argmax()) for row in one_by_one(bert, TEXTS)])
    labels = np.array(LABELS)
    assert estimate.metric == "macro_recall"
    assert estimate.value == pytest.approx(macro_recall(found, labels))
    assert estimate.change.value == pytest.approx(macro_recall(found, labels) - macro_recall(before, labels))
    assert estimate.low < estimate.value < estimate.high
    partial = next(Evaluator(bert, TEXTS, LABELS, macro_recall).estimates(HEADS))
    assert partial.n == 32
    assert partial.partial_low < partial.value < partial.partial_high
    assert partial.partial_high - partial.partial_low < partial.high - partial.low

    def nothing(predictions, labels):
        return float("nan")

    with pytest.raises(InputError, match="nothing is not a number"):
        bert.evaluate(TEXTS[:5], LABELS[:5], metric=nothing)


def test_one_text_has_a_loss_but_no_interval(bert):
    estimate = bert.evaluate(TEXTS[:1], LABELS[:1], metric="loss", pruned=HEADS)
    assert np.isnan(estimate.low)
    assert json.loads(json.dumps(estimate.data(), allow_nan=False))["low"] == estimate.value


def test_names_of_classes(bert):
    named = [f"LABEL_{label}" for label in LABELS[:30]]
    assert bert.evaluate(TEXTS[:30], named).value == bert.evaluate(TEXTS[:30], LABELS[:30]).value


def test_labels_per_word():
    model = made("bert", "token")
    texts = [text.split() for text in sentences(20)]
    labels = [np.random.default_rng(i).integers(0, 3, len(words)).tolist() for i, words in enumerate(texts)]
    estimate = model.evaluate(texts, labels, pruned=HEADS)
    rows = one_by_one(model, [" ".join(words) for words in texts], HEADS)
    right = [int((row[1:-1].argmax(-1).numpy() == own).sum()) for row, own in zip(rows, labels, strict=True)]
    assert estimate.value == pytest.approx(sum(right) / sum(map(len, labels)))
    assert estimate.n == 20


def test_next_tokens():
    model = made("gpt2", "causal")
    heads = [Head("decoder", 0, 0), Head("decoder", 1, 3)]
    texts = sentences(25)
    rows = one_by_one(model, texts, heads)
    total, right, count = 0.0, 0, 0
    for text, row in zip(texts, rows, strict=True):
        ids = model.tokenizer(text, return_tensors="pt")["input_ids"][0]
        total += float(torch.nn.functional.cross_entropy(row[:-1], ids[1:], reduction="sum"))
        right += int((row[:-1].argmax(-1) == ids[1:]).sum())
        count += len(ids) - 1
    assert model.evaluate(texts, metric="loss", pruned=heads).value == pytest.approx(total / count, rel=1e-5)
    assert model.evaluate(texts, pruned=heads).value == pytest.approx(right / count)
    with pytest.raises(InputError, match="leave labels out"):
        model.evaluate(texts, [0] * 25)
    with pytest.raises(InputError, match="at least two tokens"):
        model.evaluate(["cat"], metric="loss")


def test_masked_tokens_are_drawn_with_the_seed():
    model = made("bert", "masked")
    found = [model.evaluate(TEXTS[:40], metric="loss", seed=seed).value for seed in (0, 0, 1)]
    assert found[0] == found[1] != found[2]
    evaluator = Evaluator(model, TEXTS[:1], metric="loss")
    example, labels = evaluator.questions.examples[0], evaluator.questions.labels[0]
    asked = labels != -100
    assert 1 <= asked.sum() <= len(TEXTS[0].split())
    ids = torch.tensor(example.source.ids)[None]
    assert (ids[0][asked] == model.tokenizer.mask_token_id).all()
    with torch.no_grad():
        loss = torch.nn.functional.cross_entropy(model.model(input_ids=ids).logits[0], torch.tensor(labels))
    assert model.evaluate(TEXTS[:1], metric="loss").value == pytest.approx(float(loss), rel=1e-5)


@pytest.mark.parametrize("family", ["marian", "t5"])
def test_references_of_a_translation(family):
    model = made(family, "seq2seq")
    sources, references = sentences(10), sentences(10, seed=5)
    total, count = 0.0, 0
    with torch.no_grad():
        for source, reference in zip(sources, references, strict=True):
            labels = model.tokenizer(text_target=reference, return_tensors="pt")["input_ids"]
            out = model.model(**model.tokenizer(source, return_tensors="pt"), labels=labels)
            total += float(out.loss) * labels.shape[1]
            count += labels.shape[1]
    assert model.evaluate(sources, references, metric="loss").value == pytest.approx(total / count, rel=1e-4)
    pairs = list(zip(sources, references, strict=True))
    assert model.evaluate(pairs, metric="loss").value == pytest.approx(total / count, rel=1e-4)
    with pytest.raises(InputError, match="has no target"):
        model.evaluate(sources)
    with pytest.raises(InputError, match="brings its own target"):
        model.evaluate(pairs, references)


def test_regression():
    model = made("bert", "sequence", num_labels=1)
    targets = np.linspace(-1, 1, 30)
    found = np.array([float(row[0]) for row in one_by_one(model, TEXTS[:30])])
    assert model.evaluate(TEXTS[:30], targets, metric="loss").value == pytest.approx(
        np.mean((found - targets) ** 2), rel=1e-5
    )
    with pytest.raises(InputError, match="accuracy needs classes"):
        model.evaluate(TEXTS[:30], targets)

    def correlation(predictions, labels):
        return float(np.corrcoef(predictions, labels)[0, 1])

    assert model.evaluate(TEXTS[:30], targets, metric=correlation).value == pytest.approx(
        np.corrcoef(found, targets)[0, 1]
    )


def test_several_classes_are_right_together():
    model = made("bert", "sequence", problem_type="multi_label_classification")
    labels = [[0], [1, 2], [], [0, 1, 2]]
    right = np.zeros((4, 3))
    for i, own in enumerate(labels):
        right[i, own] = 1
    rows = torch.stack(one_by_one(model, TEXTS[:4]))
    expected = ((rows > 0).numpy() == right).all(1).mean()
    assert model.evaluate(TEXTS[:4], labels).value == expected
    loss = torch.nn.functional.binary_cross_entropy_with_logits(rows, torch.tensor(right))
    assert model.evaluate(TEXTS[:4], labels, metric="loss").value == pytest.approx(float(loss), rel=1e-5)


@pytest.mark.parametrize("family", ["gpt2", "llama", "bart"])
def test_a_classifier_on_a_decoder(family):
    """Without a padding token in the configuration, batches still read the last token of each text."""
    model = made(family, "sequence")
    model.model.config.pad_token_id = model.model.config.pad_token_id if family == "bart" else None
    texts = [f"{text} </s>" if family == "bart" else text for text in TEXTS[:12]]
    texts = TEXTS[:12] if family == "bart" else texts
    expected = np.mean([int(r.argmax()) == y for r, y in zip(one_by_one(model, texts), LABELS, strict=False)])
    before = model.model.config.pad_token_id
    assert model.evaluate(texts, LABELS[:12]).value == pytest.approx(expected)
    assert model.model.config.pad_token_id == before


def test_a_dataset_in_place_of_texts(bert):
    datasets = pytest.importorskip("datasets")

    data = datasets.Dataset.from_dict({"text": TEXTS[:20], "label": LABELS[:20]})
    assert bert.evaluate(data).value == bert.evaluate(TEXTS[:20], LABELS[:20]).value


# ---- anytime


def test_estimates_narrow_until_exact(bert):
    evaluator = Evaluator(bert, TEXTS, LABELS)
    found = list(evaluator.estimates(HEADS))
    assert [e.n for e in found] == [32, 64, 128, 150]
    assert [e.exact for e in found] == [False, False, False, True]
    widths = [e.partial_high - e.partial_low for e in found]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] == 0
    assert found[-1] == evaluate(bert, TEXTS, LABELS, pruned=HEADS)
    for estimate in found:
        assert estimate.partial_low <= found[-1].value <= estimate.partial_high


def test_a_chunk_is_a_random_sample_not_the_shortest(bert):
    evaluator = Evaluator(bert, sorted(TEXTS, key=len), LABELS)
    lengths = np.array([len(e) for e in evaluator.questions.examples])
    assert abs(lengths[evaluator._order[:32]].mean() - lengths.mean()) < 2
    assert Evaluator(bert, TEXTS, LABELS, seed=1)._order != evaluator._order


def test_what_was_computed_is_remembered(bert, monkeypatch):
    evaluator = Evaluator(bert, TEXTS, LABELS)
    asked = []
    ask = evaluator._ask
    monkeypatch.setattr(evaluator, "_ask", lambda c, b: asked.append((c, len(b))) or ask(c, b))
    assert evaluator.known(HEADS) is None
    last = evaluator.exact(HEADS)
    assert sum(n for _, n in asked) == 300
    asked.clear()
    assert list(evaluator.estimates(HEADS)) == [last]
    assert list(evaluator.estimates(HEADS[::-1])) == [last]
    assert evaluator.known(HEADS) == last
    assert evaluator.known().n == 150
    assert evaluator.exact((), "mean").change is None
    assert not asked
    evaluator.exact(HEADS[:1])
    assert sum(n for _, n in asked) == 150


def test_a_cancelled_question_goes_on_where_it_stopped(bert, monkeypatch):
    evaluator = Evaluator(bert, TEXTS, LABELS)
    batches = []
    ask = evaluator._ask
    monkeypatch.setattr(evaluator, "_ask", lambda c, b: batches.append((c, tuple(b.index))) or ask(c, b))
    evaluator._pace.most = evaluator._pace.tokens = 40
    stopped = list(evaluator.estimates(HEADS, cancel=lambda: len(batches) >= 20))
    assert len(batches) == 20
    assert stopped
    assert not stopped[-1].exact
    rest = list(evaluator.estimates(HEADS))
    assert rest[0] == stopped[-1]
    assert rest[-1] == evaluate(bert, TEXTS, LABELS, pruned=HEADS)
    rows = [(c, i) for c, index in batches for i in index]
    assert len(rows) == len(set(rows)) == 300


def test_cancelling_before_the_first_batch_computes_nothing(bert):
    evaluator = Evaluator(bert, TEXTS, LABELS)
    assert list(evaluator.estimates(HEADS, cancel=lambda: True)) == []
    with pytest.raises(Cancelled):
        evaluator.exact(HEADS, "mean", cancel=lambda: True)
    with pytest.raises(Cancelled, match="evaluation was cancelled"):
        bert.evaluate(TEXTS, LABELS, cancel=lambda: True)


def test_progress_and_partial_results_reach_a_job(bert):
    seen = []
    job = jobs.start(evaluate, bert, TEXTS, LABELS, pruned=HEADS)
    job.on_change(lambda j: seen.append((j.progress, j.partial)))
    assert job.result(60).exact
    assert job.progress == (300, 300)
    assert job.partial == job.result()
    assert jobs.start(bert.evaluate, TEXTS, LABELS, pruned=HEADS).result(60) == job.result()


def test_batches_adapt_to_the_time_they_take(bert):
    pace = module.Pace(bert, 10_000)
    pace.tokens, pace._least = 100, 50
    pace.learn(100, 0.2)
    assert pace.tokens == 50  # what would take 50 ms is 25, but never less than half of the usual
    pace.learn(50, 0.001)
    assert pace.tokens == 100
    for _ in range(20):
        pace.learn(pace.tokens, 1e-4)
    assert pace.tokens == 10_000
    pace.halve()
    assert pace.tokens == pace.most == 5_000


@pytest.mark.parametrize("ablation", ["mean", "resample"])
def test_other_ablations_equal_the_same_intervention(bert, ablation):
    """Rows of `gated` are counted from 0, those of an evaluator are its texts: the same donors are drawn."""
    reference = sentences(6, seed=9)
    options = {"ablation": ablation, "reference": reference, "seed": 4}
    estimate = bert.evaluate(TEXTS[:40], LABELS[:40], metric="loss", pruned=HEADS, **options)
    batch = next(bert.batches(bert.encode(TEXTS[:40]), sort=False))
    with torch.no_grad(), bert.gated(HEADS, **options):
        loss = torch.nn.functional.cross_entropy(bert.forward(batch).logits, torch.tensor(LABELS[:40]))
    assert estimate.value == pytest.approx(float(loss), rel=1e-5)
    assert estimate.ablation == estimate.provenance["settings"]["ablation"] == ablation
    assert estimate.provenance["settings"]["reference"]
    zero = bert.evaluate(TEXTS[:40], LABELS[:40], metric="loss", pruned=HEADS)
    assert abs(zero.change.value - estimate.change.value) > 1e-3


def test_a_text_is_never_resampled_from_itself(bert):
    texts = sentences(3)
    evaluator = Evaluator(bert, texts, [0, 1, 2])
    for _ in evaluator.estimates(HEADS, "resample"):
        pass
    from headwidgets.models.recording import donor_of

    for place in range(3):
        own = evaluator._order.index(place)
        assert all(donor_of(place, 3, seed, own) != own for seed in range(50))
    assert {donor_of(0, 3, seed, 1) for seed in range(50)} == {0, 2}
    assert donor_of(0, 1, 0, 0) == 0


def test_all_three_ablations_on_one_evaluator(bert):
    evaluator = Evaluator(bert, TEXTS[:30], LABELS[:30], reference=sentences(5, seed=2))
    values = {a: evaluator.exact(HEADS, a) for a in ("mean", "zero", "resample")}
    assert {e.ablation for e in values.values()} == set(values)


# ---- two threads, bad input


def test_two_threads_on_one_model_keep_apart(bert):
    evaluator = Evaluator(bert, TEXTS, LABELS)
    expected = [evaluate(bert, TEXTS, LABELS, pruned=HEADS[:k]).value for k in (1, 3)]
    running = [jobs.start(evaluate, bert, TEXTS, LABELS, pruned=HEADS[:k]) for k in (1, 3)]
    both = [jobs.start(evaluator.exact, HEADS[:k]) for k in (1, 3)]
    assert [job.result(60).value for job in running] == expected
    assert [job.result(60).value for job in both] == expected


def test_others_get_the_models_lock_between_batches(bert):
    evaluator = Evaluator(bert, TEXTS * 20, LABELS * 20)
    evaluator._pace.most = evaluator._pace.tokens = 60
    job = jobs.start(evaluator.exact, HEADS)
    waits = []
    while not job.done and len(waits) < 5:
        begin = time.monotonic()
        with bert.lock:
            waits.append(time.monotonic() - begin)
        time.sleep(0.01)
    job.cancel()
    with pytest.raises(Cancelled):
        job.result(60)
    assert len(waits) == 5
    assert max(waits) < 2


def test_an_evaluation_inside_a_gated_block_does_not_wait_for_itself(bert):
    with bert.gated(HEADS):
        inside = bert.evaluate(TEXTS[:30], LABELS[:30])
    assert inside.value == bert.evaluate(TEXTS[:30], LABELS[:30], pruned=HEADS).value


def test_an_interrupt_ends_an_evaluation_in_good_order(bert, monkeypatch):
    """The interrupt comes in the middle of a batch, with hooks on; that batch is finished, and everything comes off."""
    inside = []
    ask = module.Questions.ask

    def interrupted(questions, batch):
        inside.append(sum(len(m._forward_pre_hooks) for m in bert.model.modules()))
        if len(inside) == 3:
            signal.raise_signal(signal.SIGINT)
        return ask(questions, batch)

    before = sum(len(m._forward_pre_hooks) for m in bert.model.modules())
    monkeypatch.setattr(module.Questions, "ask", interrupted)
    with pytest.raises(KeyboardInterrupt) as stopped:
        bert.evaluate(TEXTS, LABELS, pruned=HEADS)
    assert isinstance(stopped.value.__cause__, Cancelled)
    assert len(inside) == 3
    assert inside[-1] > before
    assert sum(len(m._forward_pre_hooks) for m in bert.model.modules()) == before
    assert not bert.lock._is_owned()


def test_training_mode_is_put_back_and_dropout_is_off(bert):
    bert.model.train()
    try:
        found = {bert.evaluate(TEXTS[:30], LABELS[:30], metric="loss").value for _ in range(2)}
        assert len(found) == 1
        assert bert.model.training
        assert bert.model.bert.encoder.layer[0].training
    finally:
        bert.model.eval()


@pytest.mark.parametrize(("call", "message"), [
    (lambda m: m.evaluate([], []), "at least one text"),
    (lambda m: m.evaluate(TEXTS[:3], [0, 1]), "3 in all, got 2"),
    (lambda m: m.evaluate(TEXTS[:2]), "got None"),
    (lambda m: m.evaluate(TEXTS[:2], [0, 7]), "label 1 is 7"),
    (lambda m: m.evaluate(TEXTS[:2], [0, "angry"]), "'angry'"),
    (lambda m: m.evaluate(["the cat", " "], [0, 0]), "text 1 is empty"),
    (lambda m: m.evaluate(["the cat", None], [0, 0]), "text 1"),
    (lambda m: m.evaluate(["the " * 100], [0]), "64 positions"),
    (lambda m: m.evaluate(TEXTS[:2], [0, 1], metric="f1"), "'accuracy', 'loss' or a function.*'f1'"),
    (lambda m: m.evaluate(TEXTS[:2], [0, 1], pruned=[Head("encoder", 0, 9)]), "no head 9"),
    (lambda m: m.evaluate(TEXTS[:2], [0, 1], pruned=[Head("decoder", 0, 0)]), "'decoder'"),
    (lambda m: m.evaluate(TEXTS[:2], [0, 1], pruned=HEADS, ablation="noise"), "zero, mean, resample"),
])  # fmt: skip
def test_what_does_not_fit_is_said(bert, call, message):
    with pytest.raises(InputError, match=message):
        call(bert)


def test_a_base_model_has_nothing_to_evaluate():
    with pytest.raises(InputError, match=r"BertModel has nothing on top.*task="):
        made("bert").evaluate(TEXTS[:2])


@pytest.mark.parametrize("head", ["sequence", "causal"])
def test_nan_weights_are_said_with_the_text(head):
    model = hw.wrap(make("gpt2", head), tokenizer("gpt2"))
    with torch.no_grad():
        model.model.get_input_embeddings().weight[model.tokenizer.convert_tokens_to_ids("cat")] = float("nan")
    labels = [0, 0, 0] if head == "sequence" else None
    # a language model shares its embeddings with its output, so every text of it is hit
    which = 1 if head == "sequence" else r"\d"
    with pytest.raises(InputError, match=rf"text {which} is not a number \(NaN\)"):
        model.evaluate(["the dog ran", "the cat sat", "it was"], labels)


def test_a_job_that_would_not_fit_is_refused_with_a_way_out(bert, monkeypatch):
    from headwidgets.models import memory

    monkeypatch.setattr(memory, "free_bytes", lambda _: 1000)
    with pytest.raises(MemoryLimitError, match=r"would take about .* 1.0 kB are free: evaluate shorter texts"):
        bert.evaluate(TEXTS, LABELS)


def test_out_of_memory_halves_the_batches_and_goes_on(bert, monkeypatch):
    evaluator = Evaluator(bert, TEXTS, LABELS)
    evaluator._pace.most = evaluator._pace.tokens = 400
    ask = evaluator._ask

    def scarce(candidate, batch):
        if batch.inputs["input_ids"].numel() > 150:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
        return ask(candidate, batch)

    monkeypatch.setattr(evaluator, "_ask", scarce)
    assert evaluator.exact(HEADS) == evaluate(bert, TEXTS, LABELS, pruned=HEADS)
    assert any("batches of 100 tokens" in note for note in evaluator.notes)
    assert not evaluator.model.lock._is_owned()

    def never(candidate, batch):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(evaluator, "_ask", never)
    with pytest.raises(MemoryLimitError, match="single text"):
        evaluator.exact(HEADS[:1])


def test_an_error_inside_a_job_reaches_the_caller(bert):
    job = jobs.start(evaluate, bert, TEXTS, LABELS[:3])
    with pytest.raises(InputError, match="150 in all, got 3"):
        job.result(30)


def test_numbers_do_not_depend_on_who_shares_a_batch(bert):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluator = Evaluator(bert, TEXTS, LABELS, "loss")
        evaluator._pace.most = evaluator._pace.tokens = 1
        single = evaluator.exact(HEADS)
    together = bert.evaluate(TEXTS, LABELS, metric="loss", pruned=HEADS)
    assert single.value == pytest.approx(together.value, rel=1e-5)
    assert threading.active_count() < 50


def test_a_metric_that_gives_no_number_is_refused(bert):
    def named(found, asked):
        return "good"

    with pytest.raises(InputError, match="expected a number from the metric named, got str"):
        evaluate(bert, TEXTS[:4], LABELS[:4], named)
