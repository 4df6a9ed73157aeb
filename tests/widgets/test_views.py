import threading

import numpy as np
import pytest

import headwidgets.widgets as hw
from headwidgets.errors import InputError
from headwidgets.scores import Head
from headwidgets.widgets.maps import VIEWS
from headwidgets.wire.arrays import unpack

from .fakes import FakeSource, Page, heads

TEXT = "the cat sat on the mat"


def test_attention_begins_with_the_overview_and_one_map(source):
    view = hw.AttentionView(source, TEXT)
    document = unpack(view.document, view.buffer)
    assert document["panels"][0]["thumbnails"].shape[:2] == (4, 6)
    assert [m["head"] for m in document["maps"]] == [["encoder", 0, 0]]
    assert view.selected == heads((0, 0))


def test_a_map_asked_for_comes_back_with_its_number_and_its_own_buffer(source):
    view = hw.AttentionView(source, TEXT)
    page = Page(view)
    page.ask(id=41, ask="head_map", view="attention", head=["encoder", 2, 3], words=False)
    page.ask(id=42, ask="head_map", view="attention", head=["encoder", 3, 5], words=False)
    second, first = page.answered(42), page.answered(41)
    assert first["map"]["head"] == ["encoder", 2, 3]
    assert second["map"]["head"] == ["encoder", 3, 5]
    (buffer,) = page.answers(41)[0][1]
    np.testing.assert_array_equal(unpack(first["map"], buffer)["values"], source.looked[0].maps[2, 3])


def test_a_map_is_computed_once(source):
    view = hw.AttentionView(source, TEXT)
    page = Page(view)
    for number in (1, 2, 3):
        page.ask(id=number, ask="head_map", view="attention", head=["encoder", 2, 3], words=False)
        page.answered(number)
    assert source.looked[0].asked.count(("attention", ("encoder", 2, 3), False)) == 1


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"ask": "head_map", "view": "attention", "head": ["encoder", 9, 0], "words": False}, "does not exist"),
        ({"ask": "head_map", "view": "attention", "head": "L3", "words": False}, "a head is Head"),
        ({"ask": "head_map", "view": "smell", "head": ["encoder", 0, 0], "words": False}, "a view is"),
        ({"ask": "something"}, "no answer to 'something'"),
        ({"ask": "head_map"}, ""),
    ],
)
def test_a_request_that_cannot_be_met_is_answered_with_a_sentence(source, request_, message):
    page = Page(hw.AttentionView(source, TEXT))
    page.ask(id=5, **request_)
    answer = page.answered(5)
    assert answer["answer"] == "error"
    assert message in answer["message"]


@pytest.mark.parametrize("content", [None, [], {}, {"id": "x"}, {"id": True, "ask": "words"}, "text"])
def test_a_message_that_is_no_request_does_no_harm(source, content):
    view = hw.AttentionView(source, TEXT)
    page = Page(view)
    view._handle_msg({"content": {"data": {"method": "custom", "content": content}}, "buffers": []})
    page.ask(id=1, ask="words", words=True)
    assert page.answered(1)["answer"] == "done"
    assert len(page.answers()) == 1


def test_an_error_in_the_engine_travels_back_as_a_sentence(source):
    page = Page(hw.AttentionView(source, TEXT))
    source.fail = InputError("the model lost its head")
    page.ask(id=3, ask="head_map", view="attention", head=["encoder", 1, 1], words=False)
    assert page.answered(3)["message"] == "the model lost its head"


def test_words_change_the_document_and_then_the_request_is_done(source):
    view = hw.AttentionView(source, TEXT)
    page = Page(view)
    page.ask(id=8, ask="words", words=True)
    page.answered(8)
    assert view.words
    assert view.document["words"]
    assert view.version == 2
    kinds = [m["method"] for m, _ in page.sent]
    assert kinds.index("update") < kinds.index("custom"), "the traits come before the answer"


def test_words_can_be_set_in_python(source):
    view = hw.AttentionView(source, TEXT)
    view.words = True
    assert view.wait(5)
    assert view.document["words"]


def test_the_handler_never_waits_for_the_engine(source):
    view = hw.AttentionView(source, TEXT)
    page = Page(view)
    source.gate.clear()
    page.ask(id=1, ask="head_map", view="attention", head=["encoder", 1, 1], words=False)
    page.set(selected=[["encoder", 1, 1]], mode="matrix")
    assert view.selected == heads((1, 1))
    assert page.answers() == []
    source.gate.set()
    assert page.answered(1)["answer"] == "head_map"


def test_another_text_is_shown_in_place_and_the_old_one_freed(source):
    view = hw.AttentionView(source, TEXT, selected=[("encoder", 2, 2)])
    view.show("other words")
    assert view.wait(5)
    assert view.document["text"] == "other words"
    assert view.selected == heads((2, 2))
    assert source.looked[0].closed
    assert not source.looked[1].closed


def test_a_text_that_cannot_be_used_is_refused_where_it_is_given(source):
    with pytest.raises(InputError, match="the text is empty"):
        hw.AttentionView(source, "")
    view = hw.AttentionView(source, TEXT)
    with pytest.raises(InputError, match="the text is empty"):
        view.show("")
    assert view.document["text"] == TEXT
    with pytest.raises(InputError, match="does not exist"):
        hw.AttentionView(source, TEXT, selected=[("encoder", 40, 0)])
    assert source.looked[-1].closed


def test_something_that_is_no_model_is_refused_with_a_sentence():
    with pytest.raises(InputError, match=r"expected a model from hw\.load"):
        hw.AttentionView(object(), TEXT)


def test_the_picture_holds_the_maps_of_what_is_chosen_now(source):
    view = hw.AttentionView(source, TEXT)
    view.selected = [("encoder", 3, 3), ("encoder", 1, 0)]
    view.hide_special = True
    picture = view.picture()
    assert [m["head"] for m in picture["maps"]] == [["encoder", 3, 3], ["encoder", 1, 0]]
    assert picture["selected"] == [["encoder", 3, 3], ["encoder", 1, 0]]
    assert picture["hide_special"] is True


def test_attribution_of_a_small_model_is_there_when_the_widget_is(source):
    view = hw.AttributionView(source, TEXT)
    assert view.status == ""
    assert view.document["target"] == "positive"
    assert view.selected == heads((1, 1))
    assert "words" not in view.document


def test_attribution_that_takes_long_shows_how_far_it_is():
    source = FakeSource(delay=0.02)
    source.gate.clear()
    view = hw.AttributionView(source, TEXT, wait=0.05)
    page = Page(view)
    assert view.document["panels"] == []
    source.gate.set()
    assert view.wait(5)
    assert view.status == ""
    assert any("layer 2 of 4" in status for status in page.states("status"))
    assert view.document["target"] == "positive"


def test_what_goes_wrong_at_first_is_raised_where_the_widget_is_made(source):
    source.fail = InputError("600 tokens do not fit into 512")
    with pytest.raises(InputError, match="600 tokens"):
        hw.AttributionView(source, TEXT)
    assert source.looked[-1].closed


def test_what_goes_wrong_later_is_said_in_the_widget_and_raised_by_wait(source):
    source.gate.clear()
    view = hw.AttributionView(source, TEXT, wait=0)
    source.waiting.wait(5)
    source.fail = InputError("out of luck")
    source.gate.set()
    with pytest.raises(InputError, match="out of luck"):
        view.wait(5)
    assert view.status == "out of luck"


def test_the_sum_over_a_layer_can_be_chosen_in_the_attribution_only(source):
    view = hw.AttributionView(source, TEXT)
    Page(view).set(selected=[["encoder", 2, -1]])
    assert view.selected == (Head("encoder", 2, -1),)
    assert view.picture()["maps"][0]["head"] == ["encoder", 2, -1]
    with pytest.raises(InputError, match="does not exist"):
        hw.AttentionView(source, TEXT).selected = [("encoder", 2, -1)]


def test_both_views_side_by_side_have_both_maps(source):
    view = hw.AttributionView(source, TEXT, view="both")
    assert [m["view"] for m in view.picture()["maps"]] == ["attribution", "attention"]


@pytest.mark.parametrize("kind", [hw.AttentionView, hw.AttributionView])
def test_another_view_keeps_the_heads_and_brings_its_maps(source, kind):
    view = kind(source, TEXT, selected=[("encoder", 2, 3)])
    page = Page(view)
    for name in ("norm", "attribution", "attention"):
        page.set(view=name)
        assert view.wait(10)
        assert view.selected == heads((2, 3))
        found = view.picture()
        assert found["view"] == view.view == name
        assert [m["head"] for m in found["maps"] if m["view"] == name] == [["encoder", 2, 3]]
    assert len({m.tobytes() for m in (view.head_map(n, Head("encoder", 2, 3))["values"] for n in VIEWS)}) == 3


def test_attribution_in_the_attention_view_is_computed_when_asked_for_and_says_how_far_it_is():
    slow = FakeSource(delay=0.02)
    view = hw.AttentionView(slow, TEXT, selected=[("encoder", 2, 3)])
    page = Page(view)
    assert view.wait(10)
    assert not slow.looked[0].attributed
    with pytest.raises(InputError, match="not there yet"):
        view.head_map("attribution", Head("encoder", 2, 3))
    page.set(view="attribution")
    page.ask(id=4, ask="head_map", view="attribution", head=["encoder", 2, 3], words=False)
    assert page.answered(4)["map"]["view"] == "attribution"
    said = page.states("status")
    assert "Attribution: layer 4 of 4." in said
    assert said[-1] == ""
    assert len([line for line in said if line == "Attribution: layer 1 of 4."]) == 1, "computed once"


def test_going_back_to_attention_stops_the_attribution():
    held = FakeSource()
    view = hw.AttentionView(held, TEXT)
    assert view.wait(10)
    held.gate.clear()
    page = Page(view)
    page.set(view="attribution")
    assert held.waiting.wait(10)
    assert view.picture()["view"] == "attention", "a picture shows what is there"
    page.ask(id=9, ask="head_map", view="attribution", head=["encoder", 0, 0], words=False)
    page.set(view="attention")
    assert page.answered(9) == {"id": 9, "answer": "done"}, "given up, not failed"
    held.gate.set()
    assert view.wait(10)
    assert not held.looked[0].attributed
    assert view.status == ""


def test_a_request_that_is_faster_than_the_trait_that_goes_with_it_is_met(source):
    page = Page(hw.AttentionView(source, TEXT, view="norm"))
    page.ask(id=6, ask="head_map", view="attribution", head=["encoder", 1, 1], words=False)
    assert page.answered(6)["map"]["view"] == "attribution"


def test_an_attribution_that_fails_says_so_until_another_view_is_chosen(source):
    view = hw.AttentionView(source, TEXT)
    assert view.wait(10)
    source.fail = InputError("no gradient today")
    view.view = "attribution"
    with pytest.raises(InputError, match="no gradient today"):
        view.wait(10)
    assert view.status == "no gradient today"
    source.fail = None
    view.view = "norm"
    assert view.wait(10)
    assert view.status == ""


def test_a_view_can_be_chosen_at_once(source):
    view = hw.AttentionView(source, TEXT, view="attribution")
    assert {m["view"] for m in view.picture()["maps"]} == {"attribution"}
    with pytest.raises(InputError, match="a view is 'attention', 'norm', 'attribution', got 'smell'"):
        view.head_map("smell", Head("encoder", 0, 0))


def test_words_bring_the_first_map_of_the_view(source):
    view = hw.AttentionView(source, TEXT, view="norm")
    view.words = True
    assert view.wait(10)
    assert [m["view"] for m in view.document["maps"]] == ["norm"]


def test_closing_during_a_job_stops_it_and_frees_the_text(source):
    source.gate.clear()
    view = hw.AttributionView(source, TEXT, wait=0)
    assert source.waiting.wait(5)
    view.close()
    assert source.looked[0].closed
    assert view.comm is None
    source.gate.set()
    assert view.wait(5)
    with pytest.raises(InputError, match="is closed"):
        view.show("again")


def test_a_request_after_closing_is_harmless(source):
    view = hw.AttentionView(source, TEXT)
    page = Page(view)
    view.close()
    page.ask(id=1, ask="words", words=True)
    assert page.answers() == []


def test_state_from_a_subshell_thread_and_results_from_a_job_do_not_block_each_other(source):
    """An observer that waits for the engine while a job of the widget reports must not stop either."""
    view = hw.AttributionView(source, TEXT)
    page = Page(view)
    held, done = threading.Event(), threading.Event()

    def engine():
        with source.lock:
            held.set()
            for n in range(200):
                view._publish(status=f"step {n}")
        done.set()

    def observer(_):
        with source.lock:
            pass

    view.observe(observer, "selected")
    thread = threading.Thread(target=engine)
    thread.start()
    assert held.wait(5)
    shell = threading.Thread(target=lambda: page.set(selected=[["encoder", 0, 0]]))
    shell.start()
    shell.join(5)
    thread.join(5)
    assert done.is_set()
    assert not shell.is_alive()
    assert view.status == "step 199"
    assert view.selected == heads((0, 0))


def test_documents_sent_from_many_threads_are_never_mixed(source):
    view = hw.HeadGrid(np.zeros((2, 2)))
    page = Page(view)

    def show(k):
        for _ in range(10):
            view.show(np.full((2 + k, 3), k, dtype=float))

    threads = [threading.Thread(target=show, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for message, buffers in page.sent:
        state = message["state"]
        if "document" in state:
            (panel,) = unpack(state["document"], bytes(buffers[0]))["panels"]
            assert (panel["scores"][0]["values"] == panel["layers"] - 2).all()
    versions = page.states("version")
    assert versions == sorted(set(versions))
