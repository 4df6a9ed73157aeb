"""Closing some heads against closing as many others: equal to plain evaluations, matched, and sure of itself."""

import numpy as np
import pytest

import headwidgets as hw
from headwidgets import Cancelled, Head, InputError
from tests.models.test_evaluate import LABELS, bert  # noqa: F401 - a fixture
from tests.models.test_evaluate import TEXTS as ALL

TEXTS = ALL[:12]


@pytest.fixture(scope="module")
def model(bert):  # noqa: F811
    return bert


@pytest.fixture(scope="module")
def labels():
    return LABELS[:12]


def test_it_agrees_with_plain_evaluations(model, labels):
    heads = [Head("encoder", 0, 0), Head("encoder", 1, 1)]
    found = hw.pruning.knockout(model, heads, TEXTS, labels, draws=4, seed=3)
    assert found.full.value == model.evaluate(TEXTS, labels).value
    assert found.without.value == model.evaluate(TEXTS, labels, pruned=heads).value
    changes = []
    for own, estimate in zip(found.control_heads, found.controls, strict=True):
        assert estimate.value == model.evaluate(TEXTS, labels, pruned=own).value
        assert not set(own) & set(heads)
        assert sorted(h.layer for h in own) == [0, 1]
        changes.append(estimate.value - found.full.value)
    assert found.band.value == pytest.approx(np.mean(changes))
    lost = found.without.value - found.full.value
    assert found.difference.value == pytest.approx(lost - np.mean(changes))
    assert found.p == (1 + sum(c <= lost + 1e-12 for c in changes)) / 5
    assert "4 draws" in found.notes[-1]


def test_a_loss_is_worse_when_it_grows(model, labels):
    found = hw.pruning.knockout(model, [Head("encoder", 0, 0)], TEXTS, labels, draws=3, metric="loss")
    lost = found.without.value - found.full.value
    assert found.p == (1 + sum(e.value - found.full.value >= lost - 1e-12 for e in found.controls)) / 4


def test_a_control_that_comes_again_does_not_count_again(model, labels):
    """One head of four: three others, so that nothing can be sure of more than 1 in 4."""
    others = [h for h in model.heads() if h.layer == 0][1:]
    found = hw.pruning.knockout(model, model.heads()[:1], TEXTS, labels, draws=20)
    assert sorted(found.control_heads) == [[h] for h in others]
    assert found.p >= 1 / (len(others) + 1)
    assert f"only {len(others)} other sets" in " ".join(found.notes)
    all_sets = hw.pruning.knockout(model, model.heads()[:2], TEXTS, labels, draws=12, match="model")
    assert len({tuple(own) for own in all_sets.control_heads}) == 12


def test_draws_are_matched_where_they_can_be(model, labels):
    heads = model.heads()[:3]  # of the first layer, which has one or no other head left
    left = [h for h in model.heads() if h.layer == 0 and h not in heads]
    found = hw.pruning.knockout(model, heads, TEXTS, labels, draws=2)
    assert found.control_heads
    for own in found.control_heads:
        assert len(set(own)) == 3
        assert {h for h in own if h.layer == 0} == set(left)
    assert any("come from another layer" in note for note in found.notes)


def test_excluded_heads_are_never_drawn(model, labels):
    kept_out = [h for h in model.heads() if h.layer == 1]
    found = hw.pruning.knockout(model, model.heads()[:1], TEXTS, labels, draws=5, match="model", exclude=kept_out)
    assert all(h.layer != 1 for own in found.control_heads for h in own)


def test_the_same_seed_draws_the_same(model, labels):
    one, two, other = (
        hw.pruning.knockout(model, model.heads()[:2], TEXTS, labels, draws=6, match="model", seed=seed)
        for seed in (1, 1, 2)
    )
    assert one.control_heads == two.control_heads
    assert one.control_heads != other.control_heads


def test_the_table_has_the_heads_first(model, labels):
    frame = hw.pruning.knockout(model, model.heads()[:1], TEXTS, labels, draws=2).to_frame()
    assert frame["draw"].tolist() == ["the heads", 1, 2]
    assert frame["heads"][0] == "L0H0"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"heads": []}, "at least one head"),
        ({"heads": [Head("encoder", 9, 0)]}, "layer 9"),
        ({"draws": 0}, "at least 1"),
        ({"match": "kind"}, "'layer' or 'model'"),
        ({"seed": -1}, "seed"),
        ({"heads": "all"}, "too few|at least as many|expected"),
    ],
)
def test_bad_input_gets_a_sentence(model, labels, options, message):
    arguments = {"heads": model.heads()[:1], "draws": 2, **options}
    with pytest.raises(InputError, match=message):
        hw.pruning.knockout(model, arguments.pop("heads"), TEXTS, labels, **arguments)


def test_all_heads_leave_nothing_to_draw(model, labels):
    with pytest.raises(InputError, match="at least as many other heads"):
        hw.pruning.knockout(model, model.heads(), TEXTS, labels)


def test_it_stops_when_told(model, labels):
    with pytest.raises(Cancelled):
        hw.pruning.knockout(model, model.heads()[:1], TEXTS, labels, cancel=lambda: True)
