"""Relations and trees in a real notebook: by keyboard, together with a grid, hostile words, and without a kernel."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page

from .conftest import Lab, command, open_notebook, run_all, save, watched

pytestmark = pytest.mark.browser

FRONT = ".jp-NotebookPanel:not(.lm-mod-hidden)"
HOSTILE = "</td><img src=x onerror=console.error(1)>"
GRID = """import headwidgets as hw
model, texts, labels = hw.demo.load()
found = hw.probing.syntax(model, hw.demo.treebank()[:60], random=0)
grid = hw.HeadGrid(model)
view = hw.ProbeView(found, grid)
grid"""
TREES = f"""import numpy as np
class Trained:
    def document(self):
        words = [["הכלב", "רדף", "אחרי", "החתול", "."], [{HOSTILE!r}, "is", "a", "word", "\\U0001f600"]]
        gold, said = [1, -1, 3, 1, 1], [[1, -1, 3, 1, 1], [1, -1, 1, 1, 0]]
        accuracy = dict(value=0.8, low=0.5, high=0.95)
        return dict(schema=1, document="probe", title="A probe", measure="UAS", heads=np.zeros((0, 3), np.int32),
            table=np.zeros((0, 0), np.float32), predicted=np.zeros((0, 0), np.int32), rows=[], arcs=[],
            sentences=[dict(words=w, glued=[False] * 5, name="") for w in words],
            trees=[dict(sentence=i, gold=gold, predicted=said[i], relations=["nsubj", "root", "case", "obl", "punct"])
                   for i in (0, 1)],
            scores=[dict(name="probe", accuracy=accuracy, control=False),
                    dict(name=words[1][0], accuracy=dict(value=0.4, low=0.3, high=0.5), control=True)],
            shown=-1, head=None, selected=[], note="", provenance=None)
trees = hw.ProbeView(Trained())
trees"""
SAY = """import json
for suffix in ("svg", "png", "pdf", "html"):
    view.save(f"probe.{suffix}")
    trees.save(f"trees.{suffix}")
def pointed(head):
    at = found.heads.index(head)
    arcs = [found.arcs[i] for i in found.rows[view.row].arcs]
    return [(int(arc.predicted[at]) in arc.target, found.sentences[arc.sentence].words[int(arc.predicted[at])])
            for arc in arcs if arc.predicted[at] >= 0]
row = found.rows[view.row]
found.save("links.heads")
print("PROBE", json.dumps([view.row, [list(h) for h in view.selected], [list(h) for h in grid.selected], view.sort,
    [row.relation, row.label, list(row.best)], pointed(view.selected[0]), trees.tree]), "END")"""


def rows(root: Locator) -> Locator:
    return root.locator(".hw-table-rows tbody tr")


def answers(root: Locator) -> list[str]:
    return root.locator(".hw-examples .hw-verdict").all_inner_texts()


def from_python(page: Page, cell: int) -> list:
    page.evaluate(f"() => {{ window.jupyterapp.shell.currentWidget.content.activeCellIndex = {cell} }}")
    page.evaluate(f"() => window.jupyterapp.shell.currentWidget.content.widgets[{cell}].outputArea.model.clear()")
    command(page, "notebook:run-cell")
    printed = page.locator(f"{FRONT} .jp-OutputArea-output pre").filter(has_text="END").last
    printed.wait_for()
    return json.loads(printed.inner_text().split("PROBE")[1].split("END")[0])


def expected(pointed: list) -> list[str]:
    return ["\u2713 right" if right else f"\u2717 points at \u201c{word}\u201d" for right, word in pointed]


def walk(page: Page, root: Locator) -> None:
    """Sort by n and choose the third row, with keys only."""
    root.locator("button[data-key=n]").focus()
    page.keyboard.press("Enter")
    assert root.locator("th[aria-sort=descending]").inner_text().startswith("n")
    assert page.evaluate("() => document.activeElement.dataset.key") == "n", "sorting keeps the focus"
    for _ in range(20):  # past the other headings, into the rows
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement.tagName") == "TR":
            break
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    ring = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
    assert ring != "none"
    page.keyboard.press("Enter")
    assert rows(root).nth(2).get_attribute("aria-selected") == "true"


def words_of_trees(page: Page, root: Locator) -> None:
    """Words by keys the way the eye goes, the next sentence, hostile words as words."""
    words = root.locator("[role=option]")
    words.first.focus()
    page.keyboard.press("ArrowLeft")  # Hebrew: the second word stands left of the first
    assert page.evaluate("() => document.activeElement.dataset.at") == "1"
    assert root.locator(".hw-probe-tree .hw-readout").inner_text().startswith("“רדף”: head the root, root")
    root.get_by_label("next sentence").focus()
    page.keyboard.press("Enter")
    words.first.click()
    said = root.locator(".hw-probe-tree .hw-readout").inner_text()
    assert said == f"“{HOSTILE}”: head “is”, nsubj; predicted alike"
    words.last.hover()
    assert root.locator(".hw-probe-tree .hw-readout").inner_text().endswith(f"predicted “{HOSTILE}”")
    assert root.locator("img").count() == 0


def test_in_a_notebook_with_a_grid_in_a_file_and_without_a_kernel(page: Page, browser: Browser, lab: Lab):
    lab.write("probe.ipynb", [GRID, "view", TREES, SAY])
    watch = watched(page)
    open_notebook(page, lab, "probe.ipynb")
    run_all(page)
    grid = page.locator(f"{FRONT} .jp-Cell").nth(0).locator(".hw-grid").first
    root = page.locator(f"{FRONT} .jp-Cell").nth(1).locator(".hw-probe").first
    rows(root).first.wait_for()
    walk(page, root)
    for key in ("a", "b", "d", "d", "x", "m"):  # commands of a notebook that is not being typed in
        page.keyboard.press(key)
    assert page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets.length") == 4
    row, selected, of_grid, sort, (relation, label, best), of_best, _ = from_python(page, 3)
    assert sort == "-n"
    assert selected == of_grid == [best]
    assert root.locator(".hw-probe-detail > .hw-heading").inner_text() == f"{relation}, {label}"
    assert [one.split(" \u00b7 ")[0] for one in answers(root)] == expected(of_best)
    chosen = grid.locator("[role=gridcell][aria-selected=true]")
    assert [chosen.get_attribute("data-layer"), chosen.get_attribute("data-head")] == [str(n) for n in best[1:]]

    # A head chosen in the grid beside it, then one in the row's own grid: the arcs are those of that head.
    other = [0, 3] if best[1:] != [0, 3] else [0, 4]
    grid.locator(f"[data-layer='{other[0]}'][data-head='{other[1]}']").click()
    page.wait_for_function(
        f"() => document.querySelector('.hw-probe-detail .hw-muted').textContent.startsWith('L{other[0]}H{other[1]} ')"
    )
    row_now, selected, of_grid, _, _, pointed, _ = from_python(page, 3)
    assert (row_now, selected, of_grid) == (row, [["encoder", *other]], [["encoder", *other]])
    assert [one.split(" \u00b7 ")[0] for one in answers(root)] == expected(pointed)
    own = root.locator(".hw-probe-detail .hw-cell[data-layer='5'][data-head='2']")
    own.scroll_into_view_if_needed()
    own.click()
    assert from_python(page, 3)[2] == [["encoder", 5, 2]]

    trees = page.locator(f"{FRONT} .jp-Cell").nth(2).locator(".hw-probe").first
    trees.scroll_into_view_if_needed()
    words_of_trees(page, trees)
    assert from_python(page, 3)[-1] == 1
    for name in ("probe", "trees"):
        for suffix in ("svg", "png", "pdf", "html"):
            assert (lab.root / f"{name}.{suffix}").stat().st_size > 2_000
    assert "<img src" not in (lab.root / "trees.svg").read_text("utf-8")

    page.wait_for_function(  # what is kept follows when nothing has happened for a moment
        """row => window.jupyterapp.shell.currentWidget.content.widgets[1].outputArea.model.toJSON().some(out => {
            const kept = out.data?.['application/vnd.headwidgets.probe+json'];
            return kept?.shown === row && kept.head?.join() === 'encoder,5,2';
        })""",
        arg=row,
    )
    save(page)
    outputs = json.loads((lab.root / "probe.ipynb").read_text("utf-8"))["cells"][1]["outputs"]
    data = next(out["data"] for out in outputs if "application/vnd.headwidgets.probe+json" in out.get("data", {}))
    assert {"image/png", "image/svg+xml", "text/plain"} <= set(data)
    assert len(json.dumps(outputs)) < 200_000
    watch.assert_clean()

    page.goto(f"{lab.url}/lab?reset")
    page.wait_for_function("() => window.jupyterapp")
    page.evaluate("async () => { await window.jupyterapp.serviceManager.sessions.shutdownAll() }")
    watch.errors.clear()  # the server's answers about kernels that are gone
    open_notebook(page, lab, "probe.ipynb")
    saved = page.locator(f"{FRONT} .jp-Cell").nth(1).locator(".hw-probe").first
    rows(saved).first.wait_for()
    assert rows(saved).nth(2).get_attribute("aria-selected") == "true"
    rows(saved).nth(0).click()
    assert rows(saved).nth(0).get_attribute("aria-selected") == "true"
    saved.locator(".hw-probe-detail .hw-cell[data-layer='0'][data-head='3']").click()
    assert saved.locator(".hw-probe-detail .hw-muted").first.inner_text().startswith("L0H3 ")
    kept = page.locator(f"{FRONT} .jp-Cell").nth(2).locator(".hw-probe").first
    kept.get_by_label("sentence before").click()
    words_of_trees(page, kept)
    watch.assert_clean()

    page.goto(f"{lab.url}/lab/tree/links.heads?reset")
    document = page.locator(".hw-document .hw-probe")
    rows(document).first.wait_for()
    walk(page, document)
    assert [one.split(" \u00b7 ")[0] for one in answers(document)] == expected(of_best)
    watch.assert_clean()

    context = browser.new_context(offline=True)
    offline = context.new_page()
    problems: list[str] = []
    offline.on("pageerror", lambda error: problems.append(str(error)))
    offline.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
    offline.goto(Path(lab.root / "probe.html").as_uri())
    alone = offline.locator(".hw-probe")
    rows(alone).first.wait_for()
    assert alone.locator("th[aria-sort=descending]").count() == 1
    rows(alone).nth(1).click()
    assert rows(alone).nth(1).get_attribute("aria-selected") == "true"
    assert answers(alone)
    offline.goto(Path(lab.root / "trees.html").as_uri())
    offline.get_by_label("sentence before").click()
    words_of_trees(offline, offline.locator(".hw-probe"))
    assert not problems
    context.close()
