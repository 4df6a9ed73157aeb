"""What does a bug report need? Versions, the front end, the device, and what live widgets weigh."""

import json
import os
import platform
import sys
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = (
    "torch", "transformers", "numpy", "anywidget", "ipywidgets", "bqplot", "jupyterlab", "ipykernel", "mini-racer",
    "vl-convert-python", "safetensors",
)  # fmt: skip
FEW_CORES = 8
LIVE = ("grid", "attention", "attribution", "pruning", "tree", "triggers", "probe")
PAGES = (*LIVE, "scatter", "curves", "headmap", "patterns", "dashboard")
BUNDLES = (*(f"{name}.js" for name in LIVE), "figure.js", *(f"page-{name}.js" for name in PAGES), "widgets.css")


@dataclass(frozen=True)
class Report:
    """What `doctor` found; prints as a table.

    Attributes:
        versions: By package; empty where it is not installed.
        front_end: By bundle of ``headwidgets/static``, its size in bytes; 0 where it is missing.
        extension: Version of the JupyterLab extension that this environment has; empty where there is none.
        device: Where models run by default.
        widgets: Live widgets: class, bytes of document and buffer, bytes of all other state without code.
        problems: What does not fit, as sentences; empty when all is well.
        hints: What could be faster, as sentences; nothing is wrong.
    """

    versions: dict[str, str]
    front_end: dict[str, int]
    extension: str
    device: str
    widgets: list[tuple[str, int, int]]
    problems: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def __str__(self) -> str:
        rows = [(name, number or "not installed") for name, number in self.versions.items()]
        missing = [name for name, size in self.front_end.items() if not size]
        built = f"{len(self.front_end) - len(missing)} of {len(self.front_end)} bundles"
        rows += [("front end", built), ("JupyterLab extension", self.extension or "not found"), ("device", self.device)]
        rows += [(f"live {name}", f"{data:,} + {state:,} bytes") for name, data, state in self.widgets]
        lines = [f"{name:<22} {value}" for name, value in rows]
        return "\n".join(
            [*lines, *(f"! {problem}" for problem in self.problems), *(f"- {hint}" for hint in self.hints)]
        )

    def __repr__(self) -> str:
        return str(self)


def doctor() -> Report:
    """Look at the installation and at the widgets that are alive; imports torch to name the device.

    Returns:
        A report that prints as a table; `problems` says what does not fit, and what to do.
    """
    from headwidgets import __version__

    versions = {"headwidgets": __version__, "python": platform.python_version(), "system": platform.platform()}
    versions |= {name: _version(name) for name in PACKAGES}
    front_end = {name: _size(_static() / name) for name in BUNDLES}
    extension = _extension()
    problems = [
        f"{name} is not installed: pip install {name}"
        for name in PACKAGES
        if not versions[name] and name not in ("jupyterlab", "ipykernel")
    ]
    missing = [name for name, size in front_end.items() if not size]
    if missing:
        problems.append(f"the front end lacks {', '.join(missing)}: run `npm ci` and `npm run build`, or install again")
    built = _built()
    if not missing and built != __version__:
        problems.append(
            f"the front end was built for version {built or 'unknown'}, this is {__version__}: run `npm run build`, or "
            "install again"
        )
    if extension and extension != __version__:
        problems.append(
            f"the JupyterLab extension is version {extension}, this is {__version__}: install headwidgets again, then "
            "reload the page"
        )
    return Report(versions, front_end, extension, _device(), _weights(), problems, _hints())


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _static() -> Path:
    from headwidgets.widgets import assets

    return assets.FOLDER


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _built() -> str:
    """The version that the bundles were built for, as the build wrote it beside them."""
    return _version_in(_static() / "built.json")


def _extension() -> str:
    """The version of the extension where JupyterLab of this environment looks for it."""
    folders = [os.environ.get("JUPYTER_DATA_DIR", ""), str(Path.home() / ".local/share/jupyter")]
    folders.append(str(Path(sys.prefix, "share", "jupyter")))
    for folder in filter(None, folders):
        found = _version_in(Path(folder, "labextensions", "headwidgets", "package.json"))
        if found:
            return found
    return ""


def _version_in(path: Path) -> str:
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["version"])
    except (OSError, ValueError, KeyError):
        return ""


def _device() -> str:
    try:
        import torch
    except ImportError:
        return "no torch"
    if torch.cuda.is_available():
        return f"cuda ({torch.cuda.get_device_name()})"
    if torch.backends.mps.is_available():
        return "mps"
    return f"cpu ({torch.get_num_threads()} threads of {os.cpu_count()} cores)"


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _hints() -> list[str]:
    cores = _cores()
    if 1 < cores <= FEW_CORES and os.environ.get("OMP_WAIT_POLICY", "").upper() != "PASSIVE":
        return [
            f"on {cores} cores a busy one makes torch's threads wait for each other and everything many times slower: "
            "set OMP_WAIT_POLICY=PASSIVE before JupyterLab starts (python -m headwidgets demo does)"
        ]
    return []


def _weights() -> list[tuple[str, int, int]]:
    """Class, bytes of document and buffer, bytes of other state, of every widget that is open."""
    if "headwidgets.widgets" not in sys.modules:
        return []
    from headwidgets.widgets.base import LIVE

    found = []
    for widget in list(LIVE):
        if widget.comm is None:
            continue
        state: dict[str, Any] = widget.get_state()
        code = {"_esm", "_css"}
        data = len(state.pop("buffer", b"")) + len(json.dumps(state.pop("document", {})))
        rest = {key: value for key, value in state.items() if key not in code}
        found.append((type(widget).__name__, data, len(json.dumps(rest, default=str))))
    return sorted(found)
