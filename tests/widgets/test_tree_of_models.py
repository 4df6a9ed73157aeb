"""AttributionTree on real (tiny) models: the same edges as the engine, whatever it is made from."""

import numpy as np
import pytest

import headwidgets as hw
from headwidgets.errors import InputError, UnsupportedError
from headwidgets.wire.growth import grow
from tests.models.tiny import made

TEXT = "the cat sat on the mat"


@pytest.fixture(scope="module")
def bert():
    return made("bert", "sequence")


def test_a_model_an_attribution_and_a_tree_show_the_same(bert):
    attribution = hw.attribution.attribute(bert, TEXT, output="probability")
    expected = attribution.tree(0.1, penalty=0.01)
    shown = [
        hw.AttributionTree(bert, TEXT, output="probability", threshold=0.1, penalty=0.01, wait=None),
        hw.AttributionTree(attribution, threshold=0.1, penalty=0.01, wait=None),
        hw.AttributionTree(expected),
    ]
    assert expected.edges
    for tree in shown:
        assert tree.edges == expected.edges
        assert tree.terminals == expected.terminals
        assert (tree.root, tree.top, tree.objective) == (0, expected.top, pytest.approx(expected.objective))
        assert tree.labels == expected.labels
        tree.threshold = 0.0
        assert tree.edges == expected.grow(0.0).edges
        assert tree._current["provenance"]["settings"]["output"] == "probability"


def test_order_root_and_kind_reach_the_engine(bert):
    attribution = hw.attribution.attribute(bert, TEXT)
    tree = hw.AttributionTree(attribution, order="published", root=None, threshold=0.0, wait=None)
    assert tree.root is None
    assert tree.edges == attribution.tree(0.0, order="published", root=None).edges
    bart = made("bart", "seq2seq")
    pair = (TEXT, "a dog ran on the mat")
    with pytest.raises(InputError, match="choose kind="):
        hw.AttributionTree(bart, pair, wait=None)
    with pytest.raises(UnsupportedError, match="two"):
        hw.AttributionTree(bart, pair, kind="cross", wait=None)
    decoder = hw.AttributionTree(bart, pair, kind="decoder", threshold=0.0, wait=None)
    assert decoder._current["kind"] == "decoder"
    assert grow(decoder._current["levels"][0], 0.0, 0.0).edges == decoder.edges
    assert np.isfinite(decoder.objective)
