"""What a click finds: documents of real (tiny) models, complete and small enough."""

import json
import time
import warnings
from pathlib import Path

import ipywidgets
import numpy as np
import pytest

from headwidgets import figures, provenance, studio
from headwidgets import widgets as hw
from headwidgets.attribution import attribute, importance
from headwidgets.doctor import LIVE
from headwidgets.errors import InputError
from headwidgets.scores import Head, HeadScores
from headwidgets.widgets import assets
from headwidgets.wire.source import Source
from tests.models.tiny import WORDS, made

TEXT = "the cat sat on the mat"


@pytest.fixture(autouse=True)
def _front_end(tmp_path, monkeypatch):
    for name in LIVE:
        (tmp_path / f"{name}.js").write_text("export default {}")
    (tmp_path / "widgets.css").write_text("/* */")
    monkeypatch.setattr(assets, "FOLDER", tmp_path)
    yield
    ipywidgets.Widget.close_all()


@pytest.fixture(scope="module")
def bert():
    return made("bert", "sequence")


def never():
    return False


def paint(widget):
    """Bytes of data and state that make the first picture, without the bundle."""
    state = widget.get_state()
    return len(state.pop("buffer")) + len(json.dumps({k: v for k, v in state.items() if k not in ("_esm", "_css")}))


def test_a_model_is_a_source(bert):
    found = studio.source(bert)
    assert isinstance(found, Source)
    assert found.kinds == ("encoder",)
    assert found.panel("encoder")["layers"] == 2


def test_grouped_queries_are_told_to_the_grid():
    panel = studio.source(made("llama", "causal")).panel("decoder")
    assert (panel["heads"], panel["kv_heads"]) == (4, 2)


@pytest.mark.parametrize(("family", "head"), [("bert", "sequence"), ("gpt2", "causal"), ("t5", "seq2seq")])
def test_documents_of_every_sort_of_model_can_be_drawn(family, head):
    model = made(family, head)
    text = (TEXT, "a dog ran") if head == "seq2seq" else TEXT
    found = studio.source(model).text(text)
    attention = found.attention(False)
    assert tuple(panel["kind"] for panel in attention["panels"]) == model.kinds
    for panel in attention["panels"]:
        thumbnails = panel["thumbnails"]
        assert thumbnails.shape[:2] == (panel["layers"], panel["heads"])
        assert thumbnails.shape[2] == thumbnails.shape[3] <= min(16, len(panel["query"]), len(panel["key"]))
    assert figures.figure(attention).startswith("<svg")
    attribution = found.attribution(False, lambda done, total: None, never)
    assert figures.figure(attribution).startswith("<svg")


def test_a_map_is_the_models_own(bert):
    found = studio.source(bert).text(TEXT)
    maps = bert.attend(TEXT)
    sent = found.head_map("attention", ("encoder", 1, 2), False)
    np.testing.assert_array_equal(sent["values"], maps[Head("encoder", 1, 2)])
    assert (sent["low"], sent["high"]) == (sent["values"].min(), sent["values"].max())
    summed = found.head_map("attention", ("encoder", 1, -1), False)["values"]
    np.testing.assert_allclose(summed, maps.maps["encoder"][1].sum(0), rtol=1e-6)
    words = found.head_map("attention", ("encoder", 1, 2), True)["values"]
    np.testing.assert_array_equal(words, bert.attend(TEXT, words=True)[Head("encoder", 1, 2)])


def test_a_norm_map_is_the_models_own_on_the_scale_of_its_layer(bert):
    found = studio.source(bert).text(TEXT)
    norms = bert.attend(TEXT).norms
    sent = found.head_map("norm", ("encoder", 1, 2), False)
    np.testing.assert_array_equal(sent["values"], norms[Head("encoder", 1, 2)])
    assert sent["top"] == norms.layer("encoder", 1).max() >= sent["high"]
    summed = found.head_map("norm", ("encoder", 1, -1), False)
    np.testing.assert_array_equal(summed["values"], norms.summed("encoder", 1))
    assert "top" not in summed
    words = found.head_map("norm", ("encoder", 1, 2), True)["values"]
    np.testing.assert_array_equal(words, bert.attend(TEXT, words=True).norms[Head("encoder", 1, 2)])


def test_an_attribution_map_says_what_was_attributed(bert):
    found = studio.source(bert).text(TEXT)
    assert not found.attributed
    found.attribution(False, lambda done, total: None, never)
    assert found.attributed
    result = attribute(bert, TEXT)
    sent = found.head_map("attribution", ("encoder", 0, 1), False)
    assert sent["about"] == f"log-odds of “{result.target}”"
    assert sent["unit"] == result.unit


@pytest.mark.parametrize(
    ("family", "head", "text", "options", "lacking"),
    [
        ("bert", "sequence", TEXT, {}, {}),
        ("t5", "seq2seq", (TEXT, "a dog ran"), {}, {}),
        ("gpt2", "causal", TEXT, {}, {}),
        ("gpt2", "causal", TEXT, {"generate": 2}, {"attribution": "of a given text"}),
        ("bert", "base", TEXT, {}, {"attribution": "no prediction that attribution can follow"}),
        ("bert", "token", TEXT, {}, {"attribution": "predicts at every token"}),
        ("bert", "masked", TEXT, {}, {"attribution": "predicts at every token"}),
        ("bert", "masked", "the [MASK] sat", {}, {}),
        ("bitnet", "causal", TEXT, {}, {"norm": "norm across heads", "attribution": "norm across heads"}),
    ],
)
def test_a_view_that_cannot_be_shown_says_why(family, head, text, options, lacking):
    view = hw.AttentionView(made(family, head), text, **options)
    found = view.document["lacking"]
    assert set(found) == set(lacking)
    for name, why in lacking.items():
        assert why in found[name]
        with pytest.raises(InputError, match=why):
            view.view = name
        assert view.view == "attention"
    for name in {"norm", "attribution"} - set(lacking):
        view.view = name
        assert view.wait(60)
        assert {m["view"] for m in view.picture()["maps"]} == {name}
        assert figures.figure(view.picture()).startswith("<svg")
    view.close()


def test_results_say_which_views_need_the_model(bert):
    shown = hw.AttributionView(attribute(bert, TEXT))
    assert set(shown.document["lacking"]) == {"norm"}
    for ask in (lambda: setattr(shown, "view", "norm"), lambda: shown.head_map("norm", Head("encoder", 0, 0))):
        with pytest.raises(InputError, match="Norms need the model"):
            ask()
    view = hw.AttentionView(bert.attend(TEXT))
    assert set(view.document["lacking"]) == {"attribution"}
    view.view = "norm"
    assert view.wait(60)
    np.testing.assert_array_equal(view.picture()["maps"][0]["values"], bert.attend(TEXT).norms["encoder", 0, 0])
    with pytest.raises(InputError, match="Attribution needs the model"):
        view.view = "attribution"


def test_attribution_adds_up_on_tokens_and_on_words(bert):
    found = studio.source(bert).text(TEXT)
    steps = []
    for words in (False, True):
        document = found.attribution(words, lambda done, total: steps.append((done, total)), never)
        (panel,) = document["panels"]
        for name in ("totals", "received", "given"):
            np.testing.assert_allclose(panel[name].sum(1), panel["change"], atol=panel["gap"].max() + 1e-4)
        (sent,) = document["maps"]
        _, layer, index = sent["head"]
        assert sent["values"].sum() == pytest.approx(panel["totals"][layer, index], abs=1e-5)
        assert abs(panel["totals"][layer, index]) == np.abs(panel["totals"]).max()
        assert len(panel["key"]) == panel["received"].shape[1]
    assert len(steps) == len(set(steps)), "words need no second computation"


def test_the_evaluators_last_estimate_is_the_models_own(bert):
    texts = [f"{word} cat sat" for word in WORDS] * 2
    labels = [i % 3 for i in range(len(texts))]
    evaluator = studio.source(bert).evaluator(texts, labels, "accuracy")
    pruned = [("encoder", 0, 1), ("encoder", 1, 3)]
    estimates = list(evaluator.estimates(pruned, "zero", never))
    assert [e["exact"] for e in estimates] == [*[False] * (len(estimates) - 1), True]
    assert len(estimates) > 1
    exact = bert.evaluate(texts, labels, pruned=[Head(*head) for head in pruned])
    assert estimates[-1] == exact.data()
    assert evaluator.known(pruned, "zero") == exact.data()
    json.dumps(estimates)


def test_what_the_slider_says_in_the_end_is_what_evaluate_says(bert):
    texts = [f"{word} cat sat" for word in WORDS]
    labels = [i % 3 for i in range(len(texts))]
    explorer = hw.PruningExplorer(bert, texts, labels, ranking=bert.heads(), points=3)
    explorer.count = 5
    assert explorer.wait(60)
    assert explorer.estimate == bert.evaluate(texts, labels, pruned=explorer.pruned).data()
    explorer.close()


@pytest.mark.parametrize("n_tokens", [128, 512])
def test_first_paint_is_small_whatever_the_length(n_tokens):
    import transformers

    config = transformers.BertConfig(
        vocab_size=60, hidden_size=48, num_hidden_layers=12, num_attention_heads=12, intermediate_size=24, num_labels=2
    )
    model = made("bert", "sequence", config=config)
    text = " ".join(WORDS[i % len(WORDS)] for i in range(n_tokens - 2))
    view = hw.AttentionView(model, text)
    assert len(view.document["panels"][0]["query"]) == n_tokens
    assert paint(view) <= 150_000
    asked = studio.source(model).text(text).head_map("attention", ("encoder", 11, 11), False)
    assert asked["values"].nbytes <= 500_000 + 100_000 * (n_tokens == 512)
    view.close()


def test_every_method_that_needs_no_more_than_texts_and_labels_is_offered(bert):
    found = studio.source(bert)
    assert {"attribution", "taylor", "ablation", "confidence", "random"} <= set(found.methods)
    assert "patching" not in found.methods
    for method in found.methods:
        scores = found.importance(method, [TEXT] * 3, [0, 1, 2], lambda done, total: None, never)
        assert len(scores.ranking()) == len(bert.heads())
        assert scores.provenance["settings"]["method"] == method


def test_the_dashboard_ranks_measures_and_links_a_real_model(bert):
    texts = [f"{word} cat sat on the mat" for word in WORDS]
    labels = [i % 3 for i in range(len(texts))]
    dashboard = hw.explore(bert, texts, labels, pruning={"rank_on": (texts[:9], labels[:9]), "points": 3})
    assert dashboard.wait(100)
    expected = importance(bert, texts[:9], labels[:9]).ranking()
    assert list(dashboard.pruning.order) == expected[::-1]
    assert figures.figure(dashboard.picture(), width=900).startswith("<svg")
    dashboard.close()


def test_a_result_needs_no_model(bert):
    maps = bert.attend(TEXT)
    view = hw.AttentionView(maps, selected=[Head("encoder", 1, 1)])
    np.testing.assert_array_equal(view.head_map("attention", Head("encoder", 1, 1))["values"], maps["encoder", 1, 1])
    view.close()
    assert maps["encoder", 0, 0].shape, "closing a view leaves the user's result alone"
    found = attribute(bert, TEXT)
    shown = hw.AttributionView(found)
    assert shown.document["value"] == pytest.approx(found.value)
    own = shown.head_map("attention", Head("encoder", 0, 0))["values"]
    np.testing.assert_array_equal(own, found.attention["encoder"][0, 0])
    np.testing.assert_allclose(own, maps["encoder", 0, 0], atol=1e-6)
    with pytest.raises(InputError, match="a result is about its own text"):
        hw.AttributionView(found, TEXT)
    with pytest.raises(InputError, match="a model needs a text"):
        hw.AttentionView(bert)


def test_target_and_output_reach_the_attribution(bert):
    view = hw.AttributionView(bert, TEXT, target=2, output="probability", wait=None)
    assert view.document["output"] == "probability"
    assert view.document["value"] == pytest.approx(attribute(bert, TEXT, target=2, output="probability").value)
    view.close()


def test_a_sample_is_seeded_and_keeps_texts_and_labels_together():
    texts, labels = [f"t{i}" for i in range(1000)], list(range(1000))
    few, answers = studio.sampled(texts, labels, 100)
    assert len(few) == 100
    assert [f"t{i}" for i in answers] == few
    assert studio.sampled(texts, labels, 100) == (few, answers)
    assert studio.sampled(texts, None, 100) == (few, None)
    assert studio.sampled(texts[:5], labels[:5], 100) == (texts[:5], labels[:5])


def test_a_ranking_measured_on_the_texts_it_is_judged_on_is_recognised(bert):
    texts = [f"{word} cat sat" for word in WORDS]
    labels = [i % 3 for i in range(len(texts))]
    values = {"encoder": np.arange(8.0).reshape(2, 4)}
    same = HeadScores(values, name="mine", provenance=provenance.made(bert, texts))
    other = HeadScores(values, name="mine", provenance=provenance.made(bert, texts[1:]))
    with pytest.warns(UserWarning, match="looks better than it is"):
        hw.PruningExplorer(bert, texts, labels, ranking=same, points=0).close()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        hw.PruningExplorer(bert, texts, labels, ranking=other, points=0).close()


@pytest.mark.timeout(120)
def test_a_notebook_run_without_a_browser_keeps_the_final_state(tmp_path):
    """`update_display_data` from a job's thread reaches the output of the cell that showed the widget."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    setup = f"""import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from headwidgets.widgets import PruningExplorer
from tests.widgets.fakes import FakeSource
source = FakeSource(); source.gate.clear()
explorer = PruningExplorer(source, ["a"] * 20, [0] * 20, rank_on=(["b"], [0]), points=3, wait=0)"""
    cells = [setup, "explorer", "source.gate.set()\nexplorer.count = 5\nexplorer.wait()"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(notebook, timeout=100, kernel_name="python3").execute()
    (output,) = notebook.cells[1].outputs
    document = output["data"]["application/vnd.headwidgets.pruning+json"]
    assert document["count"] == 5
    assert [point["count"] for point in document["points"]] == [0, 5, 12, 24]
    assert "5 of 24 heads pruned" in output["data"]["text/plain"]
    assert len(json.dumps(output, indent=1)) < 200_000


def test_a_view_refuses_several_texts_and_takes_words_in_a_list(bert):
    for view in (hw.AttentionView, hw.AttributionView):
        with pytest.raises(InputError, match="takes one text, got a list of 2"):
            view(bert, [TEXT, TEXT])
        assert (
            view(bert, [TEXT.split()], **({"wait": None} if view is hw.AttributionView else {})).picture()["text"]
            == TEXT
        )
        with pytest.raises(InputError, match="expected the path of a figure"):
            view(bert, TEXT).save(3)


def test_the_dashboard_shows_words_that_are_already_split(bert):
    texts = [TEXT.split(), ["a", "dog"]]
    dashboard = hw.explore(bert, texts, wait=None)
    dashboard.text = texts[1]
    assert dashboard.wait(20)
    assert dashboard.attention.picture()["text"] == dashboard.attribution.picture()["text"] == "a dog"
    dashboard.close()


@pytest.mark.parametrize(("head", "why"), [("token", "position="), ("masked", "MASK")])
def test_the_dashboard_of_a_model_that_predicts_at_every_token_has_a_line_instead_of_attribution(head, why):
    dashboard = hw.explore(made("bert", head), [TEXT], wait=None)
    assert dashboard.attribution is None
    assert why in dashboard.missing["attribution"]
    assert dashboard.wait(20)
    dashboard.close()


def test_a_widget_made_inside_a_block_that_holds_the_model_says_so_at_once(bert):
    begin = time.monotonic()
    with bert.gated(pruned=bert.heads()[:1]):
        with pytest.raises(InputError, match="would wait forever: the widget needs the model"):
            hw.AttributionView(bert, TEXT, wait=None)
        with pytest.raises(InputError, match="would wait forever"):
            hw.PruningExplorer(bert, [TEXT] * 4, [0, 1, 2, 0], wait=None)
    assert time.monotonic() - begin < 4
    assert hw.AttributionView(bert, TEXT, wait=None).wait(20)
