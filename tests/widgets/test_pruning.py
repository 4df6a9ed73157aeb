import threading
import time
import warnings

import numpy as np
import pytest

import headwidgets.widgets as hw
from headwidgets.errors import InputError
from headwidgets.scores import Head, HeadScores
from headwidgets.widgets.curve import CurveFigure, fill_order

from .fakes import FakeSource, Page, heads

TEXTS, LABELS = ["a b", "c d", "e f", "g h", "i j"] * 4, [0, 1, 0, 1, 0] * 4


def explorer_of(source, **options):
    if "ranking" not in options:
        options.setdefault("rank_on", (["x y"], [1]))
    return hw.PruningExplorer(source, TEXTS, LABELS, **options)


def test_the_least_important_head_goes_first(source):
    explorer = explorer_of(source)
    assert explorer.order[0] == Head("encoder", 0, 0)
    assert explorer.order[-1] == Head("encoder", 3, 5)
    assert explorer.panel.document["order"][0] == ["encoder", 0, 0]
    assert explorer.panel.document["baseline"]["value"] == 0.95


def test_the_grid_shows_the_ranking_while_it_is_measured(source, monkeypatch):
    shown, show = [], hw.HeadGrid.show

    def watch(grid, scores, **options):
        shown.append([s.n for s in scores] if isinstance(scores, list) else scores.n)
        show(grid, scores, **options)

    monkeypatch.setattr(hw.HeadGrid, "show", watch)
    explorer = explorer_of(source, rank_on=(["x y"] * 8, [1] * 8), wait=None)
    assert shown == [2, 4, 6, [8]]
    Page(explorer.panel).ask(id=1, ask="choose", method="confidence", ablation="zero")
    explorer.wait(10)
    assert shown == [2, 4, 6, [8], [8, 8]]


def test_a_count_set_in_python_prunes_estimates_and_moves_the_grid(source):
    explorer = explorer_of(source)
    explorer.count = 3
    assert explorer.pruned == heads((0, 0), (0, 1), (0, 2))
    assert explorer.grid.pruned == explorer.pruned == explorer.panel.pruned
    assert explorer.wait(10)
    assert explorer.estimate["exact"]
    assert explorer.estimate["value"] == pytest.approx(0.95 - 0.06)
    assert explorer.estimate["change"]["value"] == pytest.approx(-0.06)


def test_pruned_set_in_python_moves_the_slider_if_it_follows_the_order(source):
    explorer = explorer_of(source)
    explorer.pruned = [("encoder", 0, 1), ("encoder", 0, 0)]
    assert explorer.count == 2
    assert explorer.panel.count == 2
    with pytest.raises(InputError, match="pruned follows the order of the ranking"):
        explorer.pruned = [("encoder", 3, 3)]


def test_estimates_narrow_until_exact_under_one_number(source):
    explorer = explorer_of(source, points=0)
    page = Page(explorer.panel)
    page.ask(id=7, ask="estimate", count=5)
    page.answered(7)
    found = [a for a, _ in page.answers(7)]
    assert [a["done"] for a in found] == [*[False] * (len(found) - 1), True]
    widths = [a["point"]["estimate"]["partial_high"] - a["point"]["estimate"]["partial_low"] for a in found]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] == 0
    assert all(a["point"]["count"] == 5 for a in found)


def test_the_newest_request_wins(source):
    explorer = explorer_of(source, points=0)
    explorer.wait(10)
    page = Page(explorer.panel)
    source.gate.clear()
    for number in range(1, 9):
        page.ask(id=number, ask="estimate", count=number)
    assert source.waiting.wait(5)
    assert page.answers() == []
    source.gate.set()
    assert page.answered(8)["point"]["count"] == 8
    explorer.wait(10)
    assert {a["id"] for a, _ in page.answers()} == {8}


def test_a_request_stops_the_running_one_within_a_step():
    source = FakeSource(delay=0.01)
    explorer = hw.PruningExplorer(source, TEXTS * 10, LABELS * 10, points=0)
    explorer.wait(10)
    page = Page(explorer.panel)
    page.ask(id=1, ask="estimate", count=20)
    page.until(lambda: bool(page.answers(1)))
    page.ask(id=2, ask="estimate", count=2)
    page.answered(2)
    assert not any(a["done"] for a, _ in page.answers(1))


def test_the_curve_fills_while_nothing_is_asked_and_steps_aside_for_requests():
    source = FakeSource(delay=0.002)
    explorer = explorer_of(source, points=9)
    page = Page(explorer.panel)
    page.ask(id=1, ask="estimate", count=11)
    page.answered(1)
    assert explorer.wait(20)
    order = [count for count, _ in source.evaluators[0].computed]
    assert order.index(11) < order.index(21), "the request was not queued behind the curve"
    counts = [point["count"] for point in explorer.panel.document["points"]]
    assert counts == sorted({0, 3, 6, 9, 11, 12, 15, 18, 21, 24})
    assert all(point["estimate"]["exact"] for point in explorer.panel.document["points"])
    assert explorer.status == ""


def test_nothing_is_computed_twice(source):
    explorer = explorer_of(source, points=9)
    explorer.wait(10)
    computed = source.evaluators[0].computed
    before = len(computed)
    page = Page(explorer.panel)
    page.ask(id=1, ask="estimate", count=12)
    assert page.answered(1)["point"]["estimate"]["exact"]
    assert len(computed) == before


def test_the_bqplot_curve_shows_points_band_and_where_the_slider_stands(source):
    explorer = explorer_of(source, points=5)
    explorer.count = 4
    explorer.wait(10)
    band, line, mark = explorer._figure.figure.marks
    assert list(line.x) == [0, 4, 6, 12, 18, 24]
    np.testing.assert_allclose(line.y, 95 - 2 * line.x)
    np.testing.assert_allclose(band.y, [line.y - 3, line.y + 3])
    assert (mark.x[0], mark.y[0]) == (4, pytest.approx(87))
    assert [axis.label for axis in explorer._figure.figure.axes] == ["heads pruned", "accuracy (%)"]


@pytest.mark.parametrize("value", [0.985, 0.5, 0.002])
def test_the_axis_of_a_share_never_magnifies_noise(value):
    figure = CurveFigure("accuracy", 24)
    estimate = {"value": value, "low": value - 0.001, "high": value + 0.001}
    figure.show([{"count": 0, "estimate": estimate}], None, 24)
    low, high = figure._y.min, figure._y.max
    assert 0 <= low < 100 * value < high <= 100
    assert high - low >= 9.99
    figure.close()


def test_another_method_ranks_anew_and_keeps_what_is_known_of_the_first(source):
    explorer = explorer_of(source, count=2)
    explorer.wait(10)
    page = Page(explorer.panel)
    page.ask(id=3, ask="choose", method="confidence", ablation="mean")
    assert page.answered(3)["answer"] == "done"
    assert explorer.order[0] == Head("encoder", 3, 5)
    assert (explorer.panel.method, explorer.panel.ablation) == ("confidence", "mean")
    assert explorer.pruned == heads((3, 5), (3, 4))
    explorer.wait(10)
    assert explorer.estimate["value"] == pytest.approx(0.95 - 0.04 - 0.01)
    page.ask(id=4, ask="choose", method="attribution", ablation="zero")
    page.answered(4)
    assert explorer.estimate["exact"], "known from before"
    names = [score["name"] for score in explorer.grid.document["panels"][0]["scores"]]
    assert names == ["attribution", "confidence"]


def test_a_choice_that_does_not_exist_is_answered_with_a_sentence(source):
    page = Page(explorer_of(source).panel)
    page.ask(id=1, ask="choose", method="astrology", ablation="zero")
    assert "method is one of attribution, confidence" in page.answered(1)["message"]
    page.ask(id=2, ask="estimate", count=25)
    assert "count is from 0 to 24" in page.answered(2)["message"]


def test_while_the_browser_drags_python_never_sends_the_slider_back(source):
    explorer = explorer_of(source, points=0)
    explorer.wait(10)
    panel, grid, box = Page(explorer.panel), Page(explorer.grid), Page(explorer)
    order = explorer.panel.document["order"]
    for n in (1, 2, 3):
        panel.set(pruned=order[:n])
        grid.set(pruned=order[:n])
        box.set(pruned=order[:n])
    panel.set(count=3)
    box.set(count=3)
    explorer.wait(10)
    assert explorer.pruned == explorer.grid.pruned == explorer.order[:3]
    for page in (panel, grid, box):
        assert page.states("pruned") == []
        assert page.states("count") == []


def test_a_release_in_the_browser_does_not_cancel_its_own_request(source):
    explorer = explorer_of(source, points=0)
    explorer.wait(10)
    panel, box = Page(explorer.panel), Page(explorer)
    source.gate.clear()
    panel.ask(id=1, ask="estimate", count=6)
    box.set(count=6)
    panel.set(count=6)
    source.gate.set()
    assert panel.answered(1)["done"]


def test_a_ranking_may_be_given_in_every_form(source):
    scores = HeadScores({"encoder": -np.arange(24.0).reshape(4, 6)}, name="mine")
    assert explorer_of(source, ranking=scores).order[0] == Head("encoder", 3, 5)
    assert explorer_of(source, ranking=scores.ranking()[:5]).order == tuple(scores.ranking()[:5][::-1])
    named = explorer_of(source, ranking="confidence")
    assert named.panel.method == "confidence"
    with pytest.raises(InputError, match="ranking is one of attribution, confidence"):
        explorer_of(source, ranking="astrology")
    with pytest.raises(InputError, match="does not exist"):
        explorer_of(source, ranking=[("encoder", 7, 0)])


def test_a_ranking_judged_on_its_own_texts_is_said_so(source):
    with pytest.warns(UserWarning, match="pass rank_on="):
        same = hw.PruningExplorer(source, TEXTS, LABELS)
    assert "measured on the evaluation texts" in same.picture()["title"]
    assert same.picture()["provenance"]["settings"]["ranking"] == "measured on the evaluation texts"
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        apart = hw.PruningExplorer(source, TEXTS, LABELS, rank_on=(["x y"], [1]))
    assert "ranking" not in apart.picture()["provenance"]["settings"]


def test_labels_that_do_not_fit_are_refused_where_they_are_given(source):
    with pytest.raises(InputError, match="20 texts but 3 labels"):
        hw.PruningExplorer(source, TEXTS, LABELS[:3])
    with pytest.raises(TypeError, match="PruningExplorer has no option 'cuont'; did you mean 'count'"):
        explorer_of(source, cuont=3)
    with pytest.raises(InputError, match="ablation is one of zero, mean"):
        explorer_of(source, ablation="laser")


def test_before_the_ranking_is_known_the_slider_has_nothing_to_prune():
    source = FakeSource()
    source.gate.clear()
    explorer = explorer_of(source, wait=0)
    assert explorer.panel.document["order"] == []
    page = Page(explorer.panel)
    assert source.waiting.wait(5)
    assert "Ranking heads by attribution" in explorer.status
    page.ask(id=1, ask="estimate", count=3)
    assert page.answered(1)["answer"] == "error"
    source.gate.set()
    assert explorer.wait(10)
    assert len(explorer.panel.document["order"]) == 24


def test_a_count_set_before_the_ranking_is_known_holds_when_it_is(source):
    source.gate.clear()
    explorer = explorer_of(source, wait=0)
    explorer.count = 4
    source.gate.set()
    assert explorer.wait(10)
    assert explorer.pruned == explorer.grid.pruned == explorer.order[:4]
    assert explorer.estimate["exact"]


def test_closing_during_a_job_stops_it_and_takes_everything_along(source):
    source.gate.clear()
    explorer = explorer_of(source, wait=0)
    assert source.waiting.wait(5)
    figure = explorer._figure.figure
    began = time.monotonic()
    explorer.close()
    assert time.monotonic() - began < 3
    assert [w.comm for w in (explorer, explorer.panel, explorer.grid, figure)] == [None] * 4
    source.gate.set()
    explorer.close()
    assert not any(thread.name.startswith("headwidgets headwidgets PruningPanel") for thread in threading.enumerate())


def test_two_explorers_are_independent(source):
    one, two = explorer_of(source), explorer_of(source)
    one.count = 4
    one.close()
    two.count = 2
    assert two.wait(10)
    assert two.pruned == heads((0, 0), (0, 1))


def test_the_curve_is_filled_coarse_to_fine():
    order = fill_order(144, 17)
    assert order[:3] == [0, 144, 72]
    assert len(order) == len(set(order)) == 17
    assert fill_order(3, 17) == [0, 3, 2, 1] or sorted(fill_order(3, 17)) == [0, 1, 2, 3]
    assert fill_order(10, 0) == []
