"""Attacks against plain passes over texts with the words written into them."""

import warnings

import numpy as np
import pytest
import torch

from headwidgets import statistics
from headwidgets.attribution import Trigger, attack, find_triggers
from headwidgets.attribution.triggers.insertion import Word
from headwidgets.attribution.triggers.vocabulary import Vocabulary
from headwidgets.errors import Cancelled, InputError
from tests.attribution.test_paths import LONG, TEXT, calm
from tests.models import tiny

TEXTS = [TEXT, LONG, "a bird ran", "the dog was good and the film was bad", "he liked it and she hated the film",
         "it was a very small house", "but the old cat ran quickly", "she saw a big red tree"]  # fmt: skip
LABELS = [0, 2, 1, 2, 1, 0, 0, 1]


@pytest.fixture(scope="module")
def model():
    return calm("bert", "sequence")


def trigger(*words):
    ids = tiny.tokenizer().get_vocab()
    return Trigger(tuple(Word((ids[t],), t, s, p) for t, p, s in words), 0.1, 1, "LABEL_0")


BAD = trigger(("hated", 0.5, 0), ("film", 1.0, 0))


def predicted(model, texts):
    found = []
    with torch.no_grad():
        for text in texts:
            example = model.encode([text])[0]
            found.append(int(model.forward(next(model.batches([example]))).logits.argmax(-1)))
    return np.array(found)


def written(text):
    """BAD in a text, by hand: at half of it, and at the end."""
    words = text.split()
    words.insert(round(len(words) * 0.5), "hated")
    return " ".join([*words, "film"])


def test_accuracy_before_and_after_is_that_of_the_texts_as_written(model):
    result = attack(model, [BAD], TEXTS, LABELS, controls=0)
    [effect] = result
    gold = np.array(LABELS)
    before, after = predicted(model, TEXTS), predicted(model, [written(t) for t in TEXTS])
    assert effect.interval("before").value == pytest.approx(model.evaluate(TEXTS, LABELS).value)
    for column, group in enumerate([gold >= 0, gold == 0, gold == 1, gold == 2]):
        was, now = (before == gold)[group], (after == gold)[group]
        assert effect.n[column] == group.sum()
        for measure, right in (("before", was), ("after", now)):
            interval = effect.interval(measure, column)
            assert interval.value == pytest.approx(right.mean())
            assert (interval.low, interval.high) == pytest.approx(statistics.wilson(right.mean(), group.sum()))
        change = effect.interval("change", column)
        assert change.value == pytest.approx(now.mean() - was.mean())
        assert change.low <= change.value <= change.high
        assert effect.interval("random", column) is None
    assert effect.changed == (before != after).sum()
    assert effect.moves.sum() == 8
    for a in range(3):
        for b in range(3):
            assert effect.moves[a, b] == ((before == a) & (after == b)).sum()
    assert sum(effect.moved.values()) == effect.changed


@pytest.mark.parametrize("family", ["gpt2", "llama", "bart", "roberta", "distilbert"])
def test_every_sort_of_classifier(family):
    """Decoders without a padding token, encoder-decoders, models without segment embeddings."""
    model = calm(family, "sequence")
    found = find_triggers(model, TEXTS[:3], LABELS[:3], n=1)
    assert found.searched == 3
    effect = attack(model, [BAD], TEXTS, LABELS, controls=0)[0]
    assert effect.interval("before").value == pytest.approx(model.evaluate(TEXTS, LABELS).value)
    after = predicted(model, [written(t) for t in TEXTS])
    assert effect.interval("after").value == pytest.approx((after == np.array(LABELS)).mean())


def test_changed_predictions_are_shown(model):
    effect = attack(model, [BAD], TEXTS, LABELS, controls=0, examples=100)[0]
    before, after = predicted(model, TEXTS), predicted(model, [written(t) for t in TEXTS])
    assert {e.text for e in effect.examples} == set(np.flatnonzero(before != after))
    names = model.model.config.id2label
    for example in effect.examples:
        assert " ".join(example.parts) == written(TEXTS[example.text])
        assert [example.parts[i] for i in example.inserted] == ["hated", "film"]
        assert (example.before, example.after) == (names[before[example.text]], names[after[example.text]])
        assert example.label == names[LABELS[example.text]]
        assert "[hated]" in str(example)
    assert len(attack(model, [BAD], TEXTS, LABELS, controls=0, examples=1)[0].examples) <= 1


def test_controls_are_other_words_in_the_same_places(model, monkeypatch):
    drawn = []
    real = Vocabulary.draw

    def draw(self, words, generator, *, matched):
        found = real(self, words, generator, matched=matched)
        drawn.append((matched, words, found))
        return found

    monkeypatch.setattr(Vocabulary, "draw", draw)
    result = attack(model, [BAD], TEXTS, LABELS, controls=20, seed=4)
    assert [matched for matched, _, _ in drawn] == [False] * 20 + [True] * 20
    known = {i for e in model.encode(TEXTS) for i in e.source.ids.tolist()}
    for _, words, found in drawn:
        assert [(w.place, w.segment, len(w.ids)) for w in found] == [(w.place, w.segment, len(w.ids)) for w in words]
        ids = {i for w in found for i in w.ids}
        assert not ids & {i for w in words for i in w.ids}
        assert ids <= known - {2, 3}
    effect = result[0]
    for name in ("random", "matched"):
        assert effect.draws[name].shape == (20, 4)
        band = effect.interval(name)
        assert (band.low, band.high) == pytest.approx(tuple(np.quantile(effect.draws[name][:, 0], [0.025, 0.975])))
    first = drawn[0][2]
    texts = []
    for text in TEXTS:
        words = text.split()
        words.insert(round(len(words) * 0.5), model.tokenizer.decode([first[0].ids[0]]))
        texts.append(" ".join([*words, model.tokenizer.decode([first[1].ids[0]])]))
    assert effect.draws["random"][0, 0] == pytest.approx((predicted(model, texts) == np.array(LABELS)).mean())
    again = attack(model, [BAD], TEXTS, LABELS, controls=20, seed=4)
    np.testing.assert_array_equal(again[0].draws["random"], effect.draws["random"])


def test_a_reference_needs_words(model):
    with pytest.raises(InputError, match=r"3 different words .* too few"):
        attack(model, [BAD], TEXTS, LABELS, reference=["the cat sat"] * 9)


def test_nearest_frequencies_come_first(model, monkeypatch):
    monkeypatch.setattr("headwidgets.attribution.triggers.vocabulary._NEAREST", 3)
    words = tiny.WORDS[:20]
    texts = [" ".join([w] * (i + 1)) for i, w in enumerate(words)]
    vocabulary = Vocabulary(model, model.encode(texts))
    ids = model.tokenizer.get_vocab()
    generator = np.random.default_rng(1)
    found = {
        vocabulary.draw([Word((ids[words[9]],), words[9], 0, 0.5)], generator, matched=True)[0].text for _ in range(80)
    }
    assert found == {words[8], words[10], words[11]}, "10 times: 9, 11 and 12 are nearest on a logarithmic scale"


def test_control_texts_move_a_draw_by_what_the_sample_differs(model):
    whole = attack(model, [BAD], TEXTS, LABELS, controls=20)[0]
    some = attack(model, [BAD], TEXTS, LABELS, controls=20, control_texts=8)[0]
    np.testing.assert_allclose(some.draws["random"], whole.draws["random"])
    few = attack(model, [BAD], TEXTS, LABELS, controls=20, control_texts=4)[0]
    assert few.outcomes.tolist() == whole.outcomes.tolist()
    assert few.draws["random"].shape == (20, 4)


def test_the_best_of_many_is_compared_with_the_best_of_many(model):
    many = [BAD, trigger(("old", 0.2, 0)), trigger(("not", 0.9, 0))]
    result = attack(model, many, TEXTS, LABELS)
    falls = np.array([e.outcomes[0, 0, 0] - e.draws["random"][:, 0] for e in result])
    assert result.chance() == pytest.approx(np.quantile(falls.max(0), 0.975))
    own = np.array([e.outcomes[2, 0, 0] - e.draws["matched"][:, 2] for e in result])
    assert result.chance("matched", result.classes[1]) == pytest.approx(np.quantile(own.max(0), 0.975))
    assert result.best().outcomes[0, 2, 0] == min(e.outcomes[0, 2, 0] for e in result)
    assert "best of as many random ones" in result.document()["note"]


def test_a_text_without_room_is_counted_and_left_out_before_and_after():
    model = calm("bert", "sequence")
    texts = [*TEXTS, " ".join(["cat"] * 61)]  # 63 of 64 positions with its special tokens
    effect = attack(model, [BAD], texts, [*LABELS, 0], controls=0)[0]
    assert (effect.skipped, effect.n[0]) == (1, 8)
    assert effect.interval("before").value == pytest.approx(model.evaluate(TEXTS, LABELS).value)
    with pytest.raises(InputError, match="no text has room for the 2 tokens"):
        attack(model, [BAD], texts[-1:], [0], controls=0)


def test_padding_changes_nothing(model):
    together = attack(model, [BAD], TEXTS, LABELS, controls=0)[0]
    alone = sum(attack(model, [BAD], [t], [y], controls=0)[0].moves for t, y in zip(TEXTS, LABELS, strict=True))
    np.testing.assert_array_equal(together.moves, alone)


def test_pairs_are_attacked_in_their_segment(model):
    pairs = [("the cat sat", "a dog ran"), ("she liked it", "he hated it and ran")]
    second = trigger(("bad", 1.0, 1))
    effect = attack(model, [second], pairs, [0, 1], controls=0, examples=5)[0]
    after = predicted(model, [(a, f"{b} bad") for a, b in pairs])
    assert effect.interval("after").value == pytest.approx((after == np.array([0, 1])).mean())
    with pytest.raises(InputError, match="second text of a pair"):
        attack(model, [second], TEXTS, LABELS, controls=0)


def test_texts_that_were_searched_give_a_warning(model):
    found = find_triggers(model, TEXTS[:4], LABELS[:4])[:1]
    with pytest.warns(UserWarning, match="4 of the 8 attacked texts were searched"):
        result = attack(model, found, TEXTS, LABELS, controls=0)
    assert result.provenance["settings"]["triggers_found_in_same_texts"] is True
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        attack(model, found, TEXTS[4:], LABELS[4:], controls=0)


def test_partial_results_progress_cancel_and_an_untouched_model(model):
    before = {name: p.clone() for name, p in model.model.state_dict().items()}
    partial, steps = [], []
    result = attack(
        model,
        [BAD, BAD],
        TEXTS,
        LABELS,
        on_partial=partial.append,
        on_progress=lambda n, total: steps.append((n, total)),
    )
    assert [len(p) for p in partial] == [1, 2, 2]
    assert not partial[1][0].draws
    assert partial[2][0].draws
    assert steps == sorted(steps)
    assert steps[-1] == (8 * (1 + 2 * 41), 8 * (1 + 2 * 41))
    assert all(torch.equal(before[name], p) for name, p in model.model.state_dict().items())
    frame = result.to_frame()
    assert len(frame) == 2 * 4
    assert frame["before"][0] == pytest.approx(model.evaluate(TEXTS, LABELS).value)
    with pytest.raises(Cancelled):
        attack(model, [BAD], TEXTS, LABELS, cancel=lambda: True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"controls": 5}, "at least 20 draws"),
        ({"control_texts": 0}, "control_texts as a whole number"),
        ({"triggers": []}, "at least one trigger"),
        ({"triggers": ["bad"]}, "at least one trigger"),
        ({"labels": [0]}, "one label per text, 8"),
    ],
)
def test_what_cannot_be_used_is_a_sentence(model, options, words):
    asked = {"triggers": [BAD], "labels": LABELS, **options}
    with pytest.raises(InputError, match=words):
        attack(model, asked.pop("triggers"), TEXTS, asked.pop("labels"), **asked)
