"""Do two measurements agree on which heads matter? Correlations over heads, with intervals and a ceiling."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwidgets import statistics
from headwidgets.attribution import resampling
from headwidgets.attribution.resampling import Measured
from headwidgets.errors import InputError
from headwidgets.provenance import checked_seed
from headwidgets.scores import KIND_ORDER, Head, HeadScores, Interval, import_pandas
from headwidgets.wire.documents import SCHEMA, KindName, Provenance

Floats = NDArray[np.float64]

FEWEST = 4
"""Heads that a correlation needs; of three, every r is likely."""

_STATISTICS = (resampling.pearson, resampling.spearman, resampling.within)


@dataclass(frozen=True)
class Correlation:
    """How far two measurements of the same heads agree.

    Attributes:
        pearson: Pearson's r with its 95 % interval.
        spearman: Spearman's rank correlation.
        within_layers: Pearson's r after each layer's mean was taken off: do they agree beyond "late layers matter"?
        ceiling: What r could be at most, given how far each measurement would agree with itself on other examples:
            the root of the product of the two reliabilities. None when a score carries neither groups nor errors.
        reliability: Of the first and second measurement (0 to 1); None where not known.
        heads: Measured by both; the order of `x` and `y`.
        x: The first scores, [heads].
        y: The second scores, [heads].
        missing: Heads that one of the two did not measure (NaN); left out.
        names: Of the two measurements.
        resampled: What the intervals were bootstrapped over, in words.
        scores: The two measurements.
        provenance: How it was made.
    """

    pearson: Interval
    spearman: Interval
    within_layers: Interval
    ceiling: Interval | None
    reliability: tuple[float | None, float | None]
    heads: list[Head]
    x: Floats
    y: Floats
    missing: int
    names: tuple[str, str]
    resampled: str
    scores: tuple[HeadScores, HeadScores] = field(repr=False)
    provenance: Provenance = field(repr=False)

    def __str__(self) -> str:
        r = self.pearson
        most = f"; at most {self.ceiling.value:.2f} possible" if self.ceiling else ""
        return (
            f"r = {r.value:.2f} ({r.low:.2f} to {r.high:.2f}) between {self.names[0]} and {self.names[1]} over "
            f"{len(self.heads)} heads; Spearman {self.spearman.value:.2f}, within layers {self.within_layers.value:.2f}"
            f"{most}"
        )

    __repr__ = __str__

    def to_frame(self) -> Any:
        """A pandas DataFrame, one row per head: kind, layer, head, and both scores with their standard errors."""
        pandas = import_pandas("correlation.to_frame()")
        errors = [_errors_of(one, self.heads) for one in self.scores]
        frame = pandas.DataFrame(
            {
                "kind": [head.kind for head in self.heads],
                "layer": [head.layer for head in self.heads],
                "head": [head.index for head in self.heads],
                "x": self.x,
                "y": self.y,
                "x_stderr": np.nan if errors[0] is None else errors[0],
                "y_stderr": np.nan if errors[1] is None else errors[1],
            }
        )
        frame.attrs = {"x": self.names[0], "y": self.names[1], "provenance": self.provenance}
        return frame

    def document(self) -> dict[str, Any]:
        """What is drawn (wire `ScatterDocument`)."""
        errors = [_errors_of(one, self.heads) for one in self.scores]
        places = [(KIND_ORDER.index(head.kind), head.layer, head.index) for head in self.heads]
        return {
            "schema": SCHEMA,
            "document": "scatter",
            "title": "",
            "x_name": self.names[0],
            "y_name": self.names[1],
            "x_unit": self.scores[0].unit,
            "y_unit": self.scores[1].unit,
            "heads": np.array(places, dtype=np.int32),
            "x": self.x.astype(np.float32),
            "y": self.y.astype(np.float32),
            "x_error": None if errors[0] is None else errors[0].astype(np.float32),
            "y_error": None if errors[1] is None else errors[1].astype(np.float32),
            "missing": self.missing,
            "correlation": {
                "pearson": self.pearson.data(),
                "spearman": self.spearman.data(),
                "within_layers": self.within_layers.data() if math.isfinite(self.within_layers.value) else None,
                "ceiling": self.ceiling.data() if self.ceiling else None,
                "heads": len(self.heads),
                "resampled": self.resampled,
            },
            "selected": [],
            "provenance": self.provenance,
        }


@dataclass(frozen=True)
class CorrelationDifference:
    """How much one correlation is larger than another, on the same heads.

    Attributes:
        pearson: Difference of Pearson's r with its 95 % interval.
        spearman: Difference of the rank correlations.
        within_layers: Difference of r within layers.
        heads: Number of heads that all scores measured.
        names: Of the two correlations.
        resampled: What the intervals were bootstrapped over, in words.
    """

    pearson: Interval
    spearman: Interval
    within_layers: Interval
    heads: int
    names: tuple[str, str]
    resampled: str

    def __str__(self) -> str:
        d = self.pearson
        return (
            f"r({self.names[0]}) - r({self.names[1]}) = {d.value:+.2f} ({d.low:+.2f} to {d.high:+.2f}) over "
            f"{self.heads} heads"
        )

    __repr__ = __str__


def correlate(
    scores_a: HeadScores,
    scores_b: HeadScores,
    *,
    seed: int = 0,
    samples: int = 2000,
    kind: KindName | None = None,
    names: tuple[str, str] | None = None,
) -> Correlation:
    """Correlate two measurements over heads (Hao et al. 2021, figure 4, there between tasks).

    The interval is a bootstrap over heads (corrected for bias and skewness) and, where scores carry groups of their
    examples, over examples; see `headwidgets.attribution.resampling`. It is for the correlation of scores measured on
    as many examples; more examples would raise it, up to a ratio of `ceiling`. Scores that were measured on the same
    examples share their errors, so their r may pass the ceiling.

    Args:
        scores_a: `HeadScores`, or an array [layers, heads].
        scores_b: The same heads, measured otherwise.
        seed: Of everything that is drawn.
        samples: Bootstrap draws.
        kind: Only heads of this kind of attention.
        names: What to call the two, for example the tasks; by default the scores' names, told apart where they are
            the same.

    Returns:
        A `Correlation`: r, the rank correlation and r within layers, each with its 95 % interval, and the ceiling.

    Raises:
        InputError: not the same heads, fewer than four measured by both, or scores that are the same for all.
    """
    seed, samples = checked_seed(seed), _checked_samples(samples)
    first, second = _as_scores(scores_a, "the first scores"), _as_scores(scores_b, "the second scores")
    called = _names(names, first, second)
    heads, missing = _common([first, second], kind)
    measured = [_measured(one, heads) for one in (first, second)]
    for name, one in zip(called, measured, strict=True):
        if math.isnan(statistics.pearson(one.values, one.values)):
            raise InputError(
                f"the scores of {name} are the same for every head ({one.values[0]:.6g}): a correlation needs scores "
                "that differ"
            )
    layers = _layers(heads)
    found = resampling.intervals(_STATISTICS, measured, layers, seed=seed, samples=samples)
    reliable = [resampling.reliability(one, seed=seed, samples=samples) for one in measured]
    settings = {
        "method": "correlation",
        "seed": seed,
        "samples": samples,
        "kind": kind,
        "x_data": _setting(first, "data"),
        "y_data": _setting(second, "data"),
    }
    return Correlation(
        pearson=found[0],
        spearman=found[1],
        within_layers=found[2],
        ceiling=_ceiling(reliable),
        reliability=(reliable[0][0] if reliable[0] else None, reliable[1][0] if reliable[1] else None),
        heads=heads,
        x=measured[0].values,
        y=measured[1].values,
        missing=missing,
        names=called,
        resampled=_in_words(measured, called),
        scores=(first, second),
        provenance=_provenance(first, second, settings),
    )


def compare_correlations(
    first: Correlation, second: Correlation, *, seed: int = 0, samples: int = 2000
) -> CorrelationDifference:
    """The difference of two correlations, with the interval of the difference: the same heads are drawn for both.

    Two intervals that overlap say little about a difference; this one does.

    Args:
        first: From `correlate`.
        second: Another one; usually one of its scores is the same (is a closer to b than to c?).
        seed: Of everything that is drawn.
        samples: Bootstrap draws.

    Returns:
        A `CorrelationDifference`: first less second, with 95 % intervals of the difference.

    Raises:
        InputError: not correlations of the same heads.
    """
    seed, samples = checked_seed(seed), _checked_samples(samples)
    for given in (first, second):
        if not isinstance(given, Correlation):
            raise InputError(f"expected correlations from correlate(...), got {type(given).__name__}")
    kinds = [{head.kind for head in given.heads} for given in (first, second)]
    if kinds[0] != kinds[1]:
        raise InputError(
            f"expected correlations of the same kinds of attention, got {', '.join(sorted(kinds[0]))} and "
            f"{', '.join(sorted(kinds[1]))}"
        )
    shared = [head for head in first.heads if head in set(second.heads)]
    if len(shared) < FEWEST:
        raise InputError(f"expected at least {FEWEST} heads that both correlations know, got {len(shared)}")
    listed = [*first.scores, *second.scores]
    measured = [_measured(one, shared) for one in listed]
    layers = _layers(shared)

    def difference(statistic: resampling.Statistic) -> resampling.Statistic:
        return lambda values, numbers: statistic(values[:2], numbers) - statistic(values[2:], numbers)

    wanted = [difference(one) for one in _STATISTICS]
    found = resampling.intervals(wanted, measured, layers, seed=seed, samples=samples, bounded=False)
    called = tuple(f"{given.names[0]}, {given.names[1]}" for given in (first, second))
    return CorrelationDifference(
        pearson=found[0],
        spearman=found[1],
        within_layers=found[2],
        heads=len(shared),
        names=(called[0], called[1]),
        resampled=_in_words(measured, [*first.names, *second.names]),
    )


# ---- parts ----------------------------------------------------------------------------------------------


def _checked_samples(samples: Any) -> int:
    if isinstance(samples, bool) or not isinstance(samples, (int, np.integer)) or samples < 100:
        raise InputError(f"expected at least 100 samples (bootstrap draws), got {samples!r}")
    return int(samples)


def _as_scores(given: Any, name: str) -> HeadScores:
    if isinstance(given, HeadScores):
        return given
    if isinstance(given, Mapping):
        return HeadScores(given, name=name)
    if isinstance(given, (np.ndarray, list, tuple)):
        return HeadScores({"encoder": given}, name=name)
    raise InputError(f"expected HeadScores or an array [layers, heads], got {type(given).__name__}")


def _names(names: Any, first: HeadScores, second: HeadScores) -> tuple[str, str]:
    if names is not None:
        if not isinstance(names, (tuple, list)) or len(names) != 2:
            raise InputError(f"expected names as a pair, one for each of the scores, got {names!r}")
        return str(names[0]), str(names[1])
    if first.name == second.name:
        return f"{first.name} (first)", f"{second.name} (second)"
    return first.name, second.name


def _common(scores: Sequence[HeadScores], kind: KindName | None) -> tuple[list[Head], int]:
    """Heads that all measured, and how many there are beside them."""
    for one in scores:
        if kind is not None and kind not in one.kinds:
            raise InputError(f"expected a kind that both measured; {one.name} has {', '.join(one.kinds)}, not {kind!r}")
    if kind is None and scores[0].kinds != scores[1].kinds:
        both = [k for k in scores[0].kinds if k in scores[1].kinds]
        hint = f"; say kind={both[0]!r} to compare what both have" if both else ""
        raise InputError(
            f"expected the same kinds of attention: {scores[0].name} has {', '.join(scores[0].kinds)}, "
            f"{scores[1].name} has {', '.join(scores[1].kinds)}{hint}"
        )
    heads, missing = [], 0
    for k in scores[0].kinds if kind is None else (kind,):
        shapes = [one.values[k].shape for one in scores]
        if shapes[0] != shapes[1]:
            raise InputError(
                f"expected scores of the same heads: for {k} {scores[0].name} has {shapes[0][0]} layers of "
                f"{shapes[0][1]} heads, {scores[1].name} {shapes[1][0]} of {shapes[1][1]}"
            )
        known = np.logical_and.reduce([np.isfinite(one.values[k]) for one in scores])
        heads += [Head(k, int(layer), int(index)) for layer, index in np.argwhere(known)]
        missing += int(known.size - known.sum())
    if len(heads) < FEWEST:
        raise InputError(f"expected at least {FEWEST} heads that both measured, got {len(heads)}")
    return heads, missing


def _measured(scores: HeadScores, heads: Sequence[Head]) -> Measured:
    values = np.array([scores[head] for head in heads])
    errors = _errors_of(scores, heads)
    groups = sizes = None
    if scores.groups is not None and scores.group_sizes is not None:
        groups = np.stack([scores.groups[h.kind][:, h.layer, h.index] for h in heads], axis=1).astype(np.float64)
        groups = np.where(np.isfinite(groups), groups, values)
        sizes = scores.group_sizes.astype(np.float64)
    data = _setting(scores, "data")
    which = f"{id(scores)}" if data is None or sizes is None else f"{data} {_setting(scores, 'seed')} {sizes.tolist()}"
    variance = errors**2 if errors is not None and np.isfinite(errors).all() else None
    return Measured(values, groups, sizes, which, variance)


def _errors_of(scores: HeadScores, heads: Sequence[Head]) -> Floats | None:
    if scores.stderr is None:
        return None
    return np.array([scores.stderr[head.kind][head.layer, head.index] for head in heads])


def _layers(heads: Sequence[Head]) -> NDArray[np.intp]:
    numbers: dict[tuple[str, int], int] = {}
    return np.array([numbers.setdefault((head.kind, head.layer), len(numbers)) for head in heads], dtype=np.intp)


def _ceiling(reliable: Sequence[tuple[float, Floats] | None]) -> Interval | None:
    first, second = reliable
    if first is None or second is None:
        return None
    draws = np.sqrt(first[1] * second[1])
    low, high = statistics.percentile_interval(draws)
    value = math.sqrt(first[0] * second[0])
    return Interval(value, min(low, value), max(high, value))


def _in_words(measured: Sequence[Measured], names: Sequence[str]) -> str:
    grouped = {name: len(m.sizes) for name, m in zip(names, measured, strict=True) if m.sizes is not None}
    if not grouped:
        return "heads; errors from the choice of examples are taken as independent between heads"
    counts = sorted(set(grouped.values()))
    what = f"heads, and examples in {' or '.join(map(str, counts))} groups"
    missing = list(dict.fromkeys(name for name, m in zip(names, measured, strict=True) if m.sizes is None))
    return f"{what}; not the examples of {', '.join(missing)}, whose scores carry no groups" if missing else what


def _provenance(first: HeadScores, second: HeadScores, settings: dict[str, Any]) -> Provenance:
    from headwidgets import __version__

    models = list(dict.fromkeys(s.provenance["model"] for s in (first, second) if s.provenance is not None))
    return {"model": ", ".join(models), "version": __version__, "settings": settings}


def _setting(scores: HeadScores, name: str) -> Any:
    return scores.provenance["settings"].get(name) if scores.provenance else None
