"""Prune heads by a ranking, least important first, and watch a metric."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from headwidgets.errors import InputError
from headwidgets.jobs import Cancel, Progress, blocking
from headwidgets.models.evaluate import Evaluator
from headwidgets.models.model import expect_model
from headwidgets.models.outcomes import Metric
from headwidgets.provenance import data_fingerprint
from headwidgets.scores import Estimate, Head, HeadScores, import_pandas
from headwidgets.wire.documents import CurvePoint, Provenance

_POINTS = 25


@dataclass(frozen=True)
class PruningCurve:
    """A metric by number of pruned heads.

    Attributes:
        counts: Heads pruned, ascending.
        estimates: By count; each with its paired change to the full model.
        ranking: Heads, most important first; the last ones are pruned first.
        method: Name of the ranking; empty when it was a list.
        metric: Name of the metric.
        ablation: What pruned heads' outputs became.
        provenance: How it was made.
    """

    counts: list[int]
    estimates: list[Estimate]
    ranking: list[Head]
    method: str = ""
    metric: str = "accuracy"
    ablation: str = "zero"
    provenance: Provenance | None = None

    def __repr__(self) -> str:
        shown = ", ".join(f"{c}: {e.value:.3f}" for c, e in zip(self.counts[:6], self.estimates, strict=False))
        more = ", ..." if len(self.counts) > 6 else ""
        return f"PruningCurve({self.metric} by heads pruned ({self.ablation}): {shown}{more})"

    def data(self) -> list[CurvePoint]:
        """The wire's form."""
        return [{"count": c, "estimate": e.data()} for c, e in zip(self.counts, self.estimates, strict=True)]

    def to_frame(self) -> Any:
        """A pandas DataFrame, one row per count; how it was made is in ``.attrs``."""
        pandas = import_pandas("curve.to_frame()")
        rows = []
        for count, estimate in zip(self.counts, self.estimates, strict=True):
            change = estimate.change
            rows.append(
                {
                    "count": count,
                    "ratio": count / len(self.ranking),
                    "value": estimate.value,
                    "low": estimate.low,
                    "high": estimate.high,
                    "change": 0.0 if change is None else change.value,
                    "change_low": 0.0 if change is None else change.low,
                    "change_high": 0.0 if change is None else change.high,
                    "n": estimate.n,
                    "exact": estimate.exact,
                }
            )
        frame = pandas.DataFrame(rows)
        frame.attrs = {
            "metric": self.metric,
            "ablation": self.ablation,
            "method": self.method,
            "provenance": self.provenance,
        }
        return frame


def pruning_order(model: Any, ranking: HeadScores | Iterable[Any]) -> list[Head]:
    """Heads in the order of pruning: least important first.

    Args:
        model: A HeadModel.
        ranking: `HeadScores`, or heads with the most important first.

    Returns:
        Every head of the ranking that the model has, once; the first is pruned first.

    Raises:
        InputError: no heads, a head twice, or one that does not exist.
    """
    expect_model(model)
    if isinstance(ranking, HeadScores):
        existing = set(model.heads())
        heads = [head for head in ranking.ranking() if head in existing]
    elif isinstance(ranking, str) or not isinstance(ranking, Iterable):
        raise InputError(
            f"expected HeadScores or a list of heads, got {ranking!r}; hw.attribution.importance makes one"
        )
    else:
        heads = model.check_heads(ranking)
    if not heads:
        raise InputError("expected a ranking of heads, got none that this model has")
    if len(set(heads)) < len(heads):
        twice = next(head for head in heads if heads.count(head) > 1)
        raise InputError(f"expected every head once in the ranking, got {twice.label(True)} twice")
    return heads[::-1]


def default_counts(n_heads: int, points: int = _POINTS) -> list[int]:
    """Evenly spaced counts from 0 to all heads, at most `points` of them.

    Args:
        n_heads: Heads that can be pruned.
        points: How many counts, at most.

    Returns:
        Numbers of heads, ascending, 0 and `n_heads` among them.
    """
    steps = min(points - 1, n_heads)
    return sorted({round(i * n_heads / steps) for i in range(steps + 1)})


def warn_if_same_data(scores: Any, texts: Iterable[Any]) -> bool:
    """Warn, and say so, when a ranking was measured on the texts that it is evaluated on."""
    made = scores.provenance if isinstance(scores, HeadScores) else None
    if made is None or made["settings"].get("data") != data_fingerprint(texts):
        return False
    warnings.warn(
        f"the ranking ({scores.name}) was measured on the same texts that it is evaluated on: the curve looks better "
        "than it is; measure importance on one split and evaluate on another",
        stacklevel=2,
    )
    return True


def evaluator(model: Any, texts: Any, labels: Any = None, metric: Metric = "accuracy", **options: Any) -> Evaluator:
    """A metric on a fixed set of texts for any set of pruned heads; it remembers what it has computed.

    Args:
        model: A HeadModel.
        texts: See `headwidgets.models.evaluate.evaluate`.
        labels: See there.
        metric: See there.
        options: ``seed=``, ``reference=``, ``column=``.

    Returns:
        An `Evaluator`: ``exact(heads)`` is an `Estimate`, as `HeadModel.evaluate` gives one.

    Raises:
        InputError: texts, labels or an option that does not fit.
    """
    return Evaluator(model, texts, labels, metric, **options)


@blocking
def curve(
    model: Any,
    ranking: HeadScores | Sequence[Any],
    texts: Any,
    labels: Any = None,
    counts: Iterable[int] | None = None,
    *,
    ablation: str = "zero",
    metric: Metric = "accuracy",
    reference: Any = None,
    seed: int = 0,
    column: Any = None,
    on_progress: Progress | None = None,
    on_partial: Callable[[PruningCurve], None] | None = None,
    cancel: Cancel | None = None,
) -> PruningCurve:
    """A metric with more and more heads pruned, least important first.

    Args:
        model: A HeadModel.
        ranking: `HeadScores`, or heads with the most important first.
        texts: To evaluate on; not those that the ranking was measured on.
        labels: See `HeadModel.evaluate`.
        counts: Numbers of heads *pruned*; 25 from none to all by default.
        ablation: ``zero``, ``mean`` or ``resample``.
        metric: See `HeadModel.evaluate`.
        reference: Texts for ``mean`` and ``resample``.
        seed: Of everything that is drawn.
        column: The column of texts of a dataset.
        on_progress: Gets texts evaluated and to evaluate, over all counts.
        on_partial: Gets the curve so far after each count.
        cancel: Says whether to stop.

    Returns:
        A `PruningCurve`: by count the metric, its 95 % interval for new texts, and the paired change to the full model.

    Raises:
        InputError: a ranking, count, text or label that does not fit.
        Cancelled: told to stop.
    """
    order = pruning_order(model, ranking)
    wanted = checked_counts(counts, len(order))
    measure = Evaluator(model, texts, labels, metric, seed=seed, reference=reference, column=column)
    method = ranking.name if isinstance(ranking, HeadScores) else ""
    same = warn_if_same_data(ranking, measure.questions.given)
    found: list[Estimate] = []

    def so_far() -> PruningCurve:
        made = measure.provenance
        settings = {**made["settings"], "ablation": ablation, "ranking": method, "ranking_on_same_texts": same}
        kept: Provenance = {**made, "settings": settings}
        return PruningCurve(wanted[: len(found)], list(found), order[::-1], method, measure.metric, ablation, kept)

    for count in wanted:
        done = len(found) * measure.total

        def progress(n: int, total: int, done: int = done) -> None:
            if on_progress is not None:
                on_progress(done + n * measure.total // max(1, total), len(wanted) * measure.total)

        found.append(measure.exact(order[:count], ablation, cancel, progress))
        if on_partial is not None:
            on_partial(so_far())
    return so_far()


def checked_counts(counts: Iterable[int] | None, n_heads: int, points: int = _POINTS) -> list[int]:
    """Counts of pruned heads, ascending and each once; by default `points` of them from none to all.

    Raises:
        InputError: no whole numbers, none at all, or more than there are heads.
    """
    if counts is None:
        return default_counts(n_heads, points)
    try:
        given = list(counts)
        listed = sorted({int(count) for count in given})
        if any(int(count) != count for count in given):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"expected counts of pruned heads as a list of whole numbers, got {counts!r}") from None
    if not listed:
        raise InputError("expected at least one count of pruned heads, got none")
    for count in (listed[0], listed[-1]):
        if not 0 <= count <= n_heads:
            raise InputError(f"expected counts of pruned heads from 0 to {n_heads} (the ranking's length), got {count}")
    return listed
