"""The map of heads in JupyterLab: outlines by mouse and finger choose in the grid, over several marks; it stays."""

import itertools
import json
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from .conftest import Lab, assert_exported, open_notebook, run_all, save, settled, watched

pytestmark = pytest.mark.browser

FRONT = ".jp-NotebookPanel:not(.lm-mod-hidden)"
CELL = """import numpy as np, headwidgets as hw
from headwidgets.patterns.alike import DistanceSums, HeadDistances
rng = np.random.default_rng(0)
heads = [hw.Head("encoder", layer, i) for layer in range(4) for i in range(6)]
places = np.array([[h.layer + rng.normal() / 3, rng.normal()] for h in heads]) / 8
apart = np.sqrt(((places[:, None] - places) ** 2).sum(-1))[np.triu_indices(24, 1)]
sums = DistanceSums(heads, 10)
for group in range(10):
    sums.add([group], 20 * apart[None] * (1 + 0.02 * rng.normal(size=(1, len(apart)))), np.array([20.0]))
distances = HeadDistances.of({"encoder": sums}, n=10, keys="all", provenance=None, fingerprint=None)
headmap = hw.HeadMap(distances, roles={"positional": heads[:5], "broad": heads[4:13]})
for suffix in ("svg", "png", "pdf", "html"):
    headmap.save(f"headmap.{suffix}")
headmap"""
IN_GRID = """() => [...document.querySelectorAll('.hw-grid [role=gridcell][aria-selected=true]')]
    .map(cell => 6 * Number(cell.dataset.layer) + Number(cell.dataset.head)).sort((a, b) => a - b)"""
POINTS = """() => [...document.querySelectorAll('.bqplot .object_grp path')].map(path => {
    const box = path.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2]; })"""
LASSOS = "() => document.querySelectorAll('.bqplot .lassoselector path').length"

Spot = tuple[float, float]


def corners(box: Any, left: float, top: float, right: float, bottom: float) -> list[Spot]:
    """The way around a part of a box, closed."""
    x0, x1 = (box["x"] + share * box["width"] for share in (left, right))
    y0, y1 = (box["y"] + share * box["height"] for share in (top, bottom))
    ends = [(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0 + 1)]
    way = []
    for (ax, ay), (bx, by) in itertools.pairwise(ends):
        way += [(ax + (bx - ax) * step / 6, ay + (by - ay) * step / 6) for step in range(6)]
    return [*way, ends[-1]]


def by_mouse(page: Page, way: list[Spot]) -> None:
    page.mouse.move(*way[0])
    page.mouse.down()
    for spot in way[1:]:
        page.mouse.move(*spot)
    page.mouse.up()


def by_finger(page: Page, way: list[Spot]) -> None:
    session = page.context.new_cdp_session(page)
    for kind, spot in (("touchStart", way[0]), *(("touchMove", spot) for spot in way[1:])):
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": spot[0], "y": spot[1]}]})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def held(points: list[list[float]], way: list[Spot]) -> int:
    xs, ys = [x for x, _ in way], [y for _, y in way]
    return sum(min(xs) < x < max(xs) and min(ys) < y < max(ys) for x, y in points)


def chosen(page: Page, count: int) -> list[int]:
    page.wait_for_function(f"n => ({IN_GRID})().length === n", arg=count)
    found: list[int] = page.evaluate(IN_GRID)
    return found


@pytest.fixture
def page(browser: Browser) -> Any:
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, has_touch=True)
    opened = context.new_page()
    opened.set_default_timeout(60_000)
    yield opened
    context.close()


def test_outlines_choose_heads_and_the_map_stays(page: Page, lab: Lab, browser: Browser):
    path = lab.write("headmap.ipynb", [CELL])
    watch = watched(page)
    open_notebook(page, lab, path.name)
    run_all(page)
    page.locator(f"{FRONT} .hw-grid [role=gridcell]").first.wait_for(state="attached")
    page.wait_for_function(f"() => ({POINTS})().length === 24")
    page.locator(f"{FRONT} .bqplot").first.scroll_into_view_if_needed()
    page.wait_for_timeout(800)  # bqplot draws in a transition
    assert page.locator(f"{FRONT} .bqplot text.label.element").all_text_contents() == [str(i // 6) for i in range(24)]

    # an outline, one mark
    area = page.locator(f"{FRONT} .bqplot .lassoselector rect").first
    way = corners(area.bounding_box(), 0.5, 0.05, 0.95, 0.95)
    count = held(page.evaluate(POINTS), way)
    assert 3 < count < 21
    by_mouse(page, way)
    first = chosen(page, count)

    # other colours: other marks, the same heads are chosen
    page.locator(f"{FRONT} .jp-OutputArea select").first.select_option("role")
    page.wait_for_function("() => document.querySelectorAll('.bqplot .object_grp text.label.element').length === 0")
    page.wait_for_function(f"() => ({POINTS})().length === 24")
    page.get_by_text("no role (11)").wait_for()
    page.wait_for_timeout(800)
    assert page.evaluate(IN_GRID) == first
    assert page.evaluate(LASSOS) == 0

    # an outline over three marks, drawn by finger; then one that adds to it
    way = corners(area.bounding_box(), 0.05, 0.05, 0.6, 0.9)
    count = held(page.evaluate(POINTS), way)
    assert 3 < count < 21
    by_finger(page, way)
    second = chosen(page, count)
    assert len({0 if i < 5 else 1 if i < 13 else 2 for i in second}) == 3
    more = corners(area.bounding_box(), 0.62, 0.05, 0.98, 0.95)
    count += held(page.evaluate(POINTS), more)
    by_finger(page, more)
    assert set(second) < set(chosen(page, count))
    assert page.evaluate(LASSOS) == 2

    # a choice in the grid takes the outlines away, and the next one is drawn alone
    page.locator(f'{FRONT} .hw-grid [role=gridcell][data-layer="2"][data-head="1"]').click(force=True)
    page.wait_for_function(f"() => JSON.stringify(({IN_GRID})()) === '[13]'")
    page.wait_for_function(f"() => ({LASSOS})() === 0")
    by_mouse(page, way)
    assert chosen(page, len(second)) == second
    page.get_by_role("button", name="let go").click()
    chosen(page, 0)

    # a rectangle
    page.get_by_role("button", name="select a region").click()
    box: Any = page.locator(f"{FRONT} .bqplot .selector .overlay").first.bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 4)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 0.9 * box["height"], steps=6)
    page.mouse.up()
    page.wait_for_function(f"() => ({IN_GRID})().length > 2")
    page.get_by_role("button", name="let go").click()
    chosen(page, 0)

    # pointing at a head, also where its number lies over it
    page.locator(f"{FRONT} .jp-OutputArea select").first.select_option("layer")
    page.get_by_role("button", name="point at heads").click()
    page.wait_for_function("() => document.querySelectorAll('.bqplot .object_grp text.label.element').length === 24")
    page.wait_for_timeout(800)
    spots = page.evaluate(POINTS)
    lonely = max(range(24), key=lambda i: min((x - spots[i][0]) ** 2 + (y - spots[i][1]) ** 2
                                              for j, (x, y) in enumerate(spots) if j != i))  # fmt: skip
    page.mouse.move(spots[lonely][0] + 30, spots[lonely][1] + 30)
    page.mouse.move(*spots[lonely], steps=5)
    page.wait_for_function(f"n => JSON.stringify(({IN_GRID})()) === `[${{n}}]`", arg=lonely)

    settled(page)
    save(page)
    assert_exported(browser, lab.root, "headmap", ".hw-headmap [role=option]")
    watch.assert_clean()

    # reopened without its kernel it is the same picture, and answers to keys and fingers
    page.evaluate("async () => { await window.jupyterapp.serviceManager.sessions.shutdownAll() }")
    kinds = {
        m for cell in json.loads(path.read_text("utf-8"))["cells"] for o in cell["outputs"] for m in o.get("data", {})
    }
    assert {"application/vnd.headwidgets.headmap+json", "image/png"} <= kinds
    page.goto(f"{lab.url}/lab?reset")
    page.wait_for_function("() => window.jupyterapp && window.jupyterapp.shell.currentWidget")
    page.evaluate(
        f"""() => {{ window.jupyterapp.commands.execute('docmanager:open', {{
            path: '{path.name}',
            kernelPreference: {{ shouldStart: false, canStart: false, autoStartDefault: false }} }}) }}"""
    )
    saved = page.locator(f"{FRONT} .hw-headmap [role=listbox]")
    saved.wait_for()
    assert saved.locator("[role=option]").count() == 24
    assert saved.locator("[aria-selected=true]").count() == 1
    saved.focus()
    order = sorted(range(24), key=lambda i: spots[i][0])
    key, end = ("End", order[-1]) if order[-1] != lonely else ("Home", order[0])  # a second Enter would let it go
    page.keyboard.press("Home")
    page.keyboard.press(key)
    page.keyboard.press("Enter")
    page.wait_for_function(
        "head => document.querySelector('.hw-headmap [aria-selected=true]')?.dataset.head === head",
        arg=f"encoder,{end // 6},{end % 6}",
    )
    page.locator(f"{FRONT} .hw-headmap select").select_option("cluster")
    stage: Any = page.locator(f"{FRONT} .hw-headmap .hw-stage").bounding_box()
    by_finger(page, corners(stage, 0.2, 0.2, 0.98, 0.8))
    page.wait_for_function("() => document.querySelectorAll('.hw-headmap [aria-selected=true]').length > 5")
    assert page.get_by_text("Error displaying widget").count() == 0
