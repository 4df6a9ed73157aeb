"""What `Roles` says, keeps and refuses."""

import json
import math

import numpy as np
import pytest

import headwidgets as hw
from headwidgets.errors import InputError
from headwidgets.roles import Evidence, Role, Roles

A, B, C = hw.Head("encoder", 0, 1), hw.Head("encoder", 1, 0), hw.Head("encoder", 1, 1)


def some() -> Roles:
    return Roles(
        [
            Role(
                "positional",
                "at least 90 % of the maxima at one offset",
                (
                    Evidence(B, 0.97, "offset -1 in 97 % of tokens", 0.95, 0.98, 40, True),
                    Evidence(A, 0.91, "offset +1 in 91 % of tokens", 0.85, 0.94, 40, False),
                ),
                "of tokens",
            ),
            Role("separator", "more than 60 % to separators", (Evidence(A, 0.7, "70 %", 0.6, 0.8, 40, True),)),
            Role("broad", "nearly even", (), measured=3),
        ],
        {"encoder": (2, 2)},
        n=40,
        notes=["one text was too long"],
        fingerprint="f",
        provenance={"model": "tiny", "version": "0", "settings": {"seed": 3}},
    )


def test_it_answers_by_role_and_by_head():
    roles = some()
    assert roles.heads("positional") == [B, A]
    assert roles[A] == ("positional", "separator")
    assert roles[C] == ()
    assert roles.heads() == [A, B]
    assert roles.without == [hw.Head("encoder", 0, 0), C]
    assert roles.evidence(A)["separator"].value == 0.7
    assert "broad" in roles
    assert len(roles) == 3
    assert "positional 2, separator 1, broad 0; 2 of 4 heads have none" in repr(roles)
    assert roles.certain().heads("positional") == [B]
    assert roles.only("broad", "separator").names == ("broad", "separator")
    left = roles.after([A])
    assert left.heads("separator") == []
    assert left[A] == ()
    assert left.heads("positional") == [B]
    with pytest.raises(InputError, match="no role 'rare'; there are positional, separator, broad"):
        roles["rare"]
    with pytest.raises(InputError, match="encoder 2 x 2"):
        roles[hw.Head("encoder", 2, 0)]
    with pytest.raises(InputError, match="encoder 2 x 2"):
        roles.after([hw.Head("decoder", 0, 0)])


def test_its_table_has_a_row_per_head_and_role():
    frame = some().to_frame()
    assert list(frame.columns) == ["role", "kind", "layer", "head", "value", "low", "high", "n", "certain", "about"]
    assert frame["role"].tolist() == ["positional", "positional", "separator"]
    assert frame.attrs["rules"]["broad"] == "nearly even"
    assert frame.attrs["notes"] == ["one text was too long"]


def test_a_file_gives_the_same_back(tmp_path):
    roles = some().with_role("mine", [C])
    read = hw.read(roles.save(tmp_path / "roles"))
    assert read.roles[:3] == roles.roles[:3]
    assert read.shapes == roles.shapes
    assert (read.n, read.notes, read.fingerprint, read.provenance) == (40, roles.notes, "f", roles.provenance)
    (mine,) = read["mine"].evidence
    assert math.isnan(mine.value)
    assert mine.certain is None
    raw = json.loads((tmp_path / "roles.heads").read_text("utf-8"))
    raw["roles"][0]["heads"][0]["head"][1] = 7
    (tmp_path / "bad.heads").write_text(json.dumps(raw), "utf-8")
    with pytest.raises(InputError, match=r"bad\.heads is damaged: there is no head"):
        hw.read(tmp_path / "bad.heads")


def test_roles_of_ones_own():
    scores = hw.HeadScores({"encoder": np.array([[0.1, 0.9], [0.5, np.nan]])}, name="loudness", unit="dB", n=7)
    roles = some().with_role("loud", scores, at_least=0.5)
    assert roles.heads("loud") == [A, B]
    assert roles["loud"].rule == "loudness of at least 0.5 dB"
    assert roles["loud"].evidence[0].about == "loudness 0.9"
    with pytest.raises(InputError, match="at_least"):
        some().with_role("loud", scores)
    with pytest.raises(InputError, match="two roles are called 'broad'"):
        some().with_role("broad", [A])
    with pytest.raises(InputError, match="twice"):
        some().with_role("twin", [A, A])
    given = Roles.of({"figure 1": [("encoder", 0, 1)]}, some())
    assert given[A] == ("figure 1",)
    with pytest.raises(InputError, match="expected a head such as"):
        Roles.of({"x": ["L0H1"]}, some())
    with pytest.raises(InputError, match="layers and heads by kind"):
        Roles.of({"x": [A]}, 3)


def test_it_names_the_papers_of_its_roles():
    cited = some().cite()
    assert "voita2019" in cited
    assert "clark2019" in cited
    assert some().with_role("mine", [A]).only("mine").cite() == ""
