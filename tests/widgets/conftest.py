"""Widgets over a fake model, in a page that is not there."""

import ipywidgets
import pytest

from headwidgets.doctor import LIVE
from headwidgets.widgets import assets

from .fakes import FakeSource

STUB = "export default { render() {} };"


@pytest.fixture(autouse=True)
def _front_end(tmp_path_factory, monkeypatch):
    """Widgets only carry their bundle: what it says does not matter here."""
    folder = tmp_path_factory.mktemp("static")
    for name in LIVE:
        (folder / f"{name}.js").write_text(STUB)
    (folder / "widgets.css").write_text("/* */")
    monkeypatch.setattr(assets, "FOLDER", folder)
    yield
    ipywidgets.Widget.close_all()


@pytest.fixture
def source():
    return FakeSource()
