"""Doors open one way: who may import whom, and what importing the package must not cost."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "headwidgets"

ENGINE = {"models", "text", "attribution", "probing", "pruning", "statistics"}
"""Rooms that may use torch and transformers."""

ALLOWED = {
    "wire": set(),
    "errors": set(),
    "citations": {"wire"},
    "statistics": {"errors"},
    "scores": {"wire", "errors", "files", "statistics", "citations"},
    "files": {"wire", "errors", "scores"},
    "provenance": {"wire"},
    "progress": set(),
    "locks": set(),
    "jobs": {"errors", "progress", "locks"},
    "text": {"errors", "scores", "wire"},
    "models": {"text", "errors", "scores", "statistics", "jobs", "locks", "wire", "provenance"},
    "attribution": {"models", "text", "errors", "scores", "statistics", "jobs", "wire", "provenance", "citations"},
    "probing": {"models", "text", "errors", "scores", "statistics", "jobs", "wire", "provenance"},
    "pruning": {"models", "text", "errors", "files", "scores", "statistics", "jobs", "wire", "provenance", "citations"},
    "figures": {"wire", "errors"},
    "widgets": {"wire", "errors", "scores", "jobs", "locks", "figures"},
    "studio": {"wire", "errors", "scores", "jobs", "provenance", "studio_text", *ENGINE},
    "studio_text": {"wire", "errors", "scores", *ENGINE},
    "demo": {"models", "errors"},
    "doctor": {"wire", "errors", "widgets", "figures"},
    "__main__": {"demo", "doctor", "errors"},
    "__init__": set(),
}
"""By room, the rooms it may name in an import that runs when it is imported."""


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path, top_only: bool) -> set[str]:
    """Modules that a file imports; with `top_only`, those outside functions and TYPE_CHECKING."""
    found: set[str] = set()

    def look(nodes: list[ast.stmt]) -> None:
        for node in nodes:
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module)
                found.update(f"{node.module}.{alias.name}" for alias in node.names)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                if isinstance(node, ast.ClassDef) or not top_only:
                    look(node.body)
            elif isinstance(node, (ast.If, ast.Try, ast.With)):
                typing_only = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
                if not (typing_only and top_only):
                    look(node.body)

    look(ast.parse(path.read_text(encoding="utf-8")).body)
    return found


FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_room_imports_only_through_its_doors(path: Path):
    room = room_of(path)
    assert room in ALLOWED, f"{room} is a new room: say in ALLOWED what it may import"
    named = {m.split(".")[1] for m in imports(path, top_only=True) if m.startswith("headwidgets.") and "." in m}
    wrong = {m for m in named if (PACKAGE / m).exists() or (PACKAGE / f"{m}.py").exists()} - ALLOWED[room] - {room}
    assert not wrong, f"{path.name} imports {', '.join(sorted(wrong))}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_torch_stops_at_the_engines_door(path: Path):
    room = room_of(path)
    heavy = {m.split(".")[0] for m in imports(path, top_only=False)} & {"torch", "transformers"}
    if room not in ENGINE | {"demo", "studio", "doctor"}:
        assert not heavy, f"{path.name} imports {', '.join(heavy)}"


def test_the_room_list_catches_a_violation(tmp_path: Path):
    file = tmp_path / "x.py"
    file.write_text("from headwidgets.models import wrap\n", encoding="utf-8")
    assert "headwidgets.models" in imports(file, top_only=True)


def test_no_file_grows_past_reading():
    long = {str(p.relative_to(PACKAGE)): n for p in FILES if (n := len(p.read_text("utf-8").splitlines())) > 450}
    assert not long, long


@pytest.mark.parametrize("module", ["headwidgets", "headwidgets.widgets", "headwidgets.figures", "headwidgets.scores"])
def test_importing_what_draws_brings_no_torch(module: str):
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_nothing_is_unpickled():
    named = {p.name: m for p in FILES for m in imports(p, top_only=False) if m.split(".")[0] in ("pickle", "dill")}
    assert not named
    assert not [p.name for p in FILES if "torch.load(" in p.read_text("utf-8")]
