"""A ranking fills its grid in a real notebook while it is measured, and Stop stops it."""

import re

import pytest
from playwright.sync_api import Page

from .conftest import Lab, command, open_notebook, run_all, watched

pytestmark = pytest.mark.browser

FRONT = ".jp-NotebookPanel:not(.lm-mod-hidden)"
MAKE = """import headwidgets as hw
model, texts, labels = hw.demo.load()
n = len(texts)
job = hw.jobs.start(hw.attribution.importance, model, [texts[i % n] for i in range(4000)],
                    [labels[i % n] for i in range(4000)], method="ablation")
grid = hw.HeadGrid(job, title="Importance")
grid"""
SAY = 'print("STATE", job.wait(20), job.cancelled, grid.running, grid.status, len(grid.document["panels"]), "END")'


def test_scores_come_and_stop_is_heard(page: Page, lab: Lab):
    watch = watched(page)
    lab.write("job.ipynb", [MAKE, "1"])
    open_notebook(page, lab, "job.ipynb")
    run_all(page)
    root = page.locator(f"{FRONT} .jp-OutputArea .hw-grid").first
    state = root.locator(".hw-state")
    state.filter(has_text=re.compile(r"of 4000 texts")).wait_for()
    root.locator(".hw-cell").first.wait_for(state="attached")
    button = root.get_by_role("button", name="Stop")
    button.focus()
    page.keyboard.press("Enter")
    state.filter(has_text=re.compile(r"importance was stopped after \d+ of 4000 texts\.")).wait_for()
    assert not button.is_visible()
    page.evaluate("() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 1 }")
    page.evaluate(
        "source => { window.jupyterapp.shell.currentWidget.content.activeCell.model.sharedModel.setSource(source) }",
        SAY,
    )
    command(page, "notebook:run-cell")
    printed = page.locator(f"{FRONT} .jp-OutputArea-output pre").filter(has_text="STATE").last
    printed.wait_for()
    assert re.search(
        r"STATE True True False importance was stopped after \d+ of 4000 texts\. 1 END", printed.inner_text()
    )
    assert not watch.errors
