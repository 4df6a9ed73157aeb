import numpy as np
import pytest

import headwidgets as hw
from headwidgets import Head, HeadScores, InputError
from headwidgets.figures.saved import size
from headwidgets.patterns import PatternSummary

RNG = np.random.default_rng(0)
HOSTILE = "</script><img src=x onerror=alert(1)>"
NAMES = ("offset-1", "offset+1", "entropy", "entropy_content")


def summary_of(layers=4, heads=6, kinds=("encoder",), names=NAMES, hostile=False):
    """Numbers made up, in the form of a real summary."""
    scores = {}
    for name in names:
        values = {kind: RNG.random((layers, heads)) for kind in kinds}
        errors = {kind: 0.1 * own for kind, own in values.items()}
        unit = "nats" if "entropy" in name else "attention weight"
        scores[name] = HeadScores(values, name=name, unit=unit, n=9, stderr=errors)
    charts = {name: "entropy" if "entropy" in name else "offset" for name in names}
    labels = {name: f"{HOSTILE} {name}" if hostile else f"label of {name}" for name in names}
    uniform = {name: dict.fromkeys(kinds, 0.1) for name in names}
    return PatternSummary(scores, labels=labels, charts=charts, uniform=uniform)


SUMMARY = summary_of()


def view_of(**options):
    return hw.PatternView(SUMMARY, **options)


def chosen(*places):
    return tuple(Head("encoder", *place) for place in places)


def test_a_chart_has_a_point_for_each_head_and_statistic():
    view = view_of()
    assert view.charts == ("offset", "entropy", "entropy_content")
    assert view.chart == "offset"
    (first, one), (_, other) = view._figure._points
    assert one.y.tolist() == pytest.approx(SUMMARY["offset-1"].values["encoder"].ravel(), abs=1e-6)
    assert first.tolist() == list(range(24))
    assert one.names[7] == "L1H1"
    assert (np.round(one.x) == np.repeat(range(4), 6)).all()
    assert (one.x < other.x).all()
    assert view._figure._axes[1].label == "Attention to neighbours (attention weight)"
    means = [line for line in view._figure._lines if len(line.x) == 4]
    np.testing.assert_allclose(means[0].y, SUMMARY["offset-1"].values["encoder"].mean(1), atol=1e-6)
    assert [line.y[0] for line in view._figure._lines if line.line_style == "dashed"] == pytest.approx([0.1, 0.1])


def test_the_menu_changes_chart_and_grid():
    view = view_of()
    names = [layer["name"] for layer in view.grid._current["panels"][0]["scores"]]
    assert names == ["label of offset-1", "label of offset+1"]
    view._menu.value = "entropy"
    assert view.chart == "entropy"
    ((_, mark),) = view._figure._points
    assert mark.y.tolist() == pytest.approx(SUMMARY["entropy"].values["encoder"].ravel(), abs=1e-6)
    assert view._figure._axes[1].label == "Entropy (nats)"
    assert [layer["name"] for layer in view.grid._current["panels"][0]["scores"]] == ["label of entropy"]
    assert view.picture()["shown"] == 1
    view.chart = "offset"
    assert view._menu.value == "offset"
    with pytest.raises(InputError, match="charts are offset, entropy"):
        view.chart = "entropies"


def test_what_is_brushed_is_chosen_once_and_ringed_everywhere():
    view = view_of()
    (_, one), (_, other) = view._figure._points
    one.selected = np.array([7, 3])
    assert set(view.selected) == set(chosen((1, 1), (0, 3)))
    other.selected = np.array([3])
    assert len(view.selected) == 2
    assert view.grid.selected == view.selected
    rings = view._figure._rings
    assert len(rings.x) == 4
    assert set(np.round(rings.x)) == {0, 1}
    # what leads is highest in the first statistic
    values = SUMMARY["offset-1"].values["encoder"].ravel()
    assert view.selected[0] == chosen((1, 1) if values[7] > values[3] else (0, 3))[0]
    view.grid.selected = chosen((2, 2))
    assert view.selected == chosen((2, 2))
    assert len(rings.x) == 2
    assert one.selected.tolist() == other.selected.tolist() == [14]
    view.selected = ()
    assert len(rings.x) == 0


def test_a_click_on_another_statistic_lets_go_of_the_first():
    view = view_of(mode="hover")
    (_, one), (_, other) = view._figure._points
    one.selected = np.array([7])
    other.selected = np.array([3])
    assert view.selected == chosen((0, 3))


def test_a_chosen_head_stays_chosen_in_another_chart():
    view = view_of(selected=chosen((3, 5)))
    view.chart = "entropy_content"
    assert view.selected == view.grid.selected == chosen((3, 5))
    assert len(view._figure._rings.x) == 1
    assert view.picture()["selected"] == [["encoder", 3, 5]]


def test_kinds_stand_beside_each_other():
    view = hw.PatternView(summary_of(kinds=("encoder", "decoder", "cross")))
    columns = sorted({round(x) for _, mark in view._figure._points for x in mark.x})
    assert columns == [0, 1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13]
    assert view._figure._points[0][1].names[30] == "decoder.L1H0"
    assert [panel["kind"] for panel in view.grid._current["panels"]] == ["encoder", "decoder", "cross"]


def test_a_partial_summary_is_followed_by_the_whole():
    view = view_of(chart="entropy", selected=chosen((0, 0)))
    other = summary_of()
    view.show(other)
    assert view._figure._points[0][1].y[0] == pytest.approx(other["entropy"].values["encoder"][0, 0], abs=1e-6)
    assert (view.chart, view.selected) == ("entropy", chosen((0, 0)))
    view.show(summary_of(names=("offset-1",)))
    assert view.chart == "offset"
    with pytest.raises(InputError, match="one of others"):
        view.show(summary_of(2, 2))


def test_a_grid_of_ones_own_is_linked_and_left():
    grid = hw.HeadGrid(RNG.random((4, 6)), name="mine")
    view = view_of(grid=grid)
    grid.selected = chosen((1, 0))
    assert view.selected == chosen((1, 0))
    view.chart = "entropy"
    assert grid._current["panels"][0]["scores"][0]["name"] == "mine"
    view.close()
    assert grid.comm is not None


@pytest.mark.parametrize("shape", [(12, 12), (30, 9), (24, 16), (48, 64)])
def test_the_saved_output_stays_below_its_limit(shape):
    names = [f"offset{d:+d}" for d in range(-9, 9)] + [f"entropy_{i}" for i in range(6)]
    view = hw.PatternView(summary_of(*shape, names=names), grid=False, chart="entropy")
    bundle = view._bundle()
    assert size(bundle) < 200_000
    assert {"image/png", "application/vnd.headwidgets.patterns+json"} <= set(bundle)
    document = view.picture()
    assert document["charts"][document["shown"]]["name"] == "entropy"
    assert ("21 statistics are in the live view only" in document["note"]) == (shape == (48, 64))
    assert len(document["statistics"]) == (3 if shape == (48, 64) else 24)


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf", ".html"])
def test_it_saves_without_a_browser(suffix, tmp_path):
    path = view_of(selected=chosen((1, 1))).save(tmp_path / f"x{suffix}")
    assert path.stat().st_size > 1000
    if suffix == ".svg":
        svg = path.read_text("utf-8")
        assert "L1H1" in svg
        assert "label of offset+1" in svg


def test_names_are_text_only():
    view = hw.PatternView(summary_of(hostile=True), title=HOSTILE)
    for part in (view._heading, view._legend):
        assert "<img" not in part.value
        assert "&lt;img" in part.value


def test_the_chart_stays_beside_the_top_of_a_grid_of_many_layers():
    view = hw.PatternView(summary_of(30, 9))
    (row,) = [box for box in view.children if getattr(box, "children", ()) and view.grid in box.children]
    assert row.layout.align_items == "flex-start"


def test_what_is_no_summary_is_refused():
    for wrong in (SUMMARY["entropy"], RNG.random((2, 2)), None):
        with pytest.raises(InputError, match=r"hw\.patterns\.summary"):
            hw.PatternView(wrong)
    with pytest.raises(InputError, match="grid is True, False"):
        view_of(grid=3)
    with pytest.raises(InputError, match="no chart 'x'"):
        view_of(chart="x")
    with pytest.raises(TypeError, match="did you mean 'mode'"):
        view_of(mod="pan")


def test_closing_takes_everything_from_the_page():
    view = view_of()
    figure = view._figure
    lines = list(figure._lines)
    view.chart = "entropy"
    assert all(line.comm is None for line in lines)
    view.close()
    assert view.grid.comm is None
    parts = (*figure._tools.values(), *figure._lines, figure._rings, figure._points[0][1], figure.figure)
    assert all(part.comm is None for part in parts)
    assert view.summary().startswith("PatternView(Entropy of 24 heads, n=9")
