"""Layer curves in JupyterLab: what is brushed is chosen in the grid and ringed, the menu changes the chart."""

import json

import pytest
from playwright.sync_api import Browser, Page

from .conftest import Lab, assert_exported, open_notebook, run_all, save, settled, watched
from .test_scatter import MODEL_SELECTED, drag

pytestmark = pytest.mark.browser

FRONT = ".jp-NotebookPanel:not(.lm-mod-hidden)"
CELL = """import numpy as np, headwidgets as hw
rng = np.random.default_rng(0)
names = ("offset-1", "offset+1", "entropy")
scores = {n: hw.HeadScores({"encoder": rng.random((4, 6))}, name=n, unit="nats", n=9) for n in names}
summary = hw.PatternSummary(scores, labels={n: "label of " + n for n in names}, uniform={},
    charts={n: "entropy" if n == "entropy" else "offset" for n in names})
view = hw.PatternView(summary)
for suffix in ("svg", "png", "pdf", "html"):
    view.save(f"view.{suffix}")
view"""
POINTS = """() => [...document.querySelector('.bqplot').querySelectorAll('.object_grp')].length"""


def test_layer_curves_and_the_grid_follow_each_other_and_stay(page: Page, lab: Lab, browser: Browser):
    path = lab.write("patterns.ipynb", [CELL])
    watch = watched(page)
    open_notebook(page, lab, path.name)
    run_all(page)
    page.locator(f"{FRONT} .hw-grid [role=gridcell]").first.wait_for(state="attached")
    page.locator(f"{FRONT} .bqplot").first.scroll_into_view_if_needed()
    page.wait_for_function(f"() => ({POINTS})() === 48")
    page.wait_for_timeout(5000)  # bqplot draws in a transition, and again when the grid has taken its room

    # a rectangle over the first two layers chooses their heads, each once, and rings both of their points
    box = page.locator(f"{FRONT} .bqplot .selector .overlay").first.bounding_box()
    assert box is not None
    left, top, wide, high = box["x"], box["y"], box["width"], box["height"]
    drag(page, (left + 3, top + 3), (left + 0.5 * wide, top + high - 3))
    page.wait_for_function(f"() => ({MODEL_SELECTED})().length === 12")
    assert page.evaluate(MODEL_SELECTED) == list(range(12))
    page.wait_for_function(f"() => ({POINTS})() > 48")

    # a click in the grid rings its head alone
    page.locator(f'{FRONT} .hw-grid [role=gridcell][data-layer="3"][data-head="1"]').click(force=True)
    page.wait_for_function(f"() => JSON.stringify(({MODEL_SELECTED})()) === '[19]'")

    # the menu changes the chart and what the grid shows; the head stays chosen
    page.locator(f"{FRONT} .jp-OutputArea select", has_text="Attention to neighbours").select_option("Entropy")
    page.wait_for_function(f"() => ({POINTS})() < 48")
    page.locator(f"{FRONT} .hw-grid", has_text="label of entropy").first.wait_for()
    assert page.evaluate(MODEL_SELECTED) == [19]
    settled(page)  # the saved outputs follow
    save(page)
    assert_exported(browser, lab.root, "view", ".hw-patterns svg")
    watch.assert_clean()

    # reopened without its kernel it is the same picture, and answers to its menu and to keys
    page.evaluate("async () => { await window.jupyterapp.serviceManager.sessions.shutdownAll() }")
    kinds = {
        m for cell in json.loads(path.read_text("utf-8"))["cells"] for o in cell["outputs"] for m in o.get("data", {})
    }
    assert {"application/vnd.headwidgets.patterns+json", "image/png"} <= kinds
    page.goto(f"{lab.url}/lab?reset")
    page.wait_for_function("() => window.jupyterapp && window.jupyterapp.shell.currentWidget")
    page.evaluate(
        f"""() => {{ window.jupyterapp.commands.execute('docmanager:open', {{
            path: '{path.name}',
            kernelPreference: {{ shouldStart: false, canStart: false, autoStartDefault: false }} }}) }}"""
    )
    shown = page.locator(f"{FRONT} .hw-patterns")
    shown.locator("select").wait_for()
    assert shown.locator("select").input_value() == "Entropy"
    assert shown.locator("[role=option][aria-selected=true]").count() == 1
    shown.locator("select").select_option("Attention to neighbours")
    shown.locator("[role=listbox]").focus()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    assert shown.locator("[role=option][aria-selected=true]").count() == 2
