"""A control: heads in no order at all."""

from collections.abc import Callable
from typing import Any

import numpy as np

from headwidgets.jobs import Cancel, Progress
from headwidgets.models.model import HeadModel
from headwidgets.provenance import checked_seed, made
from headwidgets.scores import HeadScores
from headwidgets.wire.documents import KindName


def measure(
    model: HeadModel,
    texts: Any = None,
    labels: Any = None,
    *,
    seed: int = 0,
    on_progress: Progress | None = None,
    on_partial: Callable[[HeadScores], None] | None = None,
    cancel: Cancel | None = None,
) -> HeadScores:
    """A number between 0 and 1 for every head, drawn with `seed`; texts and labels are not looked at.

    One draw is one order. Compare a ranking with the band of at least 20 seeds, never with one.
    """
    generator = np.random.default_rng(checked_seed(seed))
    values: dict[KindName, Any] = {}
    for kind in model.kinds:
        values[kind] = np.full(model.shape(kind), np.nan)
        for site in model.sites_of(kind):
            values[kind][site.layer, : site.n_heads] = generator.random(site.n_heads)
    return HeadScores(
        values, name="random", provenance=made(model, method="random", seed=seed), fingerprint=model.fingerprint
    )
