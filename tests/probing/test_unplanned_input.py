"""What a person may type by mistake gets a sentence before any work is done, not an error from inside."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from headwidgets import InputError, Treebank, demo, patterns, probing, pruning
from headwidgets.probing import Link, LinkExample
from tests.models.tiny import WORDS, made

TEXTS = [" ".join(WORDS[i : i + 6]) for i in range(24)]
EXAMPLES = [LinkExample(tuple(WORDS[i : i + 6]), (Link("r", 1, 3),)) for i in range(24)]
PAIRS = [("the cat", "a dog")] * 24
QUICK: dict[str, Any] = {"random": 0}


@pytest.fixture(scope="module")
def model() -> Any:
    return made("bert")


@pytest.fixture(scope="module")
def translator() -> Any:
    return made("marian", "seq2seq")


CALLS: dict[str, Callable[[Any, Any, dict[str, Any]], Any]] = {
    "summary": lambda model, bank, options: patterns.summary(model, TEXTS, **options),
    "entropy": lambda model, bank, options: patterns.entropy(model, TEXTS, **options),
    "distance": lambda model, bank, options: patterns.distance(model, TEXTS, **options),
    "positional": lambda model, bank, options: probing.positional(model, TEXTS, **options),
    "rare_words": lambda model, bank, options: probing.rare_words(model, TEXTS, **options),
    "roles": lambda model, bank, options: probing.roles(model, TEXTS, **options),
    "roles_after": lambda model, bank, options: probing.roles_after(model, model.heads(), TEXTS, **options),
    "syntax": lambda model, bank, options: probing.syntax(model, bank, **QUICK, **options),
    "coreference": lambda model, bank, options: probing.coreference(model, bank, **QUICK, **options),
    "links": lambda model, bank, options: probing.links(model, EXAMPLES, **QUICK, **options),
    "train_probe": lambda model, bank, options: probing.train_probe(model, bank, seeds=1, random=0, **options),
    "knockout": lambda model, bank, options: pruning.knockout(model, model.heads()[:1], TEXTS, [0] * 24, **options),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("option", [{"on_progress": 5}, {"cancel": 3}], ids=str)
def test_callbacks_that_cannot_be_called(model: Any, call: str, option: dict[str, Any]):
    (name,) = option
    with pytest.raises(InputError, match=f"expected {name}= as a function"):
        CALLS[call](model, demo.treebank("dev")[:4], option)


@pytest.mark.parametrize(
    ("call", "option", "said"),
    [
        ("positional", {"threshold": "a"}, "expected threshold as a share"),
        ("roles", {"look_for": 5}, "expected look_for as roles"),
        ("roles", {"at_least": [1]}, "expected at_least as thresholds"),
        ("roles", {"least": "a"}, "expected least as a number"),
        ("roles", {"syntactic": "x"}, "expected syntactic as options"),
        ("roles_after", {"counts": "12"}, "expected counts of heads"),
        ("roles_after", {"counts": 5}, "expected counts of heads"),
        ("roles_after", {"before": "x"}, "expected before= as Roles"),
        ("syntax", {"relations": 5}, "expected relations as labels"),
        ("syntax", {"keep": 5}, "expected keep= as a function"),
        ("links", {"directions": 5}, "expected directions"),
        ("links", {"labels": 5}, "expected labels by direction"),
        ("links", {"max_tokens": "a"}, "expected max_tokens"),
        ("links", {"baselines": 5}, "expected baselines as functions"),
        ("links", {"baselines": {"a": 5}}, "expected baselines as functions"),
        ("links", {"baselines": {"a": lambda example, link: "x"}}, "guessed 'x'"),
        ("train_probe", {"rate": -1}, "expected rate= as a number above 0"),
        ("train_probe", {"rate": float("nan")}, "expected rate= as a number above 0"),
        ("train_probe", {"memory": "a"}, "expected memory= as a number of bytes"),
    ],
)
def test_options_of_the_wrong_kind(model: Any, call: str, option: dict[str, Any], said: str):
    with pytest.raises(InputError, match=said):
        CALLS[call](model, demo.treebank("dev")[:40], option)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: LinkExample(5), "expected the words of an example"),  # type: ignore[arg-type]
        (lambda: LinkExample(("a",), 5), "expected the links of an example"),  # type: ignore[arg-type]
        (lambda: LinkExample(("a", "b"), (), 5), "expected the text of an example"),  # type: ignore[arg-type]
        (lambda: LinkExample(("a",), against=5), "expected against= as a LinkExample"),  # type: ignore[arg-type]
        (lambda: probing.choice(5, (0, 1), [], []), "expected a text"),  # type: ignore[arg-type]
        (lambda: probing.choice("a cat", (0, 1), (2, 5), (0, 1)), "expected the source as"),  # type: ignore[arg-type]
        (lambda: probing.choice("a cat", (0, 1), [(2, 5)], "x"), "expected the source as"),  # type: ignore[arg-type]
        (lambda: probing.unmarked(5), "expected a text"),  # type: ignore[arg-type]
        (lambda: probing.relation_examples(5), "expected pairs of a text"),  # type: ignore[arg-type]
        (lambda: probing.relation_examples([], marks=5), "expected marks as two signs"),  # type: ignore[arg-type]
        (lambda: probing.alignment_examples(5, 5), "expected pairs as a list"),  # type: ignore[arg-type]
        (lambda: probing.alignment_examples(PAIRS[:1], [[(0.5, 1)]]), "expected an alignment as pairs of whole"),
        (lambda: probing.alignment_examples(PAIRS[:1], ["0-0"], relations=5), "expected relations as a list"),  # type: ignore[arg-type]
        (lambda: Treebank(5), "expected a Treebank of Sentence objects"),  # type: ignore[arg-type]
        (lambda: demo.relations("x"), "expected n as a whole number"),  # type: ignore[arg-type]
    ],
)  # fmt: skip
def test_things_that_are_made_by_hand(make: Callable[[], Any], said: str):
    with pytest.raises(InputError, match=said):
        make()


def test_no_model_and_no_sentences(model: Any):
    for call in (
        lambda: probing.repeated("bert"),  # type: ignore[arg-type]
        lambda: probing.place("bert", demo.treebank("dev")[:2]),
        lambda: probing.place(model, 5),  # type: ignore[arg-type]
    ):
        with pytest.raises(InputError, match="expected a"):
            call()


def test_pairs_to_choose_on(translator: Any):
    for choose in (5, [], (PAIRS,)):
        with pytest.raises(InputError, match="expected choose= as"):
            probing.alignment(translator, PAIRS, ["0-0"] * 24, choose=choose, random=0)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected baselines"):
        probing.alignment(translator, PAIRS, ["0-0"] * 24, baselines=5, random=0)


def test_an_offset_farther_than_any_text_needs_no_memory(model: Any):
    far, near = (probing.positional(model, TEXTS, reach=reach) for reach in (10**9, 8))
    assert np.array_equal(far.share.values["encoder"], near.share.values["encoder"])
    assert np.array_equal(far.offset["encoder"], near.offset["encoder"])


def test_every_result_is_one_readable_line(model: Any):
    bank = demo.treebank("dev")[:40]
    distances = patterns.distance(model, TEXTS)
    links = probing.links(model, EXAMPLES, random=1)
    probe = probing.train_probe(model, bank[:20], seeds=1, random=0, epochs=1)
    evaluation = probe.evaluate(bank[20:])
    roles = probing.roles(model, TEXTS)
    results = [
        patterns.summary(model, TEXTS), distances, distances.layers(), distances.layout(), distances.clusters(2), links,
        links.rows[0], EXAMPLES[0], probe, evaluation, evaluation.relations[0], evaluation.trees[0], roles,
        *roles.roles, probing.roles_after(model, model.heads(), TEXTS, counts=[0], again=False),
        probing.positional(model, TEXTS), probing.rare_words(model, TEXTS, common=0), probing.place(model, bank), bank,
    ]  # fmt: skip
    for result in results:
        line = repr(result)
        assert line.startswith(f"{type(result).__name__}("), line
        assert len(line) < 260, line
        assert not [raw for raw in ("\n", "array(", "Interval(", "fingerprint") if raw in line], line
    assert f"UAS {evaluation.uas.value:.3f}" in repr(evaluation)
    assert repr(roles.roles[0]).startswith(f"Role({roles.roles[0].name}: {len(roles.roles[0])} of 8 heads")
