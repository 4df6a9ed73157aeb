"""The attribution tree in a real notebook: tau by slider, keyboard, words, and the file that Python saves then."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page

from .conftest import Lab, command, open_notebook, run_all, save, settled, watched

pytestmark = pytest.mark.browser

FRONT = ".jp-NotebookPanel:not(.lm-mod-hidden)"
EDGES = "[data-part='edge']"
MAKE = """import headwidgets as hw
model, texts, labels = hw.demo.load()
tree = hw.AttributionTree(model, "the film is unconvincingly good and not dull at all", threshold=0.6, wait=None)
tree"""
SAY = """import json
svg = tree.save("tree.svg").read_text(encoding="utf-8")
again = hw.attribution.attribute(model, "the film is unconvincingly good and not dull at all")
own = again.tree(tree.threshold, penalty=tree.penalty, words=tree.collapsed)
print("TREE", json.dumps({"threshold": tree.threshold, "penalty": tree.penalty, "collapsed": tree.collapsed,
    "edges": [list(e[:3]) for e in tree.edges], "engine": [list(e[:3]) for e in own.edges],
    "chosen": tree.selected_edge, "svg": svg.count('data-part="edge"')}), "END")"""


def opened(page: Page, lab: Lab, name: str) -> Locator:
    lab.write(name, [MAKE, SAY])
    open_notebook(page, lab, name)
    run_all(page)
    root = page.locator(f"{FRONT} .jp-OutputArea .hw-tree").first
    root.locator("[role=treeitem]").first.wait_for(state="attached")
    return root


def drawn(root: Locator) -> list[list[int]]:
    found = root.locator(EDGES).evaluate_all("all => all.map(one => one.dataset.edge)")
    return [[int(number) for number in one.split()] for one in found]


def from_python(page: Page) -> dict:
    page.evaluate("() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 1 }")
    page.evaluate(f"() => document.querySelectorAll('{FRONT} .jp-OutputArea-output pre').forEach(e => e.remove())")
    command(page, "notebook:run-cell")
    printed = page.locator(f"{FRONT} .jp-OutputArea-output pre").filter(has_text="TREE").last
    printed.wait_for()
    return json.loads(printed.inner_text().split("TREE")[1].split("END")[0])


def test_tau_redraws_at_once_and_python_and_its_file_follow(page: Page, lab: Lab):
    watch = watched(page)
    root = opened(page, lab, "tree.ipynb")
    slider = root.locator("input.hw-slider").first
    slider.scroll_into_view_if_needed()
    before = drawn(root)
    page.evaluate(
        """() => {
            const root = document.querySelector('.jp-OutputArea .hw-tree');
            const slider = root.querySelector('input.hw-slider');
            const log = window.slid = { lag: [], counts: [], handle: [] };
            slider.addEventListener('input', () => {
                const at = performance.now();
                log.handle.push(slider.valueAsNumber);
                requestAnimationFrame(() => {
                    log.lag.push(performance.now() - at);
                    log.counts.push([slider.valueAsNumber, root.querySelectorAll("[data-part='edge']").length]);
                });
            });
        }"""
    )
    box = slider.bounding_box()
    assert box
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 10 + 0.606 * (box["width"] - 20), y)
    page.mouse.down()
    for step in range(30):
        page.mouse.move(box["x"] + 10 + (0.606 - 0.58 * step / 29) * (box["width"] - 20), y)
        page.wait_for_timeout(15)
    page.mouse.up()
    slid = page.evaluate("() => window.slid")
    print(f"tree redrawn {sorted(round(lag) for lag in slid['lag'])} ms after input")
    assert slid["handle"] == sorted(slid["handle"], reverse=True), "the handle jumped back"
    counts = [count for _, count in slid["counts"]]
    assert counts == sorted(counts), "a smaller tau gives a larger tree"
    after = drawn(root)
    assert len(after) > len(before)
    assert len({*counts}) > 2
    assert min(slid["lag"]) < 50
    python = from_python(page)
    assert python["threshold"] == pytest.approx(float(slider.input_value()), abs=0.006)
    assert python["edges"] == drawn(root) == python["engine"]
    assert python["svg"] == len(after)
    svg = Path(lab.root / "tree.svg").read_text(encoding="utf-8")
    assert sorted(re.findall(r'data-part="edge" data-edge="(\d+ \d+ \d+)"', svg)) == sorted(
        " ".join(map(str, edge)) for edge in after
    )
    watch.assert_clean()


def test_lambda_words_and_keyboard(page: Page, lab: Lab):
    watch = watched(page)
    root = opened(page, lab, "walk.ipynb")
    tau = root.get_by_label("tau, threshold as a share of the largest entry of a layer, typed")
    price = root.locator("input.hw-slider").nth(1)
    tau.fill("0.05")
    tau.press("Enter")
    many = len(drawn(root))
    price.focus()
    for _ in range(12):
        page.keyboard.press("ArrowRight")
    fewer = len(drawn(root))
    assert fewer < many
    python = from_python(page)
    assert python["penalty"] == pytest.approx(0.12)
    assert python["edges"] == drawn(root) == python["engine"]
    price.focus()
    page.keyboard.press("Home")

    items = root.locator("[role=treeitem]")
    items.first.focus()
    assert "root, where the prediction is read" in root.locator(".hw-readout").inner_text()
    for key in ("ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    said = root.locator(".hw-readout").inner_text()
    assert re.match(
        r"Layer \d+: “.+” \(position \d+.*\) attends to “.+” \(position \d+.*\), weight \+[\d.]+ nats", said
    ), said
    cells = page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets.length")
    page.keyboard.press("Enter")
    for key in ("a", "d", "d", "x", "b"):  # commands of a notebook that is not being typed in
        page.keyboard.press(key)
    assert page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets.length") == cells
    assert root.locator("[role=treeitem][aria-selected=true]").count() == 1

    words = root.get_by_label("whole words")
    split = words.is_enabled()
    if split:
        words.check()
    python = from_python(page)
    assert python["collapsed"] is split
    assert python["edges"] == drawn(root) == python["engine"]
    assert len(python["chosen"]) == 3
    watch.assert_clean()


def test_saved_and_reopened_without_a_kernel_the_tree_can_still_be_turned(page: Page, lab: Lab):
    opened(page, lab, "kept.ipynb")
    settled(page)
    save(page)
    command(page, "notebook:shutdown-kernel")
    page.wait_for_timeout(500)
    content = json.loads((lab.root / "kept.ipynb").read_text(encoding="utf-8"))
    data = next(out["data"] for out in content["cells"][0]["outputs"] if "data" in out)
    assert {"application/vnd.headwidgets.tree+json", "image/png", "image/svg+xml", "text/plain"} <= set(data)
    assert len(json.dumps(data)) < 200_000
    watch = watched(page)
    open_notebook(page, lab, "kept.ipynb")
    root = page.locator(f"{FRONT} .jp-OutputArea .hw-tree").first
    root.wait_for()
    before = len(drawn(root))
    field = root.get_by_label("tau, threshold as a share of the largest entry of a layer, typed")
    field.fill("0.05")
    assert len(drawn(root)) > before
    watch.assert_clean()
