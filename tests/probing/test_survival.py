"""Which roles are left: counts, random orders and the test of a ranking against enumeration."""

from itertools import combinations, permutations

import numpy as np
import pytest

import headwidgets as hw
from headwidgets.errors import InputError
from headwidgets.probing import roles, roles_after
from headwidgets.probing.survival import expected, standing
from headwidgets.roles import Roles
from tests.models.tiny import made
from tests.probing.test_roles import put, texts

HEADS = [hw.Head("encoder", layer, index) for layer in range(2) for index in range(4)]


@pytest.mark.parametrize(("total", "own", "pruned"), [(8, 3, 4), (8, 1, 6), (9, 4, 0), (9, 4, 9), (10, 5, 7)])
def test_random_orders_are_counted_exactly(total, own, pruned):
    left = sorted(len(set(range(own)) & set(kept)) for kept in combinations(range(total), total - pruned))
    low = next(v for v in range(own + 1) if np.mean([x <= v for x in left]) > 0.025 - 1e-9)
    high = next(v for v in range(own + 1) if np.mean([x <= v for x in left]) >= 0.975 - 1e-9)
    assert expected(total, own, pruned) == (low, high)


def test_a_ranking_is_tested_against_all_orders():
    found = Roles.of({"a": HEADS[5:], "b": HEADS[:1], "all": HEADS}, {"encoder": (2, 4)})
    first, second = standing(found, HEADS)  # HEADS[0] is pruned first
    assert [s.role for s in (first, second)] == ["a", "b"]
    assert (first.above, second.above) == (1.0, 0.0)
    every = list(permutations(range(6)))
    six = standing(Roles.of({"a": HEADS[3:6]}, {"encoder": (2, 4)}), HEADS[:6])[0]
    above = [np.mean([order[i] > order[j] for i in range(3) for j in range(3, 6)]) for order in every]
    assert six.p == pytest.approx(np.mean([abs(x - 0.5) >= 0.5 for x in above]), abs=0.01)
    assert first.p == pytest.approx(2 * 2 / 56, abs=0.01)  # the largest or smallest 3 of 8, for two roles (Holm)
    assert second.p == pytest.approx(2 / 8, abs=0.01)


def test_roles_are_counted_and_measured_again():
    model = made("bert", "masked")
    ranking = HEADS[::-1]  # HEADS[0] is pruned first
    with model.intervene(put(HEADS[0], lambda q, k, n: k == min(n - 1, q + 1)), put(HEADS[7], lambda q, k, n: k == 0)):
        steps = []
        found = roles_after(
            model, ranking, texts(), counts=[0, 1, 4], look_for=["positional", "sink"],
            on_progress=lambda done, total: steps.append(done / total),
        )  # fmt: skip
        with model.gated(pruned=HEADS[:4]):
            again = roles(model, texts(), look_for=["positional", "sink"])
    assert found.counts == (0, 1, 4)
    assert [left.heads("positional") for left in found.left] == [HEADS[:1], [], []]
    assert all(HEADS[7] in left.heads("sink") for left in found.left)
    assert found.again[2].heads("sink") == [head for head in again.heads("sink") if head not in HEADS[:4]]
    assert found.again[0].heads("positional") == HEADS[:1]
    assert steps == sorted(steps)
    assert steps[-1] == 1
    frame = found.to_frame().set_index(["pruned", "role"])
    assert frame.loc[(1, "positional"), ["of", "left", "low", "high", "again", "moved"]].tolist() == [1, 0, 0, 1, 0, 0]
    document = found.document()
    curve = next(c for c in document["curves"] if c["name"] == "positional, 1 head")
    assert [p["estimate"]["value"] for p in curve["points"]] == [1, 0, 0, 0]
    assert document["curves"][-1]["control"]
    assert [p["estimate"]["value"] for p in document["curves"][-1]["points"]] == [1, 0]
    assert hw.CurveView(found).picture()["document"] == "curves"


def test_what_was_measured_before_is_taken_and_nothing_more_is_measured():
    model = made("bert", "masked")
    before = Roles.of({"mine": HEADS[:2]}, model)
    scores = hw.HeadScores({"encoder": np.arange(8.0).reshape(2, 4)}, name="rank")
    found = roles_after(model, scores, before=before, again=False)
    assert found.counts == (0, 2, 4, 6, 7)
    assert found.order == tuple(HEADS)
    assert [len(left["mine"]) for left in found.left] == [2, 0, 0, 0, 0]
    assert found.again == ()
    assert found.to_frame()["again"].isna().all()
    assert "mine 0.00" in repr(found)
    with pytest.raises(InputError, match="counts of heads from 0 to 8"):
        roles_after(model, scores, before=before, again=False, counts=[9])
    with pytest.raises(InputError, match="most important first"):
        roles_after(model, "rank", before=before)


def test_heads_of_the_last_layer_are_pruned_and_measured_again():
    model = made("bert")
    ranking = sorted(model.heads(), key=lambda head: head.layer)  # the last layer is pruned first
    found = roles_after(model, ranking, texts(8), counts=[0, 3], look_for=["positional", "rare-word", "broad"], least=1)
    assert len(found.again) == 2
    with model.gated(pruned=ranking[::-1][:3]):
        alone = roles(model, texts(8), look_for=["positional", "rare-word", "broad"], least=1)
    gone = set(ranking[::-1][:3])
    assert found.again[1].heads("broad") == [head for head in alone.heads("broad") if head not in gone]
