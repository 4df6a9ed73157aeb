"""Take pictures of the components in Chromium: every theme, at 1x and 2x.

Needs the Python package playwright and a Chromium. Usage::

    python js/testing/look.py FOLDER [NAME ...]
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
BUNDLE = """
import {{ build }} from "vite";
await build({{ configFile: false, logLevel: "warn", publicDir: false, build: {{ outDir: {out!r}, minify: false,
  lib: {{ entry: "js/testing/gallery.ts", formats: ["iife"], name: "gallery", fileName: () => "gallery.js" }} }} }});
"""


def main(target: Path, names: list[str]) -> None:
    """Write one picture per theme and scale of the whole page, or of the named grids."""
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        script = BUNDLE.format(out=folder)
        subprocess.run(["node", "--input-type=module", "-e", script], cwd=ROOT, check=True)
        css = (ROOT / "js" / "theme" / "index.css").read_text(encoding="utf-8")
        code = (Path(folder) / "gallery.js").read_text(encoding="utf-8")
        page_path = Path(folder) / "gallery.html"
        page_path.write_text(
            f"<!doctype html><meta charset=utf-8><style>{css}</style><body><script>{code}</script>",
            encoding="utf-8",
        )
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            for theme in ("light", "dark"):
                for scale in (1, 2):
                    page = browser.new_page(viewport={"width": 800, "height": 600}, device_scale_factor=scale)
                    problems: list[str] = []
                    page.on("console", lambda message, found=problems: found.append(message.text))
                    page.on("pageerror", lambda error, found=problems: found.append(str(error)))
                    for name in names or [""]:
                        page.goto(f"{page_path.as_uri()}#theme={theme}&only={name}")
                        page.reload()
                        page.screenshot(path=target / f"{name or 'all'}-{theme}-{scale}x.png", full_page=True)
                    print(theme, scale, "console:", problems or "quiet")
            browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
