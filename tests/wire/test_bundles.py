"""What ships for the browser: self-contained, small, quiet, and drawing text as text without a browser."""

import importlib
import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from headwidgets.doctor import BUNDLES
from tests.wire import make_fixtures

STATIC = Path(__file__).parents[2] / "headwidgets" / "static"
NAMES = BUNDLES
LIMITS = {"page-dashboard.js": 150_000, "figure.js": 200_000}
"""The dashboard's page carries four components; the figure draws every document, and never travels."""

HARMLESS = {
    "svg",
    "g",
    "title",
    "desc",
    "rect",
    "line",
    "path",
    "text",
    "tspan",
    "image",
    "circle",
    "polygon",
    "polyline",
}


def bundle(name: str) -> str:
    path = STATIC / name
    assert path.exists(), f"{name} is not built: run `npm ci` and `npm run build`"
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_a_bundle_is_small_and_names_no_host_but_w3_org(name: str):
    text = bundle(name)
    assert len(text.encode()) < LIMITS.get(name, 100_000)
    assert set(re.findall(r"(?:https?:)?//([\w-]+(?:\.[\w-]+)+)", text)) <= {"www.w3.org"}


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith(".js")])
def test_a_bundle_imports_nothing_and_runs_no_text(name: str):
    text = bundle(name)
    assert not re.search(r"\bimport\s*[\w{*\"'(]|\brequire\(", text)
    assert not re.search(r"\beval\(|new Function\(|document\.write", text)


@pytest.fixture(scope="module")
def bare() -> Any:
    """An engine that knows ECMAScript and nothing else."""
    engine = importlib.import_module("py_mini_racer").MiniRacer()
    names = ["atob", "TextEncoder", "document", "window", "performance", "URL"]
    assert engine.eval(f"{json.dumps(names)}.filter(name => name in globalThis).length") == 0
    engine.eval(bundle("figure.js") + "\n;0")
    return engine


def drawn(engine: Any, name: str, **options: Any) -> dict[str, Any]:
    document = json.loads(make_fixtures.files()[f"{name}.json"])
    answer = engine.call("headwidgetsFigure.draw", json.dumps(document), json.dumps(options))
    return dict(json.loads(answer))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", sorted(make_fixtures.CASES))
def test_the_figure_bundle_draws_well_formed_pictures_in_a_bare_engine(bare: Any, name: str, theme: str):
    picture = drawn(bare, name, theme=theme, width=500, provenance=True)
    root = ElementTree.fromstring(picture["svg"])
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert float(root.attrib["width"]) == picture["width"] <= 500
    assert picture["height"] > 20


@pytest.mark.parametrize("name", ["grid", "attention"])
def test_hostile_text_is_text_in_a_figure(bare: Any, name: str):
    root = ElementTree.fromstring(drawn(bare, name)["svg"])
    for element in root.iter():
        assert element.tag.rpartition("}")[2] in HARMLESS
        assert not [key for key in element.attrib if key.lower().startswith("on")]
        links = [value for key, value in element.attrib.items() if key.endswith("href")]
        assert all(link.startswith("data:image/png;base64,") for link in links)
    texts = " ".join(root.itertext())
    assert "</script>" in texts


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema": 99}, "newer headwidgets"),
        ({"document": "painting"}, 'called "painting"'),
        ({"title": 3}, "title: expected a text, got 3"),
        ({"panels": [{"kind": "sideways"}]}, r"panels\[0\].kind: expected encoder or decoder or cross"),
        ({"selected": [["encoder", 0.5, 1]]}, r"selected\[0\]\[1\]: expected a whole number, got 0.5"),
    ],
)
def test_a_damaged_document_is_refused_in_a_sentence(bare: Any, change: dict[str, Any], words: str):
    document = {**json.loads(make_fixtures.files()["grid.json"]), **change}
    with pytest.raises(Exception, match=words):
        bare.call("headwidgetsFigure.draw", json.dumps(document), "{}")
