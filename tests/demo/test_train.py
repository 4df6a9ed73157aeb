"""The training script: factors start as no change, are trained alone, and end up in the weights."""

import pytest
import torch

from headwidgets.demo import grammar, train
from headwidgets.demo.classifier import apply


class Words:
    """A tokenizer of words, for a tiny model."""

    def __call__(self, texts: list[str], padding: bool, return_tensors: str) -> dict[str, torch.Tensor]:
        rows = [[1 + sum(map(ord, word)) % 50 for word in text.split()] for text in texts]
        width = max(map(len, rows))
        ids = torch.tensor([row + [0] * (width - len(row)) for row in rows])
        return {"input_ids": ids, "attention_mask": (ids > 0).long()}


def tiny():
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    sizes = {"vocab_size": 64, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2}
    return BertForSequenceClassification(BertConfig(**sizes, num_attention_heads=2)).eval()


@pytest.fixture
def data() -> list[grammar.Sentence]:
    texts = ("this is good", "this is bad, so bad", "good it is", "it was a bad one")
    return [grammar.Sentence(t, "positive" if "good" in t else "negative", "plain", "film", None) for t in texts] * 8


def test_fresh_factors_change_nothing():
    model = tiny()
    batch = Words()(["this is good", "bad"], padding=True, return_tensors="pt")
    before = model(**batch).logits
    added = train.add_factors(model, rank=4)
    assert len(added) == 2 * 6 + 1
    assert torch.equal(model(**batch).logits, before)


def test_only_factors_and_classifier_are_trained():
    model = tiny()
    train.add_factors(model, rank=4)
    trained = {name.rpartition(".")[2] for name, p in model.named_parameters() if p.requires_grad and "bert" in name}
    assert trained == {"up", "down"}
    assert not model.bert.embeddings.word_embeddings.weight.requires_grad


def test_the_difference_put_into_the_weights_is_the_trained_model(data):
    trained, fresh = tiny(), tiny()
    difference = train.fit(trained, Words(), data, epochs=8)
    apply(fresh, difference)
    batch = Words()([sentence.text for sentence in data[:4]], padding=True, return_tensors="pt")
    assert torch.allclose(fresh(**batch).logits, trained(**batch).logits, atol=2e-3)
    assert not torch.allclose(fresh(**batch).logits, tiny()(**batch).logits, atol=2e-2)


def test_training_twice_gives_the_same_difference(data):
    first, second = (train.fit(tiny(), Words(), data, epochs=2) for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_an_epoch_has_every_sentence_once(data):
    sizes = [len(batch["labels"]) for batch in train.batches(Words(), data, seed=3)]
    assert sum(sizes) == len(data)


def test_without_heads_puts_the_hooks_back(data):
    model = tiny()
    before = train.accuracy(model, Words(), data)
    train.without_heads(model, Words(), data)
    assert train.accuracy(model, Words(), data) == before
