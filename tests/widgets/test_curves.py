import numpy as np
import pytest

import headwidgets as hw
from headwidgets import Estimate, Head, InputError, PruningCurve
from headwidgets.figures.saved import size
from headwidgets.pruning import Comparison
from headwidgets.pruning.comparison import RANDOM, RandomOrders
from headwidgets.scores import Interval

HEADS = [Head("encoder", layer, index) for layer in range(2) for index in range(4)]
COUNTS = list(range(0, 9, 2))
HOSTILE = "</script><img src=x onerror=alert(1)>"


def estimate(value, change=True):
    gap = Interval(value - 0.9, value - 0.95, value - 0.85) if change else None
    return Estimate(value, value - 0.03, min(1.0, value + 0.03), 100, 100, True, value, value, gap)


def curve(strength, counts=COUNTS, heads=HEADS):
    values = [0.5 + 0.4 * (1 - c / counts[-1]) ** strength for c in counts]
    return PruningCurve(list(counts), [estimate(v, c > 0) for v, c in zip(values, counts, strict=True)], heads, "x")


def comparison(names=("attribution", "taylor"), counts=COUNTS, note=""):
    curves = {name: curve(0.5 + i, counts) for i, name in enumerate(names)}
    areas = {name: Interval(0.8 - 0.05 * i, 0.78 - 0.05 * i, 0.82 - 0.05 * i) for i, name in enumerate(names)}
    areas[RANDOM] = Interval(0.6, 0.58, 0.62)
    mean = [0.5 + 0.4 * (1 - c / counts[-1]) ** 3 for c in counts]
    random = RandomOrders(counts, mean, [m - 0.05 for m in mean], [m + 0.05 for m in mean], [0.6] * 20)
    return Comparison(counts, curves, areas, {}, {}, random, counts[-1], 100, "accuracy", "zero", [note])


def test_every_curve_is_a_line_and_the_random_orders_a_band():
    view = hw.CurveView(comparison())
    assert view.names == (RANDOM, "attribution", "taylor")
    figure = view._figure
    assert figure._lines["attribution"].y.tolist() == pytest.approx(
        [100 * e.value for e in comparison().curves["attribution"].estimates]
    )
    assert [band.visible for band in figure._bands.values()] == [True, False, False]
    assert {figure._lines[name].line_style for name in figure._dots} == {"solid", "dashed"}
    assert {dots.marker for dots in figure._dots.values()} == {"circle", "square"}
    assert figure._dots["attribution"].y.tolist() == figure._lines["attribution"].y.tolist()
    assert figure.figure.marks[0] is figure._bands[RANDOM]
    assert [axis.label for axis in figure._axes] == ["heads pruned", "accuracy (%)"]


def test_the_title_stands_over_the_live_chart_and_a_curve_along_the_edge_is_not_cut():
    view = hw.CurveView(comparison())
    assert "Pruning heads by ranking" in view.children[0].value
    assert hw.CurveView(comparison(), title=HOSTILE).children[0].value.count("&lt;img") == 1
    assert hw.CurveView(comparison(), title="").children[0].value == ""
    sure = {"sure": PruningCurve([0, 8], [estimate(1.0, False), estimate(0.9)], HEADS, "x")}
    assert 100 < hw.CurveView(sure)._figure._y.max < 105


def test_one_curve_at_a_time_shows_its_interval():
    view = hw.CurveView(comparison())
    view.highlighted = "taylor"
    figure = view._figure
    assert figure._bands["taylor"].visible
    assert not figure._bands["attribution"].visible
    assert figure._lines["attribution"].opacities == [0.5]
    assert view._menu.value == "taylor"
    view._menu.value = ""
    assert view.highlighted == ""
    figure._dots["attribution"]._handle_custom_msgs(None, {"event": "hover", "data": {}})
    assert view.highlighted == "attribution"
    assert "<b>attribution</b>" in view._legend.value
    with pytest.raises(InputError, match="there is no curve 'nonsense'"):
        view.highlighted = "nonsense"


def test_the_legend_says_the_areas_with_intervals():
    view = hw.CurveView(comparison(note="A note."))
    for words in ("80.0 %", "78.0 to 82.0 %", "mean and 95 % of 20", "full model", "90.0 %", "A note."):
        assert words in view._legend.value
    assert "attribution 0.8 (0.78 to 0.82)" in view.summary()


def test_partial_results_take_the_place_of_the_first():
    view = hw.CurveView(comparison(("attribution",)), highlighted="attribution")
    old = view._figure._lines["attribution"]
    view.show(comparison())
    assert old.comm is None
    assert view.highlighted == "attribution"
    assert view._figure._bands["attribution"].visible
    view.show(comparison(("taylor",)))
    assert view.highlighted == ""
    assert view.picture()["curves"][1]["name"] == "taylor"
    assert [value for _, value in view._menu.options] == ["", RANDOM, "taylor"]


def test_plain_curves_are_drawn_too():
    view = hw.CurveView({"first": curve(1), "second": curve(2)})
    assert view.names == ("first", "second")
    assert view.picture()["total"] == len(HEADS)
    assert "area" not in view._legend.value
    assert hw.CurveView(curve(1)).names == ("x",)


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf", ".html"])
def test_it_saves_without_a_browser(suffix, tmp_path):
    path = hw.CurveView(comparison(), title="Six rankings").save(tmp_path / f"x{suffix}")
    assert path.stat().st_size > 1000
    if suffix == ".svg":
        svg = path.read_text("utf-8")
        for words in ("Six rankings", "attribution", "80.0 %", "share of heads pruned (%)"):
            assert words in svg


def test_many_curves_fit_in_a_saved_output():
    names = [f"ranking {i}" for i in range(8)]
    bundle = hw.CurveView(comparison(names, list(range(0, 145, 6))))._bundle()
    assert size(bundle) < 200_000
    assert {"image/png", "application/vnd.headwidgets.curves+json"} <= set(bundle)


def test_names_are_text_only(tmp_path):
    view = hw.CurveView(comparison((HOSTILE,), note=HOSTILE), title=HOSTILE, highlighted=HOSTILE)
    assert "<img" not in view._legend.value
    assert "<img" not in view.save(tmp_path / "x.svg").read_text("utf-8")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3, "hw.pruning.compare.*got int"),
        ({}, "got dict"),
        (hw.HeadScores({"encoder": np.eye(2)}, name="x"), "got HeadScores"),
    ],
)
def test_what_has_no_curves_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        hw.CurveView(given)


def test_closing_takes_everything_from_the_page():
    view = hw.CurveView(comparison())
    figure = view._figure
    marks = list(figure.figure.marks)
    view.close()
    assert figure.figure.comm is None
    assert len(marks) == 3 + 3 + 2 + 1
    assert all(mark.comm is None for mark in marks)
