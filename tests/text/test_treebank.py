"""What a treebank can do: be cut, filtered, split without a document on both sides, told apart, written back."""

from dataclasses import replace

import pytest

import headwidgets as hw
from headwidgets.text.conllu import parse_text
from headwidgets.text.examples import as_texts
from headwidgets.text.treebank import Mention, Sentence, Treebank, Word
from headwidgets.text.writing import conllu
from tests.text.conllu_fixtures import CATS, CONTINUOUS, MULTIWORD, mentions

ENTITIES = mentions("Entity=(e1-person-1-(e2-x-1-)", "Bridge=e2<e3|Entity=(e3--2-", "Entity=e3)", "Entity=e1)")


def treebank(text: str = CATS + MULTIWORD + CONTINUOUS) -> Treebank:
    return Treebank(parse_text(text, "x")[0], "x")


def documents(sizes: list[int]) -> Treebank:
    word = Word("a", "X", -1, "root", (0, 1))
    own = [Sentence((word,), "a", f"{d}.{i}", f"d{d}") for d, size in enumerate(sizes) for i in range(size)]
    return Treebank(tuple(own))


def test_it_is_a_sequence():
    tb = treebank()
    assert [s.name for s in tb] == ["s1", "s2", "line 22"]
    assert isinstance(tb[1], Sentence)
    assert isinstance(tb[:2], Treebank)
    assert [s.name for s in tb[::-1]] == ["line 22", "s2", "s1"]
    assert [s.name for s in tb[2:] + tb[:1]] == ["line 22", "s1"]
    assert repr(tb) == "Treebank(x: 3 sentences, 15 words)"
    assert repr(treebank(ENTITIES)) == "Treebank(x: 1 sentences, 4 words, 3 mentions)"
    assert repr(tb[0]) == "Sentence(s1: 'The cats sleep.', 4 words)"
    assert tb.texts == ["The cats sleep.", "I don't go aulit", "我爱北京。"]
    assert tb.n_words == 15


def test_relations_are_counted_and_sentences_chosen():
    tb = treebank(CATS)
    assert dict(tb.relations()) == {"det": 1, "nsubj": 1, "root": 1, "punct": 1}
    assert [s.name for s in treebank().filter(lambda s: len(s) == 4)] == ["s1", "line 22"]
    with pytest.raises(hw.InputError, match="function of a sentence"):
        tb.filter(3)


def test_documents_are_kept_whole():
    tb = documents([5, 1, 7, 3, 4])
    assert tb.documents == ["d0", "d1", "d2", "d3", "d4"]
    assert {name: len(own) for name, own in tb.by_document().items()} == {"d0": 5, "d1": 1, "d2": 7, "d3": 3, "d4": 4}
    for seed in range(30):
        one, two = tb.split(0.7, seed=seed)
        assert not set(one.documents) & set(two.documents)
        assert len(one) + len(two) == len(tb)
        assert 7 <= len(one) <= 19
        order = [tb.sentences.index(s) for s in one]
        assert order == sorted(order)
    assert tb.split(0.5, seed=3) == tb.split(0.5, seed=3)
    assert len({tb.split(0.5, seed=s)[0] for s in range(20)}) > 3


def test_sentences_of_one_document_are_drawn_one_by_one():
    one, two = documents([10]).split(0.8)
    assert (len(one), len(two)) == (8, 2)
    nobody = Treebank(tuple(replace(s, document="") for s in documents([10])))
    assert tuple(map(len, nobody.split(0.5))) == (5, 5)


@pytest.mark.parametrize("share", [0, 1, -0.5, 2, "half", True, float("nan")])
def test_a_share_is_between_0_and_1(share):
    with pytest.raises(hw.InputError, match="share= between 0 and 1"):
        documents([2, 2]).split(share)


def test_bad_splits():
    with pytest.raises(hw.InputError, match="at least two sentences"):
        documents([1]).split()
    with pytest.raises(hw.InputError, match="seed="):
        documents([2]).split(seed=-1)
    with pytest.raises(hw.InputError, match="expected a Treebank of Sentence objects, got str"):
        Treebank(("a sentence",))


def test_the_fingerprint_knows_words_trees_and_mentions_only():
    tb = treebank(CATS)
    (first,) = tb.sentences
    assert Treebank((replace(first, name="other", line=7, comments=()),), "y").fingerprint == tb.fingerprint
    words = first.words
    for other in (
        replace(first, words=(replace(words[0], head=2), *words[1:])),
        replace(first, words=(replace(words[0], relation="amod"), *words[1:])),
        replace(first, text="The  cats sleep."),
        replace(first, mentions=(Mention("e", (0,), 0),)),
    ):
        assert Treebank((other,)).fingerprint != tb.fingerprint
    assert treebank(CATS + CONTINUOUS).fingerprint != treebank(CONTINUOUS + CATS).fingerprint
    assert len(tb.fingerprint) == 32


def test_it_works_in_place_of_texts():
    assert as_texts(treebank()) == treebank().texts
    with pytest.raises(hw.InputError, match="at least one text"):
        as_texts(Treebank(()))


# ---- written back ------------------------------------------------------------------------------------------


def without_line(found) -> list[Sentence]:
    return [replace(s, line=0) for s in found]


@pytest.mark.parametrize(
    "text",
    [
        CATS,
        "# newdoc id = d\n" + MULTIWORD,
        CATS + CONTINUOUS.replace("# text", "# sent_id = s3\n# text"),
        ENTITIES.replace("# newdoc", "# sent_id = s\n# newdoc"),
        mentions("Entity=(a[1/2]-x-2-", "Entity=a[1/2])", "", "Entity=(a[2/2]-x-2-)").replace(
            "# newdoc", "# sent_id = s\n# newdoc"
        ),
    ],
)
def test_what_is_written_reads_the_same(text, tmp_path):
    before = treebank(text)
    for name in ("a.conllu", "a.conllu.gz"):
        path = before.write(tmp_path / name)
        after = Treebank.read(path)
        assert without_line(after) == without_line(before)
        assert after.fingerprint == before.fingerprint


def test_what_is_written_is_plain():
    assert conllu(treebank(CATS).sentences) == CATS


def test_texts_with_line_ends_can_be_written():
    words = (Word("a b", "X", -1, "root", (0, 3)), Word("c", "X", 0, "x", (5, 6)))
    text = conllu([Sentence(words, "a b\n\nc", "s")])
    (found,) = parse_text(text, "x")[0]
    assert (found.text, found.words) == ("a b  c", words)


@pytest.mark.parametrize(
    ("mention", "message"),
    [
        (Mention("e-1", (0,), 0), "cannot hold the name 'e-1'"),
        (Mention("e", (0,), 0, "a b"), "cannot hold the name 'a b'"),
        (Mention("e", (0,), 0, "", (("f<", ""),)), "cannot hold the name 'f<'"),
        (Mention("e", (), 0), "words of a mention"),
        (Mention("e", (1, 0), 0), "words of a mention"),
        (Mention("e", (7,), 7), "words of a mention as ascending positions below 4"),
        (Mention("e", (0,), 1), "the head of a mention, 1, is none of its words"),
    ],
)
def test_mentions_that_cannot_be_written(mention, message):
    (first,) = treebank(CATS).sentences
    with pytest.raises(hw.InputError, match=message):
        conllu([replace(first, mentions=(mention,))])


def test_mentions_of_one_entity_that_cross_cannot_be_written(tmp_path):
    (first,) = treebank(CATS).sentences
    crossing = (Mention("e", (0, 1, 2), 0), Mention("e", (1, 2, 3), 1))
    with pytest.raises(hw.InputError, match="overlap without one being inside the other"):
        conllu([replace(first, mentions=crossing)])
    with pytest.raises(hw.InputError, match="there is no folder"):
        treebank(CATS).write(tmp_path / "nowhere" / "a.conllu")
    with pytest.raises(hw.InputError, match="expected a path"):
        treebank(CATS).write(None)


@pytest.mark.data
@pytest.mark.parametrize("name", ["en_gum", "he_htb"])
def test_real_treebanks_survive(data_folder, name):
    before = Treebank.read(data_folder / "data" / "ud" / name / f"{name}-ud-dev.conllu.gz")[:100]
    assert without_line(parse_text(conllu(before.sentences), "x")[0]) == without_line(before)
