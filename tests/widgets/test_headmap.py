import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import headwidgets as hw
from headwidgets import Head, InputError
from headwidgets.figures.saved import size
from headwidgets.patterns.alike import DistanceSums, HeadDistances
from headwidgets.widgets import headmap_figure

HOSTILE = "</script><img src=x onerror=alert(1)>"
JS = Path(__file__).parents[2] / "js"


def distances_of(layers=4, heads=6, kind="encoder", keys="all", seed=0):
    rng = np.random.default_rng(seed)
    found = [Head(kind, layer, i) for layer in range(layers) for i in range(heads)]
    places = np.array([[head.layer + rng.normal() / 3, rng.normal()] for head in found]) / 8
    apart = np.sqrt(((places[:, None] - places) ** 2).sum(-1))[np.triu_indices(len(found), 1)]
    sums = DistanceSums(found, 10)
    for group in range(10):
        sums.add([group], 20 * apart[None] * (1 + 0.02 * rng.normal(size=(1, len(apart)))), np.array([20.0]))
    return HeadDistances.of({kind: sums}, n=10, keys=keys, provenance=None, fingerprint=None)


FOUND = distances_of()
HEADS = FOUND.heads()
ROLES = {"positional": HEADS[:5], "broad": HEADS[4:13]}


def map_of(**options):
    return hw.HeadMap(FOUND, **{"roles": ROLES, **options})


def points(headmap):
    """By number of the point, its mark and its place in it."""
    return {int(p): (mark, i) for places, mark in headmap._figure._points for i, p in enumerate(places)}


def test_points_lie_where_the_layout_puts_them_with_one_unit_for_both_directions():
    headmap = map_of()
    layout = FOUND.layout("encoder")
    (mark,) = {mark for mark, _ in points(headmap).values()}
    assert mark.x.tolist() == pytest.approx(layout.x.tolist(), abs=1e-6)
    assert mark.y.tolist() == pytest.approx(layout.y.tolist(), abs=1e-6)
    figure, scales = headmap._figure.figure, headmap._figure._scales
    margin = figure.fig_margin
    wide = int(figure.layout.width[:-2]) - margin["left"] - margin["right"]
    high = int(figure.layout.height[:-2]) - margin["top"] - margin["bottom"]
    across, up = (scales[axis].max - scales[axis].min for axis in "xy")
    assert across / wide == pytest.approx(up / high)
    assert figure.min_aspect_ratio == figure.max_aspect_ratio
    assert (scales["x"].min < layout.x).all()
    assert (scales["y"].max > layout.y).all()
    assert "nats per token" in headmap._figure._axes[0].label


def test_it_says_how_good_the_picture_is_and_whether_layers_are_alike():
    headmap = map_of()
    layout, test = FOUND.layout("encoder"), FOUND.layers(samples=1000)
    heading = headmap.children[0].value
    assert f"24 heads, stress {layout.stress:.2f}" in heading
    assert f"{100 * layout.fit:.0f} % of the variance" in heading
    assert f"Within a layer {test.within:.3f}, between layers {test.between:.3f}" in heading
    assert "10 texts." in heading
    assert "without special tokens" in hw.HeadMap(distances_of(keys="content")).children[0].value
    assert "Within a layer" not in hw.HeadMap(distances_of(1, 5)).children[0].value


def test_layers_are_numbers_roles_and_clusters_are_shapes():
    headmap = map_of()
    (numbers,) = headmap._figure._extra
    assert list(numbers.text) == [str(head.layer) for head in HEADS]
    assert headmap._figure._points[0][1].colors[0] == headmap_figure.RAMP[0]
    headmap.colour = "role"
    found = points(headmap)
    assert [found[i][0].marker for i in (0, 5, 20)] == ["circle", "square", "circle"]
    assert found[0][0].colors[0] == headmap_figure.CATEGORIES[0]
    assert found[20][0].default_size < found[0][0].default_size
    assert found[4][0].names[found[4][1]] == "L0H4 · role positional, broad"
    assert "no role (11)" in headmap._legend.value
    assert headmap._figure._extra == []
    headmap.colour = "cluster"
    labels = FOUND.clusters(kind="encoder").labels
    markers = [points(headmap)[i][0].marker for i in range(24)]
    assert [headmap_figure.SHAPES.index(m) for m in markers] == labels.tolist()
    assert headmap.picture()["shown"] == 2
    assert len(hw.HeadMap(FOUND, clusters=5).picture()["groups"][1]["labels"]) == 5
    assert [g["name"] for g in hw.HeadMap(FOUND, clusters=False).picture()["groups"]] == ["layer"]


def test_colours_and_roles_are_those_of_the_grid_and_of_the_saved_picture():
    categories = (JS / "theme" / "categories.ts").read_text("utf-8")
    light = re.findall(r"#[0-9a-f]{6}", categories.split("const DARK")[0])
    assert list(headmap_figure.CATEGORIES) == light
    known = (JS / "components" / "grid" / "roles.ts").read_text("utf-8").split("KNOWN = [")[1].split("]")[0]
    assert list(headmap_figure.KNOWN_ROLES) == re.findall(r'"([^"]+)"', known)
    ramp = (JS / "theme" / "palette.ts").read_text("utf-8").split("sequential: [")[1].split("]")[0]
    assert list(headmap_figure.RAMP) == re.findall(r"#[0-9a-f]{6}", ramp)


def test_an_outline_over_several_marks_chooses_heads_in_the_grid():
    headmap = map_of(colour="role")
    found = points(headmap)
    for number in (0, 5, 20):
        mark, place = found[number]
        before = [] if mark.selected is None else list(mark.selected)
        mark.selected = np.array([*before, place])
    assert set(headmap.selected) == set(headmap.grid.selected) == {HEADS[0], HEADS[5], HEADS[20]}


def test_what_marks_tell_one_by_one_is_one_choice():
    import asyncio

    headmap = map_of(colour="role")
    found, told = points(headmap), []
    headmap.observe(lambda change: told.append(len(change["new"])), "selected")

    async def draw():
        for number in (0, 5, 20):
            mark, place = found[number]
            mark.selected = np.array([place])
        assert told == []
        await asyncio.sleep(0.2)

    asyncio.run(draw())
    assert told == [3]
    assert set(headmap.grid.selected) == {HEADS[0], HEADS[5], HEADS[20]}


def test_heads_chosen_in_the_grid_are_marked_and_outlines_go():
    headmap = map_of()
    lasso = headmap._figure._tools["lasso"]
    assert headmap._figure.figure.interaction is lasso
    headmap.grid.selected = (HEADS[3],)
    assert headmap._figure._tools["lasso"] is lasso  # nothing had been drawn
    (mark,) = {mark for mark, _ in points(headmap).values()}
    assert mark.selected.tolist() == [3]
    mark.selected = np.array([1, 2])
    assert headmap.grid.selected == (HEADS[1], HEADS[2])
    headmap.grid.selected = (HEADS[7],)
    assert headmap._figure.figure.interaction is headmap._figure._tools["lasso"] is not lasso
    assert headmap._figure.selected.tolist() == [7]


def test_choices_outlive_other_colours_and_modes():
    headmap = map_of(selected=[HEADS[2], HEADS[15]])
    for colour in ("role", "cluster", "layer"):
        headmap.colour = colour
        assert sorted(headmap._figure.selected) == [2, 15]
        assert headmap.selected == (HEADS[2], HEADS[15])
    for mode in ("brush", "hover", "pan", "lasso"):
        headmap.mode = mode
        assert headmap._figure.figure.interaction is headmap._figure._tools.get(mode)
        headmap.colour = "role" if headmap.colour == "layer" else "layer"
        assert headmap._figure.figure.interaction is headmap._figure._tools.get(mode)
    clear = headmap.children[1].children[1]
    clear.click()
    assert headmap.selected == ()
    assert len(headmap._figure.selected) == 0


def test_roles_of_all_sorts():
    roles = hw.Roles.of(ROLES, {"encoder": (4, 6)})
    headmap = hw.HeadMap(FOUND, roles=roles)
    assert headmap.picture()["groups"][1]["labels"] == ["positional", "broad"]
    assert headmap.picture()["groups"][1]["about"][4] == "positional, broad"
    other = hw.HeadMap(FOUND, roles={"far": [("cross", 0, 0)], "near": [("encoder", 0, 0)]})
    assert other.picture()["groups"][1]["labels"] == ["near"]
    with pytest.raises(InputError, match=r"the role 'x' names encoder.L9H0, which was not measured"):
        hw.HeadMap(FOUND, roles={"x": [Head("encoder", 9, 0)]})
    with pytest.raises(InputError, match="expected roles as Roles"):
        hw.HeadMap(FOUND, roles=3)
    for members, said in ((5, "expected heads"), ([5], "a head is Head"), ("L0H0", "expected heads|a head is Head")):
        with pytest.raises(InputError, match=said):
            hw.HeadMap(FOUND, roles={"x": members})


def test_the_grid_says_how_unlike_others_a_head_is_or_is_ones_own():
    headmap = hw.HeadMap(FOUND)
    values = headmap.grid._current["panels"][0]["scores"][0]["values"]
    square = FOUND.values["encoder"]
    assert values[1, 2] == pytest.approx(square[8].sum() / 23)
    own = hw.HeadGrid(np.zeros((4, 6)))
    linked = hw.HeadMap(FOUND, grid=own)
    own.selected = (HEADS[9],)
    assert linked.selected == (HEADS[9],)
    linked.close()
    assert own.comm is not None
    assert hw.HeadMap(FOUND, grid=False).grid is None


def test_what_does_not_fit_is_refused():
    with pytest.raises(InputError, match="expected distances between heads"):
        hw.HeadMap(np.zeros((3, 3)))
    with pytest.raises(InputError, match="pass roles= to have that"):
        hw.HeadMap(FOUND, colour="role")
    with pytest.raises(InputError, match="expected kind= as one of encoder"):
        hw.HeadMap(FOUND, kind="cross")
    with pytest.raises(InputError, match="True, False or a HeadGrid"):
        hw.HeadMap(FOUND, grid=3)
    with pytest.raises(TypeError, match="did you mean 'mode'"):
        hw.HeadMap(FOUND, mod="pan")


def test_names_are_text_only():
    headmap = hw.HeadMap(FOUND, roles={HOSTILE: HEADS[:3]}, title=HOSTILE, colour="role")
    for html in (headmap.children[0].value, headmap._legend.value):
        assert "<img" not in html
        assert "&lt;img" in html


@pytest.mark.parametrize("shape", [(12, 12), (24, 16)])
def test_the_saved_output_stays_below_its_limit(shape):
    headmap = hw.HeadMap(distances_of(*shape), grid=False, clusters=3)
    bundle = headmap._bundle()
    assert size(bundle) < 200_000
    assert {"image/png", "application/vnd.headwidgets.headmap+json"} <= set(bundle)


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf", ".html"])
def test_it_saves_without_a_browser(suffix, tmp_path):
    headmap = map_of(selected=[HEADS[7]], colour="role")
    path = headmap.save(tmp_path / f"x{suffix}")
    assert path.stat().st_size > 1000
    if suffix == ".svg":
        text = path.read_text("utf-8")
        assert "L1H1" in text
        assert "positional (5)" in text


def test_closing_takes_everything_from_the_page():
    headmap = map_of(colour="role")
    figure = headmap._figure
    for colour in ("layer", "cluster", "role", "layer", "cluster", "role"):
        headmap.colour = colour
    assert len(figure._retired) == 4  # what left the chart long ago is closed already
    parts = [*(part for gone in figure._retired for part in gone)]
    parts += [*(mark for _, mark in figure._points), *figure._tools.values(), *figure._axes, figure.figure]
    headmap.close()
    assert all(part.comm is None for part in parts)
    assert headmap.grid.comm is None
    assert headmap.summary().startswith("HeadMap(24 encoder heads, stress ")


def test_importing_the_widget_brings_neither_torch_nor_bqplot():
    code = "import sys, headwidgets.widgets; sys.exit(bool({'torch', 'bqplot', 'sklearn'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
