import numpy as np

import headwidgets.widgets as hw
from headwidgets import __version__
from headwidgets.doctor import doctor
from headwidgets.widgets import assets


def test_the_report_names_versions_device_and_what_widgets_weigh():
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
    assert any("the front end lacks figure.js, page.js" in problem for problem in report.problems)
    for name in ("figure.js", "page.js"):
        (assets.FOLDER / name).write_text("1")
    (assets.FOLDER / "built.json").write_text('{"version": "0.0.9"}')
    assert any("built for version 0.0.9" in problem for problem in doctor().problems)
    (assets.FOLDER / "built.json").write_text(f'{{"version": "{__version__}"}}')
    assert not any("front end" in problem for problem in doctor().problems)
