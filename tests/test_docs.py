"""What the documentation names is there: modules, functions and options in code, files behind links and pictures."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import headwidgets as hw

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def code(page: Path) -> list[ast.Module]:
    return [ast.parse(block) for block in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)]


def resolve(node: ast.expr):
    """What `hw.a.b` is; None for another expression."""
    if isinstance(node, ast.Name):
        return hw if node.id == "hw" else None
    if isinstance(node, ast.Attribute) and (owner := resolve(node.value)) is not None:
        return getattr(owner, node.attr)
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_names_and_options_in_code_exist(page: Path):
    for block in code(page):
        for node in ast.walk(block):
            if isinstance(node, ast.Attribute):
                resolve(node)
            if isinstance(node, ast.Call) and (called := resolve(node.func)) is not None:
                parameters = inspect.signature(called).parameters
                if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
                    assert {k.arg for k in node.keywords} <= set(parameters), ast.unparse(node)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_to_files_and_headings(page: Path):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if target.startswith("http"):
            continue
        name, _, heading = target.partition("#")
        file = page.parent / name if name else page
        assert file.exists(), f"{page.name} links to {target}"
        titles = re.findall(r"^#+ (.+)$", file.read_text("utf-8"), re.MULTILINE) if heading else []
        assert not heading or heading in {re.sub(r"[^\w -]", "", t).lower().replace(" ", "-") for t in titles}, target


def test_every_picture_is_shown_or_has_a_twin_that_is():
    images = ROOT / "docs" / "images"
    shown = " ".join(page.read_text("utf-8") for page in PAGES)
    for picture in images.glob("*.png"):
        twin = picture.name.replace("-dark", "-light")
        assert twin in shown or picture.name in shown, f"no page shows {picture.name}"


def test_modules_that_pages_name_exist():
    package = ROOT / "headwidgets"
    for page in PAGES:
        for name in re.findall(r"`((?:[a-z_]+/)*[a-z_]+\.(?:py|ts))`", page.read_text("utf-8")):
            assert (ROOT / name).exists() or list(package.rglob(name)) or list((ROOT / "js").rglob(name)), name
