"""A grid with roles: alone, over scores, refused where they do not fit, kept in pictures and files."""

import numpy as np
import pytest

import headwidgets.widgets as hw
from headwidgets.errors import InputError
from headwidgets.figures import figure as svg
from headwidgets.figures.saved import bundle, size
from headwidgets.roles import Evidence, Role, Roles
from headwidgets.scores import Head, HeadScores

HEADS = [Head("encoder", 0, 1), Head("encoder", 1, 2)]
ROLES = Roles(
    [
        Role(
            "positional", "one offset", tuple(Evidence(head, 0.95, "offset -1", 0.9, 0.98, 30, True) for head in HEADS)
        ),
        Role("sink", "the first key", (Evidence(HEADS[0], 0.7, "70 %", 0.6, 0.8, 30, False),)),
        Role("broad", "evenly"),
    ],
    {"encoder": (2, 3)},
    n=30,
    provenance={"model": "tiny", "version": "0", "settings": {}},
)


def test_roles_alone_are_a_grid_of_the_heads():
    grid = hw.HeadGrid(ROLES)
    assert grid.shapes == {"encoder": (2, 3)}
    assert [role["name"] for role in grid.document["roles"]] == ["positional", "sink", "broad"]
    assert grid.document["panels"][0]["scores"] == []
    assert grid.document["title"] == "Roles of the heads of tiny"
    assert "roles: positional 2, sink 1, broad 0;" in grid.summary()
    drawn = svg(grid.picture())
    for part in ("positional", "2 heads", "one offset", "No head: broad.", "may do so by luck"):
        assert part in drawn


def test_scores_and_roles_share_the_cells():
    scores = HeadScores({"encoder": np.ones((2, 3))}, name="importance")
    grid = hw.HeadGrid(scores, roles=ROLES)
    assert grid.document["panels"][0]["scores"][0]["name"] == "importance"
    assert len(grid.document["roles"]) == 3
    grid.show(2 * np.ones((2, 3)), name="other")
    assert len(grid.document["roles"]) == 3
    grid.show(np.ones((2, 3)), roles=ROLES.only("sink"))
    assert [role["name"] for role in grid.document["roles"]] == ["sink"]
    grid.show(np.ones((2, 3)), roles=None)
    assert "roles" not in grid.document
    assert "roles" not in hw.HeadGrid(scores).document


def test_a_model_and_roles_are_a_grid_to_choose_in(source):
    own = Roles.of({"mine": [Head(source.kinds[0], 3, 5)]}, {source.kinds[0]: source.shape(source.kinds[0])})
    grid = hw.HeadGrid(source, roles=own)
    assert grid.document["roles"][0]["heads"][0]["head"] == [source.kinds[0], 3, 5]


def test_roles_that_do_not_fit_are_refused_in_a_sentence():
    with pytest.raises(InputError, match="encoder: 2 layers of 4 heads"):
        hw.HeadGrid(np.ones((2, 4)), roles=ROLES)
    with pytest.raises(InputError, match="roles of decoder attention, got roles of encoder"):
        hw.HeadGrid({"decoder": np.ones((2, 3))}, roles=ROLES)
    with pytest.raises(InputError, match=r"Roles from hw\.probing\.roles"):
        hw.HeadGrid(np.ones((2, 3)), roles={"positional": HEADS})
    with pytest.raises(InputError, match="roles twice"):
        hw.HeadGrid(ROLES, roles=ROLES)


def test_pictures_and_pages_have_them(tmp_path):
    grid = hw.HeadGrid(ROLES, selected=HEADS[:1])
    for ending in ("svg", "png", "html"):
        assert grid.save(tmp_path / f"roles.{ending}").stat().st_size > 1000
    assert "positional" in (tmp_path / "roles.svg").read_text("utf-8")


def test_a_large_model_with_many_roles_stays_small():
    shapes = {"decoder": (48, 64)}
    heads = [Head("decoder", layer, index) for layer in range(48) for index in range(0, 64, 4)]
    many = [
        Role(name, "a rule", tuple(Evidence(h, 0.9, "90 % of it", 0.8, 0.95, 500, True) for h in heads))
        for name in "abc"
    ]
    few = [Role(role.name, role.rule, role.evidence[:200]) for role in many]
    saved = bundle(hw.HeadGrid(Roles(few, shapes)).picture(), "roles")
    kept = saved["application/vnd.headwidgets.grid+json"]
    assert size(saved) < 200_000
    assert [len(role["heads"]) for role in kept["roles"]] == [200] * 3
    assert kept["roles"][0]["heads"][0] == {"head": ["decoder", 0, 0], "value": 0.9, "about": "", "certain": True}
    assert kept["title"] == "(evidence left out of the saved notebook)"
    drawn = svg(hw.HeadGrid(Roles(many, shapes)).picture())
    assert len(drawn) < 1_500_000
    assert drawn.count("<rect") < 100
