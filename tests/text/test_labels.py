"""Labels: indices, names, numbers, per word, references; and a sentence for what does not fit."""

import datasets
import numpy as np
import pytest
import torch
from transformers import BertConfig

from headwidgets.errors import InputError
from headwidgets.text.labels import as_labels, class_indices, label_kind, labels_from
from tests.models.tiny import made

CONFIG = BertConfig(id2label={0: "negative", 1: "neutral", 2: "Positive"})


@pytest.mark.parametrize(
    "labels",
    [
        [0, 2, 1],
        ["negative", "Positive", "neutral"],
        ["NEGATIVE", "positive", "neutral"],
        [0, "Positive", 1.0],
        (0, 2, 1),
        np.array([0, 2, 1], dtype=np.int32),
        torch.tensor([0, 2, 1]),
        iter([0, 2, 1]),
    ],
)
def test_indices_and_names(labels):
    found = class_indices(labels, 3, CONFIG)
    assert found.dtype == np.int64
    assert found.tolist() == [0, 2, 1]


def test_one_label_for_one_text():
    assert class_indices("neutral", 1, CONFIG).tolist() == [1]
    assert class_indices(2, 1, CONFIG).tolist() == [2]
    assert class_indices(torch.tensor(2), 1, CONFIG).tolist() == [2]


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        (None, "expected one label per text, 2 in all, got None"),
        ([0], "2 in all, got 1"),
        ([0, 1, 2], "2 in all, got 3"),
        ([0, "good"], r"label 1 is 'good', .* 0 = 'negative', 1 = 'neutral', 2 = 'Positive'"),
        ([0, 3], r"label 1 is 3, but the classes are numbered 0 to 2"),
        ([-1, 0], r"label 0 is -1"),
        ([0, 0.5], r"label 1 is 0\.5: expected a class index"),
        ([0, None], "label 1 is None"),
        ([0, [1]], r"label 1 is \[1\]"),
        (["0", "1"], "label 0 is '0'"),
    ],
)
def test_labels_that_do_not_fit(labels, match):
    with pytest.raises(InputError, match=match):
        class_indices(labels, 2, CONFIG)


def test_names_that_differ_by_case_only_are_told_apart():
    config = BertConfig(id2label={0: "a", 1: "A"})
    assert class_indices(["A", "a"], 2, config).tolist() == [1, 0]


def test_what_models_are_measured_against():
    assert label_kind(made("bert", "sequence")) == "classes"
    assert label_kind(made("bert", "token")) == "words"
    assert label_kind(made("bert", "masked")) == "none"
    assert label_kind(made("gpt2", "causal")) == "none"
    assert label_kind(made("marian", "seq2seq")) == "references"
    assert label_kind(made("bert", "sequence", num_labels=1)) == "values"
    assert label_kind(made("bert", "sequence", problem_type="multi_label_classification")) == "several"


def test_numbers_for_regression():
    model = made("bert", "sequence", num_labels=1)
    found = as_labels([0.5, 2, np.float32(-1)], 3, model)
    assert found.tolist() == [0.5, 2.0, -1.0]
    for wrong in (["0.5", 1, 2], [float("nan"), 1, 2], [[1], 1, 2]):
        with pytest.raises(InputError, match=r"label 0 .* finite number"):
            as_labels(wrong, 3, model)


def test_several_classes_per_text():
    model = made("bert", "sequence", problem_type="multi_label_classification")
    expected = [[1, 0, 1], [0, 0, 0]]
    assert as_labels([[0, "LABEL_2"], []], 2, model).tolist() == expected
    assert as_labels(np.array(expected), 2, model).tolist() == expected
    with pytest.raises(InputError, match=r"zeros and ones of shape .* \[2, 3\]"):
        as_labels(np.array([[1, 2, 3], [0, 0, 0]]), 2, model)


def test_a_label_per_word_stands_at_its_first_token():
    model = made("bert", "token")
    examples = model.encode([["the cat", "sat"], ["a", "dog"]])
    found = as_labels([[1, "LABEL_2"], [0, 1]], 2, model, examples)
    assert [row.tolist() for row in found] == [[-100, 1, -100, 2, -100], [-100, 0, 1, -100]]
    plain = model.encode(["the cat sat"])
    assert as_labels([[0, 1, 2]], 1, model, plain)[0].tolist() == [-100, 0, 1, 2, -100]
    with pytest.raises(InputError, match="text 1: expected one per word, 2 in all, got 3"):
        as_labels([[1, 2], [0, 1, 2]], 2, model, examples)
    with pytest.raises(InputError, match="text 0: this model labels words"):
        as_labels([1, 2], 2, model, examples)
    with pytest.raises(InputError, match="label 1 of text 0 is 7"):
        as_labels([[1, 7], [0, 1]], 2, model, examples)


def test_references_and_no_labels():
    marian, gpt2 = made("marian", "seq2seq"), made("gpt2", "causal")
    assert as_labels(["ein Hund"], 1, marian) == ["ein Hund"]
    assert as_labels(None, 1, marian) is None
    with pytest.raises(InputError, match=r"label 0 is '  '.* reference string"):
        as_labels(["  "], 1, marian)
    assert as_labels(None, 1, gpt2) is None
    with pytest.raises(InputError, match="needs no labels"):
        as_labels([1], 1, gpt2)


def test_labels_of_a_dataset():
    data = datasets.Dataset.from_dict({"text": ["a", "b"], "label": [0, 1], "stars": [5, 1]})
    assert labels_from(data) == [0, 1]
    assert labels_from(data, "stars") == [5, 1]
    assert labels_from(data, [1, 1]) == [1, 1]
    assert labels_from(["a", "b"], data) == [0, 1]
    assert labels_from(["a", "b"], [1, 0]) == [1, 0]
    assert labels_from(data.remove_columns(["label", "stars"])) is None


def test_a_datasets_own_numbering_of_classes_does_not_win_over_the_models():
    feature = datasets.ClassLabel(names=["positive", "negative", "neutral"])
    features = datasets.Features({"text": datasets.Value("string"), "label": feature})
    data = datasets.Dataset.from_dict({"text": ["a", "b"], "label": [0, 1]}, features=features)
    assert class_indices(labels_from(data, config=CONFIG), 2, CONFIG).tolist() == [2, 0]
    other = BertConfig(num_labels=3)  # LABEL_0, ...: nothing to go by but the numbers
    assert class_indices(labels_from(data, config=other), 2, other).tolist() == [0, 1]
