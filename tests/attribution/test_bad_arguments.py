"""Arguments that make no sense end in a sentence about them, whatever function they are given to."""

from functools import cache

import numpy as np
import pytest

from headwidgets import attribution as at
from headwidgets import pruning
from headwidgets.errors import InputError
from headwidgets.models.model import HeadModel
from headwidgets.probing.induction import induction
from tests.models.tiny import made

TEXTS = ["the cat sat on the mat", "a big dog ran", "the film was bad", "he liked it very quickly"] * 3
LABELS = [0, 1, 2, 0] * 3
GRID = np.random.default_rng(0).normal(size=(3, 4))
OTHER = np.random.default_rng(1).normal(size=(3, 4))


@cache
def model() -> HeadModel:
    return made("bert", "sequence")


@cache
def found() -> at.Attribution:
    result: at.Attribution = at.attribute(model(), TEXTS[0])
    return result


@cache
def triggers() -> at.Triggers:
    result: at.Triggers = at.find_triggers(model(), TEXTS, LABELS)
    return result


@cache
def correlation() -> at.Correlation:
    return at.correlate(GRID, OTHER)


SEEDED = {
    **{
        method: lambda seed, method=method: at.importance(model(), TEXTS, LABELS, method, seed=seed)
        for method in ("attribution", "taylor", "relevance", "ablation", "confidence", "random")
    },
    "ablate": lambda seed: at.ablate(model(), TEXTS, LABELS, seed=seed),
    "patch": lambda seed: at.patch(model(), TEXTS[:1], ["the dog sat on the mat"], answers=(0, 1), seed=seed),
    "correlate": lambda seed: at.correlate(GRID, OTHER, seed=seed),
    "compare_correlations": lambda seed: at.compare_correlations(correlation(), correlation(), seed=seed),
    "effectiveness": lambda seed: at.effectiveness(model(), TEXTS, LABELS, seed=seed),
    "faithfulness": lambda seed: at.faithfulness(model(), found(), seed=seed),
    "find_triggers": lambda seed: at.find_triggers(model(), TEXTS, LABELS, seed=seed),
    "attack": lambda seed: at.attack(model(), triggers(), TEXTS, LABELS, seed=seed),
    "induction": lambda seed: induction(made("gpt2", "causal"), seed=seed),
}


@pytest.mark.parametrize("seed", [-1, 1.5, "a", None, True])
@pytest.mark.parametrize("name", SEEDED)
def test_a_seed_is_a_whole_number(name, seed):
    with pytest.raises(InputError, match=r"expected seed= as a whole number from 0 on, got"):
        SEEDED[name](seed)


def test_the_seed_of_a_comparison():
    ranking = at.importance(model(), TEXTS, method="random")
    with pytest.raises(InputError, match="expected seed="):
        pruning.compare(model(), {"a": ranking}, TEXTS, LABELS, seed=-3)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: at.attribute(model(), TEXTS[0], target=((0, 1), 2)), "a contrast is between two single targets"),
        (lambda: found().tree(kind=[]), "expected kind to be one of encoder"),
        (lambda: found().tree(root=np.array([1])), "expected root to be 'auto', None, or a position"),
        (lambda: found().save(5), "expected a path to write to, got 5"),
        (lambda: at.correlate([[1, 2], [3]], OTHER), "expected scores for encoder as numbers"),
        (lambda: at.correlate(GRID, OTHER, names=5), "expected names as a pair"),
        (lambda: at.correlate(GRID, OTHER, kind=[]), "expected a kind that both measured"),
        (lambda: at.correlate(GRID, OTHER, samples=True), "at least 100 samples"),
        (lambda: at.compare_correlations(correlation(), correlation(), samples=-4), "at least 100 samples"),
        (lambda: at.effectiveness(model(), TEXTS, LABELS, orders=5), "expected orders out of"),
        (lambda: at.effectiveness(model(), TEXTS, LABELS, orders=[[]]), "expected orders out of"),
        (lambda: at.effectiveness(model(), TEXTS, LABELS, counts=5), "expected whole numbers of heads|at least two"),
        (lambda: at.effectiveness(model(), TEXTS, LABELS, counts=[None, 1]), "expected whole numbers of heads"),
        (lambda: at.effectiveness(model(), TEXTS, LABELS, counts=[True, 2]), "expected whole numbers of heads"),
        (lambda: at.faithfulness(model(), None), "expected attributions from hw.attribution.attribute"),
        (lambda: at.faithfulness(model(), found(), shares="x"), "expected shares of links"),
        (lambda: at.faithfulness(model(), found(), shares=None), "expected shares of links"),
        (lambda: at.attack(model(), None, TEXTS, LABELS), "expected at least one trigger"),
        (lambda: at.attack(model(), triggers()[0], TEXTS, LABELS), "expected at least one trigger"),
        (lambda: at.attack(model(), triggers(), TEXTS, LABELS, examples=-1), "expected examples as the number"),
        (lambda: at.importance(made("bert"), TEXTS, LABELS, "ablation"), "has no head that predicts anything"),
    ],
)
def test_a_sentence(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()


def test_norms_of_maps_that_were_closed():
    norms = model().attend(TEXTS[0]).norms
    with pytest.raises(InputError, match="there is no attention in encoder layer"):
        norms.summed("encoder", [])
    norms.close()
    with pytest.raises(InputError, match="these maps are closed"):
        norms.summed("encoder", 0)


def test_a_stop_list_that_can_be_read_once_is_counted_all_the_same():
    result = at.find_triggers(model(), TEXTS, LABELS, stop_list=(word for word in ("the", "a")))
    assert result.provenance["settings"]["stop_list"] == "2 words"
    assert not any(word.text in ("the", "a") for trigger in result for word in trigger.words)
