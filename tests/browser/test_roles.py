"""Roles in JupyterLab: read out in their cells, chosen by their list, in a saved notebook and in a file."""

import json

import pytest
from playwright.sync_api import Browser, Page

from .conftest import Lab, assert_exported, command, open_notebook, run_all, save, watched

pytestmark = pytest.mark.browser

FRONT = ".jp-NotebookPanel:not(.lm-mod-hidden)"
MAKE = """import numpy as np, headwidgets as hw
E = hw.Head
roles = hw.Roles.of({"positional": [E("encoder", 0, 1), E("encoder", 2, 3)], "<b>mine</b>": [E("encoder", 0, 1)]},
                    {"encoder": (3, 4)}, rule="by hand")
roles.save("some.heads")
first = hw.HeadGrid(np.ones((3, 4)), roles=roles)
for suffix in ("svg", "png", "pdf", "html"):
    first.save(f"first.{suffix}")
second = hw.HeadGrid(roles)
import ipywidgets
link = ipywidgets.jslink((first, "selected"), (second, "selected"))
first"""
ASK = 'print("CHOSEN", [tuple(head) for head in second.selected], "END")'


def cell(layer: int, index: int) -> str:
    return f'[role=gridcell][data-layer="{layer}"][data-head="{index}"]'


def test_roles_are_read_out_and_chosen_and_kept(page: Page, lab: Lab, browser: Browser):
    watch = watched(page)
    path = lab.write("roles.ipynb", [MAKE, "second", ASK])
    open_notebook(page, lab, path.name)
    run_all(page)
    grids = page.locator(f"{FRONT} .hw-grid")
    grids.nth(1).locator(cell(0, 1)).wait_for(state="attached")
    said = grids.first.locator(cell(0, 1)).get_attribute("aria-label")
    assert said == "layer 0 head 1: 1.00, positional; <b>mine</b>"
    assert grids.nth(1).locator(cell(1, 1)).get_attribute("aria-label") == "layer 1 head 1, no role"
    assert "by hand" in grids.nth(1).inner_text()
    assert grids.nth(1).locator("b").count() == 0

    choice = grids.first.get_by_label("select role")
    choice.focus()
    page.keyboard.press("ArrowDown")
    choice.select_option("positional")
    for grid in (grids.first, grids.nth(1)):
        for at in ((0, 1), (2, 3)):
            page.wait_for_function(
                "cell => cell.getAttribute('aria-selected') === 'true'", arg=grid.locator(cell(*at)).element_handle()
            )
        assert grid.locator("[role=gridcell][aria-selected=true]").count() == 2
    page.evaluate("() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 2 }")
    command(page, "notebook:run-cell")
    printed = page.locator(f"{FRONT} .jp-OutputArea-output pre").filter(has_text="('encoder', 2, 3)").last
    printed.wait_for()
    assert printed.inner_text().strip() == "CHOSEN [('encoder', 0, 1), ('encoder', 2, 3)] END"

    grids.nth(1).locator("[role=gridcell][tabindex='0']").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("() => document.activeElement.getAttribute('aria-label')") == "layer 0 head 2, no role"
    save(page)
    assert_exported(browser, lab.root, "first", ".hw-grid [role=gridcell]")
    outputs = json.loads(path.read_text("utf-8"))["cells"][1]["outputs"][0]["data"]
    kept = outputs["application/vnd.headwidgets.grid+json"]
    kept = json.loads(kept) if isinstance(kept, str) else kept
    assert [role["name"] for role in kept["roles"]] == ["positional", "<b>mine</b>"]

    command(page, "docmanager:open", json.dumps({"path": "some.heads"}))
    opened = page.locator(".jp-Document:not(.lm-mod-hidden) .hw-grid").last
    opened.locator(cell(2, 3)).wait_for(state="attached")
    assert opened.locator(cell(2, 3)).get_attribute("aria-label") == "layer 2 head 3, positional"
    opened.get_by_label("select role").select_option("<b>mine</b>")
    page.wait_for_function(
        "cell => cell.getAttribute('aria-selected') === 'true'", arg=opened.locator(cell(0, 1)).element_handle()
    )
    assert not watch.errors
