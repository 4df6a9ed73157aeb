import subprocess
import sys

import numpy as np
import pytest

import headwidgets as hw
from headwidgets import Head, HeadScores, InputError
from headwidgets.attribution import correlate
from headwidgets.figures.saved import size

RNG = np.random.default_rng(0)
A = RNG.random((4, 6))
B = 0.5 * A + 0.5 * RNG.random((4, 6))
HOSTILE = "</script><img src=x onerror=alert(1)>"


def scatter_of(**options):
    return hw.ImportanceScatter(A, B, names=("SST-2", "MRPC"), samples=100, **options)


def chosen(*places):
    return tuple(Head("encoder", *place) for place in places)


def brushed(scatter, *numbers):
    """What bqplot's front end does when a rectangle is drawn."""
    ((_, mark),) = scatter._figure._points
    mark.selected = np.array(numbers, dtype=np.int64)


def test_it_shows_the_correlation_of_both_scores():
    scatter = scatter_of()
    found = correlate(A, B, names=("SST-2", "MRPC"), samples=100)
    assert scatter.correlation.pearson == found.pearson
    assert f"r = {found.pearson.value:.2f}" in scatter.children[0].value
    ((_, mark),) = scatter._figure._points
    assert mark.x.tolist() == pytest.approx(A.ravel())
    assert mark.names[7] == "L1H1"
    assert [axis.label for axis in scatter._figure._axes] == ["SST-2", "MRPC"]
    assert hw.ImportanceScatter(found).correlation is found


def test_axes_say_what_a_number_without_unit_is_as_the_grid_does():
    scores = [
        HeadScores(
            {"encoder": values},
            name=name,
            n=9,
            stderr={"encoder": 0.1 * A},
            provenance={"model": "demo", "version": "0", "settings": settings},
        )
        for values, name, settings in (
            (A, "attribution", {"output": "probability"}),
            (B, "confidence", {"method": "confidence"}),
        )
    ]
    scatter = hw.ImportanceScatter(*scores, samples=100)
    titles = ["attribution (probability)", "confidence (attention weight)"]
    assert [axis.label for axis in scatter._figure._axes] == titles
    picture = scatter.picture()
    assert [f"{picture[axis + '_name']} ({picture[axis + '_unit']})" for axis in "xy"] == titles
    assert "Thin lines: one standard error." in scatter.children[0].value
    assert "Thin lines" not in scatter_of().children[0].value


def test_brushing_chooses_heads_in_the_grid_those_that_matter_most_first():
    scatter = scatter_of()
    brushed(scatter, 3, 8, 20)
    expected = sorted([(0, 3), (1, 2), (3, 2)], key=lambda place: -B[place])
    assert scatter.selected == scatter.grid.selected == chosen(*expected)
    brushed(scatter)
    assert scatter.grid.selected == ()


def test_heads_chosen_in_the_grid_are_marked_here():
    scatter = scatter_of()
    scatter.grid.selected = chosen((2, 1), (0, 0))
    ((_, mark),) = scatter._figure._points
    assert sorted(mark.selected) == [0, 13]
    assert scatter.selected == chosen((2, 1), (0, 0))
    scatter.grid.selected = ()
    assert mark.selected is None


def test_a_grid_of_ones_own_is_linked_and_outlives_the_scatter():
    grid = hw.HeadGrid(A)
    scatter = scatter_of(grid=grid)
    brushed(scatter, 5)
    assert grid.selected == chosen((0, 5))
    grid.pruned = chosen((1, 1))
    assert not hasattr(scatter, "pruned")
    scatter.close()
    grid.selected = chosen((0, 0))
    assert grid.comm is not None
    assert scatter_of(grid=False).grid is None
    with pytest.raises(InputError, match="True, False or a HeadGrid"):
        scatter_of(grid=3)


def test_hovering_chooses_until_a_click_keeps():
    scatter = scatter_of(mode="hover")
    ((_, mark),) = scatter._figure._points
    hover = lambda index: mark._handle_custom_msgs(mark, {"event": "hover", "data": {"index": index}})  # noqa: E731
    hover(4)
    assert scatter.grid.selected == chosen((0, 4))
    hover(9)
    assert scatter.grid.selected == chosen((1, 3))
    brushed(scatter, 2)
    hover(7)
    assert scatter.selected == chosen((0, 2))
    scatter.mode = "brush"
    scatter.selected = ()
    hover(7)
    assert scatter.selected == ()


def test_the_mode_is_what_the_pointer_does():
    scatter = scatter_of()
    assert scatter._figure.figure.interaction is scatter._figure._tools["brush"]
    scatter._switch.value = "pan"
    assert scatter.mode == "pan"
    assert scatter._figure.figure.interaction is scatter._figure._tools["pan"]
    scatter.mode = "hover"
    assert scatter._switch.value == "hover"
    assert scatter._figure.figure.interaction is None


def test_kinds_have_marks_of_their_own_and_heads_without_a_number_are_left_out():
    values = {"encoder": RNG.random((2, 4)), "cross": RNG.random((2, 4))}
    other = {kind: RNG.random((2, 4)) for kind in values}
    other["cross"][0, 2] = np.nan
    scatter = hw.ImportanceScatter(values, other, samples=100)
    assert [len(places) for places, _ in scatter._figure._points] == [8, 7]
    assert [mark.marker for _, mark in scatter._figure._points] == ["circle", "triangle-up"]
    assert scatter._figure._points[1][1].names[2] == "cross.L0H3"
    assert "1 not measured" in scatter.children[0].value
    scatter.selected = [Head("cross", 0, 2), Head("cross", 0, 3), Head("encoder", 0, 0)]
    assert scatter._figure._points[1][1].selected.tolist() == [2]
    assert scatter._figure._points[0][1].selected.tolist() == [0]


def test_error_bars_are_one_standard_error_to_either_side():
    scores = [HeadScores({"encoder": v}, stderr={"encoder": 0.1 * v}, name="x") for v in (A, B)]
    scatter = hw.ImportanceScatter(*scores, samples=100)
    bars = scatter._figure._bars
    assert bars.visible
    assert bars.x.shape == bars.y.shape == (2 * A.size, 2)
    assert np.isfinite(bars.x).all()
    assert bars.x[0].tolist() == pytest.approx([0.9 * A[0, 0], 1.1 * A[0, 0]])
    assert bars.y[A.size].tolist() == pytest.approx([0.9 * B[0, 0], 1.1 * B[0, 0]])
    assert [layer["name"] for layer in scatter.grid._current["panels"][0]["scores"]] == ["x (first)", "x (second)"]
    assert not scatter_of()._figure._bars.visible


def test_names_are_text_only():
    scatter = hw.ImportanceScatter(A, B, names=(HOSTILE, HOSTILE), title=HOSTILE, samples=100)
    assert "<img" not in scatter.children[0].value
    assert "&lt;img" in scatter.children[0].value


@pytest.mark.parametrize("shape", [(12, 12), (24, 16), (48, 64)])
def test_the_saved_output_stays_below_its_limit(shape):
    scores = [HeadScores({"encoder": v}, stderr={"encoder": 0.1 * v}, name="x") for v in RNG.random((2, *shape))]
    bundle = hw.ImportanceScatter(*scores, grid=False, samples=100)._bundle()
    assert size(bundle) < 200_000
    assert {"image/png", "application/vnd.headwidgets.scatter+json"} <= set(bundle)


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf", ".html"])
def test_it_saves_without_a_browser(suffix, tmp_path):
    path = scatter_of(selected=[Head("encoder", 1, 1)]).save(tmp_path / f"x{suffix}")
    assert path.stat().st_size > 1000
    if suffix == ".svg":
        assert "L1H1" in path.read_text("utf-8")


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(InputError, match="got ndarray alone"):
        hw.ImportanceScatter(A)
    with pytest.raises(InputError, match="same heads"):
        hw.ImportanceScatter(A, B[:2])
    with pytest.raises(TypeError, match="did you mean 'mode'"):
        scatter_of(mod="pan")


def test_closing_takes_everything_from_the_page():
    scatter = scatter_of()
    figure = scatter._figure
    scatter.close()
    assert scatter.grid.comm is None
    assert figure.figure.comm is None
    assert all(part.comm is None for part in (*figure._tools.values(), figure._bars, figure._points[0][1]))
    assert scatter.summary().startswith("ImportanceScatter(r = ")


def test_importing_the_widget_brings_neither_torch_nor_bqplot():
    code = "import sys, headwidgets.widgets; sys.exit(bool({'torch', 'bqplot'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
