"""Attribution of real models on real sentences."""

import gzip

import numpy as np
import pytest
import torch

from headwidgets import load
from headwidgets.attribution import Trigger, attack, attribute, find_triggers, importance
from headwidgets.attribution.triggers.insertion import Word
from tests.attribution import reference

pytestmark = pytest.mark.data


@pytest.fixture(scope="module")
def sst2(data_folder):
    return load(str(data_folder / "models" / "sst2"))


@pytest.fixture(scope="module")
def sentences(data_folder):
    lines = (data_folder / "data" / "sst2" / "stsa.binary.dev").read_text("utf-8").splitlines()
    order = np.random.default_rng(1).permutation(len(lines))
    return [tuple(lines[i].split(" ", 1)) for i in order]


def test_entries_against_an_independent_reference(sst2, sentences):
    """As in `bench/attribution.py --check`, on a short sentence: gaps below 1e-3, entries within 1 %."""
    texts = [text for _, text in sentences if len(text) < 50][:1]
    for result, text in zip(attribute(sst2, texts, output="probability"), texts, strict=True):
        assert result.target in ("negative", "positive")
        assert result.gap["encoder"].max() < 1e-3
        target = result.target_ids[0]

        def read(outputs, target=target):
            return outputs.logits[0].softmax(-1)[target]

        [example] = sst2.encode([text])
        maps, batch, value = reference.clean_maps(sst2, example, read)
        assert result.value == pytest.approx(value, abs=1e-5)
        for site in sst2.sites:
            expected = reference.integral(sst2, batch, site, maps[site], read, 60)
            own = result.maps["encoder"][site.layer]
            assert np.abs(own - expected).max() < 0.01 * np.abs(expected).max()


def test_completeness_of_many_sentences(sst2, sentences):
    texts = [text for _, text in sentences[:10]]
    for output in ("probability", "log-odds"):
        for result in attribute(sst2, texts, output=output, keep="heads"):
            allowed = 1e-3 * np.maximum(np.abs(result.change["encoder"]), 0.1) + 1e-5
            assert (result.gap["encoder"] <= allowed).all()
            np.testing.assert_allclose(
                result.totals["encoder"].sum(1), result.change["encoder"], atol=2 * allowed.max()
            )


def test_last_layer_reads_one_row(sst2, sentences):
    last = attribute(sst2, sentences[0][1]).maps["encoder"][-1]
    assert np.abs(last[:, 0]).max() > 0
    assert np.all(last[:, 1:] == 0)


def test_a_translation_model(data_folder):
    """ReLU: gradients jump along the path, so the tolerance that is asked for is a loose one."""
    model = load(str(data_folder / "models" / "multi30k-en-de"))
    with gzip.open(data_folder / "data" / "multi30k" / "test_2016_flickr.en.gz", "rt", encoding="utf-8") as lines:
        sources = [next(lines).strip() for _ in range(3)]
    for result in attribute(model, sources, tolerance=2e-2):
        assert result.kinds == ("encoder", "decoder", "cross")
        for kind in result.kinds:
            assert (result.gap[kind] <= 2e-2 * np.maximum(np.abs(result.change[kind]), 0.1)).all()
        assert len(result.tokens["cross"][0]) == result.maps["cross"].shape[2]


def test_important_heads_matter_more_than_unimportant_ones(sst2, sentences):
    """The ranking means something: without its ten best heads the model is worse than without its ten last."""
    texts, labels = [t for _, t in sentences], [int(y) for y, _ in sentences]
    ranking = importance(sst2, texts[:60], labels[:60], tolerance=5e-2).ranking()

    def accuracy(pruned):
        right = 0
        for batch in sst2.batches(sst2.encode(texts[60:260])):
            with sst2.gated(pruned), torch.no_grad():
                predicted = sst2.forward(batch).logits.argmax(-1).tolist()
            right += sum(p == labels[60 + i] for p, i in zip(predicted, batch.index, strict=True))
        return right / 200

    assert accuracy(ranking[-10:]) > accuracy(ranking[:10]) + 0.05


def test_triggers_on_real_sentences(sst2, data_folder, sentences):
    """Words come from their sentences; `dull` in the middle takes positive sentences along and spares negative ones."""
    lines = (data_folder / "data" / "sst2" / "stsa.binary.train").read_text("utf-8").splitlines()
    train = [line[2:] for line in lines if len(line) < 50][:6]
    found = find_triggers(sst2, train, target="predicted")
    assert found.searched == 6
    assert all(any(all(w.text in text for w in t.words) for text in train) for t in found)
    texts, labels = [t for _, t in sentences[:40]], [int(y) for y, _ in sentences[:40]]
    dull = Trigger((Word(tuple(sst2.encode(["dull"])[0].source.ids[1:-1].tolist()), "dull", 0, 0.5),), 0, 1, "negative")
    result = attack(sst2, [dull], texts, labels, controls=0)
    assert result[0].interval("before").value == pytest.approx(sst2.evaluate(texts, labels).value)
    assert result[0].interval("change", result.column("positive")).value < -0.1
    assert result[0].interval("change", result.column("negative")).value >= 0
