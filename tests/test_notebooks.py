"""Every notebook runs from top to bottom on the demo model, as on a machine that has nothing else."""

from pathlib import Path

import nbclient
import nbformat
import pytest

FOLDER = Path(__file__).parents[1] / "notebooks"
NOTEBOOKS = sorted(path for path in FOLDER.rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts)
QUICKSTART = "quickstart"  # tests/demo/test_notebook.py runs it, and looks at what it shows
LIMIT = 400  # seconds; a third of that on a quiet machine
FEW = """import headwidgets.demo as demo
def few(*options, load=demo.load, **named):
    model, texts, labels = load(*options, **named)
    return model, texts[:40], labels[:40]
demo.load = few
demo.treebank = lambda *split, all=demo.treebank: all(*split)[:90]
demo.relations = lambda n, seed, all=demo.relations: all(60, seed)"""
"""Runs before the first cell: every step of the notebook, judged on fewer texts."""


@pytest.mark.timeout(LIMIT + 60)
@pytest.mark.parametrize("path", [p for p in NOTEBOOKS if p.stem != QUICKSTART], ids=lambda p: p.stem)
def test_a_notebook_runs_from_top_to_bottom(path: Path, tmp_path: Path, monkeypatch):
    monkeypatch.delenv("HEADWIDGETS_DATA", raising=False)
    content = nbformat.read(path, as_version=4)
    content.cells.insert(0, nbformat.v4.new_code_cell(FEW))
    client = nbclient.NotebookClient(content, timeout=LIMIT, resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    outputs = [output for cell in content.cells for output in cell.get("outputs", [])]
    for output in outputs:
        assert output["output_type"] != "error", output
        assert output.get("name") != "stderr", output["text"]
    assert any(mime.startswith("application/vnd.headwidgets.") for o in outputs for mime in o.get("data", {}))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_names_the_kernel_that_everybody_has_and_keeps_no_error(path: Path):
    content = nbformat.read(path, as_version=4)
    assert content.metadata["kernelspec"]["name"] == "python3"
    for cell in content.cells:
        assert all(output["output_type"] != "error" for output in cell.get("outputs", []))
