"""Where words go: hand-made examples, and real tokenizers that read the same text."""

import numpy as np
import pytest

from headwidgets.attribution.triggers.insertion import Slots, Word, spaced, word_at
from headwidgets.errors import InputError
from headwidgets.text.encoding import encode
from headwidgets.text.tokens import token_labels
from tests.models import tiny
from tests.text import tokenizers_in_memory as made_here

TOKENIZER = tiny.tokenizer()
TOKENIZER.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]


def word(text, place, segment=0, tokenizer=TOKENIZER):
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    return Word(tuple(ids), text, segment, place)


def put(text, words, tokenizer=TOKENIZER):
    example = encode(tokenizer, text, limit=None, types=2)
    slots = Slots(example, tokenizer)
    offsets = slots.offsets(words, spaced(words, tokenizer))
    return slots, offsets, slots.insert(words, offsets)


def spelled(example, tokenizer=TOKENIZER):
    return tokenizer.convert_ids_to_tokens(example.source.ids.tolist())


def test_the_published_rule_on_hand_made_places():
    """round((length + inserted) * place), halves to even, one further where the index is taken."""
    _, offsets, example = put("the cat sat on", [word("bad", 0.5), word("film", 0.5)])
    # 4 tokens: round(4 * 0.5) = 2; then round(5 * 0.5) = round(2.5) = 2, which is taken, so 3
    assert offsets == [2, 2]
    assert spelled(example) == ["[CLS]", "the", "cat", "bad", "film", "sat", "on", "[SEP]"]
    _, offsets, example = put("the cat sat on the mat", [word("bad", 1 / 6), word("film", 1.0)])
    # round(6 / 6) = 1; round(7 * 1) = 7 is the end of what are 7 tokens by now
    assert offsets == [1, 6]
    assert spelled(example) == ["[CLS]", "the", "bad", "cat", "sat", "on", "the", "mat", "film", "[SEP]"]


def published_indices(length, places):
    """The rule once more, as it reads in the paper's code: indices into the text as it grows (None: out of order)."""
    found, last = [], None
    for count, place in enumerate(places):
        index = round((length + count) * place)
        if index == last:
            index += 1
        if last is not None and index < last:
            return None
        found.append(index)
        last = index
    return found


@pytest.mark.parametrize("length", [1, 2, 5, 17])
def test_single_words_go_where_the_published_rule_says(length):
    generator = np.random.default_rng(length)
    compared = 0
    for _ in range(50):
        places = np.sort(generator.integers(1, 9, 3) / 8).tolist()
        words = [word("bad", place) for place in places]
        _, offsets, _ = put(" ".join(["cat"] * length), words)
        wanted = published_indices(length, places)
        assert offsets == sorted(offsets), "the words of a trigger keep their order"
        if wanted is not None:
            compared += 1
            assert [at + count for count, at in enumerate(offsets)] == wanted
    assert compared > 20


def test_a_pair_gets_each_word_in_its_own_segment():
    _, offsets, example = put(("the cat sat", "a dog ran on"), [word("bad", 1 / 3), word("old", 0.75, 1)])
    assert offsets == [1, 3]
    assert spelled(example) == ["[CLS]", "the", "bad", "cat", "sat", "[SEP]", "a", "dog", "ran", "old", "on", "[SEP]"]
    assert example.type_ids == (0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1)
    _, _, last = put(("the cat sat", "a dog"), [word("bad", 1.0), word("old", 1.0, 1)])
    assert spelled(last) == ["[CLS]", "the", "cat", "sat", "bad", "[SEP]", "a", "dog", "old", "[SEP]"]


def test_a_word_for_the_second_text_needs_one():
    with pytest.raises(InputError, match=r"'old'.*second text of a pair"):
        put("the cat", [word("old", 0.5, 1)])


def test_pieces_stay_together_and_no_word_is_cut():
    tokenizer = made_here.word_piece()
    text = "believe unbelievable films believe"
    assert len(tokenizer.tokenize(text)) > 10, "the test needs words of several pieces"
    for place in np.linspace(0.05, 1, 20):
        chosen = word("unbelievable", float(place), tokenizer=tokenizer)
        _, _, example = put(text, [chosen], tokenizer)
        read = tokenizer.decode(example.source.ids.tolist(), skip_special_tokens=True)
        again = tokenizer(read)["input_ids"]
        assert again == example.source.ids.tolist(), "what the model reads is what its tokenizer makes of that text"
        assert sorted(read.split()) == sorted(f"{text} unbelievable".split())


@pytest.mark.parametrize("make", ["byte_level", "unigram"])
def test_tokenizers_that_write_spaces_into_tokens_join_no_words(make):
    tokenizer = getattr(made_here, make)()
    text, other = "the film was good", "a bad film"
    source = encode(tokenizer, other, limit=None)
    labels = token_labels(source.source, tokenizer)
    at = next(i for i, label in enumerate(labels) if "bad" in label["text"] or label["text"].startswith("b"))
    found, _ = word_at(source.source, at, labels, tokenizer)
    assert found.text == "bad"
    for place in np.linspace(0.1, 1, 7):
        chosen = Word(found.ids, found.text, 0, float(place))
        _, _, example = put(text, [chosen], tokenizer)
        read = tokenizer.decode(example.source.ids.tolist(), skip_special_tokens=True)
        assert sorted(read.split()) == sorted(f"{text} bad".split()), read


def test_a_place_counts_the_tokens_of_its_segment_from_one():
    example = encode(TOKENIZER, ("the cat sat", "a dog"), limit=None)
    labels = token_labels(example.source, TOKENIZER)
    found, start = word_at(example.source, 2, labels, TOKENIZER)
    assert (found.text, found.segment, found.place, start) == ("cat", 0, 2 / 3, 2)
    found, _ = word_at(example.source, 6, labels, TOKENIZER)
    assert (found.text, found.segment, found.place) == ("dog", 1, 1.0)


def test_parts_for_a_reader_are_the_text_and_the_words():
    words = [word("bad", 0.5), word("old", 0.5, 1)]
    slots, offsets, _ = put(("The cat  sat.", "A dog"), words)
    parts, inserted, second = slots.reading(words, offsets, TOKENIZER)
    assert parts == ["The cat", "bad", "sat.", "A", "old", "dog"]
    assert inserted == [1, 4]
    assert second == 3
