import json

import ipywidgets
import numpy as np
import pytest
import traitlets

import headwidgets.widgets as hw
from headwidgets.errors import InputError
from headwidgets.scores import Head, HeadScores
from headwidgets.widgets import assets
from headwidgets.wire.arrays import unpack

from .fakes import Page, heads


def shown(widget):
    return unpack(widget.document, widget.buffer)


def test_a_bare_array_needs_no_model():
    values = np.random.default_rng(0).random((3, 5))
    grid = hw.HeadGrid(values, name="confidence", unit="nats")
    (panel,) = shown(grid)["panels"]
    assert (panel["kind"], panel["layers"], panel["heads"]) == ("encoder", 3, 5)
    (score,) = panel["scores"]
    assert (score["name"], score["unit"], score["signed"]) == ("confidence", "nats", False)
    np.testing.assert_allclose(score["values"], values, rtol=1e-6)


def test_kinds_become_tabs_in_the_order_of_the_model():
    grid = hw.HeadGrid({"cross": np.ones((2, 4)), "encoder": np.zeros((3, 4))})
    assert [panel["kind"] for panel in grid.document["panels"]] == ["encoder", "cross"]


def test_several_scores_share_a_panel():
    one = HeadScores({"encoder": np.ones((2, 2))}, name="one", n=7, stderr={"encoder": np.full((2, 2), 0.5)})
    two = HeadScores({"encoder": -np.ones((2, 2))}, name="two", unit="nats")
    (panel,) = shown(hw.HeadGrid([one, two]))["panels"]
    assert [(s["name"], s["n"], s["signed"]) for s in panel["scores"]] == [("one", 7, False), ("two", 0, True)]
    assert panel["scores"][0]["stderr"][0, 0] == 0.5
    assert panel["scores"][1]["stderr"] is None


def test_what_was_not_measured_stays_nan():
    grid = hw.HeadGrid([[1.0, np.nan], [np.inf, 0.0]])
    values = shown(grid)["panels"][0]["scores"][0]["values"]
    assert np.isnan(values[0, 1])
    assert np.isnan(values[1, 0])
    assert values[1, 1] == 0.0


def test_a_grid_of_a_model_is_for_choosing(source):
    (panel,) = hw.HeadGrid(source).document["panels"]
    assert (panel["layers"], panel["heads"], panel["scores"]) == (4, 6, [])


def test_the_whole_grid_can_be_as_large_as_the_largest_model():
    grid = hw.HeadGrid(np.zeros((48, 64)))
    assert len(grid.buffer) == 48 * 64 * 4


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.zeros(3), r"shape \(3,\)"),
        (np.zeros((0, 3)), "shape"),
        ([["a", "b"]], "numbers"),
        ({"encoder": np.zeros((2, 2)), "other": np.zeros((2, 2))}, "kinds as keys"),
        ([], "expected an array"),
        ({}, "no scores"),
    ],
)
def test_scores_that_cannot_be_drawn_are_refused_with_a_sentence(scores, message):
    with pytest.raises(InputError, match=message):
        hw.HeadGrid(scores)


def test_scores_of_different_models_do_not_mix():
    with pytest.raises(InputError, match="the scores before it have"):
        hw.HeadGrid({"a": np.zeros((2, 2)), "b": np.zeros((2, 3))})


def test_selected_is_a_tuple_of_heads_in_python_and_lists_on_the_wire():
    grid = hw.HeadGrid(np.zeros((4, 6)), selected=[("encoder", 3, 1), Head("encoder", 0, 0)])
    assert grid.selected == heads((3, 1), (0, 0))
    assert isinstance(grid.selected[0], Head)
    assert grid.get_state("selected")["selected"] == [["encoder", 3, 1], ["encoder", 0, 0]]
    json.dumps(grid.get_state("selected"))


def test_one_head_may_be_given_alone_and_repetitions_go():
    grid = hw.HeadGrid(np.zeros((4, 6)))
    grid.selected = Head("encoder", 2, 2)
    assert grid.selected == heads((2, 2))
    grid.pruned = [("encoder", 1, 1), ("encoder", 1, 1)]
    assert grid.pruned == heads((1, 1))


@pytest.mark.parametrize("head", [("encoder", 4, 0), ("encoder", 0, 6), ("encoder", -1, 0), ("encoder", 0, -1)])
def test_a_head_that_does_not_exist_is_refused_with_a_sentence(head):
    grid = hw.HeadGrid(np.zeros((4, 6)))
    with pytest.raises(InputError, match="does not exist: kind encoder has layers 0 to 3 and heads 0 to 5"):
        grid.selected = [head]
    assert grid.selected == ()


def test_a_kind_that_does_not_exist_is_refused_with_a_sentence():
    grid = hw.HeadGrid(np.zeros((4, 6)))
    with pytest.raises(InputError, match="no kind 'cross' here"):
        grid.pruned = [("cross", 0, 0)]
    with pytest.raises(InputError, match="a head is Head"):
        grid.pruned = ["L3H2"]


def test_observe_and_link_work_as_on_any_widget():
    grid, other = hw.HeadGrid(np.zeros((4, 6))), hw.HeadGrid(np.ones((4, 6)))
    seen = []
    grid.observe(lambda change: seen.append(change["new"]), "selected")
    traitlets.link((grid, "selected"), (other, "selected"))
    ipywidgets.jslink((grid, "pruned"), (other, "pruned"))
    grid.selected = [("encoder", 1, 2)]
    assert seen == [heads((1, 2))]
    assert other.selected == heads((1, 2))


def test_what_the_browser_chooses_arrives_and_is_not_echoed():
    grid = hw.HeadGrid(np.zeros((4, 6)))
    page = Page(grid)
    page.set(selected=[["encoder", 2, 5]], score="", kind="encoder")
    assert grid.selected == heads((2, 5))
    assert page.sent == []


def test_two_grids_on_a_page_are_independent():
    one, two = hw.HeadGrid(np.zeros((4, 6))), hw.HeadGrid(np.zeros((4, 6)))
    Page(one).set(selected=[["encoder", 2, 5]])
    one.show(np.ones((2, 2)))
    assert two.selected == ()
    assert two.shapes == {"encoder": (4, 6)}


def test_other_scores_travel_in_one_message_with_a_new_version():
    grid = hw.HeadGrid(np.zeros((4, 6)), selected=[("encoder", 3, 3), ("encoder", 0, 0)])
    page = Page(grid)
    grid.show(np.ones((2, 2)), name="other")
    ((message, buffers),) = page.sent
    assert {"document", "version", "selected"} <= set(message["state"])
    assert message["state"]["version"] == 2
    assert message["buffer_paths"] == [["buffer"]]
    assert bytes(buffers[0]) == grid.buffer
    assert grid.selected == heads((0, 0)), "a head that is no more is not selected"


def test_an_option_with_a_slip_says_what_was_meant():
    with pytest.raises(TypeError, match="HeadGrid has no option 'slected'; did you mean 'selected'"):
        hw.HeadGrid(np.zeros((2, 2)), slected=[])


def test_a_missing_front_end_says_how_to_build_it(monkeypatch, tmp_path):
    monkeypatch.setattr(assets, "FOLDER", tmp_path)
    with pytest.raises(FileNotFoundError, match="npm run build"):
        hw.HeadGrid(np.zeros((2, 2)))


@pytest.mark.parametrize("widget", [hw.HeadGrid, hw.AttentionView, hw.AttributionView, hw.PruningExplorer, hw.Explorer])
def test_every_trait_of_ours_is_documented(widget):
    own = {name for cls in widget.__mro__ if cls.__module__.startswith("headwidgets") for name in vars(cls)}
    undocumented = [n for n, trait in widget.class_traits().items() if n in own and not trait.help]
    assert not undocumented


def test_the_open_tab_and_score_come_first_in_the_picture():
    grid = hw.HeadGrid({"encoder": np.zeros((2, 2)), "cross": np.ones((2, 2))}, kind="cross")
    assert [panel["kind"] for panel in grid.picture()["panels"]] == ["cross", "encoder"]
    several = hw.HeadGrid({"a": np.zeros((2, 2)), "b": np.zeros((2, 2))}, score="b")
    assert [score["name"] for score in several.picture()["panels"][0]["scores"]] == ["b", "a"]


@pytest.mark.parametrize(
    ("unit", "settings", "shown"),
    [
        ("nats", {"output": "probability"}, "nats"),
        ("", {"output": "probability"}, "probability"),
        ("", {"method": "confidence"}, "attention weight"),
        ("", {"output": "value"}, ""),
    ],
)
def test_a_legend_says_what_a_pure_number_is_a_number_of(unit, settings, shown):
    provenance = {"model": "m", "version": "0", "settings": settings}
    scores = HeadScores({"encoder": np.ones((2, 2))}, name="s", unit=unit, provenance=provenance)
    assert hw.HeadGrid(scores).picture()["panels"][0]["scores"][0]["unit"] == shown
