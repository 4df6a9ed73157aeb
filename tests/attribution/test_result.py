"""An attribution as a result: slices, words, links, and files."""

import json

import numpy as np
import pytest

import headwidgets as hw
from headwidgets import figures
from headwidgets.attribution import attribute
from headwidgets.errors import InputError
from headwidgets.scores import Head
from headwidgets.text.alignment import to_words
from tests.attribution.test_paths import calm
from tests.models.tiny import made

TEXT = "the cat's house, it was old"
"""Six words (``cat's`` is one) and a comma, in ten tokens with the special ones."""


@pytest.fixture(scope="module")
def bert():
    return calm("bert", "sequence")


@pytest.fixture(scope="module")
def found(bert):
    return attribute(bert, TEXT)


@pytest.fixture(scope="module")
def translated():
    return attribute(calm("t5", "seq2seq"), ("the cat's house", "a dog's tree"), tolerance=1e-2)


# ---- slices -----------------------------------------------------------------------------------------------------


def test_layers_and_heads(found, translated):
    maps = found.maps["encoder"]
    np.testing.assert_array_equal(found.layer(1), maps[1])
    np.testing.assert_array_equal(found.layer("encoder", 0), maps[0])
    np.testing.assert_array_equal(found[Head("encoder", 1, 2)], maps[1, 2])
    np.testing.assert_allclose(found["encoder", 1, -1], maps[1].sum(0), atol=1e-6)
    np.testing.assert_array_equal(translated.layer("cross", 1), translated.maps["cross"][1])
    for wrong, sentence in (
        (lambda: found.layer(2), "layers are 0 to 1"),
        (lambda: found.layer("cross", 0), "encoder, got 'cross'"),
        (lambda: found[Head("encoder", 0, 4)], "heads are 0 to 3"),
        (lambda: found["encoder", 0, -2], "heads are 0 to 3"),
        (lambda: found[3], "Head\\(kind, layer, index\\)"),
        (lambda: translated.layer(0), "encoder, decoder, cross, got None"),
    ):
        with pytest.raises(InputError, match=sentence):
            wrong()


def test_a_token_gives_and_receives(found):
    maps = found.maps["encoder"].astype(np.float64)
    house = found.token("house")
    position = found.tokens["encoder"][0].index("house")
    assert house.position == position
    np.testing.assert_allclose(house.received, maps[..., position].sum(2), atol=1e-6)
    np.testing.assert_allclose(house.given, maps[:, :, position].sum(2), atol=1e-6)
    np.testing.assert_allclose(house.received_from, maps[..., position].sum(1), atol=1e-6)
    np.testing.assert_allclose(house.given_to, maps[:, :, position].sum(1), atol=1e-6)
    np.testing.assert_allclose(found.token(position).given, house.given)
    np.testing.assert_allclose(found.received()[:, position], house.received.sum(1), atol=1e-6)
    np.testing.assert_allclose(found.given()[:, position], house.given.sum(1), atol=1e-6)
    assert found.token("house", side="key").given is None
    with pytest.raises(InputError, match=r"no token 'horse'.*it reads \[CLS\] the cat"):
        found.token("horse")
    with pytest.raises(InputError, match=r"several tokens: try a\.words"):
        found.token("cat's")
    with pytest.raises(InputError, match="position from 0 to"):
        found.token(len(found.tokens["encoder"][0]))
    twice = attribute(made("bert", "sequence"), "a cat saw a cat", steps=2)
    with pytest.raises(InputError, match="occurs 2 times: name its position, one of 2, 5"):
        twice.token("cat")


def test_a_token_of_cross_attention_is_of_one_side(translated):
    dog = translated.token("dog", kind="cross")
    assert dog.received is None
    assert dog.given.shape == translated.totals["cross"].shape
    house = translated.token("house", kind="cross")
    assert house.given is None
    np.testing.assert_allclose(
        house.received, translated.maps["cross"][..., house.position].sum(2, dtype=float), atol=1e-6
    )
    with pytest.raises(InputError, match="side='query' or side='key'"):
        translated.token(0, kind="cross")
    with pytest.raises(InputError, match="in both texts"):
        translated.token("s", kind="cross")


# ---- words ------------------------------------------------------------------------------------------------------


def test_words_keep_every_layers_total(bert, found):
    words = found.words()
    assert words.tokens["encoder"][0] == ["[CLS]", "the", "cat's", "house", ",", "it", "was", "old", "[SEP]"]
    for layer, change in enumerate(found.change["encoder"]):
        total = words.maps["encoder"][layer].sum(dtype=float)
        assert total == pytest.approx(found.maps["encoder"][layer].sum(dtype=float), abs=1e-6)
        assert abs(total - change) <= found.gap["encoder"][layer] + 1e-6
    [example] = bert.encode([TEXT])
    np.testing.assert_allclose(
        words.maps["encoder"], to_words(found.maps["encoder"], example.source, rows="sum"), atol=1e-6
    )
    np.testing.assert_allclose(words.attention["encoder"], bert.attend(TEXT, words=True).maps["encoder"], atol=1e-6)
    np.testing.assert_allclose(words.attention["encoder"].sum(-1), 1, atol=1e-5)
    np.testing.assert_allclose(words.largest["encoder"], words.maps["encoder"].max((2, 3)), atol=1e-6)
    assert words.words() is words
    assert words.token("cat's").text == "cat's"
    assert words.provenance["settings"]["words"] is True
    assert "words" not in found.provenance["settings"]


def test_words_of_both_sides(translated):
    words = translated.words()
    assert words.tokens["cross"] == (["[PAD]", "a", "dog's", "tree"], ["the", "cat's", "house", "</s>"])
    for kind in words.kinds:
        np.testing.assert_allclose(
            words.maps[kind].sum((1, 2, 3)), translated.maps[kind].sum((1, 2, 3)), rtol=1e-4, atol=1e-5
        )


def test_heads_only_have_no_slices_of_tokens(bert):
    heads = attribute(bert, TEXT, keep="heads")
    for ask in (heads.words, lambda: heads.token("house"), lambda: heads.layer(0), heads.top):
        with pytest.raises(InputError, match="keep='maps'"):
            ask()


# ---- links ------------------------------------------------------------------------------------------------------


def test_the_strongest_links(found):
    maps = found.maps["encoder"]
    links = found.top(5)
    order = np.argsort(-np.abs(maps), axis=None)[:5]
    assert [(link.layer, link.head, link.query, link.key) for link in links] == [
        tuple(int(i) for i in np.unravel_index(place, maps.shape)) for place in order
    ]
    for link in links:
        assert link.value == pytest.approx(float(maps[link[1:5]]))
        assert link.attention == pytest.approx(float(found.attention["encoder"][link[1:5]]))
        assert link.key_text == found.labels["encoder"][1][link.key]["text"]
    summed = found.top(1, layer=0, by_head=False, diagonal=False)[0]
    layer = maps[0].sum(0)
    np.fill_diagonal(layer, 0)
    assert summed.value == pytest.approx(float(layer.flat[np.abs(layer).argmax()]), abs=1e-6)
    assert (summed.layer, summed.head) == (0, -1)
    assert all(link.value < 0 for link in found.top(20, sign="negative"))
    frame = found.to_frame(7, sign="positive")
    assert len(frame) == 7
    assert frame["value"].is_monotonic_decreasing
    assert frame.attrs["target"] == found.target
    for wrong in ({"n": 0}, {"sign": "both"}, {"layer": 9}, {"kind": "cross"}):
        with pytest.raises(InputError, match=r"expected|there is no layer"):
            found.top(**wrong)


# ---- files ------------------------------------------------------------------------------------------------------


def same(one, other):
    for name in ("value", "target", "target_ids", "output", "unit", "rule", "tolerance", "notes", "positions",
                 "tokens", "labels", "text", "provenance", "word_level", "kinds", "contrast"):  # fmt: skip
        assert getattr(one, name) == getattr(other, name), name
    for name in ("change", "gap", "steps", "totals", "largest", "kept_maps", "kept_attention"):
        own, read = getattr(one, name), getattr(other, name)
        assert (own is None) == (read is None)
        for kind in one.kinds if own is not None else ():
            np.testing.assert_array_equal(own[kind], read[kind])
            assert own[kind].dtype == read[kind].dtype


def test_what_is_saved_is_read(found, translated, bert, tmp_path):
    given = attribute(bert, [["the", "cat's", "mat"]], steps=2)[0]
    pair = attribute(bert, ("the cat", "a dog"), target=(0, 2), steps=2)
    heads = attribute(bert, TEXT, keep="heads")
    for number, result in enumerate((found, translated, given, pair, heads, found.words())):
        path = result.save(tmp_path / f"{number}")
        assert path.suffix == ".heads"
        same(result, hw.read(path))
    assert pair.contrast
    read = hw.read(tmp_path / "0.heads")
    same(found.words(), read.words())
    assert read.top(3) == found.top(3)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"schema": 99}, "newer headwidgets"),
        ({"value": None}, "damaged"),
        ({"kinds": []}, "at least one kind"),
        ({"segments": []}, "one or two segments"),
        ({"notes": None}, "damaged"),
        ("target", "it has no 'target'"),
        ("group", "entries of 'group'"),
        ("layers", "expected 'change' of shape \\[3\\], got \\[2\\]"),
        ("maps", "damaged: an array of shape"),
    ],
)
def test_a_damaged_file_is_refused(found, tmp_path, change, sentence):
    path = found.save(tmp_path / "a.heads")
    document = json.loads(path.read_text("utf-8"))
    kind = document["kinds"][0]
    if isinstance(change, dict):
        document |= change
    elif change == "group":
        kind["key"]["group"].pop()
    elif change == "layers":
        kind["layers"] = 3
    elif change == "maps":
        kind["maps"]["data"] = kind["maps"]["data"][:40]
    else:
        del document[change]
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError, match=sentence):
        hw.read(path)


def test_half_a_file_is_refused(found, tmp_path):
    path = found.save(tmp_path / "a.heads")
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(InputError, match=r"not a whole \.heads file"):
        hw.read(path)


def test_a_file_is_viewed_without_its_model(found, tmp_path):
    read = hw.read(found.save(tmp_path / "a.heads"))
    view = hw.AttributionView(read, words=True, view="both")
    assert [token["text"] for token in view.document["panels"][0]["key"]] == read.words().tokens["encoder"][1]
    head = Head("encoder", 0, 1)
    np.testing.assert_array_equal(view.head_map("attention", head)["values"], read.words().attention["encoder"][0, 1])
    np.testing.assert_array_equal(view.head_map("attribution", head)["values"], read.words().maps["encoder"][0, 1])
    view.close()


def test_a_file_is_drawn_as_the_view_that_made_it(found):
    """The browser's conversion against the document that Python makes of the same result."""
    view = hw.AttributionView(found, view="both")
    live = figures.figure(view.picture(), width=900)
    view.close()
    assert figures.figure(found.document(), width=900) == live
