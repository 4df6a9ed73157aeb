"""What a reader sees at each token: the source text, never the tokenizer's spelling."""

import numpy as np
import pytest

from headwidgets.text.encoding import encode
from headwidgets.text.offsets import align
from headwidgets.text.targets import extended, shifted, side_of_ids
from headwidgets.text.tokens import cleaned, pieces, token_labels
from tests.text.tokenizers_in_memory import ALL, byte_level, byte_slow, unigram, word_piece


def labels(tokenizer, text):
    side = encode(tokenizer, text, limit=None).source
    return token_labels(side, tokenizer)


def texts(tokenizer, text):
    return [label["text"] for label in labels(tokenizer, text)]


def test_byte_level_tokens_are_readable():
    for tokenizer in (byte_level(), byte_level(True)):
        shown = texts(tokenizer, "the cat שלום 🙂 天")
        assert not any(mark in text for text in shown for mark in "Ġ×ð")
        assert {"the", "cat", "🙂", "天"} <= set(shown)
        assert "שלום" in "".join(shown)
    assert any("Ġ" in piece for piece in pieces(encode(byte_level(), "the cat", limit=None).source, byte_level()))


@pytest.mark.parametrize("make", [byte_level, byte_slow])
def test_a_character_over_several_tokens_is_marked_from_the_second_on(make):
    shown = [label for label in labels(make(), "a 🙂 b") if label["text"] == "🙂"]
    assert len(shown) == 4
    assert [label["continued"] for label in shown] == [False, True, True, True]


def test_nothing_else_is_marked():
    for make in ALL.values():
        assert not any(label["continued"] for label in labels(make(), "Hello world, unbelievably"))


def test_an_unknown_token_shows_its_source():
    side = encode(word_piece(), "the Ж cat", limit=None).source
    assert "[UNK]" in pieces(side, word_piece())
    assert texts(word_piece(), "the Ж cat") == ["[CLS]", "the", "Ж", "cat", "[SEP]"]


def test_the_source_is_shown_as_it_was_written():
    assert "THE" in texts(word_piece(), "THE cat")


def test_special_tokens_and_joined_ones():
    shown = labels(word_piece(), "goodmat, cat")
    assert shown[0] == {"text": "[CLS]", "special": True, "continued": False, "joined": False}
    inside = shown[1:-1]
    assert "".join(label["text"] for label in inside) == "goodmat,cat"
    assert [label["joined"] for label in inside][-2:] == [False, False]
    assert all(label["joined"] for label in inside[1:-2])
    assert len(inside) > 3


def test_typed_special_tokens_are_text():
    shown = labels(word_piece(), "the [MASK] cat")
    assert shown[2] == {"text": "[MASK]", "special": False, "continued": False, "joined": False}


def test_a_bare_space_marker_is_white_space():
    assert texts(unigram(), "🙂 🙂")[0] == " "
    side = encode(unigram(), "a 🙂 b", limit=None).source
    assert all(label["text"] for label in token_labels(side, unigram()))


def test_hostile_text_is_only_text():
    hostile = '</script><img src=x onerror="alert(1)">'
    assert "".join(texts(byte_level(), hostile)).replace(" ", "") == hostile.replace(" ", "")


def test_tokens_without_offsets_are_cleaned():
    assert [cleaned(p) for p in ("##ing", "▁the", "Ġcat", "est</w>", "▁", "a▁b")] == [
        "ing",
        "the",
        "cat",
        "est",
        " ",
        "a b",
    ]


def test_alignment_without_offsets_equals_the_tokenizers_own():
    for tokenizer in (word_piece(), unigram()):
        for text in ("Hello world, the cat doesn't matter.", "unbelievably good  films שלום"):
            side = encode(tokenizer, text, limit=None).source
            own = [i for i, special in enumerate(side.special) if not special]
            found = align(tokenizer, [int(side.ids[i]) for i in own], text)
            assert [text[a:b] for a, b in found] == [text[slice(*side.offsets[i])].strip() for i in own]


def test_alignment_gives_an_unknown_token_what_stands_between():
    tokenizer = word_piece()
    ids = tokenizer("the Ж Ц cat Ю", add_special_tokens=False)["input_ids"]
    assert align(tokenizer, ids, "the Ж Ц cat Ю") == [(0, 3), (4, 5), (6, 7), (8, 11), (12, 13)]


# ---- sides of generated tokens ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["byte_level", "unigram", "byte_slow"])
def test_generated_tokens_go_on_with_the_text(name):
    tokenizer = ALL[name]()
    text = "the cat sat on the mat שלום" + (" 🙂" if name != "unigram" else "")  # it knows no emoji
    whole = encode(tokenizer, text, limit=None).source
    plain = [int(i) for i, special in zip(whole.ids, whole.special, strict=True) if not special]
    for cut in range(1, len(plain)):
        prompt = tokenizer.decode(plain[:cut])
        if "\ufffd" in prompt or tokenizer(prompt, add_special_tokens=False)["input_ids"] != plain[:cut]:
            continue
        side = encode(tokenizer, prompt, limit=None).source
        bare = side_of_ids(tokenizer, [i for i, s in zip(side.ids, side.special, strict=True) if not s])
        grown = extended(tokenizer, bare, plain[cut:])
        assert grown.ids.tolist() == plain
        assert grown.sources == whole.sources
        assert grown.spans == whole.spans
        assert [w for w, s in zip(whole.words, whole.special, strict=True) if not s] == list(grown.words)


def test_a_word_may_begin_in_the_prompt_and_the_users_words_stay():
    tokenizer = byte_level()
    ids = tokenizer(" unbelieving")["input_ids"]
    assert len(ids) > 1
    prompt = encode(tokenizer, "the" + tokenizer.decode(ids[:1]), limit=None).source
    grown = extended(tokenizer, prompt, ids[1:])
    assert grown.sources == ("the unbelieving",)
    assert grown.spans == (((0, 3), (4, 15)),)
    own = encode(tokenizer, ["new york", "is"], limit=None).source
    more = extended(tokenizer, own, tokenizer(" the cat")["input_ids"], given=True)
    assert [more.sources[0][a:b] for a, b in more.spans[0]] == ["new york", "is", "the", "cat"]


def test_what_the_decoder_reads_is_the_target_behind_the_start_token():
    side = encode(unigram(), "good films", limit=None).source
    read = shifted(side, 0)
    assert read.ids.tolist() == [0, *side.ids[:-1]]
    assert read.special[0]
    assert not any(read.special[1:])
    np.testing.assert_array_equal(read.offsets[1:], side.offsets[:-1])
