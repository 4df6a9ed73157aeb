"""Pictures of every fixture in Chromium: light and dark, at one and two pixels per point.

    python js/testing/screenshots.py FOLDER [NAME ...]

Needs `npm ci` and playwright; Chromium is looked for on the PATH.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent


def main(folder: Path, names: list[str]) -> int:
    """Take the pictures; returns the number of console errors."""
    folder.mkdir(parents=True, exist_ok=True)
    built = subprocess.run(
        ["node", str(HERE / "build-gallery.mjs"), str(folder / "page")], check=True, capture_output=True, text=True
    )
    page_path = Path(built.stdout.strip().splitlines()[-1])
    errors: list[str] = []
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for scale in (1, 2):
            page = browser.new_page(viewport={"width": 980, "height": 700}, device_scale_factor=scale)
            page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.on("dialog", lambda dialog: errors.append(f"dialog: {dialog.message}"))
            page.goto(page_path.as_uri())
            for name in names or page.evaluate("Object.keys(headwidgetsGallery.fixtures)"):
                for theme in ("light", "dark"):
                    took = page.evaluate(
                        """([name, theme]) => { const start = performance.now();
                            headwidgetsGallery.show(name, theme, true);
                            document.body.getBoundingClientRect(); return performance.now() - start; }""",
                        [name, theme],
                    )
                    page.wait_for_timeout(60)
                    page.screenshot(path=folder / f"{name}-{theme}@{scale}x.png", full_page=True)
                    nodes = page.evaluate("document.querySelectorAll('*').length")
                    print(f"{name:24} {theme:5} {scale}x  {took:6.0f} ms  {nodes} nodes")
        browser.close()
    for error in errors:
        print("console:", error)
    return len(errors)


if __name__ == "__main__":
    sys.exit(min(1, main(Path(sys.argv[1]), sys.argv[2:])))
