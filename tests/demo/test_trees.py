"""The demo's treebank: trees that are trees, the same everywhere, and splits that share nothing."""

import subprocess
import sys

import pytest

from headwidgets import InputError, Treebank, demo
from headwidgets.demo import trees

SPLITS = tuple(trees.SIZES)


@pytest.fixture(scope="module")
def banks():
    return {split: demo.treebank(split) for split in SPLITS}


def test_every_tree_has_one_root_and_no_cycle(banks):
    for sentence in (s for bank in banks.values() for s in bank):
        assert [w.head for w in sentence.words].count(-1) == 1
        for word in range(len(sentence)):
            seen = set()
            while word != -1:
                assert word not in seen, sentence.text
                seen.add(word)
                word = sentence.words[word].head


def test_words_are_where_they_say(banks):
    for sentence in (s for bank in banks.values() for s in bank):
        for word in sentence.words:
            assert sentence.text[slice(*word.span)] == word.form
        for mention in sentence.mentions:
            assert mention.words == tuple(range(mention.words[0], mention.words[-1] + 1))
            outside = [w for w in mention.words if sentence.words[w].head not in mention.words]
            assert outside == [mention.head]


def test_splits_have_their_size_and_share_no_sentence(banks):
    texts = {split: {s.text for s in bank} for split, bank in banks.items()}
    assert {split: len(bank) for split, bank in banks.items()} == trees.SIZES
    assert not texts["train"] & texts["dev"]
    assert not texts["test"] & (texts["train"] | texts["dev"])


def test_a_pronoun_means_the_person_of_its_story(banks):
    for sentence in banks["dev"]:
        for mention in sentence.mentions:
            word = sentence.words[mention.head]
            if word.form.lower() in ("he", "she", "his", "her"):
                assert mention.kind == "person", sentence.text
            if word.form.lower() == "it":
                assert mention.kind == "object", sentence.text


def test_the_same_sentences_come_out_in_another_process(banks):
    code = "from headwidgets import demo; print(*[s.text for s in demo.treebank('dev')], sep='\\n')"
    found = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONHASHSEED": "1"}, capture_output=True, text=True, check=True
    )
    assert found.stdout.splitlines() == [s.text for s in banks["dev"]]


def test_another_split_is_refused():
    with pytest.raises(InputError, match="train, dev, test"):
        demo.treebank("validation")


def test_it_is_written_and_read_back(banks, tmp_path):
    bank = banks["dev"]
    again = Treebank.read(bank.write(tmp_path / "demo.conllu"))
    assert [s.text for s in again] == [s.text for s in bank]
    assert [[(w.form, w.head, w.relation) for w in s] for s in again] == [
        [(w.form, w.head, w.relation) for w in s] for s in bank
    ]
    chains = [[{m.words for s in b for m in s.mentions if m.entity == "dev.1.person"}] for b in (again, bank)]
    assert chains[0] == chains[1] != [set()]
    assert again.fingerprint == bank.fingerprint
