"""The scatter in JupyterLab: what is brushed is chosen in the grid, what is clicked in the grid is marked in it."""

import json
from typing import Any

import pytest
from playwright.sync_api import Page

from .conftest import Lab, open_notebook, run_all, save, settled, watched

pytestmark = pytest.mark.browser

FRONT = ".jp-NotebookPanel:not(.lm-mod-hidden)"
SCATTER = """import numpy as np, headwidgets as hw
rng = np.random.default_rng(0)
a = rng.random((4, 6)); b = 0.6 * a + 0.4 * rng.random((4, 6))
scatter = hw.ImportanceScatter(a, b, names=("SST-2", "MRPC"))
scatter"""
CURVES = """from headwidgets.scores import Estimate, Interval
heads = [hw.Head("encoder", 0, i) for i in range(8)]
def curve(k):
    values = [0.5 + 0.4 * (1 - c / 8) ** k for c in range(9)]
    found = [Estimate(v, v - 0.03, v + 0.03, 100, 100, True, v, v) for v in values]
    return hw.PruningCurve(list(range(9)), found, heads, "x")
view = hw.CurveView({"attribution": curve(0.5), "taylor": curve(1.5)})
view"""
MODEL_SELECTED = """() => [...document.querySelectorAll('.hw-grid [role=gridcell][aria-selected=true]')]
    .map(cell => 6 * Number(cell.dataset.layer) + Number(cell.dataset.head)).sort((a, b) => a - b)"""
POINTS = """() => [...document.querySelector('.bqplot').querySelectorAll('.object_grp')].map(group => {
    const box = (group.querySelector('path') ?? group).getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2]; })"""
MARKED = """() => [...document.querySelector('.bqplot').querySelectorAll('.object_grp path')]
    .map((path, i) => [getComputedStyle(path).fill, i]).filter(([fill]) => fill === 'rgb(224, 85, 155)')
    .map(([, i]) => i)"""


def points(page: Page) -> list[list[float]]:
    page.wait_for_function(f"() => ({POINTS})().length === 24")
    found: list[list[float]] = page.evaluate(POINTS)
    return found


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2, steps=4)
    page.mouse.move(*end, steps=4)
    page.mouse.up()


def inside(found: list[list[float]], start: tuple[float, float], end: tuple[float, float]) -> list[int]:
    return [i for i, (x, y) in enumerate(found) if start[0] < x < end[0] and start[1] < y < end[1]]


def test_the_scatter_and_the_grid_follow_each_other_and_stay(page: Page, lab: Lab):
    path = lab.write("scatter.ipynb", [SCATTER, CURVES])
    watch = watched(page)
    open_notebook(page, lab, path.name)
    run_all(page)
    page.locator(f"{FRONT} .hw-grid [role=gridcell]").first.wait_for(state="attached")
    page.locator(f"{FRONT} .bqplot").first.scroll_into_view_if_needed()
    page.wait_for_timeout(800)  # bqplot draws in a transition
    found = points(page)

    # brushing: the upper right of the cloud
    box: Any = page.locator(f"{FRONT} .bqplot .selector .overlay").first.bounding_box()
    start = (box["x"] + 0.45 * box["width"], box["y"] + 4)
    end = (box["x"] + box["width"] - 4, box["y"] + 0.55 * box["height"])
    expected = inside(found, start, end)
    assert 2 < len(expected) < 22
    drag(page, start, end)
    page.wait_for_function(f"n => ({MODEL_SELECTED})().length === n", arg=len(expected))
    assert page.evaluate(MODEL_SELECTED) == expected

    # a click in the grid marks its point
    page.locator(f'{FRONT} .hw-grid [role=gridcell][data-layer="2"][data-head="1"]').click(force=True)
    page.wait_for_function(f"() => JSON.stringify(({MARKED})()) === '[13]'")

    # pointing at a head chooses it, a click keeps it
    page.get_by_role("button", name="point at heads").click()
    page.locator(f'{FRONT} .hw-grid [role=gridcell][data-layer="2"][data-head="1"]').click(force=True)  # let it go
    page.wait_for_function(f"() => ({MODEL_SELECTED})().length === 0")
    page.wait_for_timeout(300)
    lonely = max(range(24), key=lambda i: min((x - found[i][0]) ** 2 + (y - found[i][1]) ** 2
                                              for j, (x, y) in enumerate(found) if j != i))  # fmt: skip
    page.mouse.move(found[lonely][0] + 30, found[lonely][1] + 30)
    page.mouse.move(*found[lonely], steps=5)
    page.wait_for_function(f"n => JSON.stringify(({MODEL_SELECTED})()) === `[${{n}}]`", arg=lonely)

    # the chart of curves brings a line forward, by its menu or when the pointer is at one of its points
    page.locator(f"{FRONT} .jp-OutputArea select", has_text="taylor").select_option("taylor")
    page.locator(f"{FRONT} .jp-OutputArea b", has_text="taylor").wait_for()
    page.locator(f"{FRONT} .bqplot").nth(1).locator(".object_grp path").nth(5).hover()
    page.locator(f"{FRONT} .jp-OutputArea b", has_text="attribution").wait_for()

    # keys pressed on its buttons and menus are no commands of the notebook
    sources = "() => [...window.jupyterapp.shell.currentWidget.content.model.cells].map(c => c.sharedModel.getSource())"
    before = page.evaluate(sources)
    for control in (
        page.get_by_role("button", name="pan and zoom"),
        page.locator(f"{FRONT} .jp-OutputArea select", has_text="taylor"),
    ):
        control.focus()
        for key in ("b", "d", "d", "x"):
            page.keyboard.press(key)
    page.wait_for_timeout(500)
    assert page.evaluate(sources) == before
    settled(page)  # the saved outputs follow
    save(page)
    watch.assert_clean()

    # reopened without its kernel it is the same picture, and still answers to keys
    page.evaluate("async () => { await window.jupyterapp.serviceManager.sessions.shutdownAll() }")
    kinds = {
        m for cell in json.loads(path.read_text("utf-8"))["cells"] for o in cell["outputs"] for m in o.get("data", {})
    }
    assert {"application/vnd.headwidgets.scatter+json", "application/vnd.headwidgets.curves+json", "image/png"} <= kinds
    page.goto(f"{lab.url}/lab?reset")
    page.wait_for_function("() => window.jupyterapp && window.jupyterapp.shell.currentWidget")
    page.evaluate(
        f"""() => {{ window.jupyterapp.commands.execute('docmanager:open', {{
            path: '{path.name}',
            kernelPreference: {{ shouldStart: false, canStart: false, autoStartDefault: false }} }}) }}"""
    )
    saved = page.locator(f"{FRONT} .hw-scatter [role=listbox]")
    saved.wait_for()
    assert saved.locator("[role=option]").count() == 24
    assert saved.locator("[aria-selected=true]").count() == 1
    saved.focus()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    lowest = min(range(24), key=lambda i: found[i][0])
    assert saved.locator("[aria-selected=true]").get_attribute("data-head") == f"encoder,{lowest // 6},{lowest % 6}"
    assert page.locator(f"{FRONT} .hw-curves svg").count() >= 1
    assert page.get_by_text("Error displaying widget").count() == 0
