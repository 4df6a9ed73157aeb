import base64
import json

import numpy as np
import pytest

import headwidgets.figures.engine as engine
import headwidgets.widgets as hw
from headwidgets.errors import InputError
from headwidgets.figures.saved import LIMIT, reduced, size
from headwidgets.wire.arrays import unpack

from .fakes import FakeSource, Page, heads

STUB = """
globalThis.headwidgetsFigure = { draw(document, options) {
  const d = JSON.parse(document), o = JSON.parse(options);
  const t = String(d.title) + ' ' + d.document + ' ' + o.theme;
  const safe = t.replace(/&/g, '&amp;').replace(/</g, '&lt;');
  const open = '<svg xmlns="http://www.w3.org/2000/svg" width="' + o.width + '" height="40">';
  const svg = open + '<text y="20">' + safe + '</text></svg>';
  return JSON.stringify({svg, width: o.width, height: 40});
} };
"""

VIEW = "application/vnd.jupyter.widget-view+json"
TEXTS, LABELS = ["a fine film", "a dull film"] * 5, [1, 0] * 5


@pytest.fixture(autouse=True)
def _drawing(tmp_path, monkeypatch):
    (tmp_path / "figure.js").write_text(STUB)
    for name in ("grid", "attention", "attribution", "pruning", "dashboard"):
        (tmp_path / f"page-{name}.js").write_text("'page'")
    (tmp_path / "widgets.css").write_text("")
    monkeypatch.setattr(engine, "STATIC", tmp_path)


def large(n_tokens=128, size=(12, 12)):
    return FakeSource(size), " ".join(f"token{i}" for i in range(n_tokens - 2))


def file_size(bundle):
    """As a notebook file holds it: indented, in a cell's outputs."""
    notebook = {"cells": [{"outputs": [{"data": bundle, "metadata": {}, "output_type": "display_data"}]}]}
    return len(json.dumps(notebook, indent=1))


def widgets():
    source, text = large()
    yield hw.HeadGrid(np.random.default_rng(0).random((12, 12)))
    yield hw.AttentionView(source, text, selected=[("encoder", layer, 0) for layer in range(12)])
    yield hw.AttributionView(source, text, view="both", wait=None)
    yield hw.PruningExplorer(source, TEXTS, LABELS, wait=None)
    yield hw.explore(source, [text, *TEXTS], [1, *LABELS], wait=None)


def test_every_widget_leaves_data_picture_and_a_line_in_the_notebook():
    names = []
    for widget in widgets():
        widget.wait()
        bundle = widget._repr_mimebundle_()
        (own,) = [mime for mime in bundle if mime.startswith("application/vnd.headwidgets.")]
        names.append(own.removeprefix("application/vnd.headwidgets."))
        assert bundle[VIEW]["model_id"] == widget.model_id
        assert base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG")
        assert bundle["image/svg+xml"].startswith("<svg")
        assert "\n" not in bundle["text/plain"]
        assert file_size(bundle) < 200_000
        unpack(json.loads(json.dumps(bundle[own])))
    assert names == ["grid+json", "attention+json", "attribution+json", "pruning+json", "dashboard+json"]


def test_what_does_not_fit_is_left_out_and_the_title_says_so():
    source, text = large(256)
    view = hw.AttentionView(source, text, selected=heads((5, 5), (1, 1), (2, 2), (3, 3)))
    bundle = view._repr_mimebundle_()
    document = bundle["application/vnd.headwidgets.attention+json"]
    assert file_size(bundle) < LIMIT
    assert document["maps"] == [] or document["maps"][0]["head"] == ["encoder", 5, 5]
    lost = 4 - len(document["maps"])
    assert lost
    assert f"{lost} maps left out of the saved notebook" in document["title"]


def test_a_document_that_fits_keeps_its_maps_and_its_title():
    view = hw.AttentionView(FakeSource(), "a short text", selected=heads((1, 1), (2, 2)))
    kept = reduced(view.picture(), 100_000)
    assert kept["title"] == "Attention"
    assert len(kept["maps"]) == 2
    original = view.picture()["maps"][0]
    values = kept["maps"][0]["values"]
    assert values.dtype == np.uint8
    step = (original["high"] - original["low"]) / 255
    back = original["low"] + values * step
    np.testing.assert_allclose(back, original["values"], atol=step / 2 + 1e-7)


def test_maps_go_last_one_first_and_the_leading_map_goes_last():
    view = hw.AttentionView(FakeSource((2, 2)), "a text of six words here", selected=heads((1, 1), (0, 1), (0, 0)))
    document = view.picture()
    full = size(reduced(document, 10**6))
    kept = reduced(document, full - 1)
    assert [m["head"] for m in kept["maps"]] == [["encoder", 1, 1], ["encoder", 0, 1]]
    assert "1 map left out" in kept["title"]


def test_first_paint_of_144_heads_over_128_tokens_is_at_most_150_kilobytes():
    source, text = large()
    view = hw.AttentionView(source, text)
    assert paint(view) <= 150_000
    assert paint(hw.HeadGrid(np.random.default_rng(0).random((12, 12)))) <= 150_000
    assert paint(hw.AttributionView(source, text, wait=None)) <= 150_000


def paint(widget):
    """Bytes of data and state that make the first picture, without the bundle."""
    state = widget.get_state()
    state.pop("_esm")
    state.pop("_css")
    buffer = state.pop("buffer")
    return len(buffer) + len(json.dumps(state, default=str))


def test_a_widget_without_a_built_front_end_still_shows_itself(monkeypatch, tmp_path):
    empty = tmp_path / "none"
    empty.mkdir()
    monkeypatch.setattr(engine, "STATIC", empty)
    grid = hw.HeadGrid(np.zeros((2, 2)))
    with pytest.warns(UserWarning, match="without a picture"):
        bundle = grid._repr_mimebundle_()
    assert VIEW in bundle
    assert "image/png" not in bundle


def test_the_formats_asked_for_are_the_ones_given():
    grid = hw.HeadGrid(np.zeros((2, 2)))
    assert set(grid._repr_mimebundle_(include={"text/plain"})) == {"text/plain"}
    assert "image/png" not in grid._repr_mimebundle_(exclude={"image/png"})


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf", ".html"])
def test_save_waits_for_the_running_job(tmp_path, suffix):
    source = FakeSource(delay=0.01)
    source.gate.clear()
    view = hw.AttributionView(source, "a film", wait=0)
    source.gate.set()
    path = view.save(tmp_path / f"figure{suffix}", theme="dark", width=500)
    assert view.status == ""
    content = path.read_bytes()
    start = {".svg": b"<svg", ".png": b"\x89PNG", ".pdf": b"%PDF", ".html": b"<!doctype html>"}[suffix]
    assert content.startswith(start)
    if suffix == ".html":
        assert b'"target":"positive"' in content
    assert list(tmp_path.glob(".figure*")) == [], "no temporary file stays"


def test_save_refuses_what_it_cannot_do_before_it_waits(tmp_path):
    source = FakeSource()
    source.gate.clear()
    view = hw.AttributionView(source, "a film", wait=0)
    with pytest.raises(InputError, match=r"saved as \.svg, \.png, \.pdf, \.html; got '\.gif'"):
        view.save(tmp_path / "figure.gif")
    with pytest.raises(InputError, match="there is no folder"):
        view.save(tmp_path / "missing" / "figure.svg")
    with pytest.raises(InputError, match="theme is 'light' or 'dark'"):
        view.save(tmp_path / "figure.svg", theme="pink", wait=False)
    assert list(tmp_path.glob("*figure*")) == [tmp_path / "figure.js"]
    source.gate.set()


def test_a_shown_widget_updates_its_output_when_its_work_is_done(monkeypatch):
    published = []
    monkeypatch.setattr("IPython.display.publish_display_data", lambda data, **more: published.append((data, more)))
    source = FakeSource()
    source.gate.clear()
    view = hw.AttributionView(source, "a film", wait=0)
    view._ipython_display_()
    source.gate.set()
    assert view.wait(10)
    (first, shown), (last, updated) = published
    assert "Attribution begins" in first["text/plain"] or "layer" in first["text/plain"]
    assert "log-odds of positive" in last["text/plain"]
    assert updated["update"] is True
    assert updated["transient"] == shown["transient"]


def test_the_output_of_a_box_is_one_composed_picture_of_its_final_state(monkeypatch):
    published = []
    monkeypatch.setattr("IPython.display.publish_display_data", lambda data, **more: published.append((data, more)))
    explorer = hw.PruningExplorer(FakeSource(delay=0.002), TEXTS, LABELS, points=5)
    explorer._ipython_display_()
    explorer.wait()
    points = published[-1][0]["application/vnd.headwidgets.pruning+json"]["points"]
    assert [point["count"] for point in points] == [0, 6, 12, 18, 24]


def test_a_closed_widget_shows_its_picture_alone(monkeypatch):
    published = []
    monkeypatch.setattr("IPython.display.publish_display_data", lambda data, **more: published.append(data))
    grid = hw.HeadGrid(np.zeros((2, 2)))
    grid.close()
    grid._ipython_display_()
    assert VIEW not in published[0]
    assert "image/png" in published[0]
    Page(grid)


def test_an_output_follows_later_work_only_where_the_page_keeps_the_view(monkeypatch):
    published = []
    monkeypatch.setattr("IPython.display.publish_display_data", lambda data, **more: published.append(data))
    view = hw.AttentionView(FakeSource(), "a film")
    view._ipython_display_()
    for text in ("one", "two", "three"):
        view.show(text)
        view.wait()
    assert len(published) == 2, "shown, and once more when the first work was done"
    Page(view).set(kept=True)
    view.show("four")
    view.wait()
    assert published[-1]["application/vnd.headwidgets.attention+json"]["text"] == "four"


def test_an_output_follows_what_is_chosen_once_the_user_has_stopped(monkeypatch):
    published = []
    monkeypatch.setattr("IPython.display.publish_display_data", lambda data, **more: published.append(data))
    monkeypatch.setattr("headwidgets.widgets.outputs._CALM", 0.05)
    grid = hw.HeadGrid(np.zeros((4, 6)))
    grid._ipython_display_()
    page = Page(grid)
    page.set(kept=True)
    for n in range(5):
        page.set(selected=[["encoder", 0, n]])
    page.until(lambda: len(published) == 2)
    assert published[1]["application/vnd.headwidgets.grid+json"]["selected"] == [["encoder", 0, 4]]
