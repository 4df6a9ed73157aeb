"""Doors open one way: who may import whom, and what importing the package must not cost."""

import ast
import functools
import graphlib
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "headwidgets"

ENGINE = {"models", "text", "attribution", "patterns", "probing", "pruning", "statistics"}
"""Rooms that may use torch and transformers."""

ALLOWED = {
    "wire": set(),
    "errors": set(),
    "citations": {"wire"},
    "statistics": set(),
    "scores": {"wire", "errors", "citations"},
    "files": {"wire", "errors"},
    "roles": {"wire", "errors", "scores", "citations"},
    "provenance": {"errors", "wire"},
    "progress": set(),
    "locks": set(),
    "jobs": {"errors", "progress", "locks"},
    "text": {"errors", "wire", "files", "jobs"},
    "models": {"text", "errors", "scores", "statistics", "jobs", "locks", "wire", "provenance"},
    "attribution": {
        "models", "text", "errors", "scores", "statistics", "jobs", "wire", "provenance", "citations", "patterns",
    },
    "patterns": {"models", "text", "errors", "scores", "statistics", "jobs", "wire", "provenance", "citations"},
    "probing": {
        "models", "text", "patterns", "errors", "scores", "roles", "statistics", "jobs", "provenance", "wire",
        "citations",
    },
    "pruning": {"models", "errors", "files", "scores", "statistics", "jobs", "wire", "provenance", "citations"},
    "figures": {"wire", "errors"},
    "widgets": {"wire", "errors", "scores", "jobs", "locks", "figures"},
    "studio": {"wire", "errors", "scores", "provenance", "studio_text", "models", "text", "attribution"},
    "studio_text": {"wire", "errors", "scores", "models", "text"},
    "demo": {"errors"},
    "doctor": set(),
    "__main__": {"errors"},
    "__init__": set(),
}  # fmt: skip
"""By room, the rooms it may name in an import that runs when it is imported."""

LATE = {
    "scores": {"files"},
    "roles": {"files"},
    "files": {"scores", "roles", "attribution", "patterns", "probing"},
    "attribution": {"files"},
    "patterns": {"files"},
    "probing": {"files"},
    "widgets": {"studio"},
    "studio": {"pruning"},
    "studio_text": {"attribution"},
    "demo": {"models", "text"},
    "doctor": {"widgets"},
    "__main__": {"demo"},
    "__init__": set(ALLOWED),
}
"""By room, the rooms it may also name inside a function or for types: a result reads and writes itself, and what is
heavy is imported when it is asked for."""

ATTRIBUTION = (
    "gold", "targets", "integration", "links", "result", "stored", "trees", "drafts", "paths", "importance", "patching",
    "relevance", "triggers", "faithfulness", "effectiveness", "resampling", "correlation", "__init__",
)  # fmt: skip
"""What attribution is made of, from the bottom up: each imports only what stands before it."""


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@functools.cache
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


MODULES = {".".join(p.relative_to(PACKAGE.parent).with_suffix("").parts): p for p in FILES}


def rooms(path: Path, top_only: bool) -> set[str]:
    """Other rooms that a file imports."""
    named = {m.split(".")[1] for m in imports(path, top_only) if m.startswith("headwidgets.")}
    return {m for m in named if (PACKAGE / m).exists() or (PACKAGE / f"{m}.py").exists()} - {room_of(path)}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_room_imports_only_through_its_doors(path: Path):
    room = room_of(path)
    assert room in ALLOWED, f"{room} is a new room: say in ALLOWED what it may import"
    wrong = rooms(path, top_only=True) - ALLOWED[room]
    assert not wrong, f"{path.name} imports {', '.join(sorted(wrong))}"
    late = rooms(path, top_only=False) - ALLOWED[room] - LATE.get(room, set())
    assert not late, f"{path.name} imports {', '.join(sorted(late))} inside a function"


@pytest.mark.parametrize("room", ALLOWED)
def test_a_door_that_nobody_uses_is_walled_up(room: str):
    files = [path for path in FILES if room_of(path) == room]
    assert files, f"there is no room {room}"
    unused = ALLOWED[room] - set().union(*(rooms(path, top_only=True) for path in files))
    assert not unused, f"take {', '.join(sorted(unused))} out of ALLOWED: no import of {room} names it any more"
    late = LATE.get(room, set()) - set().union(*(rooms(path, top_only=False) for path in files))
    assert room == "__init__" or not late, f"take {', '.join(sorted(late))} out of LATE: {room} no longer names it"


def test_doors_open_one_way():
    list(graphlib.TopologicalSorter(ALLOWED).static_order())
    modules = {name: imports(path, top_only=True) & set(MODULES) - {name} for name, path in MODULES.items()}
    list(graphlib.TopologicalSorter(modules).static_order())


@pytest.mark.parametrize("path", [p for p in FILES if room_of(p) == "attribution"], ids=lambda p: p.stem)
def test_attribution_stands_on_what_is_below(path: Path):
    inner, *below = path.relative_to(PACKAGE / "attribution").with_suffix("").parts
    assert inner in ATTRIBUTION, f"{inner} is new in attribution: say in ATTRIBUTION what it stands on"
    prefix = "headwidgets.attribution."
    named = {m.removeprefix(prefix).split(".")[0] for m in imports(path, top_only=True) if m.startswith(prefix)}
    wrong = named & set(ATTRIBUTION[ATTRIBUTION.index(inner) :]) - {inner}
    assert not wrong, f"{'/'.join([inner, *below])} imports {', '.join(sorted(wrong))}, which stands above it"


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
