"""The demo's sentences: the same everywhere, held out where they say so, and no job for a bag of words."""

import importlib
import re
import subprocess
import sys
from collections import Counter

import pytest

from headwidgets import demo
from headwidgets.demo import baseline, grammar
from headwidgets.demo.words import HELD_OUT

SPLITS = ("train", "development", "evaluation")


@pytest.fixture(scope="module")
def splits() -> dict[str, list[grammar.Sentence]]:
    return {name: grammar.sentences(name) for name in SPLITS}


def mentions(text: str, phrase: str) -> bool:
    article = re.sub(r"^a (?=[aeiou])", "an ", phrase)
    return re.search(rf"\b{re.escape(article)}\b", text.lower()) is not None


def test_the_same_sentences_come_out_in_another_process(splits):
    code = (
        "from headwidgets.demo import grammar as g; print(*[g.digest(g.sentences(s)) for s in ('train', 'evaluation')])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONHASHSEED": "1"}, capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == [grammar.digest(splits["train"]), grammar.digest(splits["evaluation"])]


def test_another_seed_writes_other_sentences(splits):
    other = grammar.sentences("evaluation", seed=1)
    assert len({s.text for s in other} & {s.text for s in splits["evaluation"]}) < len(other) / 4


@pytest.mark.parametrize("name", SPLITS)
def test_the_card_knows_what_was_trained_and_measured_on(splits, name):
    known = demo.card()["sentences"][name]
    assert known["sha256"] == grammar.digest(splits[name])
    assert known["count"] == len(splits[name])


def test_no_sentence_is_in_two_splits_or_twice(splits):
    texts = [sentence.text for data in splits.values() for sentence in data]
    assert len(set(texts)) == len(texts)


def test_there_are_enough_and_half_of_them_are_positive(splits):
    assert len(splits["evaluation"]) >= 1_200
    for name, data in splits.items():
        uneven = abs(sum(sentence.label == "positive" for sentence in data) - len(data) / 2)
        assert uneven <= (5 if name == "train" else 0)  # those that are held out were left out of training


def test_sentences_have_5_to_30_words_and_no_slot_left(splits):
    for sentence in splits["train"] + splits["evaluation"]:
        assert 5 <= len(sentence.text.split()) <= 30, sentence.text
        assert re.fullmatch(r"[A-Z][A-Za-z',;:. ]+[.]", sentence.text), sentence.text
        assert not re.search(r"\b[Aa] [aeiou]|\ban (?!hour)[^aeiou]|  ", sentence.text), sentence.text


def test_held_out_words_are_never_trained_on(splits):
    assert not [s.text for s in splits["train"] for word in HELD_OUT if mentions(s.text, word)]


def test_every_evaluation_sentence_is_held_out_as_it_says(splits):
    kinds = Counter(sentence.held_out for sentence in splits["evaluation"])
    assert kinds == {"word": 400, "frame": 400, "use": 400}
    for sentence in splits["evaluation"]:
        new = any(mentions(sentence.text, word) for word in HELD_OUT)
        assert new == (sentence.held_out == "word"), sentence.text


def test_every_domain_and_construction_is_used(splits):
    for data in splits.values():
        assert {sentence.construction for sentence in data} == set(grammar.FRAMES)
        assert {sentence.domain for sentence in data} == {domain.thing for domain in grammar.DOMAINS}


def test_a_bag_of_words_stays_below_75_percent(splits):
    found = baseline.accuracy(splits["train"], splits["evaluation"])
    assert found == pytest.approx(demo.card()["accuracy"]["evaluation by bag of words"], abs=0.01)
    assert found < 0.75


def test_the_baseline_is_the_logistic_regression_of_scikit_learn(splits):
    text = importlib.import_module("sklearn.feature_extraction.text")
    linear = importlib.import_module("sklearn.linear_model")
    train, test = splits["train"][:2_000], splits["evaluation"]
    counter = text.CountVectorizer(token_pattern=r"\w+")
    counts = counter.fit_transform([s.text for s in train])
    model = linear.LogisticRegression(C=1.0, max_iter=3_000, tol=1e-8).fit(counts, [s.label for s in train])
    theirs = model.score(counter.transform([s.text for s in test]), [s.label for s in test])
    assert baseline.accuracy(train, test) == pytest.approx(theirs, abs=0.005)


def test_the_baseline_learns_what_words_do_tell():
    def sentence(text: str, label: str) -> grammar.Sentence:
        return grammar.Sentence(text, label, "plain", "film", None)

    data = [sentence("a good film", "positive"), sentence("a bad film", "negative")] * 5
    assert baseline.accuracy(data, data) == 1.0


def test_another_split_is_refused_by_name():
    with pytest.raises(ValueError, match="'test'"):
        grammar.sentences("test")
