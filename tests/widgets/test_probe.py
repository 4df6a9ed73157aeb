import json

import numpy as np
import pytest

import headwidgets.widgets as hw
from headwidgets.errors import InputError
from headwidgets.figures import draw
from headwidgets.figures.saved import size
from headwidgets.scores import Head
from headwidgets.wire.arrays import unpack

from .fakes import HOSTILE, Page

KINDS = {"encoder": 0, "decoder": 1, "cross": 2}


class Found:
    """What `hw.probing.syntax` or a probe returns, as far as a view asks; numbers are drawn."""

    def __init__(self, relations=3, layers=2, heads=3, arcs=4, words=7, trees=0, kinds=("encoder",), hostile=False):
        rng = np.random.default_rng(relations + heads)
        refs = [(kind, layer, head) for kind in kinds for layer in range(layers) for head in range(heads)]
        rows, examples, sentences = [], [], []
        for number in range(relations):
            for direction in ("dependent to head", "head to dependent"):
                own = range(len(examples), len(examples) + arcs)
                for _ in own:
                    source, target = (int(i) for i in rng.choice(words, 2, replace=False))
                    examples.append({"sentence": len(sentences), "source": [source], "target": [target]})
                    sentences.append(self.sentence(len(sentences), words, hostile))
                rows.append(
                    {
                        "relation": HOSTILE if hostile else f"relation{number}", "direction": direction, "n": 40,
                        "best": list(refs[(number * 5) % len(refs)]) if refs else None,
                        "accuracy": {"value": 0.6, "low": 0.5, "high": 0.7}, "baseline": 0.4, "offset": -1,
                        "strongest": "own offset profile" if number else "",
                        "strongest_accuracy": 0.45 if number else float("nan"), "verdict": "above every baseline",
                        "verdict_good": True, "arcs": list(own),
                    }
                )  # fmt: skip
        shown = []
        for _ in range(trees):
            heads_of = [-1, *(int(rng.integers(0, at)) for at in range(1, words))]
            shown.append(
                {
                    "sentence": len(sentences), "gold": heads_of, "predicted": heads_of[::-1],
                    "relations": ["root"] + [f"relation{at % 3}" for at in range(1, words)],
                }
            )  # fmt: skip
            sentences.append(self.sentence(len(sentences), words, hostile))
        self.made = {
            "schema": 1, "document": "probe", "title": "Found", "measure": "accuracy",
            "heads": np.array([(KINDS[k], layer, head) for k, layer, head in refs], np.int32).reshape(-1, 3),
            "rows": rows, "table": rng.random((len(rows), len(refs))).astype(np.float32), "sentences": sentences,
            "arcs": examples, "predicted": rng.integers(-1, words, (len(examples), len(refs))).astype(np.int32),
            "trees": shown, "scores": [], "shown": 0, "head": None, "selected": [], "note": "", "provenance": None,
        }  # fmt: skip

    @staticmethod
    def sentence(number, words, hostile):
        return {
            "words": [HOSTILE if hostile else f"word{number}.{at}" for at in range(words)],
            "glued": [False] * words,
            "name": f"sentence {number}",
        }

    def document(self):
        return dict(self.made)


def test_a_view_holds_the_document_and_its_arrays():
    found = Found()
    view = hw.ProbeView(found)
    shown = unpack(view.document, view.buffer)
    np.testing.assert_array_equal(shown["table"], found.made["table"])
    np.testing.assert_array_equal(shown["predicted"], found.made["predicted"])
    assert shown["rows"][0]["strongest_accuracy"] == -1, "JSON has no NaN"
    assert (view.row, view.selected) == (0, (Head("encoder", 0, 0),))
    assert view.summary() == ("ProbeView(6 rows; relation0 dependent to head: L0H0 60.0 % (50.0 to 70.0), n = 40)")


def test_a_row_selects_its_best_head_and_a_head_stays_until_another_row():
    view = hw.ProbeView(Found(), row=("relation1", "head to dependent"))
    assert (view.row, view.selected) == (3, (Head("encoder", 1, 2),))
    view.selected = [Head("encoder", 0, 1)]
    assert view.picture()["head"] == ["encoder", 0, 1]
    view.row = 0
    assert view.selected == (Head("encoder", 0, 0),)
    view.row = -1
    assert view.selected == ()
    assert view.picture()["shown"] == -1
    view.set_state({"row": 4, "selected": [["encoder", 1, 0]], "sort": "-accuracy"})
    assert (view.row, view.selected, view.sort) == (4, (Head("encoder", 1, 0),), "-accuracy")
    kept = hw.ProbeView(Found(), row=2, selected=[Head("encoder", 1, 1)])
    assert kept.selected == (Head("encoder", 1, 1),)


def test_a_grid_and_a_view_follow_each_other():
    grid = hw.HeadGrid(np.random.default_rng(0).random((2, 3)))
    view = hw.ProbeView(Found(), grid)
    assert grid.selected == (Head("encoder", 0, 0),)
    view.row = 2
    assert grid.selected == (Head("encoder", 1, 2),)
    grid.selected = [Head("encoder", 0, 2), Head("encoder", 0, 1)]
    assert view.selected == (Head("encoder", 0, 2), Head("encoder", 0, 1))
    assert view.picture()["head"] == ["encoder", 0, 2]
    view.close()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"row": 6}, "no row 6 here: rows are 0 to 5"),
        ({"row": "nsubj"}, "no row for 'nsubj': the relations are relation0, relation1, relation2"),
        ({"row": ("relation0", "up")}, "no row for 'relation0' in the direction 'up'"),
        ({"row": 1.5}, "expected row= as its number, its relation or"),
        ({"row": ("relation0",)}, "expected row= as its number, its relation or"),
        ({"sort": "colour"}, "no column 'colour' here: the columns are relation, direction"),
        ({"tree": 1}, "there are no trees here"),
        ({"selected": [Head("encoder", 2, 0)]}, "L2H0 does not exist"),
        ({"grid": 3}, "expected a widget with heads to choose, for example hw.HeadGrid, got int"),
    ],
)
def test_what_is_not_there_is_refused(change, words):
    with pytest.raises(InputError, match=words):
        hw.ProbeView(Found(), **change)


def test_what_is_not_a_result_is_refused():
    with pytest.raises(
        InputError, match=r"hw.probing.syntax or hw.probing.links returned, or a trained probe, got list"
    ):
        hw.ProbeView([1, 2])
    with pytest.raises(TypeError, match="did you mean 'selected'"):
        hw.ProbeView(Found(), selcted=1)


def test_another_result_takes_the_place_of_an_earlier_one():
    view = hw.ProbeView(Found(3), row=4)
    version = view.version
    view.show(Found(4))
    assert (view.rows[view.row], view.version) == (("relation2", "dependent to head"), version + 1)
    view.show(Found(1, heads=2), title="Small")
    assert (view.row, view.document["title"]) == (0, "Small")
    assert all(head.index < 2 for head in view.selected)


@pytest.mark.parametrize(
    ("relations", "layers", "heads", "arcs", "words"),
    [(6, 6, 12, 6, 20), (37, 12, 12, 8, 30), (60, 12, 12, 8, 30), (60, 32, 32, 2, 20), (37, 12, 12, 8, 300)],
)
def test_what_travels_and_what_is_saved_stays_small(relations, layers, heads, arcs, words):
    found = Found(relations, layers, heads, arcs, words)
    row = min(9, 2 * relations - 1)
    view = hw.ProbeView(found, row=row)
    assert len(json.dumps(view.document)) + len(view.buffer) < 150_000
    bundle = view._repr_mimebundle_()
    assert size(bundle) < 200_000
    assert {"application/vnd.headwidgets.probe+json", "image/png", "text/plain"} <= bundle.keys()
    for kept in (unpack(view.document, view.buffer), view.picture()):
        own = kept["rows"][row]["arcs"]
        assert own, "the chosen row keeps examples"
        for new, old in zip(own, found.made["rows"][row]["arcs"], strict=False):
            expected = found.made["predicted"][old].astype(int)
            got = kept["predicted"][new].astype(int)
            np.testing.assert_array_equal(
                np.where(got == 255, -1, got) if kept["predicted"].itemsize == 1 else got, expected
            )
            was, now = found.made["arcs"][old], kept["arcs"][new]
            assert (was["source"], was["target"]) == (now["source"], now["target"])
            assert kept["sentences"][now["sentence"]] == found.made["sentences"][was["sentence"]]
        table = kept["table"][row if len(kept["table"]) > 1 else 0]
        values = table / 254 if table.dtype == np.uint8 else table
        np.testing.assert_allclose(values, found.made["table"][row], atol=0.5 / 254 + 1e-6)


def test_a_row_that_came_without_its_examples_gets_them_when_it_is_chosen():
    found = Found(60, 32, 32, 2, 20)
    view = hw.ProbeView(found, row=0)
    page = Page(view)
    before = unpack(view.document, view.buffer)
    assert before["rows"][70]["arcs"] == []
    assert before["table"].shape == (1, 1024)
    view.set_state({"row": 70, "selected": [found.made["rows"][70]["best"]]})
    after = unpack(view.document, view.buffer)
    assert after["rows"][70]["arcs"]
    np.testing.assert_allclose(after["table"][0] / 254, found.made["table"][70], atol=0.5 / 254 + 1e-6)
    assert after["shown"] == 70
    assert any("document" in message.get("state", {}) for message, _ in page.sent)


def test_trees_that_do_not_fit_are_counted():
    view = hw.ProbeView(Found(2, 0, 0, 0, 30, trees=60))
    kept = len(view.document["trees"])
    assert 5 < kept < 60
    assert f"the first {kept} of 60 trees" in view.document["note"]
    view.tree = kept - 1
    with pytest.raises(InputError, match=f"there is no tree {kept} here: trees are 0 to {kept - 1}"):
        view.tree = kept
    assert size(view._repr_mimebundle_()) < 200_000
    assert view.picture()["tree"] == kept - 1


@pytest.mark.parametrize("found", [Found(), Found(2, 2, 2, kinds=("encoder", "decoder")), Found(2, 0, 0, 0, trees=3)])
def test_the_picture_is_drawn_without_a_browser(found, tmp_path):
    view = hw.ProbeView(found, row=1)
    drawing = draw(view.picture(), width=640)
    assert "relation0, head to dependent" in drawing.svg
    assert drawing.width <= 640
    for suffix in ("svg", "png", "pdf", "html"):
        assert view.save(tmp_path / f"probe.{suffix}").stat().st_size > 1_000


def test_words_are_only_ever_text(tmp_path):
    view = hw.ProbeView(Found(2, trees=1, hostile=True), row=1)
    assert "<img" not in draw(view.picture()).svg
    assert "&lt;img" in draw(view.picture()).svg
    assert "<img src=x" not in view.save(tmp_path / "probe.html").read_text("utf-8")
