"""Checks of an attribution: each of their numbers against another way to get it, and a wrong attribution that fails."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

import headwidgets as hw
from headwidgets import load
from headwidgets.attribution import attribute, faithfulness, targets
from headwidgets.attribution.faithfulness.checks import totals_of, within
from headwidgets.attribution.faithfulness.matching import codes, links_of, matched
from headwidgets.attribution.faithfulness.replay import Replay, example_of, goal_of
from headwidgets.attribution.faithfulness.twins import randomised
from headwidgets.attribution.integration.passes import held
from headwidgets.errors import Cancelled, InputError
from headwidgets.models.interventions import Cut
from headwidgets.scores import Head
from headwidgets.statistics import spearman
from tests.attribution.test_paths import LONG, PAIR, TEXT, calm

FAMILIES = [("bert", "sequence", LONG), ("llama", "causal", TEXT), ("bart", "seq2seq", PAIR)]


def output_of(model, found, example):
    """F on the model as it is now, without `Replay`."""
    with model.visit(), torch.no_grad():
        outputs = model.forward(next(model.batches([example])))
    logits, ids = outputs.logits[0].double(), list(found.target_ids)
    if found.output == "log-probability":
        return float(logits.log_softmax(-1)[list(found.positions), ids].sum())
    row = logits[found.positions[0]] if found.positions else logits
    if found.output == "logit":
        return float(row[ids[0]] - row.mean())
    return float(row[ids[0]] - torch.cat([row[: ids[0]], row[ids[0] + 1 :]]).logsumexp(0))


@pytest.fixture(scope="module", params=FAMILIES, ids=lambda case: case[0])
def case(request):
    family, head, text = request.param
    model = calm(family, head)
    return model, attribute(model, text, tolerance=1e-2)


@pytest.fixture(scope="module")
def bert():
    model = calm("bert", "sequence")
    return model, attribute(model, LONG)


# ---- replays ------------------------------------------------------------------------------------------------------


def test_links_cut_in_a_batch_are_those_that_an_intervention_cuts(case):
    model, found = case
    example = example_of(model, found)
    links = links_of(found)
    generator = np.random.default_rng(0)
    rows = [generator.choice(len(links), 5, replace=False) for _ in range(3)]
    expected = [output_of(model, found, example)]
    for row in rows:
        changes = [
            Cut(
                [(links.query[i], links.key[i])],
                heads=[Head(found.kinds[links.kind[i]], links.layer[i], links.head[i])],
            )
            for i in row
        ]
        with model.intervene(*changes):
            expected.append(output_of(model, found, example))
    chosen, row = np.concatenate(rows), np.repeat([1, 2, 3], 5)
    cuts = []
    for site in model.sites:
        own = (links.kind[chosen] == found.kinds.index(site.kind)) & (links.layer[chosen] == site.layer)
        at = chosen[own]
        cuts.append((site, row[own], links.head[at], links.query[at], links.key[at]))
    with held(model):
        replay = Replay(model, example, goal_of(found), targets.task_of(model), found.output, None)
        own = replay.without_links(cuts, 4)
    np.testing.assert_allclose(own, expected, atol=2e-5 * max(1, np.abs(expected).max()))
    assert np.ptp(own) > 1e-4


def test_heads_closed_in_a_batch_are_those_that_gates_close(case):
    model, found = case
    example = example_of(model, found)
    with held(model):
        replay = Replay(model, example, goal_of(found), targets.task_of(model), found.output, None)
        own = replay.without_heads(model.sites)
    assert own[-1] == pytest.approx(found.value, abs=1e-4)
    for head, value in zip(model.heads(), own[:-1], strict=True):
        with model.gated([head]):
            assert value == pytest.approx(output_of(model, found, example), abs=2e-5 * max(1, abs(value)))


def test_replays_are_halved_when_memory_runs_out(bert, monkeypatch):
    model, found = bert
    forward = model.model.bert.forward

    def small(ids, *args, **keywords):
        if len(ids) > 8:
            raise torch.OutOfMemoryError("out of memory")
        return forward(ids, *args, **keywords)

    example = example_of(model, found)
    with held(model):
        replay = Replay(model, example, goal_of(found), "classes", found.output, None)
        expected = replay.without_heads(model.sites)
        monkeypatch.setattr(model.model.bert, "forward", small)
        np.testing.assert_allclose(replay.without_heads(model.sites), expected, atol=1e-5)
    assert any("copies of the text" in note for note in replay.notes)


# ---- matched links ------------------------------------------------------------------------------------------------


def test_drawn_links_are_others_and_alike(bert):
    links = links_of(bert[1])
    assert np.all(links.query != links.key)
    assert np.all(links.weight > 0)
    assert not np.any((links.layer == 1) & (links.query != 0)), "the last layer is read at one position"
    coded = codes(links)
    generator = np.random.default_rng(0)
    chosen = np.argsort(-links.value)[: len(links) // 20]
    drawn, counts = matched(coded, chosen, generator)
    assert len(drawn) == len(chosen) == len(set(drawn.tolist())) == counts.sum()
    assert not set(drawn.tolist()) & set(chosen.tolist())
    strict = drawn[: counts[0]]
    there, wanted = np.bincount(coded[0][strict]), np.bincount(coded[0][chosen])
    assert np.all(there <= wanted[: len(there)]), "no link stands for one that is not like it"
    assert links.weight[drawn].mean() == pytest.approx(links.weight[chosen].mean(), rel=0.25)
    others = [matched(coded, chosen, np.random.default_rng(seed))[0] for seed in (0, 0, 1)]
    np.testing.assert_array_equal(others[0], others[1])
    assert not np.array_equal(others[0], others[2])


def test_a_coarser_level_steps_in_where_the_strict_one_has_none_left():
    strict, coarse = np.array([0, 0, 1, 1, 2]), np.array([0, 0, 0, 0, 1])
    drawn, counts = matched([strict, coarse, np.zeros(5, dtype=int)], np.array([0, 1]), np.random.default_rng(0))
    assert sorted(drawn.tolist()) == [2, 3]
    assert counts.tolist() == [0, 2, 0]
    drawn, counts = matched([strict, coarse], np.array([0, 1, 2]), np.random.default_rng(0))
    assert drawn.tolist() == [3], "there is no other link to draw"


# ---- random weights -----------------------------------------------------------------------------------------------


def test_random_weights_keep_their_spread_and_leave_the_model_alone(bert):
    model, _ = bert
    before = copy.deepcopy(model.model.state_dict())
    with randomised(model, "all weights", 1) as twin:
        for name, parameter in model.model.named_parameters():
            assert torch.equal(parameter, before[name])
            other = twin.model.get_parameter(name)
            assert not torch.equal(other, parameter), name
            if parameter.numel() > 500:
                assert float(other.detach().std()) == pytest.approx(float(parameter.detach().std()), rel=0.2)
    name = "bert.encoder.layer.0.output.dense.weight"
    with randomised(model, "all weights", 1) as again, randomised(model, "all weights", 2) as another:
        assert torch.equal(again.model.get_parameter(name), twin.model.get_parameter(name))
        assert not torch.equal(another.model.get_parameter(name), twin.model.get_parameter(name))


@pytest.mark.parametrize(("family", "head", "top"), [
    ("bert", "sequence", ("bert.encoder.layer.1.", "classifier.")),
    ("llama", "causal", ("model.layers.1.", "lm_head.")),
    ("t5", "seq2seq", ("decoder.block.1.",)),
])  # fmt: skip
def test_the_top_layer_alone(family, head, top):
    model = calm(family, head)
    with randomised(model, "top layer", 0) as twin:
        changed = [n for n, p in model.model.named_parameters() if not torch.equal(p, twin.model.get_parameter(n))]
    assert changed
    assert all(name.startswith(top) for name in changed)


# ---- the report ---------------------------------------------------------------------------------------------------


def test_the_numbers_are_those_of_their_definitions(bert):
    model, found = bert
    report = faithfulness(model, found, shares=(0.05,), twins=0, seed=3)
    example = example_of(model, found)
    links = links_of(found)
    count = round(0.05 * len(links))
    top = np.argsort(-links.value)[:count]
    changes = [
        Cut([(links.query[i], links.key[i])], heads=[Head("encoder", links.layer[i], links.head[i])]) for i in top
    ]
    with model.intervene(*changes):
        cut = output_of(model, found, example)
    [deletion] = report.deletions
    assert deletion.links == count
    assert deletion.change.value == pytest.approx(cut - found.value, abs=1e-4)
    assert deletion.weight == pytest.approx(float(links.weight[top].mean()))
    assert deletion.random.low <= deletion.random.value <= deletion.random.high
    assert deletion.difference.value == pytest.approx(deletion.change.value - deletion.random.value)
    effects = []
    for head in model.heads():
        with model.gated([head]):
            effects.append(found.value - output_of(model, found, example))
    totals = totals_of(found, model.sites)
    assert report.agreement.rho.value == pytest.approx(spearman(totals, np.array(effects)), abs=1e-6)
    assert report.agreement.rho.low < report.agreement.rho.value < report.agreement.rho.high
    assert (report.n, report.heads, report.seed) == (1, 8, 3)
    assert report.provenance["settings"]["draws"] == 20
    same = faithfulness(model, found, shares=(0.05,), twins=0, seed=3)
    assert same.text == report.text
    other = faithfulness(model, found, shares=(0.05,), twins=0, seed=4)
    assert other.deletions[0].random != deletion.random
    assert other.deletions[0].change.value == deletion.change.value


def test_ranks_within_layers_do_not_see_the_layers():
    layers = np.repeat([0, 1], 4)
    totals = np.array([1.0, 2, 3, 4, 101, 102, 103, 104])
    effects = np.array([4.0, 3, 2, 1, 104, 103, 102, 101])
    assert spearman(totals, effects) > 0
    assert within(totals, effects, layers) == pytest.approx(-1)
    assert np.isnan(within(np.ones(8), effects, layers))


def test_a_wrong_attribution_fails_the_checks(bert):
    model, found = bert
    wrong = replace(
        found,
        kept_maps={kind: -maps for kind, maps in found.maps.items()},
        totals={kind: -totals for kind, totals in found.totals.items()},
    )
    right, fails = (faithfulness(model, one, twins=0) for one in (found, wrong))
    assert right.deletions[0].difference.high < 0 < fails.deletions[0].difference.low
    assert right.deletions[0].below == 0
    assert fails.deletions[0].below == fails.deletions[0].draws
    assert fails.agreement.rho.value == pytest.approx(-right.agreement.rho.value)


def test_several_texts(bert):
    model, _ = bert
    texts = ["the cat sat on the mat", "a dog ran and she saw it", "he said that the film was not very good"]
    found = attribute(model, texts, tolerance=1e-2)
    seen = []
    report = faithfulness(model, found, twins=1, on_progress=lambda done, total: seen.append((done, total)))
    assert seen == [(i, 8) for i in range(1, 9)]
    single = [faithfulness(model, one, twins=0) for one in found]
    assert report.n == 3
    assert report.agreement.over == "texts"
    assert report.agreement.rho.value == pytest.approx(np.mean([one.agreement.rho.value for one in single]))
    for at, deletion in enumerate(report.deletions):
        own = [one.deletions[at].change.value for one in single]
        assert deletion.change.value == pytest.approx(np.mean(own), abs=1e-5)
    assert [one.name for one in report.controls] == ["all weights", "top layer"]
    assert all(-1 <= one.rho.value <= 1 for one in report.controls)
    assert len(report.to_frame()) == 3 * 3 + 2 + 2 * 3
    assert set(report.to_frame()["n"]) == {3}


def test_the_report_says_integration_error_and_what_it_cannot_tell(case):
    model, found = case
    text = str(faithfulness(model, found, shares=0.05, twins=1))
    assert "Integration error: at most" in text
    assert "not that the explanation is" in text
    assert "accura" not in text.lower()
    assert "One text is an anecdote" in text
    assert "Totals of different layers are different quantities" in text
    assert "cannot tell which" in text
    assert "agreement should vanish" in text
    assert "nan" not in text.lower().replace("kind", "")


def test_a_saved_attribution_is_checked_too(bert, tmp_path):
    model, found = bert
    read = hw.read(found.save(tmp_path / "a"))
    assert faithfulness(model, read, twins=0).text == faithfulness(model, found, twins=0).text


def test_what_does_not_fit(bert):
    model, found = bert
    other = calm("bert", "sequence")
    with torch.no_grad():
        other.model.classifier.weight.add_(1)
    for arguments, sentence in (
        ((model, found.words()), "over words"),
        ((other, found), "made with another model"),
        ((model, []), "at least one attribution"),
        ((model, ["a"]), "expected attributions"),
        ((model, attribute(model, TEXT, keep="heads")), "keep='maps'"),
        ((model, [found, attribute(model, TEXT, output="probability")]), "one output"),
        ((model, found, 0.7), "above 0 and up to 0.5"),
        ((model, found, 0.1, 5), "draws= as a whole number from 20"),
        ((model, found, 0.1, 20, -1), "twins="),
    ):
        with pytest.raises(InputError, match=sentence):
            faithfulness(*arguments)
    with pytest.raises(Cancelled):
        faithfulness(model, found, cancel=lambda: True)


def test_the_model_comes_back_as_it_was(bert):
    model, found = bert
    model.model.train()
    before = {name: p.requires_grad for name, p in model.model.named_parameters()}
    expected = faithfulness(model, found, twins=1).text
    assert model.model.training
    assert {name: p.requires_grad for name, p in model.model.named_parameters()} == before
    assert not any("forward" in module.__dict__ for module in model.model.modules())
    model.model.eval()
    assert faithfulness(model, found, twins=1).text == expected


@pytest.mark.data
def test_on_a_real_model(data_folder):
    """Strong links matter, links like them do not; heads rank as ablation ranks them, unless weights are random."""
    model = load(str(data_folder / "models" / "sst2"))
    lines = (data_folder / "data" / "sst2" / "stsa.binary.dev").read_text("utf-8").splitlines()
    texts = sorted((line.split(" ", 1)[1] for line in lines), key=len)[100:200:50]
    report = faithfulness(model, attribute(model, texts, tolerance=1e-2), shares=0.05, twins=1)
    assert report.deletions[0].difference.value < -1
    assert report.deletions[0].below == 0
    assert report.agreement.rho.value > 0.7
    assert abs(report.controls[0].rho.value) < 0.35
