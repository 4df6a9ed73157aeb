"""Texts of every form become examples and batches; what cannot is refused with the text's number."""

import importlib

import datasets
import numpy as np
import pytest
import torch
import transformers

from headwidgets import wrap
from headwidgets.errors import InputError
from headwidgets.text.encoding import encode, segments_of
from headwidgets.text.examples import as_texts, batches
from tests.models.tiny import made
from tests.text.tokenizers_in_memory import byte_level, byte_slow, word_piece


@pytest.fixture(scope="module")
def bert():
    return made("bert", "sequence")


@pytest.fixture(scope="module")
def marian():
    return made("marian", "seq2seq")


def test_a_text_a_pair_and_words(bert):
    one, words = bert.encode(["the cat", ["the", "cat"]])
    pair = bert.encode(("the cat", ["a", "dog"]))[0]
    assert one.source.ids.tolist() == words.source.ids.tolist() == bert.tokenizer("the cat")["input_ids"]
    assert pair.source.ids.tolist() == bert.tokenizer("the cat", "a dog")["input_ids"]
    assert pair.source.segments == (0, 0, 0, 0, 1, 1, 0)
    assert pair.source.sources == ("the cat", "a dog")
    assert pair.source.special == (True, False, False, True, False, False, True)


def test_the_users_words_of_byte_level_tokenizers_read_as_one_text():
    tokenizer = byte_level()
    assert encode(tokenizer, ["the", "cat"], limit=None).source.ids.tolist() == tokenizer("the cat")["input_ids"]


def test_slow_tokenizers_make_pairs_too():
    side = encode(byte_slow(), ("ab", "cd"), limit=None).source
    assert [s for s, special in zip(side.segments, side.special, strict=True) if not special] == [0, 0, 1, 1]
    assert side.special == (False, False, True, False, False, True)


def test_an_encoder_decoder_takes_source_and_target(marian):
    example = marian.encode([("the cat", "a dog ran")])[0]
    assert example.source.ids.tolist() == marian.tokenizer("the cat")["input_ids"]
    target = marian.tokenizer("a dog ran")["input_ids"]
    assert example.target.ids.tolist() == [5, *target[:-1]]
    assert example.labels.tolist() == target
    words = marian.encode([(["the", "cat"], ["a", "dog", "ran"])])[0]
    assert words.target.ids.tolist() == example.target.ids.tolist()


def test_a_generated_target_is_written_token_by_token(marian):
    example = marian.encode(["the cat"])[0]
    assert len(example.labels) == len(example.target) <= marian.max_positions
    assert example.target.ids[1:].tolist() == example.labels[:-1].tolist()


def test_token_types_go_only_to_models_that_have_them():
    gpt2, bert = made("gpt2"), made("bert")
    for model in (gpt2, bert):
        model.tokenizer.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
        assert "token_type_ids" in model.tokenizer("the cat")
    assert gpt2.encode(["the cat"])[0].type_ids is None  # its word embeddings would be added a second time
    assert bert.encode([("the cat", ["a", "dog"])])[0].type_ids == (0, 0, 0, 0, 1, 1, 1)


# ---- datasets -----------------------------------------------------------------------------------------------


def test_datasets_with_the_usual_columns():
    data = {"text": ["the cat", "a dog"], "label": [0, 1], "extra": ["x", "y"]}
    assert as_texts(datasets.Dataset.from_dict(data)) == ["the cat", "a dog"]
    assert as_texts(datasets.Dataset.from_dict(data), "extra") == ["x", "y"]
    pairs = datasets.Dataset.from_dict({"premise": ["a", "b"], "hypothesis": ["c", "d"], "text": ["e", "f"]})
    assert as_texts(pairs) == [("a", "c"), ("b", "d")]
    words = datasets.Dataset.from_dict({"tokens": [["the", "cat"]], "ner_tags": [[0, 1]]})
    assert as_texts(words) == [["the", "cat"]]
    nested = datasets.Dataset.from_dict({"translation": [{"en": "a", "de": "b"}]})
    assert as_texts(nested, ("translation.en", "translation.de")) == [("a", "b")]


def test_a_column_of_a_dataset_is_a_list_of_texts():
    data = datasets.Dataset.from_dict({"text": ["the cat", "a dog"]})
    assert as_texts(data["text"]) == ["the cat", "a dog"]


def test_datasets_that_cannot_be_read():
    data = datasets.Dataset.from_dict({"body": ["a"], "n": [1]})
    with pytest.raises(InputError, match="it has body, n; name one with column="):
        as_texts(data)
    with pytest.raises(InputError, match="not 'txt'"):
        as_texts(data, "txt")
    with pytest.raises(InputError, match="no field 'en'"):
        as_texts(data, "body.en")
    with pytest.raises(InputError, match="empty dataset"):
        as_texts(datasets.Dataset.from_dict({"text": []}))
    with pytest.raises(InputError, match="choose one of train"):
        as_texts(datasets.DatasetDict({"train": data}))
    with pytest.raises(InputError, match=r"needs a datasets\.Dataset"):
        as_texts(["a"], "text")


# ---- what cannot be used ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "match"),
    [
        ([], "empty list"),
        ("", "text 0 is empty"),
        (["the cat", "   "], "text 1 is empty"),
        (["the cat", None], "text 1: .* got None"),
        ([3], "text 0: .* got int"),
        (None, "got None"),
        (3, "got a int"),
        ({"a": 1}, "got a dict"),
        (b"the cat", "got a bytes"),
        ({"the cat"}, "got a set"),
        ([["the", None]], "text 0: .* word 1 is None"),
        ([[" ", ""]], "text 0 has no words"),
        ([("a", "b", "c")], "text 0: .* tuple of 3"),
        ([("the cat", "")], "text 0, part 2 is empty"),
        ([("the cat", None)], "text 0, part 2: .* got None"),
        (["the cat", ("a", "dog")], "text 1 is a pair, but text 0 is one text"),
        ([("a", "dog"), "the cat"], "text 1 is one text, but text 0 is a pair"),
        (["the cat", "the " * 600], "text 1 has 602 tokens, but the model has 64 positions"),
    ],
)
def test_every_refusal_is_a_sentence_with_the_texts_number(bert, texts, match):
    with pytest.raises(InputError, match=match):
        bert.encode(texts)


def test_a_frame_is_no_list_of_texts():
    pandas = importlib.import_module("pandas")
    frame = pandas.DataFrame({"text": ["the cat"]})
    with pytest.raises(InputError, match="choose a column"):
        as_texts(frame)
    assert as_texts(frame["text"]) == ["the cat"]


def test_600_tokens_do_not_go_into_512_positions():
    from tests.models import tiny

    config = tiny.CONFIGS["bert"]()
    config.max_position_embeddings = 512
    model = wrap(tiny.make("bert", config=config), tiny.tokenizer("bert"))
    assert len(model.encode("cat " * 510)[0].source) == 512
    with pytest.raises(InputError, match="602 tokens, but the model has 512 positions"):
        model.encode("cat " * 600)


def test_a_text_of_which_the_tokenizer_keeps_nothing():
    with pytest.raises(InputError, match="text 4 has no tokens"):
        encode(word_piece(), "\u200b\u200b", limit=None, where="text 4")


def test_a_pair_for_a_model_that_reads_one_text():
    with pytest.raises(InputError, match="text 0 is a pair, but the tokenizer"):
        made("gpt2", "causal").encode([("the cat", "a dog")])


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (("the cat", ""), "text 0, target is empty"),
        (("a", "b", "c"), "takes .source, target., got a tuple of 3"),
        ((("a", "b"), "c"), "text 0: a pair of texts is no source"),
        (("a", ("b", "c")), "text 0, target: a pair of texts"),
        (("a", "the " * 70), "text 0, target has 71 tokens"),
        ("the " * 70, "text 0 has 71 tokens"),
    ],
)
def test_encoder_decoders_refuse_too(marian, text, match):
    with pytest.raises(InputError, match=match):
        marian.encode([text])


def test_segments_of_a_text():
    assert segments_of(("a", ["b"])) == ["a", ["b"]]
    assert segments_of(np.str_("a")) == ["a"]


# ---- batches ------------------------------------------------------------------------------------------------


def test_batches_are_sorted_padded_and_complete(bert):
    lengths = [3, 9, 1, 4, 9, 2, 2]
    examples = bert.encode(["cat " * n for n in lengths])
    seen, last = [], 0
    for batch in batches(examples, pad_id=0, device="cpu", max_tokens=24, max_rows=3):
        rows, longest = batch.inputs["input_ids"].shape
        assert rows <= 3
        assert rows == 1 or rows * longest <= 24
        own = [len(examples[i]) for i in batch.index]
        assert own == sorted(own)
        assert own[0] >= last
        last = own[-1]
        assert longest == max(own)
        assert batch.inputs["attention_mask"].sum(1).tolist() == own
        assert batch.query_mask["encoder"].sum(1).tolist() == own
        for row, i in enumerate(batch.index):
            np.testing.assert_array_equal(batch.inputs["input_ids"][row, : own[row]], examples[i].source.ids)
            assert (batch.inputs["input_ids"][row, own[row] :] == 0).all()
        seen += batch.index
    assert sorted(seen) == list(range(7))
    order = [i for batch in batches(examples, pad_id=0, device="cpu", order=[4, 0, 2], sort=False) for i in batch.index]
    assert order == [4, 0, 2]


def test_padding_does_not_change_what_a_model_says(bert):
    texts = ["the cat sat", "a", "the old dog ran on the red mat"]
    examples = bert.encode(texts)
    with torch.inference_mode():
        batch = next(iter(bert.batches(examples)))
        together = bert.model(**batch.inputs).logits
        for row, i in enumerate(batch.index):
            alone = bert.model(**bert.tokenizer(texts[i], return_tensors="pt")).logits[0]
            torch.testing.assert_close(together[row], alone, atol=1e-5, rtol=1e-5)


def test_both_sides_of_translations_are_padded(marian):
    examples = marian.encode([("the cat", "a dog ran"), ("a red cat sat", "a")])
    batch = next(iter(marian.batches(examples)))
    assert batch.inputs["attention_mask"].sum(1).tolist() == [len(examples[i].source) for i in batch.index]
    assert batch.inputs["decoder_attention_mask"].sum(1).tolist() == [len(examples[i].target) for i in batch.index]
    assert batch.query_mask["encoder"].sum(1).tolist() == [len(examples[i].source) for i in batch.index]
    assert batch.query_mask["cross"].sum(1).tolist() == [len(examples[i].target) for i in batch.index]


def test_the_tokenizers_own_warning_about_length_stays_silent(caplog):
    tokenizer = word_piece()
    tokenizer.model_max_length = 4
    with caplog.at_level("WARNING", logger=transformers.logging.get_logger("transformers").name):
        encode(tokenizer, "the cat sat on the mat", limit=None)
    assert not caplog.records


@pytest.mark.parametrize("text", ["a\ud800b", ["the", "\udcff"], ("the cat", "\ud83d")])
def test_half_a_character_is_refused_with_a_cure(bert, text):
    with pytest.raises(InputError, match=r"half a character.*read it as UTF-8"):
        bert.encode([text])


def test_a_bare_encoder_decoder_says_that_it_cannot_write_a_target():
    model = made("t5")
    with pytest.raises(InputError, match="has no target, and T5Model cannot write one"):
        model.attend("the cat")
    assert model.attend(("the cat", "a dog")).kinds == ("encoder", "decoder", "cross")
