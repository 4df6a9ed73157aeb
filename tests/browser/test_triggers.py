"""The trigger table in a real notebook: by keyboard alone, with hostile words, and what stays without a kernel."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page

from .conftest import Lab, command, open_notebook, run_all, save, watched

pytestmark = pytest.mark.browser

FRONT = ".jp-NotebookPanel:not(.lm-mod-hidden)"
HOSTILE = "</td><img src=x onerror=console.error(1)>"
MAKE = f"""import headwidgets as hw
from headwidgets.attribution.triggers.insertion import Word
model, texts, labels = hw.demo.load()
def trigger(score, **words):
    ids = lambda word: tuple(model.tokenizer.encode(word, add_special_tokens=False))
    return hw.Trigger(tuple(Word(ids(w), w, 0, place) for w, place in words.items()), score, 3, "negative")
triggers = [trigger(0.3, **{{"splendid": 0.74, ".": 0.79, "wrong": 0.95}}),
    trigger(0.1, **{{{HOSTILE!r}: 0.2, "\\U0001f600": 0.4}}), trigger(0.2, **{{"שלום": 0.5}})]
attack = hw.attribution.attack(model, triggers, texts[:16], labels[:16], controls=0)
table = hw.TriggerTable(attack)
table"""
SAY = """import json
table.save("triggers.html")
attack.save("attack.heads")
print("TABLE", json.dumps([table.selected, table.sort, [float(e.interval("after").value) for e in attack]]), "END")"""


def rows(root: Locator) -> Locator:
    return root.locator(".hw-trigger-rows tbody tr")


def from_python(page: Page) -> list:
    page.evaluate("() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 1 }")
    page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets[1].outputArea.model.clear()")
    command(page, "notebook:run-cell")
    printed = page.locator(f"{FRONT} .jp-OutputArea-output pre").filter(has_text="END").last
    printed.wait_for()
    return json.loads(printed.inner_text().split("TABLE")[1].split("END")[0])


def walk(page: Page, root: Locator) -> None:
    """Sort by score, choose the second row, leave it and choose it again: with keys only."""
    root.locator("button[data-key=score]").focus()
    page.keyboard.press("Enter")
    assert root.locator("th[aria-sort=descending]").inner_text().startswith("score")
    assert page.evaluate("() => document.activeElement.dataset.key") == "score", "sorting keeps the focus"
    ring = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
    assert ring != "none"
    for _ in range(20):  # past the other headings, into the rows
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement.tagName") == "TR":
            break
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert rows(root).nth(1).get_attribute("aria-selected") == "true"
    assert root.locator(".hw-trigger-detail").is_visible()
    page.keyboard.press("Escape")
    assert root.locator(".hw-trigger-detail").is_hidden()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    assert root.locator(".hw-trigger-detail .hw-heading").inner_text().startswith(HOSTILE)


def test_by_keyboard_in_a_notebook_in_a_file_and_without_a_kernel(page: Page, browser: Browser, lab: Lab):
    lab.write("triggers.ipynb", [MAKE, SAY])
    watch = watched(page)
    open_notebook(page, lab, "triggers.ipynb")
    run_all(page)
    root = page.locator(f"{FRONT} .jp-OutputArea .hw-triggers").first
    rows(root).first.wait_for()
    walk(page, root)
    for key in ("a", "b", "d", "d", "x", "m"):  # commands of a notebook that is not being typed in
        page.keyboard.press(key)
    assert page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets.length") == 2
    selected, sort, after = from_python(page)
    assert (selected, sort) == (1, "-score")
    rows(root).nth(0).click()
    shown = root.locator(".hw-trigger-detail .hw-class-rows tbody tr").first.inner_text()
    assert f"\u2192 {100 * after[0]:.1f} %" in shown
    texts = root.locator(".hw-examples li").count()
    assert texts > 0, "this trigger changes predictions of the demo model"
    assert root.locator(".hw-trigger-detail ins").count() == 3 * texts
    assert root.locator("img").count() == 0
    page.wait_for_function(  # what is kept follows when nothing has happened for a moment
        """() => window.jupyterapp.shell.currentWidget.content.widgets[0].outputArea.model.toJSON().some(
            out => out.data?.['application/vnd.headwidgets.triggers+json']?.selected === 0)"""
    )
    save(page)
    outputs = json.loads((lab.root / "triggers.ipynb").read_text("utf-8"))["cells"][0]["outputs"]
    data = next(out["data"] for out in outputs if "application/vnd.headwidgets.triggers+json" in out.get("data", {}))
    assert {"image/png", "image/svg+xml", "text/plain"} <= set(data)
    assert len(json.dumps(outputs)) < 200_000
    watch.assert_clean()
    page.goto(f"{lab.url}/lab?reset")
    page.wait_for_function("() => window.jupyterapp")
    page.evaluate("async () => { await window.jupyterapp.serviceManager.sessions.shutdownAll() }")
    watch.errors.clear()  # the server's answers about kernels that are gone
    open_notebook(page, lab, "triggers.ipynb")
    saved = page.locator(f"{FRONT} .jp-OutputArea .hw-triggers").first
    rows(saved).first.wait_for()
    assert rows(saved).nth(0).get_attribute("aria-selected") == "true"
    rows(saved).nth(2).click()
    assert saved.locator(".hw-trigger-detail .hw-heading").inner_text().startswith(HOSTILE)

    page.goto(f"{lab.url}/lab/tree/attack.heads?reset")
    document = page.locator(".hw-document .hw-triggers")
    rows(document).first.wait_for()
    walk(page, document)
    watch.assert_clean()

    context = browser.new_context(offline=True)
    offline = context.new_page()
    problems: list[str] = []
    offline.on("pageerror", lambda error: problems.append(str(error)))
    offline.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
    offline.goto(Path(lab.root / "triggers.html").as_uri())
    alone = offline.locator(".hw-triggers")
    rows(alone).first.wait_for()
    assert alone.locator("th[aria-sort=descending]").count() == 1
    alone.locator("button[data-key=trigger]").click()
    rows(alone).nth(2).click()  # not the one that is chosen: that would be let go
    assert rows(alone).nth(2).get_attribute("aria-selected") == "true"
    assert not problems
    context.close()
