"""The main job as a user does it: run the quickstart, click a head, drag the slider, save, reopen."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page

from .conftest import Lab, command, open_notebook, pictured, run_all, save, watched

pytestmark = pytest.mark.browser

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "quickstart.ipynb"
FRONT = ".jp-NotebookPanel:not(.lm-mod-hidden)"
EXPLORER = """import headwidgets as hw
model, texts, labels = hw.demo.load()
train, held = slice(None, 100), slice(100, None)
scores = hw.attribution.importance(model, texts[train], labels[train], method='confidence')
explorer = hw.PruningExplorer(model, texts[held], labels[held], ranking=scores, points=0)
explorer"""


def slider_of(page: Page) -> Locator:
    return page.locator(f"{FRONT} input.hw-slider").first


def panel_of(page: Page) -> Locator:
    return page.locator(f"{FRONT} .hw-pruning").first


def wait_exact(page: Page, timeout: float = 60_000) -> None:
    panel_of(page).locator(".hw-progress[data-exact]").wait_for(timeout=timeout)


def outputs_of(path: Path) -> list[dict[str, Any]]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [out for cell in cells for out in cell.get("outputs", [])]


def full_windowing(page: Page) -> None:
    """Notebooks keep only the cells in sight."""
    page.evaluate(
        """async () => {
            const app = window.jupyterapp;
            await app.serviceManager.settings.save(
                '@jupyterlab/notebook-extension:tracker', JSON.stringify({ windowingMode: 'full' }));
        }"""
    )


@pytest.fixture(scope="module")
def reopened(browser: Browser, lab: Lab) -> Path:
    """The quickstart, run once in JupyterLab by hand, so to speak, and saved."""
    path = lab.root / "quickstart.ipynb"
    shutil.copy(NOTEBOOK, path)
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    page = context.new_page()
    page.set_default_timeout(60_000)
    watch = watched(page)
    open_notebook(page, lab, path.name)
    run_all(page, timeout=240_000)
    for name in ("hw-grid", "hw-attention", "hw-attribution", "hw-pruning"):
        page.locator(f"{FRONT} .{name}").first.wait_for(state="attached")
    pictured(page)
    save(page)
    watch.assert_clean()
    command(page, "notebook:shutdown-kernel")
    page.wait_for_timeout(500)
    context.close()
    return path


def test_the_quickstart_runs_in_jupyterlab_and_every_widget_is_there(reopened: Path):
    kinds = {mime for out in outputs_of(reopened) for mime in out.get("data", {})}
    for name in ("grid", "attention", "attribution", "pruning", "dashboard"):
        assert f"application/vnd.headwidgets.{name}+json" in kinds
    assert not [out for out in outputs_of(reopened) if out["output_type"] == "error"]


def test_the_saved_output_of_each_cell_stays_below_200_kb(reopened: Path):
    for cell in json.loads(reopened.read_text(encoding="utf-8"))["cells"]:
        size = len(json.dumps(cell.get("outputs", [])))
        assert size < 200_000, f"{size} bytes for {cell['source'][:60]!r}"


def test_a_saved_output_carries_picture_and_text_beside_the_widget(reopened: Path):
    views = [o["data"] for o in outputs_of(reopened) if "application/vnd.jupyter.widget-view+json" in o.get("data", {})]
    assert views
    for data in views:
        assert {"image/png", "image/svg+xml", "text/plain"} <= set(data)


@pytest.mark.parametrize("trusted", [True, False], ids=["trusted", "untrusted"])
def test_reopened_without_its_models_the_notebook_still_shows_its_pictures(
    page: Page, lab: Lab, reopened: Path, trusted: bool
):
    path = lab.root / f"reopened-{trusted}.ipynb"
    content = json.loads(reopened.read_text(encoding="utf-8"))
    for cell in content["cells"]:
        cell["metadata"].pop("trusted", None)
        if cell["cell_type"] == "code" and not trusted:
            cell["source"] = [*cell["source"], "\n# changed by somebody else"]
    path.write_text(json.dumps(content), encoding="utf-8")
    watch = watched(page)
    open_notebook(page, lab, path.name)
    if trusted:
        page.evaluate(
            """() => { for (const cell of window.jupyterapp.shell.currentWidget.content.model.cells)
                if (cell.type === 'code') cell.trusted = true; }"""
        )
    views = len([o for o in outputs_of(path) if "image/png" in o.get("data", {})])
    shown = page.locator(f"{FRONT} .jp-OutputArea .hw-root")
    page.wait_for_function(f"() => document.querySelectorAll('{FRONT} .jp-OutputArea .hw-root svg').length > 0")
    assert shown.count() >= views
    assert page.get_by_text("Error displaying widget").count() == 0
    watch.assert_clean()


def test_a_notebook_opened_with_no_kernel_at_all_shows_the_same_pictures(page: Page, lab: Lab, reopened: Path):
    path = lab.root / "no-kernel.ipynb"
    shutil.copy(reopened, path)
    watch = watched(page)
    page.goto(f"{lab.url}/lab?reset")
    page.wait_for_function("() => window.jupyterapp && window.jupyterapp.shell.currentWidget")
    page.evaluate(
        f"""() => {{ window.jupyterapp.commands.execute('docmanager:open', {{
            path: '{path.name}',
            kernelPreference: {{ shouldStart: false, canStart: false, autoStartDefault: false }} }}) }}"""
    )
    page.wait_for_selector(f"{FRONT} .jp-OutputArea .hw-root svg")
    page.wait_for_timeout(1_000)
    assert page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.session === null")
    assert page.get_by_text("Error displaying widget").count() == 0
    # ipywidgets' own manager (jupyterlab_widgets 3.0) fails once in any notebook without a kernel
    watch.errors = [e for e in watch.errors if "@jupyter-widgets/jupyterlab-manager" not in e]
    watch.assert_clean()


def test_a_click_in_the_grid_selects_a_head_in_python(page: Page, lab: Lab):
    lab.write(
        "click.ipynb",
        [
            "import numpy as np, headwidgets as hw\ngrid = hw.HeadGrid(np.arange(24.).reshape(4, 6))\ngrid",
            "print('chosen', grid.selected)",
        ],
    )
    watch = watched(page)
    open_notebook(page, lab, "click.ipynb")
    run_all(page)
    cell = page.locator(f"{FRONT} .hw-grid [role=gridcell]").nth(8)
    cell.wait_for(state="attached")
    cell.click(force=True)
    label = cell.get_attribute("aria-label") or ""
    assert "layer 1 head 2" in label, label
    page.wait_for_timeout(300)
    page.evaluate("() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 1 }")
    command(page, "notebook:run-cell")
    page.get_by_text("Head(kind='encoder', layer=1, index=2)").first.wait_for()
    watch.assert_clean()


def test_the_slider_follows_the_hand_and_ends_exact(page: Page, lab: Lab):
    lab.write("slider.ipynb", [EXPLORER])
    watch = watched(page)
    open_notebook(page, lab, "slider.ipynb")
    run_all(page)
    slider = slider_of(page)
    slider.wait_for()
    wait_exact(page)
    page.evaluate(
        """() => {
            const slider = document.querySelector('input.hw-slider');
            const log = window.slid = { seen: [], input: [], lag: [], first: [] };
            let asked = null, before = '';
            const panel = slider.closest('.hw-pruning');
            slider.addEventListener('input', () => {
                const at = performance.now();
                asked = { at, count: slider.valueAsNumber };
                requestAnimationFrame(() => requestAnimationFrame(() => log.lag.push(performance.now() - at)));
            }, true);
            const watch = () => {
                log.seen.push(slider.valueAsNumber);
                const progress = panel.querySelector('.hw-progress');
                const value = panel.querySelector('.hw-value').textContent;
                const waiting = !/\\d/.test(value);
                if (asked && !waiting && value + progress.textContent !== before) {
                    log.first.push(performance.now() - asked.at);
                    asked = null;
                }
                if (!asked) before = value + progress.textContent;
                requestAnimationFrame(watch);
            };
            watch();
        }"""
    )
    box = slider.bounding_box()
    assert box
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 8, y)
    page.mouse.down()
    for step in range(40):
        page.mouse.move(box["x"] + 8 + step * (box["width"] * 0.5) / 40, y)
        page.wait_for_timeout(15)
    page.mouse.up()
    wait_exact(page)
    count = int(slider.input_value())
    seen = page.evaluate("() => window.slid.seen")
    assert seen == sorted(seen), "the handle jumped back"
    assert count > 10
    assert seen[-1] == count
    # after the hand has gone: five single steps, each timed to its first estimate
    page.evaluate("() => { window.slid.first.length = 0; window.slid.lag.length = 0 }")
    slider.focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(50)
        wait_exact(page)
    first = page.evaluate("() => window.slid.first")
    lag = page.evaluate("() => window.slid.lag")
    print(f"first estimate after {[round(t) for t in first]} ms; two frames after input {[round(t) for t in lag]} ms")
    assert len(first) == 5
    assert min(first) < 300, first  # whatever else the machine does only adds
    text = panel_of(page).inner_text()
    assert "exact on all" in text
    assert "change" in text.lower() or "full model" in text.lower()
    lab_value = panel_of(page).locator(".hw-value").inner_text()
    page.evaluate("() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 0 }")
    assert any(c.isdigit() for c in lab_value)
    watch.assert_clean()


def test_the_last_value_is_what_a_plain_evaluation_finds(page: Page, lab: Lab):
    check = (
        "explorer.wait(60)\n"
        "plain = model.evaluate(texts[held], labels[held], pruned=explorer.pruned)\n"
        "near = abs(plain.value - explorer.estimate['value']) < 1e-9\n"
        "print('same', explorer.count, explorer.estimate['exact'], near)"
    )
    lab.write("exact.ipynb", [EXPLORER, check])
    open_notebook(page, lab, "exact.ipynb")
    page.evaluate("() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 0 }")
    command(page, "notebook:run-cell")
    slider_of(page).wait_for(timeout=120_000)
    number = panel_of(page).get_by_label("Number of heads pruned")
    number.fill("31")
    number.press("Enter")
    wait_exact(page)
    page.evaluate("() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 1 }")
    command(page, "notebook:run-cell")
    page.get_by_text("same 31 True True").first.wait_for()


def test_scrolled_away_and_back_in_full_windowing_the_widget_is_whole(page: Page, lab: Lab):
    cells = ["import numpy as np, headwidgets as hw\ngrid = hw.HeadGrid(np.random.rand(12, 12))\ngrid"]
    lab.write("scroll.ipynb", cells + [f"print('\\n'.join(map(str, range(40))))  # {i}" for i in range(30)])
    page.goto(f"{lab.url}/lab?reset")
    page.wait_for_function("() => window.jupyterapp && window.jupyterapp.shell.currentWidget")
    full_windowing(page)
    watch = watched(page)
    open_notebook(page, lab, "scroll.ipynb", reset=False)
    run_all(page)
    page.evaluate("async () => { await window.jupyterapp.shell.currentWidget.content.scrollToItem(0) }")
    page.locator(f"{FRONT} .hw-grid svg").first.wait_for()
    page.locator(f"{FRONT} .hw-grid [role=gridcell]").nth(5).click(force=True)
    for target in (30, 0, 30, 0):
        page.evaluate(f"async () => {{ await window.jupyterapp.shell.currentWidget.content.scrollToItem({target}) }}")
        page.wait_for_timeout(700)
    grid = page.locator(f"{FRONT} .hw-grid").first
    grid.wait_for()
    box = grid.bounding_box()
    assert box
    assert box["height"] > 150
    assert grid.locator("svg").count() > 0
    assert grid.locator("[role=gridcell][aria-selected=true]").count() == 1
    watch.assert_clean()


def test_keys_in_a_focused_widget_do_no_harm_to_the_notebook(page: Page, lab: Lab):
    lab.write("keys.ipynb", ["import numpy as np, headwidgets as hw\nhw.HeadGrid(np.random.rand(4, 4))", "1", "2"])
    watch = watched(page)
    open_notebook(page, lab, "keys.ipynb")
    run_all(page)
    first = page.locator(f"{FRONT} .hw-grid [role=gridcell]").first
    first.wait_for(state="attached")
    first.click(force=True)
    for key in ("a", "d", "d", "x", "b", "ArrowRight"):
        page.keyboard.press(key)
    page.wait_for_timeout(500)
    sources = page.evaluate(
        "() => [...window.jupyterapp.shell.currentWidget.content.model.cells].map(c => c.sharedModel.getSource())"
    )
    assert len(sources) == 3
    assert sources[1:] == ["1", "2"]
    assert page.evaluate("() => document.activeElement.getAttribute('aria-label')").startswith("layer 0 head 1")
    watch.assert_clean()


def test_two_notebooks_at_once_keep_apart(page: Page, lab: Lab):
    for name in ("one", "two"):
        lab.write(
            f"{name}.ipynb",
            [f"import numpy as np, headwidgets as hw\n{name} = hw.HeadGrid(np.eye(3), title='{name}')\n{name}"],
        )
    watch = watched(page)
    for name in ("one", "two"):
        open_notebook(page, lab, f"{name}.ipynb", reset=name == "one")
        run_all(page)
        page.locator(f"{FRONT} .hw-grid svg").first.wait_for()
        save(page)
    page.locator(f"{FRONT} .hw-grid [role=gridcell]").nth(4).click(force=True)
    assert page.locator(f"{FRONT} .hw-grid [role=gridcell][aria-selected=true]").count() == 1
    page.evaluate("() => { window.jupyterapp.commands.execute('docmanager:open', { path: 'one.ipynb' }) }")
    page.wait_for_function(
        """() => {
            const front = window.jupyterapp.shell.currentWidget;
            return front.context?.path === 'one.ipynb' && front.node.querySelector('.hw-grid [role=gridcell]');
        }"""
    )
    page.wait_for_timeout(1_000)
    cells = "[role=gridcell][aria-selected=true]"
    assert page.evaluate(f"() => window.jupyterapp.shell.currentWidget.node.querySelectorAll('{cells}').length") == 0
    watch.assert_clean()


def test_a_saved_heads_file_opens_in_the_grid(page: Page, lab: Lab):
    lab.write(
        "file.ipynb",
        [
            "import numpy as np, headwidgets as hw\n"
            "scores = hw.HeadScores({'encoder': np.random.rand(6, 12)}, name='attribution', unit='nats', n=50)\n"
            "scores.save('x.heads')\n"
            "print('saved')"
        ],
    )
    watch = watched(page)
    open_notebook(page, lab, "file.ipynb")
    run_all(page)
    page.get_by_text("saved", exact=True).first.wait_for()
    page.evaluate("() => { window.jupyterapp.commands.execute('docmanager:open', { path: 'x.heads' }) }")
    page.locator(".jp-Document:not(.jp-NotebookPanel) .hw-grid svg").first.wait_for()
    assert page.get_by_text("attribution").count() > 0
    watch.assert_clean()


def test_hostile_text_is_only_text_in_the_page(page: Page, lab: Lab):
    text = "</script><img src=x onerror=window.hacked=1> good"
    lab.write(
        "hostile.ipynb",
        [
            "import headwidgets as hw\nmodel, texts, labels = hw.demo.load()\n"
            f"view = hw.AttentionView(model, {text!r})\nview",
            f"hw.AttributionView(model, {text!r})",
            f"import numpy as np\nhw.HeadGrid(np.eye(2), title={text!r})",
        ],
    )
    watch = watched(page)
    open_notebook(page, lab, "hostile.ipynb")
    run_all(page)
    for name in ("hw-attention", "hw-attribution", "hw-grid"):
        page.locator(f"{FRONT} .{name} svg").first.wait_for(state="attached")
    page.wait_for_timeout(1_000)
    assert page.evaluate("() => window.hacked") is None
    assert page.locator(f"{FRONT} .hw-root img[src=x]").count() == 0
    watch.assert_clean()
