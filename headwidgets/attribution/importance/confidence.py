"""How sure is a head of where it looks? Its largest attention weight, averaged over queries (Voita et al. 2019)."""

from collections.abc import Callable
from typing import Any

from headwidgets.jobs import Cancel, Progress
from headwidgets.models.model import HeadModel
from headwidgets.patterns import confidence
from headwidgets.scores import HeadScores


def measure(
    model: HeadModel,
    texts: Any,
    labels: Any = None,
    *,
    seed: int = 0,
    on_progress: Progress | None = None,
    on_partial: Callable[[HeadScores], None] | None = None,
    cancel: Cancel | None = None,
) -> HeadScores:
    """Mean over queries of the largest weight of a head's map: `headwidgets.patterns.confidence`.

    Args:
        model: A HeadModel.
        texts: Texts; for encoder-decoders (source, target), or sources whose targets are generated.
        labels: Not looked at.
        seed: Of the order in which texts are seen.
        on_progress: Called with texts done and texts in all.
        on_partial: Called with the scores of the texts seen so far.
        cancel: Says whether to stop.

    Returns:
        Scores between 0 and 1; `n` is the number of texts. Standard errors treat a text's queries as a cluster.

    Raises:
        InputError: no text has a token that is not special.
        Cancelled: told to stop.
    """
    return confidence(model, texts, seed=seed, on_progress=on_progress, on_partial=on_partial, cancel=cancel)
