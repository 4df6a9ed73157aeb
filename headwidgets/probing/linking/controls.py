"""How well does the best head do when nothing was learned? Models of the same architecture with random weights."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from headwidgets.models.model import HeadModel
from headwidgets.models.twins import random_twin
from headwidgets.probing.linking.asking import Asked, Ints, ask
from headwidgets.probing.linking.judging import FEWEST, RowKey
from headwidgets.probing.linking.looking import Seen, unpack
from headwidgets.probing.linking.placed import PlacedExamples
from headwidgets.scores import Interval


def random_bands(
    model: HeadModel,
    pieces: Sequence[PlacedExamples],
    keys: Sequence[RowKey],
    run: Callable[..., Seen],
    *,
    draws: int,
    total: str | None,
    seed: int,
) -> dict[int, Interval]:
    """By row, the accuracy of the best head of models with random weights: mean and the middle 95 % of draws.

    Of each draw the head is chosen on the first piece and reported on the second, as for the model itself. Embeddings
    stay as trained, as in the random baseline of Clark et al. 2019, section 5.

    Args:
        model: A HeadModel.
        pieces: Examples of the two splits; none for no control.
        keys: The rows.
        run: Looks at a model's maps.
        draws: Models.
        total: Label of the row of all relations.
        seed: Of the weights.

    Returns:
        Rows with at least `FEWEST` instances in the second piece.
    """
    if not pieces:
        return {}
    directions = dict.fromkeys(key.direction for key in keys)
    asked = [{d: ask(one, d) for d in directions} for one in pieces]
    where = [[_instances(key, own[key.direction], total) for key in keys] for own in asked]
    found: dict[int, list[float]] = {}
    for draw in range(draws):
        with random_twin(model, seed + draw) as twin:
            seen = [run(twin, own, a) for own, a in zip(_on(twin, pieces), asked, strict=True)]
        for number, key in enumerate(keys):
            one, two = where[0][number], where[1][number]
            if not len(one) or len(two) < FEWEST:
                continue
            best = int(np.argmax(unpack(seen[0].hits[key.direction], one).mean(0)))
            value = float(unpack(seen[1].hits[key.direction], two)[:, best].mean())
            found.setdefault(number, []).append(value)
    return {
        number: Interval(float(np.mean(values)), *(float(q) for q in np.quantile(values, [0.025, 0.975])))
        for number, values in found.items()
    }


def _instances(key: RowKey, asked: Asked, total: str | None) -> Ints:
    chosen = [i for i, link in enumerate(asked.links) if key.relation in (link.relation, total)]
    return np.array(chosen, dtype=np.int64)


def _on(twin: HeadModel, pieces: Sequence[PlacedExamples]) -> Iterator[PlacedExamples]:
    """The same examples, to be looked at in another model's sites."""
    for one in pieces:
        sites = [twin.site(site.kind, site.layer) for site in one.sites]
        yield PlacedExamples(one.examples, sites, one.causal, one.cross, one.notes)
