"""What links and probes send to `ProbeView`: the numbers on show are those of the result, however it travels."""

import json

import numpy as np
import pytest

import headwidgets as hw
from headwidgets.figures import draw
from headwidgets.probing import Link, LinkExample
from headwidgets.wire.arrays import unpack
from headwidgets.wire.documents import ProbeDocument
from tests.models.tiny import made

from .test_links import some_examples
from .test_probes import bank


@pytest.fixture(scope="module")
def links():
    model = made("bert")
    return hw.probing.links(model, some_examples(0, 12), choose=some_examples(1, 12), random=1)


@pytest.fixture(scope="module")
def evaluation():
    probe = hw.probing.train_probe(made("bert"), bank(12), seeds=1, random=1, epochs=2)
    return probe.evaluate(bank(8, 50), trees=3)


def test_links_are_shown_as_they_were_found(links):
    view = hw.ProbeView(links)
    shown = unpack(view.document, view.buffer)
    assert ProbeDocument.__required_keys__ <= shown.keys()
    assert view.rows == [(row.relation, row.label) for row in links.rows]
    for number, row in enumerate(links.rows):
        view.row = number
        assert view.selected == ((row.best,) if row.best else ())
        np.testing.assert_allclose(shown["table"][number], links.accuracy[number], atol=1e-6)
        for arc, kept in zip(shown["rows"][number]["arcs"], row.arcs, strict=True):
            was, now = links.arcs[kept], shown["arcs"][arc]
            np.testing.assert_array_equal(shown["predicted"][arc], was.predicted)
            assert (tuple(now["source"]), tuple(now["target"])) == (was.source, was.target)
            words = shown["sentences"][now["sentence"]]["words"]
            assert tuple(words) == links.sentences[was.sentence].words


def test_a_file_of_links_draws_the_same_picture(links, tmp_path):
    path = links.save(tmp_path / "links.heads")
    stored = json.loads(path.read_text("utf-8"))
    assert draw(stored).svg == draw({**links.document(), "table": links.accuracy}).svg, "a file has more digits"
    assert draw(hw.read(path).document()).svg == draw(links.document()).svg


def test_of_a_pair_it_is_shown_where_the_second_text_begins():
    model = made("marian", "seq2seq")
    source = LinkExample(["a", "big", "dog"])
    pairs = [LinkExample(["the", "cat", "sat"], [Link("alike", 0, 1), Link("alike", 2, 0)], against=source)] * 4
    found = hw.probing.links(model, pairs, choose=pairs, random=0)
    document = found.document()
    sentence = document["sentences"][0]
    assert (sentence["words"], sentence["second"]) == (["a", "big", "dog", "the", "cat", "sat"], 3)
    sides = {tuple(place >= 3 for place in (*arc["source"], *arc["target"])) for arc in document["arcs"]}
    assert sides <= {(True, False), (False, True)}, "an arc goes from one text to the other"
    assert ">|</text>" in draw(document).svg


def test_a_probe_shows_its_scores_and_trees(evaluation):
    view = hw.ProbeView(evaluation)
    shown = unpack(view.document, view.buffer)
    assert [score["name"] for score in shown["scores"]] == [result.name for result in evaluation.results]
    assert len(shown["trees"]) == 3
    for tree, found in zip(shown["trees"], evaluation.trees, strict=True):
        assert tree["gold"] == [word.head for word in found.sentence.words]
        assert tuple(tree["predicted"]) == tuple(found.predicted)
        assert shown["sentences"][tree["sentence"]]["words"] == [word.form for word in found.sentence.words]
    view.tree = 2
    right = sum(g == p for g, p in zip(shown["trees"][2]["gold"], shown["trees"][2]["predicted"], strict=True))
    words = len(shown["trees"][2]["gold"])
    assert f"{right} of {words} words have the right head" in draw(view.picture()).svg
