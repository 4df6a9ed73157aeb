"""Draw the pictures of the README again: every widget in a real JupyterLab, light and dark, at twice the size.

Usage, from a checkout after ``make test``: ``python -m docs.screenshots [NAME ...]``.
"""

import argparse
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.browser.conftest import open_notebook, run_all, serving

IMAGES = Path(__file__).parent / "images"
START = """import headwidgets as hw
model, texts, labels = hw.demo.load()
scores = [hw.attribution.importance(model, texts[:100], labels[:100], method=m) for m in ("attribution", "confidence")]
text = next(t for t in texts if " not " in t and 9 < len(t.split()) < 16)"""
WIDGETS = {
    "grid": "hw.HeadGrid(scores)",
    "attention": "hw.AttentionView(model, text)",
    "attribution": "hw.AttributionView(model, text)",
    "pruning": "hw.PruningExplorer(model, texts[100:], labels[100:], ranking=scores[0], count=40)",
    "explore": "hw.explore(model, texts[:400], labels[:400])",
}


def _notebook(name: str) -> list[str]:
    return [START, f"widget = {WIDGETS[name]}\nwidget.wait(120)\nwidget"]


def _themed(page: Page, theme: str) -> None:
    page.evaluate(
        f"() => {{ window.jupyterapp.commands.execute('apputils:change-theme', {{ theme: 'JupyterLab {theme}' }}) }}"
    )
    light = str(theme == "Light").lower()
    page.wait_for_function(f"() => document.body.dataset.jpThemeLight === '{light}'")


def main() -> None:
    """Take every picture asked for."""
    parser = argparse.ArgumentParser(prog="python -m docs.screenshots")
    parser.add_argument("names", nargs="*", default=list(WIDGETS))
    names = parser.parse_args().names
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as root, serving(Path(root)) as lab, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        for name in names:
            lab.write(f"{name}.ipynb", _notebook(name))
            height = 2600 if name == "explore" else 1100
            context = browser.new_context(viewport={"width": 1280, "height": height}, device_scale_factor=2)
            page = context.new_page()
            page.set_default_timeout(120_000)
            open_notebook(page, lab, f"{name}.ipynb")
            for side in ("left", "right"):
                page.evaluate(f"() => window.jupyterapp.shell.collapse{side.title()}()")
            run_all(page, timeout=300_000)
            output = page.locator(".jp-OutputArea-output:has(.hw-root)").last
            output.wait_for()
            for theme in ("Light", "Dark"):
                _themed(page, theme)
                page.mouse.move(2, 2)
                page.wait_for_timeout(1_500)
                output.screenshot(path=IMAGES / f"{name}-{theme.lower()}.png")
                print(f"{name}-{theme.lower()}.png", flush=True)
            page.evaluate("() => { window.jupyterapp.commands.execute('notebook:shutdown-kernel') }")
            page.wait_for_timeout(300)
            context.close()
        browser.close()


if __name__ == "__main__":
    main()
