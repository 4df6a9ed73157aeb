"""Draw the pictures of the pages again: every widget in a real JupyterLab, light and dark, at twice the size.

Usage, from a checkout after ``make test``: ``python -m docs.screenshots [NAME ...]``.
"""

import argparse
import io
import shutil
import tempfile
from pathlib import Path

from PIL import Image, ImageChops
from playwright.sync_api import Locator, Page, sync_playwright

import headwidgets as hw
from headwidgets import figures, files
from tests.browser.conftest import open_notebook, run_all, serving

IMAGES = Path(__file__).parent / "images"
START = """import warnings
warnings.simplefilter("ignore")
import headwidgets as hw
model, texts, labels = hw.demo.load()
ranked_on, judged_on = (texts[:60], labels[:60]), (texts[60:260], labels[60:260])
scores = [hw.attribution.importance(model, *ranked_on, method=m) for m in ("attribution", "confidence")]
at = next(i for i, t in enumerate(texts) if " not " in t and 9 < len(t.split()) < 16)
text = texts[at]
shown = ([text, *judged_on[0]], [labels[at], *judged_on[1]])
pruning = dict(ranking=scores[0], points=10, count=36)"""
WIDGETS = {
    "grid": "widget = hw.HeadGrid(scores, selected=scores[0].ranking()[:1])",
    "attention": "widget = hw.AttentionView(model, text, selected=[hw.Head('encoder', 1, 8)])",
    "attribution": "widget = hw.AttributionView(model, text, view='both')",
    "norm": "widget = hw.AttentionView(model, text, view='norm', selected=[hw.Head('encoder', 1, 8)])",
    "tree": "widget = hw.AttributionTree(model, text, threshold=0.3, wait=None)",
    "scatter": """log_odds = hw.attribution.importance(model, *ranked_on, output="log-odds")
relevance = hw.attribution.importance(model, *ranked_on, method="relevance")
widget = hw.ImportanceScatter(log_odds, relevance, names=("attribution", "relevance"))""",
    "curves": """rankings = {"attribution": scores[0], "confidence": scores[1]}
fewer = (judged_on[0][:60], judged_on[1][:60])
compared = hw.pruning.compare(model, rankings, *fewer, counts=range(0, 73, 12), random=5)
widget = hw.CurveView(compared, title="Two rankings and five random orders", highlighted="attribution")""",
    "triggers": """found = hw.attribution.find_triggers(model, *ranked_on, n=3)
result = hw.attribution.attack(model, found, judged_on[0][:60], judged_on[1][:60])
most = max(range(len(result)), key=lambda i: result[i].changed)
widget = hw.TriggerTable(result, sort="outcome:0", selected=most)""",
    "patterns": """found = hw.patterns.summary(model, texts[:200])
widget = hw.PatternView(found, chart="tokens")""",
    "headmap": """distances = hw.patterns.distance(model, texts[:200])
sinks = hw.probing.roles(model, texts[:200], look_for=["sink"]).heads("sink")
widget = hw.HeadMap(distances, selected=sinks)""",
    "roles": """roles = hw.probing.roles(model, texts[:200])
widget = hw.HeadGrid(scores[0], roles=roles)""",
    "probe": """chosen_on, reported_on = hw.demo.treebank("train")[:200], hw.demo.treebank("test")
found = hw.probing.syntax(model, reported_on, train=chosen_on, random=0)
at = next(i for i, row in enumerate(found.rows) if (row.relation, row.direction) == ("obj", "forward"))
widget = hw.ProbeView(found, row=at)""",
    "trees": """probe = hw.probing.train_probe(model, hw.demo.treebank("train")[:200], seeds=1)
widget = hw.ProbeView(probe.evaluate(hw.demo.treebank("dev")[:100]))""",
    "pruning": "widget = hw.PruningExplorer(model, *judged_on, **pruning)",
    "explore": "widget = hw.explore(model, *shown, pruning=pruning)",
}
FILES = {
    "roles-sst2": "Roles of the heads of a BERT (6 x 12) fine-tuned on SST-2",
    "roles-encoder": "Roles of the heads of the bare encoder (all-MiniLM-L6-v2)",
    "roles-translation": "Roles of the heads of a translator (Marian, en-de)",
    "roles-smollm2": "Roles of the heads of SmolLM2-135M",
    "roles-after": "Roles left when heads of the SST-2 model are pruned by attribution",
}
"""Pictures of real models, drawn without a browser from what ``python -m bench.roles --to docs/roles`` measured."""
WIDTH = 1000
WIDER = {"triggers": 1160, "patterns": 1440, "headmap": 1360}
"""Of the window, in CSS pixels; a table with its details needs more, and so does a chart with its grid beside it."""
HEIGHT = 2400
MARGIN = 24
MOST_BYTES = 250_000


def _themed(page: Page, theme: str) -> None:
    page.evaluate(
        f"() => {{ window.jupyterapp.commands.execute('apputils:change-theme', {{ theme: 'JupyterLab {theme}' }}) }}"
    )
    light = str(theme == "Light").lower()
    page.wait_for_function(
        f"""() => document.body.dataset.jpThemeLight === '{light}'
            && [...document.querySelectorAll('.hw-root')].every(el => el.dataset.theme === '{theme.lower()}')"""
    )


def _output(page: Page, cell: int) -> Locator:
    """The output of a cell, once it is on the page: cells out of sight are not."""
    page.evaluate(f"() => window.jupyterapp.shell.currentWidget.content.scrollToItem({cell}, 'start')")
    ours = ".jp-OutputArea-output:has(.hw-root, .hw-curve)"
    output = page.locator(f".jp-Cell[data-windowed-list-index='{cell}'] {ours}").last
    output.wait_for()
    return output


def _settled(page: Page, output: Locator) -> None:
    """Wait until a drawing has stayed as it is for a while."""
    before, same = "", 0
    while same < 3:
        page.wait_for_timeout(250)
        now = output.inner_html()
        before, same = now, same + 1 if now == before else 0


def _shoot(output: Locator, path: Path) -> None:
    """Take a picture with an even margin around what is drawn; a large file gets 256 colours."""
    picture = Image.open(io.BytesIO(output.screenshot())).convert("RGB")
    surface = picture.getpixel((picture.width - 1, picture.height - 1))
    box = ImageChops.difference(picture, Image.new("RGB", picture.size, surface)).getbbox()
    _compact(_framed(picture.crop(box), surface), path)


def _framed(content: Image.Image, surface: tuple[int, ...]) -> Image.Image:
    framed = Image.new("RGB", (content.width + 2 * MARGIN, content.height + 2 * MARGIN), surface)
    framed.paste(content, (MARGIN, MARGIN))
    return framed


def _compact(picture: Image.Image, path: Path) -> None:
    """Save a picture; a large file gets 256 colours."""
    picture.save(path, optimize=True)
    if path.stat().st_size > MOST_BYTES:
        picture.quantize(256, kmeans=2, dither=Image.Dither.NONE).save(path, optimize=True)


def _draw(name: str) -> None:
    """A picture of a file, light and dark, at twice the size."""
    document = files.load(Path(__file__).parent / "roles" / f"{name}.heads")
    kind = document["document"]
    for theme in ("light", "dark"):
        path = IMAGES / f"{name}-{theme}.png"
        if kind == "roles":
            hw.HeadGrid(hw.read(Path(__file__).parent / "roles" / f"{name}.heads"), title=FILES[name]).save(
                path, theme=theme
            )
        else:
            figures.save({**document, "title": FILES[name]}, path, theme=theme, width=720)
        picture = Image.open(path).convert("RGB")
        _compact(_framed(picture, picture.getpixel((picture.width - 1, picture.height - 1))), path)
        print(f"{path.name} {path.stat().st_size // 1000} kB", flush=True)


def main() -> None:
    """Take every picture asked for."""
    every = [*WIDGETS, *FILES]
    parser = argparse.ArgumentParser(prog="python -m docs.screenshots")
    parser.add_argument("names", nargs="*", default=every, metavar="NAME", help=", ".join(every))
    names = parser.parse_args().names
    IMAGES.mkdir(exist_ok=True)
    for name in names:
        if name in FILES:
            _draw(name)
    names = [name for name in names if name not in FILES]
    if not names:
        return
    with tempfile.TemporaryDirectory() as root, serving(Path(root)) as lab, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        page = browser.new_context(
            viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=2, reduced_motion="reduce"
        ).new_page()
        page.set_default_timeout(120_000)
        lab.write("pictures.ipynb", [START, *(f"{WIDGETS[name]}\nwidget.wait()\nwidget" for name in names)])
        open_notebook(page, lab, "pictures.ipynb")
        for side in ("left", "right"):
            page.evaluate(f"() => window.jupyterapp.shell.collapse{side.title()}()")
        run_all(page, timeout=600_000)
        for theme in ("Light", "Dark"):
            for cell, name in enumerate(names, 1):
                page.set_viewport_size({"width": WIDER.get(name, WIDTH), "height": HEIGHT})
                output = _output(page, cell)
                _themed(page, theme)
                page.mouse.move(2, 2)
                _settled(page, output)
                path = IMAGES / f"{name}-{theme.lower()}.png"
                _shoot(output, path)
                print(f"{path.name} {path.stat().st_size // 1000} kB", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
