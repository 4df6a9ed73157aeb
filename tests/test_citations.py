"""Whose method is it? Papers of results as they are really made, so that a name that changes in a record is missed."""

import re

import numpy as np
import pytest

from headwidgets import HeadScores, citations, read
from headwidgets.attribution import attribute, importance, patch
from headwidgets.attribution.importance.methods import METHODS
from headwidgets.probing import induction
from headwidgets.pruning import compare
from tests.models.tiny import made

TEXTS = ["the cat sat on the mat", "a big dog ran", "it was not good", "she liked the old film"]
LABELS = [0, 1, 2, 1]
CORRUPTED = ["the dog sat on the mat", "a small dog ran", "it was not bad", "he liked the old film"]


@pytest.fixture(scope="module")
def bert():
    return made("bert", "sequence")


def keys(text: str) -> list[str]:
    return re.findall(r"^@\w+\{(\w+),$", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("method", "options", "expected"),
    [
        ("attribution", {}, ["hao2021"]),
        ("taylor", {}, ["michel2019"]),
        ("ablation", {}, ["michel2019"]),
        ("confidence", {}, ["voita2019"]),
        ("relevance", {}, ["ding2017", "voita2019"]),
        ("relevance", {"rule": "plus-minus"}, ["voita2019"]),
        ("relevance", {"rule": "attnlrp"}, ["voita2019", "achtibat2024"]),
        ("patching", {"corrupted": CORRUPTED}, ["vig2020", "meng2022"]),
        ("patching", {"corrupted": CORRUPTED, "approximate": True}, ["nanda2023", "syed2023"]),
        ("random", {}, []),
    ],
)
def test_scores_cite_their_method(bert, method, options, expected):
    if method == "patching":
        options = {**options, "answers": (0, 1)}
    scores = importance(bert, TEXTS, None if method == "patching" else LABELS, method=method, **options)
    assert keys(scores.cite()) == expected


def test_every_method_of_importance_is_known():
    known = {name.split("/")[0] for name in citations._SOURCES}
    assert set(METHODS) - {"patching"} <= known  # patching is recorded as exact or gradient


def test_an_attribution_and_its_heads_cite_the_same_paper(bert, tmp_path):
    found = attribute(bert, TEXTS[0])
    assert keys(found.cite()) == ["hao2021"]
    assert found.heads().cite() == found.cite() == read(found.save(tmp_path / "a.heads")).cite()


def test_other_results_on_heads(bert):
    assert keys(induction(bert, n=2, length=4).cite()) == ["olsson2022"]
    both = patch(bert, TEXTS, CORRUPTED, answers=(0, 1))
    assert set(keys(both.exact.cite())) >= {"vig2020"}
    assert set(keys(both.gradient.cite())) >= {"nanda2023"}


def test_a_comparison_cites_each_paper_once(bert):
    rankings = {
        "attribution": importance(bert, TEXTS, LABELS),
        "slope": importance(bert, TEXTS, LABELS, method="taylor"),
        "loss": importance(bert, TEXTS, LABELS, method="ablation"),
        "by hand": [head for head, _ in importance(bert, TEXTS, method="random")],
    }
    found = compare(bert, rankings, CORRUPTED, LABELS, counts=(0, 4, 8), random=0)
    assert keys(found.cite()) == ["michel2019", "hao2021"]


def test_nothing_is_made_up_for_what_is_not_known():
    assert HeadScores({"encoder": np.ones((2, 2))}, name="mine").cite() == ""
    mine = {"model": "m", "version": "0", "settings": {"method": "my own"}}
    assert HeadScores({"encoder": np.ones((2, 2))}, name="mine", provenance=mine).cite() == ""


@pytest.mark.parametrize("key", citations._PAPERS)
def test_entries_are_bibtex(key):
    entry = citations._PAPERS[key]
    assert keys(entry) == [key]
    assert entry.count("{") == entry.count("}")
    assert {"title", "author", "year"} <= set(re.findall(r"^  (\w+) = \{", entry, re.MULTILINE))
    assert any(key in sources for sources in citations._SOURCES.values()), "an entry that nothing cites"
