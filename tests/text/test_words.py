"""Words of a text: one rule for every tokenizer, every character in exactly one word."""

import gzip

import numpy as np
import pytest
import transformers

from headwidgets.errors import InputError
from headwidgets.text.alignment import groups, to_words, word_vector
from headwidgets.text.encoding import encode
from headwidgets.text.tokens import word_labels
from headwidgets.text.words import assign_words, join_words, word_spans
from tests.text.tokenizers_in_memory import ALL, byte_level, unigram, word_piece


def words(text: str, **options) -> list[str]:
    return [text[a:b] for a, b in word_spans(text, **options)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It doesn't cost $3.14, really...", ["It", "doesn't", "cost", "$", "3.14", ",", "really", "..."]),
        ("state-of-the-art e.g. this", ["state", "-", "of", "-", "the", "-", "art", "e.g", ".", "this"]),
        ("1,000.5 x2 snake_case 'quoted'", ["1,000.5", "x2", "snake_case", "'", "quoted", "'"]),
        ("  two\n\nlines\t", ["two", "lines"]),
        ('צה"ל בתל-אביב', ['צה"ל', "בתל", "-", "אביב"]),
        ("👩‍👩‍👧 👍🏽 🇩🇪🇫🇷 ❤️!", ["👩‍👩‍👧", "👍🏽", "🇩🇪", "🇫🇷", "❤️", "!"]),
        ("cafe\u0301 नमस्ते", ["cafe\u0301", "नमस्ते"]),
        ("我爱北京。2016年", ["我爱北京", "。", "2016", "年"]),
        ("", []),
    ],
)
def test_the_rule(text, expected):
    assert words(text) == expected


def test_scripts_without_spaces_are_cut_where_told():
    assert words("我爱北京ab", breaks={1, 2}) == ["我", "爱", "北京", "ab"]


def test_the_users_words_are_joined_as_their_script_does():
    assert join_words(["the", "cat"]) == ("the cat", [(0, 3), (4, 7)])
    assert join_words(["我", "爱", "北京", "in", "", "x"]) == (
        "我爱北京 in x",
        [(0, 1), (1, 2), (2, 4), (5, 7), (7, 7), (8, 9)],
    )


def test_words_that_share_a_token_are_one_but_not_the_users():
    spans = [(0, 2), (2, 3), (4, 6)]
    assert assign_words(spans, [(0, 3), (4, 6), None], given=False) == ([(0, 3), (4, 6)], [0, 1, None])
    assert assign_words(spans, [(0, 3), (4, 6), (3, 3)], given=True) == (spans, [0, 2, None])


TEXTS = [
    "Hello, it doesn't cost $3.14... state-of-the-art!",
    "שלום 👩‍👩‍👧 world 🇩🇪🙂",
    "我爱北京。これは日本語の文です",
    " tabs\tand\n\nlines  ",
    "naïve Ünïcödé ½ ﬁne",
]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("text", TEXTS)
def test_every_character_is_in_exactly_one_word(name, text):
    side = encode(ALL[name](), text, limit=None).source
    covered = [0] * len(text)
    for start, end in side.spans[0]:
        for i in range(start, end):
            covered[i] += 1
    assert [bool(c) for c in covered] == [not c.isspace() for c in text]
    assert max(covered) == 1
    for position, word in enumerate(side.words):
        if word is not None:
            span, (start, end) = side.offsets[position], side.spans[0][word]
            assert start <= span[0] <= span[1] <= end or text[span[0] : span[1]].isspace() or span[0] == span[1]


@pytest.mark.parametrize("name", ["word_piece", "byte_level", "unigram", "byte_slow"])
def test_tokenizers_agree_about_words(name):
    tokenizer = ALL[name]()
    side = encode(tokenizer, "Unbelievably, the cat doesn't sit on 3.14 mats 🙂 !", limit=None).source
    shown = [token["text"] for token in word_labels(side, tokenizer) if not token["special"]]
    assert shown == ["Unbelievably", ",", "the", "cat", "doesn't", "sit", "on", "3.14", "mats", "🙂", "!"]


@pytest.mark.parametrize("name", ALL)
def test_the_users_words_win(name):
    tokenizer = ALL[name]()
    given = ["New York", "doesn't", "我爱", "北京", "state-of", "🙂!"]
    side = encode(tokenizer, given, limit=None).source
    shown = [token["text"] for token in word_labels(side, tokenizer) if not token["special"]]
    assert shown == given
    own = [w for w, special in zip(side.words, side.special, strict=True) if not special]
    assert sorted(set(own)) == list(range(len(given)))
    assert own == sorted(own)


def test_scripts_without_spaces_follow_the_tokenizer():
    side = encode(word_piece(), "我爱北京 abc", limit=None).source
    assert [side.sources[0][a:b] for a, b in side.spans[0]] == ["我", "爱", "北", "京", "abc"]
    side = encode(unigram(), "我爱北京天安门", limit=None).source
    pieces = [(a, b) for a, b in dict.fromkeys(s for s in side.offsets if s is not None and s[1] > s[0])]
    assert list(side.spans[0]) == pieces


def test_word_maps_sum_columns_average_rows_and_rows_still_sum_to_one():
    side = encode(word_piece(), ("Unbelievably good", "the cat doesn't matter"), limit=None).source
    maps = np.random.default_rng(0).dirichlet(np.ones(len(side)), size=(2, 3, len(side))).astype(np.float32)
    found = to_words(maps, side)
    n_words = 2 + 4 + 3
    assert found.shape == (2, 3, n_words, n_words)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.sum(-1), 1, atol=1e-5)
    group = groups(side)
    slow = np.zeros((n_words, n_words))
    for i, a in enumerate(group):
        for j, b in enumerate(group):
            slow[a, b] += maps[1, 2, i, j] / (group == a).sum()
    np.testing.assert_allclose(found[1, 2], slow, atol=1e-6)
    summed = to_words(maps, side, rows="sum")
    np.testing.assert_allclose(summed.sum(), maps.sum(), rtol=1e-5)
    np.testing.assert_allclose(word_vector(maps[0, 0, 0], side).sum(), 1, atol=1e-5)


def test_special_tokens_and_one_piece_words_are_as_before():
    side = encode(word_piece(), "the cat", limit=None).source
    assert len(side) == 4  # nothing was split
    maps = np.random.default_rng(0).random((4, 4))
    np.testing.assert_array_equal(to_words(maps, side), maps)
    split = encode(word_piece(), ("unbelievably", "cat"), limit=None).source
    group = groups(split)
    assert [int((group == group[i]).sum()) for i, special in enumerate(split.special) if special] == [1, 1, 1]
    assert group.max() + 1 == 5


def test_word_maps_of_two_sides():
    query = encode(unigram(), "unbelievably good", limit=None).source
    key = encode(unigram(), "doesn't matter", limit=None).source
    maps = np.full((len(query), len(key)), 1 / len(key))
    assert to_words(maps, query, key).shape == (3, 3)
    with pytest.raises(InputError, match="on axis 1"):
        to_words(np.ones((len(query), len(key) + 1)), query, key)


def test_a_nan_row_stays_where_it_is():
    side = encode(word_piece(), "unbelievably good", limit=None).source
    maps = np.full((len(side), len(side)), 1 / len(side))
    maps[-1] = np.nan
    found = to_words(maps, side)
    assert np.isnan(found[-1]).all()
    assert np.isfinite(found[:-1]).all()


def test_bad_arguments_of_word_maps():
    side = encode(byte_level(), "the cat", limit=None).source
    with pytest.raises(InputError, match="'mean' or 'sum'"):
        to_words(np.ones((2, 2)), side, rows="max")
    with pytest.raises(InputError, match="tokens on axis"):
        to_words(np.ones((99, 99)), side)


class Scrambled(transformers.CanineTokenizer):
    """A slow tokenizer whose tokens do not match the text at all."""

    def convert_tokens_to_string(self, tokens):
        return "%" * len(tokens)


def test_a_tokenizer_without_offsets_that_does_not_match_its_text_has_no_words():
    tokenizer = Scrambled()
    side = encode(tokenizer, "the cat", limit=None).source
    assert side.spans == ()
    with pytest.raises(InputError, match=r"gives no offsets.*words=False"):
        word_labels(side, tokenizer)


@pytest.mark.data
@pytest.mark.parametrize("treebank", ["he_htb", "ja_gsd", "zh_gsdsimp"])
@pytest.mark.parametrize("name", ["sst2", "multi30k-en-de", "byte_level", "byte_slow"])
def test_real_sentences_of_other_scripts(data_folder, treebank, name):
    path = data_folder / "data" / "ud" / treebank / f"{treebank}-ud-dev.conllu.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        sentences = [line[len("# text = ") :].rstrip("\n") for line in lines if line.startswith("# text = ")][:60]
    assert len(sentences) == 60
    if name in ALL:
        tokenizer = ALL[name]()
    else:
        tokenizer = transformers.AutoTokenizer.from_pretrained(data_folder / "models" / name)
    for text in sentences:
        side = encode(tokenizer, text, limit=None).source
        covered = np.zeros(len(text), dtype=int)
        for start, end in side.spans[0]:
            covered[start:end] += 1
        assert covered.max() == 1
        np.testing.assert_array_equal(covered > 0, [not c.isspace() for c in text])
        reached = {w for w in side.words if w is not None}
        assert reached == set(range(len(side.spans[0])))  # every word has a token
