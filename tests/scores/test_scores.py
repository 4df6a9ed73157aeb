"""Scores of heads: order, checks, and files that come back as they went."""

import json
import subprocess
import sys

import numpy as np
import pytest

import headwidgets as hw
from headwidgets import Head, HeadScores, InputError


def scores(**options):
    values = {"decoder": [[1.0, np.nan], [3.0, 2.0]], "encoder": [[2.0, 3.0]]}
    return HeadScores(values, name="importance", unit="nats", n=7, **options)


def test_a_head_prints_as_layer_and_number():
    assert str(Head("encoder", 5, 3)) == "L5H3"
    assert Head("encoder", 5, 3).label(with_kind=True) == "encoder.L5H3"


def test_ranking_is_by_value_then_kind_layer_and_index_with_what_was_not_measured_last():
    assert scores().ranking() == [
        Head("encoder", 0, 1),
        Head("decoder", 1, 0),
        Head("encoder", 0, 0),
        Head("decoder", 1, 1),
        Head("decoder", 0, 0),
        Head("decoder", 0, 1),
    ]


def test_ranking_of_one_kind():
    assert scores().ranking("encoder") == [Head("encoder", 0, 1), Head("encoder", 0, 0)]
    with pytest.raises(InputError, match=r"encoder, decoder.*'cross'"):
        scores().ranking("cross")


def test_values_are_float64_copies_by_kind_in_order():
    given = np.ones((2, 3), dtype=np.float32)
    made = HeadScores({"encoder": given}, name="x")
    given[:] = 0
    assert made.values["encoder"].dtype == np.float64
    assert made.values["encoder"].sum() == 6
    assert list(scores().values) == ["encoder", "decoder"]
    assert made.stderr is None


@pytest.mark.parametrize(
    ("values", "stderr", "message"),
    [
        ({}, None, "kind: array"),
        ({"enc": [[1.0]]}, None, "'enc'"),
        ({"encoder": [1.0, 2.0]}, None, r"\[layers, heads\], got \[2\]"),
        ({"encoder": [["a"]]}, None, "numbers"),
        ({"encoder": [[1.0, 2.0]]}, {"encoder": [[1.0]]}, "standard errors"),
        ({"encoder": [[1.0]]}, {"decoder": [[1.0]]}, "standard errors"),
        (np.ones((2, 2)), None, "kind: array"),
    ],
)
def test_what_does_not_fit_is_said(values, stderr, message):
    with pytest.raises(InputError, match=message):
        HeadScores(values, name="x", stderr=stderr)


def test_one_score_by_its_head():
    assert scores()[Head("decoder", 1, 1)] == 2.0
    for wrong in (Head("decoder", 2, 0), Head("cross", 0, 0), Head("decoder", 0, -1)):
        with pytest.raises(InputError, match="there is no score"):
            scores()[wrong]


def test_the_ablation_is_named():
    assert scores().ablation is None
    assert scores(ablation="mean").ablation == "mean"
    made = {"model": "m", "version": "1", "settings": {"seed": 3}}
    both = scores(ablation="zero", provenance=made)
    assert both.provenance["settings"] == {"seed": 3, "ablation": "zero"}
    assert "ablation" not in made["settings"]


def test_a_frame_keeps_how_it_was_made():
    frame = scores(ablation="zero", fingerprint="f" * 32).to_frame()
    assert list(frame.columns) == ["kind", "layer", "head", "value", "stderr"]
    assert len(frame) == 6
    assert frame["value"].isna().sum() == 1
    assert frame.attrs["provenance"]["settings"]["ablation"] == "zero"
    assert frame.attrs["n"] == 7


def test_without_pandas_a_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="pip install pandas"):
        scores().to_frame()


def test_panels_are_what_the_wire_wants():
    panel = scores(stderr={"encoder": [[0.1, 0.2]], "decoder": [[0, 0], [0, 0]]}).panels({"decoder": 1})[1]
    assert (panel["kind"], panel["layers"], panel["heads"], panel["kv_heads"]) == ("decoder", 2, 2, 1)
    layer = panel["scores"][0]
    assert layer["values"].dtype == layer["stderr"].dtype == np.float32
    assert np.isnan(layer["values"][0, 1])
    assert not layer["signed"]
    assert HeadScores({"encoder": [[-1.0]]}, name="x").panels()[0]["scores"][0]["signed"]


def test_a_file_comes_back_as_it_went(tmp_path):
    made = {"model": "bert", "version": "0.1.0", "settings": {"seed": 1, "data": "abc", "rate": float("nan")}}
    before = scores(stderr={"encoder": [[0.1, 0.2]], "decoder": [[0, 0], [0, 0.5]]}, provenance=made, fingerprint="f1")
    path = before.save(tmp_path / "x")
    assert path.name == "x.heads"
    after = hw.read(path)
    for kind in before.values:
        np.testing.assert_array_equal(after.values[kind], before.values[kind])
        np.testing.assert_array_equal(after.stderr[kind], before.stderr[kind])
    assert (after.name, after.unit, after.n, after.fingerprint) == ("importance", "nats", 7, "f1")
    assert after.provenance["settings"] == {"seed": 1, "data": "abc", "rate": None}
    assert after.ranking() == before.ranking()
    assert json.loads(path.read_text("utf-8"))["schema"] == 1


def test_groups_of_examples_travel_along(tmp_path):
    groups = {"encoder": np.arange(8, dtype=float).reshape(4, 1, 2), "decoder": np.ones((4, 2, 2)) / 3}
    before = scores(groups=groups, group_sizes=[2, 2, 2, 1])
    after = hw.read(before.save(tmp_path / "x"))
    for kind in ("encoder", "decoder"):
        assert after.groups[kind].dtype == np.float32
        np.testing.assert_array_equal(after.groups[kind], before.groups[kind])
    assert after.group_sizes.tolist() == [2, 2, 2, 1]
    assert scores().groups is None
    assert hw.read(scores().save(tmp_path / "y")).group_sizes is None


@pytest.mark.parametrize(
    ("groups", "sizes", "message"),
    [
        ({"encoder": np.ones((2, 1, 2))}, None, "together"),
        ({"encoder": np.ones((2, 1, 2))}, [1, 1], "for decoder the scores"),
        ({"encoder": np.ones((2, 1, 2)), "decoder": np.ones((3, 2, 2))}, [1, 1], "for 2 groups; for decoder"),
        ({"encoder": np.ones((2, 1, 2)), "decoder": np.ones((2, 2, 2))}, [1, 0], "whole numbers of examples"),
    ],
)
def test_groups_that_do_not_fit_are_said(groups, sizes, message):
    with pytest.raises(InputError, match=message):
        scores(groups=groups, group_sizes=sizes)


def test_nothing_is_left_over_when_writing_fails(tmp_path, monkeypatch):
    import headwidgets.files

    path = scores().save(tmp_path / "x.heads")
    before = path.read_bytes()
    monkeypatch.setattr(headwidgets.files.Path, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        scores().save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["x.heads"]


def test_no_such_folder(tmp_path):
    with pytest.raises(InputError, match="there is no folder"):
        scores().save(tmp_path / "missing" / "x.heads")


def broken(path, change):
    document = json.loads(path.read_text("utf-8"))
    change(document)
    path.write_text(json.dumps(document), "utf-8")
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(schema=99), "newer headwidgets .schema 99.*pip install --upgrade"),
        (lambda d: d.update(schema="1"), "schema number"),
        (lambda d: d.pop("document"), "not a .heads file"),
        (lambda d: d.update(document="riddle"), "'riddle'"),
        (lambda d: d.update(document="grid"), "picture's data"),
        (lambda d: d.pop("values"), "damaged.*values"),
        (lambda d: d["values"]["encoder"].update(data=d["values"]["encoder"]["data"][:-4]), "damaged.*bytes"),
        (lambda d: d["values"]["encoder"].update(data="%%%"), "damaged.*base64"),
        (lambda d: d["values"]["encoder"].update(shape=[2**40, 2**40]), "damaged"),
        (lambda d: d["values"]["encoder"].update(shape=[2]), "damaged.*layers, heads"),
        (lambda d: d.update(values=[1]), "damaged"),
        (lambda d: d.update(n="many"), "damaged"),
    ],
)
def test_a_damaged_file_is_named(tmp_path, change, message):
    path = broken(scores().save(tmp_path / "x.heads"), change)
    with pytest.raises(InputError, match=message):
        hw.read(path)


@pytest.mark.parametrize("content", [b"\x80\x04\x95pickle", b"", b"[1, 2]", b'{"schema": 1, "docu', b"[" * 100_000])
def test_garbage_is_no_heads_file(tmp_path, content):
    path = tmp_path / "x.heads"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"x\.heads is not a"):
        hw.read(path)


def test_no_such_file(tmp_path):
    with pytest.raises(InputError, match="cannot read"):
        hw.read(tmp_path / "none.heads")


def test_scores_and_their_files_need_no_torch(tmp_path):
    code = (
        "import sys, headwidgets as hw, numpy as np;"
        f"p = hw.HeadScores({{'encoder': np.eye(3)}}, name='x', ablation='zero').save({str(tmp_path / 'x.heads')!r});"
        "hw.read(p).ranking(); hw.jobs; sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(("values", "said"), [({}, "an empty one"), ({"encoder": np.ones((2, 2), complex)}, "complex")])
def test_no_scores_and_complex_scores_are_refused(values, said):
    with pytest.raises(InputError, match=said):
        HeadScores(values, name="x")


def test_what_is_no_path_is_refused():
    with pytest.raises(InputError, match=r"expected the path of a \.heads file, got int"):
        hw.read(3)
