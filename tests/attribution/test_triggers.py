"""Triggers against attributions taken one by one, and against a planted link."""

import gc

import numpy as np
import pytest
import torch

from headwidgets import read
from headwidgets.attribution import Triggers, attribute, find_triggers
from headwidgets.errors import Cancelled, InputError, UnsupportedError
from tests.attribution.test_paths import LONG, TEXT, calm
from tests.models.tiny import made

TEXTS = [TEXT, LONG, "a bird ran", "the dog was good and the film was bad", "he liked it and she hated the film"]
LABELS = [0, 2, 1, 2, 1]


@pytest.fixture(scope="module")
def model():
    return calm("bert", "sequence")


def strongest_links(model, text, label):
    """The two strongest links between two different words, over layers and heads, in either direction."""
    result = attribute(model, text, target=label, output="probability")
    best = result.maps["encoder"].max((0, 1))
    best = np.maximum(best, best.T)
    tokens = result.tokens["encoder"][0]
    inner = range(1, len(tokens) - 1)
    found = sorted(((best[i, j], i, j) for i in inner for j in inner if i < j and best[i, j] > 0), reverse=True)
    return [(value, tokens[i], tokens[j], i, j) for value, i, j in found[:2]], len(tokens) - 2


def test_each_text_offers_the_words_of_its_strongest_links(model):
    found = find_triggers(model, TEXTS, LABELS, n=5)
    assert (found.searched, found.skipped) == (5, {"too short": 0, "no strong link": 0})
    offered = {}
    for text, label in zip(TEXTS, LABELS, strict=True):
        links, length = strongest_links(model, text, label)
        places = sorted({end for link in links for end in link[3:]})
        offered[label, tuple(p / length for p in places)] = links[0][0]
    got = {}
    for trigger in found:
        label = next(i for i, name in model.model.config.id2label.items() if name == trigger.found_in)
        got[label, tuple(w.place for w in trigger.words)] = trigger.score
    assert got.keys() == offered.keys()
    for key, score in got.items():
        assert score == pytest.approx(offered[key], rel=0.02, abs=1e-4)
    scores = [t.score for t in found.of(found[-1].found_in)]
    assert scores == sorted(scores, reverse=True)


def test_a_planted_word_is_found():
    """All words are alike and carry nothing, but one: every trigger has that word."""
    model = calm("bert", "sequence")
    bert = model.model.bert
    with torch.no_grad():
        bert.embeddings.position_embeddings.weight.zero_()
        bert.embeddings.token_type_embeddings.weight.zero_()
        table = bert.embeddings.word_embeddings.weight
        common, own = table[10].clone(), table[model.tokenizer.get_vocab()["bad"]].clone()
        table.copy_(common.expand_as(table))
        table[model.tokenizer.get_vocab()["bad"]] = own
        usual = bert.embeddings.LayerNorm(common)
        values = bert.encoder.layer[0].attention.self.value
        values.weight -= torch.outer(values.weight @ usual, usual) / (usual @ usual)
        values.bias.zero_()
    texts = ["the cat was bad on the mat", "a bad dog ran and sat", "the house was old and bad"]
    found = find_triggers(model, texts, target="predicted", edges=1)
    assert found.searched == 3
    assert len(found) > 0
    assert all("bad" in t.text.split() and len(t.words) == 2 for t in found)
    away = find_triggers(model, [t.replace("bad", "good") for t in texts], target="predicted")
    assert all(t.score < 1e-6 < found[0].score for t in away)


def test_equal_words_are_one_trigger_with_support(model):
    texts = [TEXT, TEXT.upper().lower(), TEXT]
    [trigger] = find_triggers(model, texts, [0, 0, 0])
    assert trigger.support == 3
    assert len(find_triggers(model, texts, [0, 0, 0], min_support=4)) == 0
    assert len(find_triggers(model, [*texts, "a bird ran"], [0, 0, 0, 0], n=1)) == 1


def test_the_published_variant_takes_two_entries_of_one_head(model):
    for text, label in zip(TEXTS, LABELS, strict=True):
        result = attribute(model, text, target=label, output="probability")
        maps = result.maps["encoder"]
        layer, head = np.unravel_index(maps.max((2, 3)).argmax(), maps.shape[:2])
        flat = np.sort(maps[layer, head].ravel())[::-1]
        order = np.argsort(-maps[layer, head].ravel())[: 2 if flat[1] >= 0.2 * flat[0] else 1]
        size = maps.shape[-1]
        ends = {int(e) for at in order for e in divmod(int(at), size)} - {0, size - 1}
        found = find_triggers(model, [text], [label], variant="published", tolerance=1e-3)
        got = {round(w.place * (size - 2)) for t in found for w in t.words}
        assert got == ends
        if ends:
            kept = [maps[layer, head].ravel()[at] for at in order if {*divmod(int(at), size)} - {0, size - 1}]
            assert found[0].score == pytest.approx(max(kept), rel=0.02, abs=1e-4)


def test_stopped_words_and_too_many_tokens_are_left_out(model):
    stop = {"THE", "film", "cat"}
    found = find_triggers(model, TEXTS, LABELS, stop_list=stop)
    assert not {w.text for t in found for w in t.words} & {"the", "film", "cat"}
    by_function = find_triggers(model, TEXTS, LABELS, stop_list=lambda word: word.upper() in {"THE", "FILM", "CAT"})
    assert [t.words for t in by_function] == [t.words for t in found]
    assert all(t.length <= 2 for t in find_triggers(model, TEXTS, LABELS, max_tokens=2))
    none = find_triggers(model, TEXTS, LABELS, stop_list=lambda _: True)
    assert (len(none), none.skipped["no strong link"]) == (0, 5)


def test_short_texts_are_counted_and_padding_changes_nothing(model):
    found = find_triggers(model, TEXTS, LABELS, min_length=8)
    assert found.skipped["too short"] == sum(len(model.encode([t])[0]) < 8 for t in TEXTS)
    assert found.searched == 5 - found.skipped["too short"]
    alone = [find_triggers(model, [t], [y])[0] for t, y in zip(TEXTS, LABELS, strict=True)]
    together = {t.words: t.score for t in find_triggers(model, TEXTS, LABELS)}
    assert together.keys() == {t.words for t in alone}
    for trigger in alone:
        assert together[trigger.words] == pytest.approx(trigger.score, rel=0.02, abs=1e-5)


def test_pairs_keep_their_segments(model):
    found = find_triggers(model, [("the cat sat", "a dog ran"), ("she liked it", "he hated it")], [0, 1])
    assert found.pairs
    assert {w.segment for t in found for w in t.words} <= {0, 1}
    assert any(w.segment == 1 for t in found for w in t.words)


def test_a_seeded_part_of_the_texts(model):
    found = find_triggers(model, TEXTS, LABELS, limit=2, seed=3)
    assert found.searched == 2
    assert found.provenance["settings"]["seed"] == 3
    again = find_triggers(model, TEXTS, LABELS, limit=2, seed=3)
    assert [t.words for t in again] == [t.words for t in found]


def test_the_model_is_left_as_it_was_and_partial_results_come(model):
    before = {name: p.clone() for name, p in model.model.state_dict().items()}
    flags = [p.requires_grad for p in model.model.parameters()]
    partial = []
    find_triggers(model, TEXTS, LABELS, on_partial=partial.append)
    assert all(torch.equal(before[name], p) for name, p in model.model.state_dict().items())
    assert [p.requires_grad for p in model.model.parameters()] == flags
    assert partial
    assert all(isinstance(p, Triggers) and 0 < p.searched < 5 for p in partial)
    with pytest.raises(Cancelled):
        find_triggers(model, TEXTS, LABELS, cancel=lambda: True)
    gc.collect()


def test_saved_and_read(model, tmp_path):
    found = find_triggers(model, TEXTS, LABELS)
    again = read(found.save(tmp_path / "triggers.heads"))
    assert [(t.words, t.support, t.found_in) for t in again] == [(t.words, t.support, t.found_in) for t in found]
    assert (again.searched, again.pairs, again.variant) == (5, False, "links")
    frame = found.to_frame()
    assert list(frame["trigger"]) == [t.text for t in found]
    assert len(found[:2]) == 2
    assert found[:2].searched == 5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n": 0}, "n as a whole number from 1"),
        ({"edges": 1.5}, "edges as a whole number"),
        ({"variant": "best"}, "'links' or 'published', got 'best'"),
        ({"target": "worst"}, "'gold' or 'predicted', got 'worst'"),
        ({"stop_list": "the"}, "stop_list as a list of words"),
        ({"min_length": 99}, "fewer than min_length=99 tokens"),
        ({"labels": [0, 1]}, "one label per text, 5"),
        ({"labels": None, "target": "gold"}, "one label per text, 5 in all, got None"),
    ],
)
def test_what_cannot_be_used_is_a_sentence(model, options, words):
    with pytest.raises(InputError, match=words):
        find_triggers(model, TEXTS, **{"labels": LABELS, **options})


def test_language_models_have_no_classes_to_push_between():
    with pytest.raises(UnsupportedError, match="does not put a text into one class"):
        find_triggers(made("gpt2", "causal"), TEXTS)
