import json

import numpy as np
import pytest

import headwidgets.widgets as hw
from headwidgets.errors import InputError
from headwidgets.figures import draw
from headwidgets.figures.saved import size
from headwidgets.wire.arrays import unpack

from .fakes import HOSTILE, Page


class Found:
    """What `find_triggers` returns, as far as a table asks."""

    def __init__(self, rows=4, classes=0, examples=2, long=0):
        self.rows, self.classes, self.examples, self.long = rows, classes, examples, long

    def document(self):
        columns = 1 + self.classes
        outcomes = np.zeros((self.rows, columns, 5, 3), np.float32)
        outcomes[:, :, 0] = 0.9, 0.88, 0.92
        outcomes[:, :, 1] = 0.5, 0.47, 0.53
        outcomes[:, :, 2] = -0.4, -0.43, -0.37
        outcomes[:, :, 3] = outcomes[:, :, 4] = 0.89, 0.87, 0.91
        example = {
            "parts": ["a " * self.long + "film", HOSTILE, "as this"], "inserted": [1], "second": -1,
            "label": "class 0", "before": "class 0", "after": HOSTILE,
        }  # fmt: skip
        row = {
            "tokens": [{"text": HOSTILE, "ids": [7, 8], "segment": 0, "place": 0.5}], "score": 0.25, "support": 3,
            "found_in": "class 0", "changed": 5, "skipped": 0, "moved": [{"label": HOSTILE, "n": 5}],
            "examples": [example] * self.examples,
        }  # fmt: skip
        tested = self.classes > 0
        return {
            "schema": 1,
            "document": "triggers",
            "title": "Triggers",
            "unit": "probability",
            "classes": [f"class {i}" for i in range(self.classes)],
            "pairs": False,
            "rows": [{**row, "score": 0.25 / (1 + i)} for i in range(self.rows)],
            "counts": np.full((self.rows, columns), 100, np.int32) if tested else None,
            "outcomes": outcomes if tested else None,
            "draws": 20 if tested else 0,
            "selected": -1,
            "sort": "",
            "searched": 500,
            "skipped": 2,
            "note": "",
            "provenance": None,
        }


def test_a_table_holds_the_document_and_its_arrays():
    table = hw.TriggerTable(Found(4, 2))
    shown = unpack(table.document, table.buffer)
    assert len(shown["rows"]) == 4
    assert shown["outcomes"].shape == (4, 3, 5, 3)
    assert "4 triggers in 100 texts" in table.summary()
    assert "-40.0 points" in table.summary()
    assert hw.TriggerTable(Found()).summary() == "TriggerTable(4 triggers found in 500 texts)"


def test_row_and_order_are_traits_that_reach_the_picture():
    table = hw.TriggerTable(Found(4, 2), selected=1, sort="-score", title="Mine")
    picture = table.picture()
    assert (picture["selected"], picture["sort"], picture["title"]) == (1, "-score", "Mine")
    page = Page(table)
    table.selected = 3
    assert any(message.get("state", {}).get("selected") == 3 for message, _ in page.sent)
    table.set_state({"selected": 2, "sort": "outcome:1"})
    assert (table.selected, table.sort) == (2, "outcome:1")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"selected": 4}, "no row 4 here: rows are 0 to 3"),
        ({"sort": "colour"}, "no column 'colour' here: the columns are trigger, found_in"),
        ({"sort": "outcome:3"}, "no column 'outcome:3'"),
    ],
)
def test_a_row_or_column_that_is_not_there_is_refused(change, words):
    with pytest.raises(InputError, match=words):
        hw.TriggerTable(Found(4, 2), **change)


def test_what_is_not_a_result_is_refused():
    with pytest.raises(InputError, match=r"find_triggers or hw.attribution.attack returned, got list"):
        hw.TriggerTable([1, 2])
    with pytest.raises(TypeError, match="did you mean 'selected'"):
        hw.TriggerTable(Found(), selcted=1)


def test_a_partial_result_takes_the_place_of_an_earlier_one():
    table = hw.TriggerTable(Found(4, 2), selected=3)
    version = table.version
    table.show(Found(6, 2))
    assert table.selected == 3
    assert table.version == version + 1
    table.show(Found(2, 2))
    assert table.selected == -1
    assert len(table.document["rows"]) == 2


@pytest.mark.parametrize(("rows", "classes"), [(10, 2), (190, 19), (400, 2)])
def test_saved_output_stays_small_whatever_the_triggers(rows, classes):
    table = hw.TriggerTable(Found(rows, classes, examples=5, long=90), selected=2)
    assert len(json.dumps(table.document)) + len(table.buffer) < 150_000
    bundle = table._repr_mimebundle_()
    assert size(bundle) < 200_000
    assert {"application/vnd.headwidgets.triggers+json", "image/png", "text/plain"} <= bundle.keys()
    kept = table.picture()
    assert len(kept["rows"][2]["examples"]) == 5
    assert ("Shown here" in kept["note"]) == (kept["rows"] != Found(rows, classes, 5, 90).document()["rows"])


@pytest.mark.parametrize("classes", [0, 2, 19])
def test_the_picture_is_drawn_without_a_browser(classes, tmp_path):
    table = hw.TriggerTable(Found(30, classes), selected=29)
    drawing = draw(table.picture(), width=640)
    assert "<img" not in drawing.svg
    assert "&lt;img" in drawing.svg
    assert drawing.width <= 640
    path = table.save(tmp_path / "triggers.html")
    assert "<img src=x" not in path.read_text("utf-8")
