"""A real JupyterLab from the installed wheel, in a real Chromium that may reach nothing but this machine."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import nbformat
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

APPUTILS = "@jupyterlab/apputils-extension"
ROOT = Path(__file__).parents[2]


def lab_python() -> Path:
    """The interpreter whose JupyterLab is tested: the wheel's environment, or this one."""
    wheel = ROOT / ".venv-wheel" / "bin" / "python"
    named = os.environ.get("HEADWIDGETS_LAB_PYTHON")
    return Path(named) if named else wheel if wheel.exists() else Path(sys.executable)


def _free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


@dataclass
class Lab:
    """A running server, the folder it shows, and where Chromium looks."""

    url: str
    root: Path

    def write(self, name: str, cells: list[str], **metadata: Any) -> Path:
        """A notebook of code cells in the server's folder."""
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
        notebook.metadata = {
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
            **metadata,
        }
        path = self.root / name
        nbformat.write(notebook, path)
        return path


@contextlib.contextmanager
def serving(root: Path) -> Iterator[Lab]:
    """JupyterLab on a free port of this machine, with nothing of the user's own configuration."""
    home = Path(tempfile.mkdtemp())
    binaries = lab_python().parent
    environment = {
        **os.environ,
        "HOME": str(home),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "IPYTHONDIR": str(home / "ipython"),
        "PATH": f"{binaries}:{os.environ['PATH']}",
        "OMP_NUM_THREADS": "2",
        "OMP_WAIT_POLICY": "PASSIVE",
        "HF_HUB_OFFLINE": "1",
    }
    environment.pop("PYTHONPATH", None)
    subprocess.run(
        [
            binaries / "jupyter",
            "labextension",
            "disable",
            "--level=user",
            "@jupyterlab/apputils-extension:announcements",
        ],
        env=environment,
        check=False,
        capture_output=True,
        cwd=root,
    )
    port = _free_port()
    log = (root / "server.log").open("wb")
    server = subprocess.Popen(
        [
            *(binaries / "jupyter", "lab", "--no-browser", "--ip=127.0.0.1", f"--port={port}"),
            *("--ServerApp.port_retries=0", "--IdentityProvider.token=", "--allow-root"),
            *(f"--ServerApp.root_dir={root}", "--LabApp.expose_app_in_browser=True"),
        ],
        env=environment,
        stdout=log,
        stderr=log,
        cwd=root,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{url}/api", timeout=2)
                break
            time.sleep(0.25)
        else:
            raise RuntimeError(f"JupyterLab did not start: {(root / 'server.log').read_text()[-2000:]}")
        yield Lab(url, root)
    finally:
        server.terminate()
        try:
            server.wait(15)
        except subprocess.TimeoutExpired:  # an idle thread of the server's file access may outlive its loop
            server.kill()
            server.wait(15)
        log.close()
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with serving(tmp_path_factory.mktemp("lab")) as running:
        yield running


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    assert chromium, "chromium is not installed: run .ci/chromium"
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=chromium,
            args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-sync"],
        )
        yield launched
        launched.close()


@dataclass
class Watch:
    """What went wrong on a page while nobody looked."""

    errors: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)

    def assert_clean(self) -> None:
        assert not self.errors, "\n".join(self.errors)
        assert not self.outside, "\n".join(self.outside)


def watched(page: Page) -> Watch:
    """Collect console errors and refuse every request that leaves the machine."""
    watch = Watch()

    def asked(route: Any) -> None:
        host = route.request.url.split("/")[2].split(":")[0] if "//" in route.request.url else ""
        if route.request.url.startswith(("data:", "blob:")) or host == "127.0.0.1":
            route.continue_()
        else:
            watch.outside.append(route.request.url)
            route.abort()

    page.route("**/*", asked)
    page.on("pageerror", lambda error: watch.errors.append(f"page: {error.stack or error}"))
    page.on("console", lambda m: watch.errors.append(f"console: {m.text}") if m.type == "error" else None)
    return watch


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    opened = context.new_page()
    opened.set_default_timeout(60_000)
    yield opened
    context.close()


def open_notebook(page: Page, lab: Lab, name: str, reset: bool = True) -> None:
    """Open a notebook and wait until its kernel is idle."""
    page.goto(f"{lab.url}/lab/tree/{name}" + ("?reset" if reset else ""))
    page.wait_for_function("() => window.jupyterapp && document.querySelector('.jp-NotebookPanel:not(.lm-mod-hidden)')")
    page.wait_for_selector(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook-cell")
    page.wait_for_function(  # else running a cell brings up "Select Kernel"
        """() => {
            const session = window.jupyterapp.shell.currentWidget?.sessionContext;
            return session?.isReady && session.session?.kernel?.status === 'idle';
        }"""
    )


def command(page: Page, identifier: str, arguments: str = "{}") -> None:
    """Start a JupyterLab command; its promise is not waited for."""
    page.evaluate(f"() => {{ window.jupyterapp.commands.execute('{identifier}', {arguments}) }}")


def run_all(page: Page, timeout: float = 180_000) -> None:
    """Run every cell of the notebook in front and wait until each has a number."""
    command(page, "notebook:run-all-cells")
    page.wait_for_function(  # from the model: prompts of cells out of sight have no text
        """() => [...window.jupyterapp.shell.currentWidget.content.widgets].every(cell =>
            cell.model.type !== 'code' || (cell.model.executionCount && cell.model.executionState !== 'running'))""",
        timeout=timeout,
    )


def save(page: Page) -> None:
    """Save the notebook in front and wait until it is clean."""
    command(page, "docmanager:save")
    page.wait_for_function("() => !window.jupyterapp.shell.currentWidget.context.model.dirty", timeout=30_000)


def settled(page: Page, quiet: float = 2.0) -> None:
    """Wait until the outputs of the notebook in front have stayed the same for a while: pictures follow their widgets.

    Args:
        page: Where the notebook is.
        quiet: How long, in seconds.
    """
    page.evaluate("() => { window.outputsOf = undefined }")
    page.wait_for_function(
        """quiet => {
            const front = window.jupyterapp.shell.currentWidget.content;
            const now = JSON.stringify([...front.model.cells].map(cell => cell.outputs?.toJSON?.() ?? null));
            const before = window.outputsOf;
            if (before?.now !== now) window.outputsOf = { now, since: performance.now() };
            return before?.now === now && performance.now() - before.since > quiet;
        }""",
        arg=quiet * 1000,
        polling=100,
        timeout=60_000,
    )


def pictured(page: Page) -> None:
    """Wait until every widget of the notebook in front has its picture beside it, as it will be saved."""
    page.wait_for_function(
        """() => {
            const front = window.jupyterapp.shell.currentWidget.content;
            const outputs = [...front.model.cells].flatMap(cell => cell.outputs?.toJSON?.() ?? []);
            const views = outputs.map(out => out.data ?? {})
                .filter(data => 'application/vnd.jupyter.widget-view+json' in data);
            return views.length > 0 && views.every(data => 'image/png' in data);
        }""",
        polling=200,
        timeout=60_000,
    )


def assert_exported(browser: Browser, folder: Path, name: str, selector: str) -> None:
    """A widget was saved as `name` in every format, and its page opens without a network."""
    assert ElementTree.fromstring((folder / f"{name}.svg").read_text("utf-8")).tag.endswith("svg")
    assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    context = browser.new_context(offline=True)
    try:
        page = context.new_page()
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
        page.goto((folder / f"{name}.html").as_uri())
        page.locator(selector).first.wait_for(state="attached")
        assert not problems
    finally:
        context.close()
