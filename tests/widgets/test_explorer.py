import pytest

import headwidgets.widgets as hw
from headwidgets.errors import InputError, UnsupportedError

from .fakes import HOSTILE, FakeSource, Page, heads

TEXTS, LABELS = ["a fine film", "a dull film", "no film"] * 3, [1, 0, 0] * 3


def test_a_head_chosen_in_the_grid_is_shown_in_the_views(source):
    dashboard = hw.explore(source, TEXTS, LABELS)
    dashboard.grid.selected = [("encoder", 3, 2)]
    assert dashboard.attention.selected == heads((3, 2))
    assert dashboard.attribution.selected == heads((3, 2))
    assert dashboard.selected == heads((3, 2))
    dashboard.selected = [("encoder", 0, 5)]
    assert dashboard.grid.selected == dashboard.attention.selected == heads((0, 5))


def test_a_head_chosen_in_the_attention_is_marked_in_the_grid(source):
    dashboard = hw.explore(source, TEXTS, LABELS)
    dashboard.attention.selected = [("encoder", 2, 1)]
    assert dashboard.grid.selected == heads((2, 1))


def test_the_sum_over_a_layer_stays_in_the_attribution(source):
    dashboard = hw.explore(source, TEXTS, LABELS)
    Page(dashboard.attribution).set(selected=[["encoder", 1, -1]])
    assert all(head.index >= 0 for head in dashboard.grid.selected)


def test_what_the_browser_links_itself_is_not_sent_back(source):
    dashboard = hw.explore(source, TEXTS, LABELS)
    dashboard.wait(10)
    parts = [dashboard.grid, dashboard.attention, dashboard.attribution, dashboard]
    pages = [Page(part) for part in parts]
    pages[0].set(selected=[["encoder", 1, 4]])
    assert dashboard.attention.selected == heads((1, 4))
    assert all(page.states("selected") == [] for page in pages)


def test_without_labels_there_is_no_pruning_but_a_grid(source):
    dashboard = hw.explore(source, TEXTS)
    assert dashboard.pruning is None
    assert dashboard.grid in dashboard.children
    dashboard.grid.selected = [("encoder", 3, 2)]
    assert dashboard.attention.selected == heads((3, 2))
    assert dashboard.wait(10)
    assert [score["name"] for score in dashboard.grid.document["panels"][0]["scores"]] == ["confidence"]
    assert dashboard.grid.selected == heads((3, 2))


def test_the_first_choice_is_the_head_that_carries_most(source):
    assert hw.explore(source, TEXTS, LABELS).selected == heads((1, 1))


def test_another_text_is_chosen_by_its_line_or_in_python(source):
    dashboard = hw.explore(source, TEXTS, LABELS)
    dashboard.chooser.value = 1
    assert dashboard.wait(10)
    assert dashboard.attention.document["text"] == "a dull film"
    assert dashboard.attribution.document["text"] == "a dull film"
    dashboard.text = "something else entirely"
    assert dashboard.wait(10)
    assert dashboard.chooser.value is None
    assert dashboard.attention.document["text"] == "something else entirely"


def test_what_a_model_lacks_is_left_out_and_named(monkeypatch):
    class NoMaps(FakeSource):
        def text(self, text, **options):
            raise UnsupportedError("XLNet gives no attention maps")

    dashboard = hw.explore(NoMaps(), TEXTS, LABELS)
    assert dashboard.attention is None
    assert dashboard.missing["attention"] == "XLNet gives no attention maps"
    dashboard.selected = [("encoder", 0, 1)]
    assert dashboard.grid.selected == heads((0, 1))
    assert dashboard.wait(10)


def test_no_text_is_refused_with_a_sentence(source):
    with pytest.raises(InputError, match="texts is empty"):
        hw.explore(source, [])


def test_the_picture_is_all_parts(source):
    dashboard = hw.explore(source, TEXTS, LABELS)
    dashboard.wait(10)
    picture = dashboard.picture()
    assert [part["document"] for part in picture["parts"]] == ["pruning", "attention", "attribution"]
    assert "accuracy 0.95" in dashboard.summary()


def test_closing_takes_every_part_along_even_during_a_job(source):
    source.gate.clear()
    dashboard = hw.explore(source, TEXTS, LABELS, wait=0)
    parts = [dashboard.grid, dashboard.attention, dashboard.attribution, dashboard.pruning, dashboard.chooser]
    dashboard.close()
    assert all(part.comm is None for part in parts)
    assert all(text.closed for text in source.looked)
    source.gate.set()


def test_hostile_text_is_only_ever_text(source):
    dashboard = hw.explore(source, [HOSTILE], [1])
    assert dashboard.attention.document["panels"][0]["query"][1]["text"] == "</script><img"
    assert HOSTILE in dashboard.chooser.options[0][0]
