"""Does the model need these heads? What is lost without them, against random heads of the same layers."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headwidgets import statistics
from headwidgets.errors import InputError
from headwidgets.jobs import Cancel, Progress, blocking
from headwidgets.models.evaluate import Evaluator
from headwidgets.models.model import expect_model
from headwidgets.models.outcomes import Metric
from headwidgets.provenance import checked_seed
from headwidgets.scores import Estimate, Head, Interval, import_pandas
from headwidgets.wire.documents import Provenance

_TRIES = 20
"""Sets drawn for every set asked for, until they are different."""


@dataclass(frozen=True)
class Knockout:
    """A metric without some heads, and without as many others.

    Attributes:
        heads: Those that were closed.
        full: The whole model.
        without: The model without them; ``.change`` is the paired change to `full`.
        controls: The model without as many heads drawn at random, by draw.
        control_heads: Which ones, by draw.
        band: 2.5 % of the draws' changes lie below its low end and 2.5 % above its high one; its value is their mean.
        difference: How much more is lost without the heads than without the mean draw, paired on the same texts:
            negative when the heads matter more. Its interval is for new texts, not for new draws. None for a metric
            that is no sum over texts.
        p: Share of draws (and the heads themselves) that lose at least as much: a permutation test, one-sided.
        match: What the draws have in common with the heads.
        notes: What a reader should know, as sentences.
        provenance: How it was made.
    """

    heads: list[Head]
    full: Estimate
    without: Estimate
    controls: list[Estimate]
    control_heads: list[list[Head]] = field(repr=False)
    band: Interval
    difference: Interval | None
    p: float
    match: str
    notes: list[str] = field(default_factory=list)
    provenance: Provenance | None = field(default=None, repr=False)

    def __str__(self) -> str:
        change = self.without.change
        assert change is not None, "heads are closed, so there is a change"
        lost = f"{change.value:+.3f} ({change.low:+.3f} to {change.high:+.3f})"
        others = (
            f"{self.band.value:+.3f} (95 % of {len(self.controls)} draws {self.band.low:+.3f} to {self.band.high:+.3f})"
        )
        heads = f"{len(self.heads)} head{'' if len(self.heads) == 1 else 's'}"
        return (
            f"Knockout({heads}: {self.full.metric} {self.full.value:.3f} to {self.without.value:.3f}, {lost};"
            f" as many random heads of {self.match}: {others}; p={self.p:.3f}, n={self.full.n})"
        )

    __repr__ = __str__

    def to_frame(self) -> Any:
        """A pandas DataFrame: the heads in the first row, then every draw."""
        pandas = import_pandas("knockout.to_frame()")
        rows = []
        for draw, (heads, estimate) in enumerate(
            zip([self.heads, *self.control_heads], [self.without, *self.controls], strict=True)
        ):
            change = estimate.change
            rows.append(
                {
                    "draw": "the heads" if draw == 0 else draw,
                    "heads": ", ".join(map(str, heads)),
                    "value": estimate.value,
                    "change": change.value if change else 0.0,
                    "change_low": change.low if change else 0.0,
                    "change_high": change.high if change else 0.0,
                    "n": estimate.n,
                }
            )
        frame = pandas.DataFrame(rows)
        frame.attrs = {"p": self.p, "match": self.match, "notes": self.notes, "provenance": self.provenance}
        return frame


@blocking
def knockout(
    model: Any,
    heads: Iterable[Any],
    texts: Any,
    labels: Any = None,
    *,
    draws: int = 20,
    match: str = "layer",
    exclude: Iterable[Any] = (),
    seed: int = 0,
    metric: Metric = "accuracy",
    ablation: str = "zero",
    reference: Any = None,
    column: Any = None,
    on_progress: Progress | None = None,
    on_partial: Callable[[Estimate], None] | None = None,
    cancel: Cancel | None = None,
) -> Knockout:
    """Close some heads, then as many others, and compare what is lost on the same texts.

    Args:
        model: A HeadModel.
        heads: Which heads, for example those of one role.
        texts: To evaluate on; not those that the heads were chosen on.
        labels: See `HeadModel.evaluate`.
        draws: How many different sets of random heads, at least 20 for a band that means something; fewer where there
            are no more (a single head of a layer of 12 has 11).
        match: ``layer``: every draw has as many heads of each layer and kind as `heads`; ``model``: any heads.
        exclude: Heads that no draw may have, besides `heads`.
        seed: Of the draws and of everything else that is drawn.
        metric: See `HeadModel.evaluate`.
        ablation: ``zero``, ``mean`` or ``resample``.
        reference: Texts for ``mean`` and ``resample``.
        column: The column of texts of a dataset.
        on_progress: Gets texts evaluated and to evaluate, over all sets of heads.
        on_partial: Gets the estimate without the heads as soon as it is known.
        cancel: Says whether to stop.

    Returns:
        A `Knockout`.

    Raises:
        InputError: no heads, heads that do not exist, too few others to draw from, or texts that do not fit.
        Cancelled: told to stop.
    """
    expect_model(model)
    chosen = sorted(set(model.check_heads(heads)))
    if not chosen:
        raise InputError("expected at least one head to close, got none")
    if isinstance(draws, bool) or not isinstance(draws, int) or draws < 1:
        raise InputError(f"expected draws as a whole number of at least 1, got {draws!r}")
    if match not in ("layer", "model"):
        raise InputError(f"expected match to be 'layer' or 'model', got {match!r}")
    seed = checked_seed(seed)
    pool = set(model.heads()) - set(chosen) - set(model.check_heads(exclude))
    drawn, short = _draws(chosen, pool, draws, match, seed)
    measure = Evaluator(model, texts, labels, metric, seed=seed, reference=reference, column=column)
    sets = [[], chosen, *drawn]
    found: list[Estimate] = []
    for number, closed in enumerate(sets):

        def progress(n: int, total: int, done: int = number) -> None:
            if on_progress is not None:
                on_progress(done * measure.total + n * measure.total // max(1, total), len(sets) * measure.total)

        found.append(measure.exact(closed, ablation, cancel, progress))
        if number == 1 and on_partial is not None:
            on_partial(found[1])
    full, without, *controls = found
    worse = 1.0 if measure.metric == "loss" else -1.0
    changes = np.array([estimate.value - full.value for estimate in controls])
    low, high = np.quantile(changes, [0.025, 0.975])
    as_bad = int(np.sum(worse * changes >= worse * (without.value - full.value) - 1e-12))
    notes = list(measure.notes)
    if short:
        notes.append(
            f"{short} of {len(chosen)} heads of each draw come from another layer: theirs has too few other heads."
        )
    if len(drawn) < draws:
        notes.append(
            f"There are only {len(drawn)} other sets of such heads, so each of them is a control and p is at least "
            f"1/{len(drawn) + 1}."
        )
    if len(drawn) < 20:
        notes.append(f"{len(drawn)} draws: the band and p say little below 20.")
    settings = {**measure.provenance["settings"], "ablation": ablation, "draws": draws, "match": match, "seed": seed}
    return Knockout(
        heads=chosen,
        full=full,
        without=without,
        controls=controls,
        control_heads=drawn,
        band=Interval(float(changes.mean()), float(low), float(high)),
        difference=_difference(measure, chosen, drawn, ablation),
        p=(1 + as_bad) / (1 + len(drawn)),
        match="the same layers" if match == "layer" else "the model",
        notes=notes,
        provenance={**measure.provenance, "settings": settings},
    )


def _draws(chosen: list[Head], pool: set[Head], draws: int, match: str, seed: int) -> tuple[list[list[Head]], int]:
    """Different sets of other heads, and how many of each set could not come from the layer that they stand for.

    A set that comes twice would count twice in p, as if the heads had been compared with more than they were. Where
    there are no more sets than asked for, they are all of them.
    """
    if len(pool) < len(chosen):
        raise InputError(
            f"expected at least as many other heads as the {len(chosen)} that are closed, to draw controls from; there "
            f"are {len(pool)}: close fewer heads"
        )
    needed = Counter((h.kind, h.layer) for h in chosen) if match == "layer" else Counter()
    found: dict[tuple[Head, ...], None] = {}
    short = 0
    for draw in range(_TRIES * (draws + 50)):
        if len(found) == draws:
            break
        generator = np.random.default_rng((seed, draw))
        own: list[Head] = []
        for (kind, layer), count in sorted(needed.items()):
            candidates = sorted(h for h in pool if (h.kind, h.layer) == (kind, layer))
            taken = generator.permutation(len(candidates))[:count]
            own += [candidates[i] for i in taken]
        rest = len(chosen) - len(own)
        short = rest if match == "layer" else 0
        candidates = sorted(pool - set(own))
        own += [candidates[i] for i in generator.permutation(len(candidates))[:rest]]
        found[tuple(sorted(own))] = None
    return [list(own) for own in found], short


def _difference(measure: Evaluator, chosen: list[Head], drawn: list[list[Head]], ablation: str) -> Interval | None:
    """What is lost more than in the mean draw, paired over texts."""
    if measure.questions.function is not None:
        return None
    numerators, weights = measure.outcomes(chosen, ablation)
    others = np.mean([measure.outcomes(heads, ablation)[0] for heads in drawn], axis=0)
    value = statistics.ratio(numerators - others, weights)
    n = len(weights)
    if n < 2:
        return Interval(value, -np.inf, np.inf)
    half = statistics.t_value(n - 1) * float(np.sqrt(statistics.ratio_variance(numerators - others, weights)))
    return Interval(value, value - half, value + half)
