"""Patching on real weights: a sentiment classifier, a translator, and a language model with grouped keys."""

import numpy as np
import pytest
import torch

import headwidgets as hw
from headwidgets.attribution import patch
from headwidgets.models.interventions import Replace, record

PAIRS = [
    ("a wonderful and moving film", "a terrible and boring film"),
    ("the acting is good", "the acting is bad"),
    ("i loved every minute of it", "i hated every minute of it"),
    ("a bright , clever comedy", "a bleak , stupid comedy"),
    ("the story is fresh and funny", "the story is stale and silly"),
    ("it is a charming little picture", "it is a dreadful little picture"),
]


def by_hand(model, clean, corrupted, heads, read):
    """The public interventions, one head after the other."""
    given = record(model, [clean])
    batch = next(model.batches(model.encode([corrupted])))
    with torch.no_grad(), model.visit():
        base = read(model.forward(batch))
        found = []
        for one in heads:
            with model.intervene(Replace([one], by=given)):
                found.append(float(read(model.forward(batch)) - base))
    return found


@pytest.mark.data
def test_a_sentiment_word_is_carried_by_a_few_heads(data_folder):
    model = hw.load(str(data_folder / "models" / "sst2"))
    clean, corrupted = map(list, zip(*PAIRS, strict=True))
    found = patch(model, clean, corrupted, answers=(1, 0))
    assert found.n == len(PAIRS)
    assert (found.clean > 0).all()
    assert (found.corrupted < 0).all()
    best = found.exact.ranking()[:3]
    assert all(found.exact[one] > 0.03 for one in best)
    heads = [*best, *found.exact.ranking()[-3:]]
    columns = [found.heads.index(one) for one in heads]
    for i, (a, b) in enumerate(PAIRS[:2]):
        expected = by_hand(model, a, b, heads, lambda o: o.logits[0, 1] - o.logits[0, 0])
        np.testing.assert_allclose(found.effects["exact"][i, columns], expected, atol=1e-4)
    assert found.agreement.pearson.value > 0.5


@pytest.mark.data
def test_a_translators_three_kinds_of_heads(data_folder):
    model = hw.load(str(data_folder / "models" / "multi30k-en-de"))
    target = "Ein Hund läuft ."
    clean, corrupted = ("a dog runs .", target), ("a cat runs .", target)
    found = patch(model, [clean], [corrupted])
    assert set(found.exact.values) == {"encoder", "decoder", "cross"}
    labels = torch.tensor(model.encode([clean])[0].labels)
    heads = [hw.Head("encoder", 0, 1), hw.Head("decoder", 2, 3), hw.Head("cross", 1, 5)]
    expected = by_hand(
        model,
        clean,
        corrupted,
        heads,
        lambda o: o.logits[0].log_softmax(-1)[torch.arange(len(labels)), labels].sum(),
    )
    columns = [found.heads.index(one) for one in heads]
    np.testing.assert_allclose(found.effects["exact"][0, columns], expected, atol=2e-4)
    assert found.clean[0] > found.corrupted[0]


def test_grouped_keys(smollm2):
    found = patch(smollm2, ["The cups"], ["The cup"], answers=(" are", " is"))
    assert found.clean[0] > 0 > found.corrupted[0]
    good, bad = (smollm2.tokenizer.encode(word)[0] for word in (" are", " is"))
    heads = found.exact.ranking()[:2] + found.exact.ranking()[-2:]
    expected = by_hand(smollm2, "The cups", "The cup", heads, lambda o: o.logits[0, -1, good] - o.logits[0, -1, bad])
    np.testing.assert_allclose(
        found.effects["exact"][0, [found.heads.index(one) for one in heads]], expected, atol=2e-4
    )
    scores = hw.probing.induction(smollm2, n=2)
    assert scores.ranking()[0] == hw.Head("decoder", 18, 6)
    assert scores[hw.Head("decoder", 18, 6)] > 0.8
