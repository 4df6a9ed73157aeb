"""What a notebook shows when it is opened again, and what a `.heads` file shows: nothing here needs a model."""

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Browser, Page

from tests.browser.conftest import Lab, open_notebook, run_all, save, watched

pytestmark = pytest.mark.browser

FIXTURES = Path(__file__).parents[1] / "wire" / "fixtures"
PANEL = ".jp-NotebookPanel:not(.lm-mod-hidden)"
CELL = f"{PANEL} [role=gridcell]"
MAKE = """import numpy as np
from headwidgets.widgets.grid import HeadGrid
grid = HeadGrid(np.random.default_rng(0).random((6, 12)), title="Live grid", pruned=[("encoder", 0, 1)])
grid"""
ASK = "print([(head.kind, head.layer, head.index) for head in grid.selected])"
CONNECTED = """() => {
    const session = window.jupyterapp.shell.currentWidget?.context?.sessionContext;
    const kernel = session?.session?.kernel;
    return session?.isReady && kernel?.connectionStatus === 'connected' && kernel.status === 'idle';
}"""


def opened(page: Page, lab: Lab, name: str) -> None:
    open_notebook(page, lab, name)
    page.wait_for_function(CONNECTED)


def head(layer: int, index: int) -> str:
    return f'{PANEL} [role=gridcell][data-layer="{layer}"][data-head="{index}"]'


def is_live(page: Page) -> bool:
    """The output is the notebook's own widget view, inside ours."""
    return bool(page.locator(f"{PANEL} .hw-output > .lm-Panel").count())


def trusted(page: Page) -> bool:
    return bool(page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets[0].model.trusted"))


def ask(page: Page) -> str:
    """Run the second cell and return what it prints."""
    page.evaluate(
        """() => { const notebook = window.jupyterapp.shell.currentWidget.content;
        notebook.activeCellIndex = 1;
        notebook.widgets[1].outputArea.model.clear();
        window.jupyterapp.commands.execute('notebook:run-cell'); }"""
    )
    page.wait_for_function(
        "() => window.jupyterapp.shell.currentWidget.content.widgets[1].outputArea.node.innerText.includes(']')"
    )
    return str(
        page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets[1].outputArea.node.innerText")
    ).strip()


def shut_kernels_down(page: Page, lab: Lab) -> None:
    page.goto(f"{lab.url}/lab?reset")
    page.wait_for_function("() => window.jupyterapp")
    page.evaluate("async () => { await window.jupyterapp.serviceManager.sessions.shutdownAll() }")


@pytest.fixture(scope="module")
def saved(lab: Lab, browser: Browser) -> str:
    """A notebook that was run, used and saved; its kernel still runs."""
    lab.write("saved.ipynb", [MAKE, ASK])
    page = browser.new_context().new_page()
    page.set_default_timeout(60_000)
    watch = watched(page)
    opened(page, lab, "saved.ipynb")
    run_all(page)
    page.wait_for_selector(CELL)
    assert is_live(page)
    page.click(head(2, 3))
    for key in ("a", "d", "d", "x", "b", "m"):
        page.keyboard.press(key)
    assert page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets.length") == 2
    assert ask(page) == "[('encoder', 2, 3)]"
    save(page)
    watch.assert_clean()
    page.context.close()
    return "saved.ipynb"


def test_a_saved_output_carries_data_pictures_and_text_within_its_budget(lab: Lab, saved: str):
    outputs = nbformat.read(lab.root / saved, 4).cells[0].outputs
    data = next(output.data for output in outputs if "data" in output)
    assert {
        "application/vnd.jupyter.widget-view+json",
        "application/vnd.headwidgets.grid+json",
        "image/png",
        "image/svg+xml",
        "text/plain",
    } <= set(data)
    assert len(json.dumps(outputs)) < 200_000


def test_a_reloaded_page_whose_kernel_runs_shows_the_live_widget(page: Page, lab: Lab, saved: str):
    watch = watched(page)
    opened(page, lab, saved)
    page.wait_for_function("selector => document.querySelector(selector)", arg=f"{PANEL} .hw-output > .lm-Panel")
    page.wait_for_selector(CELL)
    page.click(head(4, 4))
    page.wait_for_selector(f"{head(4, 4)}[aria-selected=true]")
    assert ask(page) == "[('encoder', 4, 4)]"
    watch.assert_clean()


@pytest.mark.parametrize("trust", [True, False], ids=["trusted", "untrusted"])
def test_without_its_kernel_the_saved_data_is_shown_and_works(page: Page, lab: Lab, saved: str, trust: bool):
    name = saved
    if not trust:
        notebook: Any = nbformat.read(lab.root / saved, 4)
        notebook.cells[0].source += "\n# somebody else's change, so that the signature does not fit"
        name = "from-elsewhere.ipynb"
        nbformat.write(notebook, lab.root / name)
    shut_kernels_down(page, lab)
    watch = watched(page)
    opened(page, lab, name)
    page.wait_for_selector(CELL)
    assert trusted(page) is trust
    assert not is_live(page)
    page.click(head(1, 1))
    page.wait_for_selector(f"{head(1, 1)}[aria-selected=true]")
    assert page.locator(f"{PANEL} .jp-OutputArea-output").first.inner_text().startswith("Live grid")
    watch.assert_clean()


@pytest.mark.parametrize(("name", "cells"), [("grid", 6), ("scores", 2), ("attention", 1)])
def test_a_heads_file_opens_with_its_component(page: Page, lab: Lab, name: str, cells: int):
    (lab.root / f"{name}.heads").write_bytes((FIXTURES / f"{name}.json").read_bytes())
    watch = watched(page)
    page.goto(f"{lab.url}/lab/tree/{name}.heads?reset")
    page.wait_for_selector(".hw-document .hw-root")
    assert page.locator(".hw-document [role=gridcell]").count() >= cells
    assert page.locator(".hw-document img, .hw-document script").count() == 0
    watch.assert_clean()


def test_a_damaged_heads_file_says_what_is_wrong(page: Page, lab: Lab):
    (lab.root / "damaged.heads").write_text('{"document": "grid", "schema": 1, "title": 3}')
    watch = watched(page)
    page.goto(f"{lab.url}/lab/tree/damaged.heads?reset")
    note = page.wait_for_selector(".hw-document [role=alert]")
    assert note is not None
    assert "title: expected a text, got 3" in note.inner_text()
    watch.assert_clean()
