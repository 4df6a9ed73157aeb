"""AttributionTree without a browser: what it takes, what follows the sliders, what it saves."""

import json
import threading

import numpy as np
import pytest

import headwidgets.widgets as hw
from headwidgets.errors import Cancelled, InputError, UnsupportedError
from headwidgets.figures.saved import size
from headwidgets.wire.arrays import pack, unpack
from headwidgets.wire.growth import grow
from tests.wire import make_fixtures

from .fakes import FakeSource, Page


class Finished:
    """Looks like a `Tree`."""

    terminals = ()

    def __init__(self, **part):
        self.part = part

    def document(self):
        return {**make_fixtures.tree(), **self.part}


class TreeText:
    """A text whose tree takes a while; `gate` holds it."""

    def __init__(self, source):
        self.source = source
        self.asked = []
        self.closed = False

    def tree(self, options, on_progress, cancelled):
        self.asked.append(options)
        for layer in range(6):
            self.source.step(cancelled)
            on_progress(layer + 1, 6)
        return {**make_fixtures.tree(), "threshold": options["threshold"], "penalty": options["penalty"]}

    def close(self):
        self.closed = True


class TreeSource(FakeSource):
    def text(self, text, **options):
        if not text:
            raise InputError("the text is empty: pass at least one character")
        self.given = options
        self.looked.append(TreeText(self))
        return self.looked[-1]


@pytest.fixture
def source():
    return TreeSource()


def grown(threshold, penalty=0.0, level=0):
    return grow(make_fixtures.tree()["levels"][level], threshold, penalty).edges


def test_from_a_model_and_a_text(source):
    tree = hw.AttributionTree(source, "a told", target="positive", output="log-odds", threshold=0.1, kind="encoder")
    assert source.given == {"target": "positive", "output": "log-odds"}
    (options,) = source.looked[0].asked
    assert options == {"threshold": 0.1, "penalty": 0.0, "kind": "encoder", "root": "auto", "order": "strongest"}
    assert tree.status == ""
    assert tree.edges == grown(0.1)
    assert len(tree.edges) > 2
    assert tree.summary() == (
        f"AttributionTree(log-odds of 'positive'; {len(tree.edges)} edges in 6 layers; threshold 0.1, penalty 0)"
    )


def test_edges_follow_tau_lambda_and_words_also_when_the_browser_moves_them():
    tree = hw.AttributionTree(Finished())
    assert (tree.threshold, tree.penalty, tree.collapsed) == (0.2, 0.0, False)
    page = Page(tree)
    page.set(threshold=0.05)
    assert tree.threshold == 0.05
    assert tree.edges == grown(0.05)
    assert len(tree.edges) > len(grown(0.2))
    tree.penalty = 0.5
    assert tree.edges == grown(0.05, 0.5)
    assert tree.objective == pytest.approx(
        sum(e.weight - 0.5 * make_fixtures.tree()["levels"][0]["heaviest"] for e in tree.edges)
    )
    page.set(collapsed=True, penalty=0.0)
    assert tree.edges == grown(0.05, 0.0, level=1)
    assert len(tree.labels) == 6
    assert tree.labels[2] == "untold"
    assert tree.root == 0
    assert tree.terminals[0].key == tree.top
    assert tree.picture()["threshold"] == 0.05
    assert tree.picture()["collapsed"] is True


def test_the_picture_has_the_edges_of_now(tmp_path):
    tree = hw.AttributionTree(Finished(), threshold=0.9)
    Page(tree).set(threshold=0.05)
    svg = tree.save(tmp_path / "tree.svg").read_text(encoding="utf-8")
    wanted = [f'data-edge="{e.layer} {e.query} {e.key}"' for e in tree.edges]
    assert len(wanted) > 2
    assert svg.count('data-part="edge"') == len(wanted)
    assert all(one in svg for one in wanted)
    for suffix in (".png", ".pdf", ".html"):
        assert tree.save(tmp_path / f"tree{suffix}").stat().st_size > 1000


def test_a_saved_output_keeps_the_data_a_picture_and_a_line(monkeypatch):
    data = hw.AttributionTree(Finished())._bundle()
    assert {"application/vnd.headwidgets.tree+json", "image/png", "image/svg+xml", "text/plain"} <= set(data)
    assert size(data) < 200_000
    unpacked = unpack(data["application/vnd.headwidgets.tree+json"])
    np.testing.assert_array_equal(unpacked["levels"][0]["edges"], make_fixtures.tree()["levels"][0]["edges"])


def test_a_long_saved_tree_stays_below_its_limit_by_leaving_out_the_weakest_candidates(tmp_path):
    rng = np.random.default_rng(0)
    count = 300
    edges = np.sort(rng.choice(12 * count * count, 4000, replace=False)).astype(np.int32)
    level = {
        **make_fixtures.tree()["levels"][0],
        "count": count,
        "edges": edges,
        "weight": rng.random(4000).astype(np.float32),
        "peak": np.ones(12, np.float32),
        "gathered": rng.random(count).astype(np.float32),
        "terminal": rng.random(count).astype(np.float32),
    }
    token = {"text": "something", "special": False, "continued": False, "joined": False}
    words = {"tokens": [token] * count, "words": list(range(count)), "layers": 12}
    tree = hw.AttributionTree(Finished(levels=[level, level], **words))
    assert size(tree._bundle()) < 200_000


def test_progress_is_said_and_a_tree_that_is_not_there_yet_says_so(source):
    source.gate.clear()
    tree = hw.AttributionTree(source, "a told", wait=0)
    assert tree.status.startswith("Attribution")
    with pytest.raises(InputError, match="there is no tree yet"):
        _ = tree.edges
    assert "Attribution" in tree.summary()
    source.gate.set()
    assert tree.wait(10)
    assert tree.edges == grown(0.4)


def test_what_goes_wrong_is_raised_and_said(source):
    source.fail = UnsupportedError("the model gives no attribution")
    with pytest.raises(UnsupportedError, match="no attribution"):
        hw.AttributionTree(source, "a told")
    with pytest.raises(InputError, match="empty"):
        hw.AttributionTree(source, "")


def test_closing_cancels_and_lets_go(source):
    source.gate.clear()
    tree = hw.AttributionTree(source, "a told", wait=0)
    source.waiting.wait(5)
    threading.Timer(0.2, source.gate.set).start()
    tree.close()
    assert source.looked[0].closed
    with pytest.raises((InputError, Cancelled)):
        _ = tree.edges


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"threshold": 1.0}, InputError, "threshold to be a number from 0 to below 1, got 1.0"),
        ({"threshold": "high"}, InputError, "got 'high'"),
        ({"penalty": 1.5}, InputError, "penalty to be a number from 0 to 1, got 1.5"),
        ({"order": "weakest"}, InputError, "'published'"),
        ({"treshold": 0.3}, TypeError, "did you mean 'threshold'"),
    ],
)
def test_arguments_that_cannot_be_used_are_named(source, options, error, said):
    with pytest.raises(error, match=said):
        hw.AttributionTree(source, "a told", **options)


def test_a_trait_out_of_range_is_refused_and_the_old_value_stays():
    tree = hw.AttributionTree(Finished())
    with pytest.raises(InputError, match="from 0 to below 1"):
        tree.threshold = -1
    assert tree.threshold == 0.2


def test_a_tree_is_about_its_own_text():
    with pytest.raises(InputError, match="its own text"):
        hw.AttributionTree(Finished(), "another")


def test_tau_begins_where_the_candidates_do():
    document = make_fixtures.tree()
    level = {**document["levels"][0], "floor": 0.3}
    tree = hw.AttributionTree(Finished(levels=[level], words=list(range(7)), threshold=0.1))
    assert tree.threshold == 0.3
    assert tree.edges == grown(0.3)


def test_the_live_document_is_small():
    tree = hw.AttributionTree(Finished())
    document, buffer = pack(tree._current)
    assert len(json.dumps(document)) + len(buffer) < 10_000
    assert tree.document["levels"][0]["edges"]["offset"] == 0
