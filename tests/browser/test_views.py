"""Three views of the same heads in a real notebook: attention, norm and attribution, by mouse and by keyboard."""

import json
import re

import pytest
from playwright.sync_api import Locator, Page

from .conftest import Lab, command, open_notebook, run_all, watched

pytestmark = pytest.mark.browser

FRONT = ".jp-NotebookPanel:not(.lm-mod-hidden)"
LABELS = {"attention": "Attention", "norm": "Norm", "attribution": "Attribution"}
ROW, COLUMN = 2, 3
VALUES = """import json, numpy as np
head = view.selected[0]
maps = model.attend(texts[0])
found = {
    "attention": maps[head],
    "norm": maps.norms[head],
    "attribution": hw.attribution.attribute(model, texts[0]).maps[head.kind][head.layer, head.index],
}
print("VALUES", json.dumps({"head": list(head), "view": view.view, "selected": len(view.selected),
      **{name: float(one[2, 3]) for name, one in found.items()}}), "END")"""


def opened(page: Page, lab: Lab, name: str, widget: str, options: str) -> Locator:
    """A notebook with one view of the demo model's first text."""
    lab.write(
        name,
        [
            "import headwidgets as hw\nmodel, texts, labels = hw.demo.load()",
            f"view = hw.{widget}(model, texts[0], selected=[('encoder', 1, 2)], {options})\nview",
            VALUES,
        ],
    )
    open_notebook(page, lab, name)
    run_all(page)
    root = page.locator(f"{FRONT} .jp-OutputArea .hw-root").first
    root.locator("[aria-label='What the maps show']").wait_for()
    return root


def toggle(root: Locator, view: str) -> Locator:
    return root.locator(f"[aria-label='What the maps show'] [data-value='{view}']")


def shown(root: Locator, view: str) -> Locator:
    """The matrix of the view, once it is there for the head that was chosen."""
    stage = root.locator(f".hw-maps[aria-label^='{LABELS[view]} of L1H2']").first
    stage.wait_for(timeout=60_000)
    assert toggle(root, view).get_attribute("aria-checked") == "true"
    return stage


def value(root: Locator, stage: Locator) -> float:
    """What the read-out says about the cell at ROW, COLUMN, walked to by keyboard."""
    stage.focus()
    stage.press("Escape")
    for key in ["ArrowDown", *["ArrowDown"] * ROW, *["ArrowRight"] * COLUMN]:
        stage.press(key)
    said = root.locator(".hw-readout").inner_text()
    assert f"(position {ROW})" in said, said
    assert f"(position {COLUMN})" in said, said
    found = re.search(r": ([+−-]?[\d.]+(?:e[−-]?\d+|×10.*)?)(?: \S+)?$", said)
    assert found, said
    return float(found.group(1).replace("−", "-"))


def from_python(page: Page) -> dict:
    page.evaluate("() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 2 }")
    page.evaluate(f"() => document.querySelectorAll('{FRONT} .jp-OutputArea-output pre').forEach(e => e.remove())")
    command(page, "notebook:run-cell")
    printed = page.locator(f"{FRONT} .jp-OutputArea-output pre").filter(has_text="VALUES").last
    printed.wait_for()
    return json.loads(printed.inner_text().split("VALUES")[1].split("END")[0])


def test_attention_view_toggles_by_mouse_and_keyboard_and_keeps_the_head(page: Page, lab: Lab):
    watch = watched(page)
    root = opened(page, lab, "views.ipynb", "AttentionView", "mode='matrix'")
    seen = {"attention": value(root, shown(root, "attention"))}
    toggle(root, "norm").click()
    seen["norm"] = value(root, shown(root, "norm"))
    assert "norm of the weighted vector" in (root.locator(".hw-maps svg").first.text_content() or "")
    toggle(root, "norm").press("ArrowRight")
    seen["attribution"] = value(root, shown(root, "attribution"))
    assert "Attribution to the log-odds of" in root.locator(".hw-notes").last.inner_text()
    python = from_python(page)
    assert (python["head"], python["view"], python["selected"]) == (["encoder", 1, 2], "attribution", 1)
    assert len(set(seen.values())) == 3
    for view, number in seen.items():
        assert number == pytest.approx(python[view], rel=6e-3), view
    toggle(root, "attribution").press("ArrowRight")  # around the corner
    assert value(root, shown(root, "attention")) == seen["attention"]
    watch.assert_clean()


def test_attribution_view_has_the_same_toggle(page: Page, lab: Lab):
    watch = watched(page)
    root = opened(page, lab, "attributed.ipynb", "AttributionView", "wait=None")
    seen = {"attribution": value(root, shown(root, "attribution"))}
    toggle(root, "attribution").press("ArrowLeft")
    seen["norm"] = value(root, shown(root, "norm"))
    toggle(root, "attention").click()
    seen["attention"] = value(root, shown(root, "attention"))
    python = from_python(page)
    assert (python["head"], python["view"], python["selected"]) == (["encoder", 1, 2], "attention", 1)
    for view, number in seen.items():
        assert number == pytest.approx(python[view], rel=6e-3), view
    watch.assert_clean()


def test_a_view_that_is_lacking_is_not_offered_and_says_why(page: Page, lab: Lab):
    lab.write(
        "lacking.ipynb",
        [
            "import headwidgets as hw\nmodel, texts, labels = hw.demo.load()\n"
            "result = hw.attribution.attribute(model, texts[0])",
            "view = hw.AttributionView(result)\nview",
        ],
    )
    watch = watched(page)
    open_notebook(page, lab, "lacking.ipynb")
    run_all(page)
    root = page.locator(f"{FRONT} .jp-OutputArea .hw-root").first
    norm = toggle(root, "norm")
    norm.wait_for()
    assert norm.get_attribute("aria-disabled") == "true"
    norm.click(force=True)
    assert "Norms need the model" in root.locator(".hw-readout").inner_text()
    assert toggle(root, "attribution").get_attribute("aria-checked") == "true"
    watch.assert_clean()
