import sys

import numpy as np

import headwidgets.widgets as hw
from headwidgets import __version__
from headwidgets.doctor import doctor
from headwidgets.widgets import assets
from headwidgets.widgets.base import LIVE

module = sys.modules[doctor.__module__]  # the package's name `doctor` is the function


def test_the_report_names_versions_device_and_what_widgets_weigh():
    for widget in list(LIVE):  # of tests that ran before in this process
        widget.close()
    grid = hw.HeadGrid(np.zeros((12, 12)))
    closed = hw.HeadGrid(np.zeros((2, 2)))
    closed.close()
    report = doctor()
    assert report.versions["headwidgets"] == __version__
    assert report.versions["torch"]
    assert report.device
    ((name, data, state),) = report.widgets
    assert name == "HeadGrid"
    assert len(grid.buffer) < data < 2000
    assert state < 5000
    assert "live HeadGrid" in str(report)


def test_a_front_end_that_is_missing_or_older_is_a_problem_with_a_cure():
    report = doctor()
    pages = [f"page-{name}.js" for name in module.PAGES]
    assert any(f"the front end lacks figure.js, {', '.join(pages)}" in problem for problem in report.problems)
    for name in ("figure.js", *pages):
        (assets.FOLDER / name).write_text("1")
    (assets.FOLDER / "built.json").write_text('{"version": "0.0.9"}')
    assert any("built for version 0.0.9" in problem for problem in doctor().problems)
    (assets.FOLDER / "built.json").write_text(f'{{"version": "{__version__}"}}')
    assert not any("front end" in problem for problem in doctor().problems)


def test_threads_that_spin_on_few_cores_are_a_hint_not_a_problem(monkeypatch):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    for cores, hints in (1, 0), (2, 1), (64, 0):
        monkeypatch.setattr(module, "_cores", lambda cores=cores: cores)
        report = doctor()
        assert len(report.hints) == hints
        assert ("- on 2 cores" in str(report)) == bool(hints)
        assert not any("OMP" in problem for problem in report.problems)
    monkeypatch.setattr(module, "_cores", lambda: 2)
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    assert not doctor().hints
