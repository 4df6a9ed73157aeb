"""Coreference in ``Entity=``: nested, with gaps, with bridges, in the ways that GUM and CorefUD write it."""

import gzip
import re
from collections import Counter

import pytest

import headwidgets as hw
from headwidgets.text.conllu import parse_text
from headwidgets.text.treebank import Mention
from tests.text.conllu_fixtures import CATS, mentions, row, sentence

GUM = "GRP-etype-infstat-salience-centering-minspan-link-identity"


def read(text: str):
    return parse_text(text, "x.conllu")[0]


def brief(found) -> list[tuple]:
    return [(m.entity, m.words, m.head, m.kind) for m in found.mentions]


def test_nested_mentions():
    text = mentions(
        "Entity=(e1-person-1-", "Entity=(e2-place-1-)(e3-thing-1-", "", "Entity=e3)e1)", "Entity=(e1-person-1-)"
    )
    assert brief(read(text)[0]) == [
        ("e1", (0, 1, 2, 3), 0, "person"),
        ("e3", (1, 2, 3), 1, "thing"),
        ("e2", (1,), 1, "place"),
        ("e1", (4,), 4, "person"),
    ]


def test_mentions_of_one_entity_inside_each_other():
    text = mentions("Entity=(e1--2-(e1--1-", "Entity=e1)", "Entity=e1)")
    assert brief(read(text)[0]) == [("e1", (0, 1, 2), 1, ""), ("e1", (0, 1), 0, "")]


def test_crossing_brackets():
    text = mentions("Entity=(e1", "Entity=(e2", "Entity=e1)", "Entity=e2)", declared="")
    assert [m.words for m in read(text)[0].mentions] == [(0, 1, 2), (1, 2, 3)]


def test_a_mention_with_a_gap():
    text = mentions("Entity=(e1[1/2]-thing-2-", "Entity=e1[1/2])", "", "Entity=(e1[2/2]-thing-2-)")
    assert brief(read(text)[0]) == [("e1", (0, 1, 3), 1, "thing")]


def test_bridges_and_split_antecedents():
    text = mentions(
        "Entity=(e1-person-1-)",
        "Entity=(e2-person-1-)",
        "Bridge=e1<e3:part,e2<e3|Entity=(e3-thing-1-",
        "Entity=e3)|SpaceAfter=No",
        "Entity=(e4-person-1-)|SplitAnte=e1<e4,e2<e4",
    )
    found = read(text)[0].mentions
    assert [m.bridges for m in found] == [(), (), (("e1", "part"), ("e2", "")), ()]
    assert [m.antecedents for m in found] == [(), (), (), ("e1", "e2")]
    loose = parse_text(mentions("Bridge=e1<e3"), "x")
    assert loose[1] == ["1 bridges or split antecedents belong to no mention and were left out."]


def test_the_head_is_the_declared_one_or_the_highest_in_the_tree():
    heads = (2, 3, 0, 3)  # w1 <- w2 <- w3 -> w4
    assert read(mentions("Entity=(e1-x-1-", "Entity=e1)", "", "", heads=heads))[0].mentions[0].head == 0
    assert read(mentions("Entity=(1-x-new-s-cf1-1,2-sgl", "Entity=1)", "", "", heads=heads, declared=GUM))[
        0
    ].mentions == (Mention("1", (0, 1), 1, "x"),)
    assert (
        read(mentions("Entity=(1-x-new-s-cf1-1-sgl", "Entity=1)", "", "", heads=heads, declared=GUM))[0]
        .mentions[0]
        .head
        == 0
    )
    undeclared = mentions("Entity=(e1", "", "Entity=e1)", "", heads=heads, declared="")
    assert brief(read(undeclared)[0]) == [("e1", (0, 1, 2), 2, "")]


def test_hyphens_of_the_last_field_are_its_own():
    found = read(mentions("Entity=(1-person-new-s-cf1-1-coref-Jean-Luc_P)", declared=GUM))[0]
    assert brief(found) == [("1", (0,), 0, "person")]


def test_the_name_may_stand_behind_the_type():
    text = mentions("Entity=(person-1(place-2)", "Entity=person-1)", "Entity=(person-1)", declared="entity-GRP")
    assert brief(read(text)[0]) == [("1", (0, 1), 0, "person"), ("2", (0,), 0, "place"), ("1", (2,), 2, "person")]


def test_empty_nodes_are_counted_in_heads_and_left_out_of_words():
    rows = [
        row(1, "a", 0, "root", "Entity=(e1-x-3-"),
        row("1.1", "zero", misc="Entity=(e2-x-1-)"),
        row(2, "b", 1, "x", "Entity=e1)"),
    ]
    text = sentence(*rows, comments=("# newdoc id = d", "# global.Entity = eid-etype-head-other"))
    found, notes = parse_text(text, "x")
    assert brief(found[0]) == [("e1", (0, 1), 1, "x")]
    assert notes == [
        "1 empty nodes were left out: no token stands for them.",
        "1 mentions name nothing but empty nodes and were left out.",
    ]


def test_a_mention_over_the_end_of_a_sentence_is_left_out_and_counted():
    one = mentions("Entity=(e1", "", declared="")
    two = sentence(row(1, "v1", 0, "root", "Entity=e1)(e2)"))
    found, notes = parse_text(one + two, "x")
    assert [brief(s) for s in found] == [[], [("e2", (0,), 0, "")]]
    assert notes == ["1 mentions go over the end of a sentence and were left out."]


def test_entities_of_files_without_documents_are_apart(tmp_path):
    for name in ("a.conllu", "b.conllu"):
        (tmp_path / name).write_text(sentence(row(1, "a", 0, "root", "Entity=(e1)")), encoding="utf-8")
    both = hw.Treebank.read(tmp_path / "a.conllu", tmp_path / "b.conllu")
    assert both.documents == ["a.conllu", "b.conllu"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (mentions("Entity=e1)"), 3, "closes a mention of 'e1' that was not opened"),
        (mentions("Entity=(e1-x-1-"), 5, "mention of 'e1' that opens on line 3 is never closed"),
        (mentions("Entity=(e1-x-1-") + CATS, 5, "opens on line 3 is never closed"),
        (mentions("Entity=e1"), 3, "expected brackets such as"),
        (mentions("Entity=()"), 3, "expected brackets such as"),
        (mentions("Entity=((e1)"), 3, "expected brackets such as"),
        (mentions("Entity=(-x-1-)"), 3, "expected the name of an entity"),
        (mentions("Entity=(e1[3/2]-x-1-)"), 3, "piece 1 to 2 of 'e1', got piece 3"),
        (mentions("Entity=(e1[2/2]-x-1-)"), 3, "piece 2 of a mention of 'e1' comes before piece 1"),
        (mentions("Entity=(e1[1/2]-x-1-)"), 5, "begins on line 3 has 1 of its 2 pieces"),
        (mentions("Entity=(e1-x-2-)"), 3, "head of a mention of 'e1' as a number from 1 to 1, got '2'"),
        (mentions("Entity=(e1-x-0-)"), 3, "got '0'"),
        (mentions("Entity=(e1-x-one-)"), 3, "got 'one'"),
        (mentions("Bridge=e1"), 3, "expected Bridge= as antecedent<anaphor, got 'e1'"),
        (mentions("SplitAnte=e1<"), 3, "expected SplitAnte="),
        (mentions("", declared="etype-head"), 2, "expected global.Entity to declare eid or GRP"),
        (
            sentence(row("1-2", "ab", misc="Entity=(e1)"), row(1, "a", 0, "root"), row(2, "b", 1, "x")),
            1,
            "stands on a multiword token",
        ),
    ],
)
def test_every_fault_is_named_with_its_line(text, line, message):
    with pytest.raises(hw.InputError, match=rf"^x\.conllu, line {line}: .*{re.escape(message)}"):
        read(text)


# ---- GUM, counted in another way ---------------------------------------------------------------------------


def brackets_of(path) -> set[tuple]:
    """Document, sentence, entity, first word, last word and type of every mention, with one pass over the brackets."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = file.read().split("\n")
    spans, number, document, waiting, last = set(), -1, "", {}, ""
    for line in lines:
        if line.startswith("# newdoc id"):
            document, waiting = line.split(" = ")[1].strip(), {}
        number += line.startswith("# sent_id")
        columns = line.split("\t")
        if not columns[0].isdigit():
            continue
        value = next((p[7:] for p in columns[9].split("|") if p.startswith("Entity=")), "")
        for bracket in re.findall(r"\([^()]*|[^()]*\)", value):
            if bracket[0] == "(":
                last = bracket[1:].split("-")[0]
                waiting.setdefault(last, []).append((int(columns[0]) - 1, bracket.split("-")[1]))
            else:  # a bare ) closes what opened last
                name = bracket[:-1] or last
                begin, kind = waiting[name].pop()
                spans.add((document, number, name, begin, int(columns[0]) - 1, kind))
    return spans


@pytest.mark.data
def test_mentions_of_gum(data_folder):
    path = data_folder / "data" / "ud" / "en_gum" / "en_gum-ud-dev.conllu.gz"
    found = hw.Treebank.read(path)
    assert {
        (s.document, i, m.entity, m.words[0], m.words[-1], m.kind) for i, s in enumerate(found) for m in s.mentions
    } == (brackets_of(path))
    assert sum(len(s.mentions) for s in found) == len(brackets_of(path))
    assert all(m.words == tuple(range(m.words[0], m.words[-1] + 1)) for s in found for m in s.mentions)
    chains = Counter((s.document, m.entity) for s in found for m in s.mentions)
    assert sum(count > 1 for count in chains.values()) == 1102
    for own in found:
        for mention in own.mentions:
            assert mention.head in mention.words
