"""What is true of a head? `Head` names one, `HeadScores` holds a number for each, `Estimate` one for a whole model."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headwidgets.citations import bibtex, method_of
from headwidgets.errors import InputError
from headwidgets.wire.documents import SCHEMA, EstimateData, IntervalData, KindName, Provenance, ScoresFile

KIND_ORDER: tuple[KindName, ...] = ("encoder", "decoder", "cross")
KIND_LABELS: dict[KindName, str] = {
    "encoder": "Encoder self-attention",
    "decoder": "Decoder self-attention",
    "cross": "Cross-attention",
}


class Head(NamedTuple):
    """One query head, counted from 0; prints as ``L5H3``, in encoder-decoders ``encoder.L5H3``."""

    kind: KindName
    layer: int
    index: int  # type: ignore[assignment]

    def label(self, with_kind: bool = False) -> str:
        """``L5H3``, with the kind in front when several kinds are on the table."""
        short = f"L{self.layer}H{self.index}"
        return f"{self.kind}.{short}" if with_kind else short

    def __str__(self) -> str:
        return self.label()


class HeadScores:
    """One number per head from one measurement, with its name, unit, sample size and standard error.

    Attributes:
        values: By kind, float64 [layers, heads]; NaN is not measured.
        stderr: By kind, float64 [layers, heads], in the same unit; None when unknown.
        name: Of the measurement.
        unit: Of the values; empty for a pure number.
        n: Number of examples; 0 when not a sample.
        fingerprint: Of the model that was measured; None when unknown.
        provenance: How the scores were made: model, version, settings; None when unknown.
        groups: The same measurement on random groups of the examples, by kind, float32 [groups, layers, heads]; from
            these come split halves and a bootstrap over examples without the examples. None when not kept.
        group_sizes: Examples in each group, int [groups].
    """

    def __init__(
        self,
        values: Mapping[KindName, ArrayLike],
        *,
        name: str,
        unit: str = "",
        n: int = 0,
        stderr: Mapping[KindName, ArrayLike] | None = None,
        groups: Mapping[KindName, ArrayLike] | None = None,
        group_sizes: ArrayLike | None = None,
        ablation: str | None = None,
        provenance: Provenance | None = None,
        fingerprint: str | None = None,
    ) -> None:
        """Keep what was measured.

        Args:
            values: By kind (``encoder``, ``decoder``, ``cross``), numbers [layers, heads]; larger is more important.
            name: Of the measurement.
            unit: Of the values.
            n: Number of examples.
            stderr: Standard errors, of the same kinds and shapes.
            groups: The scores of random groups of the examples, of the same kinds, [groups, layers, heads].
            group_sizes: Examples in each group, [groups].
            ablation: What a pruned head's output became (``zero``, ``mean``, ``resample``); None if none was.
            provenance: How the scores were made.
            fingerprint: Of the model.

        Raises:
            InputError: an unknown kind, arrays that are not [layers, heads], or groups that do not fit.
        """
        if not isinstance(values, Mapping) or not values:
            got = "an empty one" if isinstance(values, Mapping) else _shown(values)
            raise InputError(f"expected scores as {{kind: array[layers, heads]}}, got {got}")
        self.values = {kind: _checked(kind, values[kind], "scores") for kind in _in_order(values)}
        self.stderr: dict[KindName, NDArray[np.float64]] | None = None
        if stderr is not None:
            self.stderr = {kind: _checked(kind, stderr[kind], "standard errors") for kind in _in_order(stderr)}
            for kind in self.values.keys() | self.stderr.keys():
                own, other = self.values.get(kind), self.stderr.get(kind)
                if own is None or other is None or own.shape != other.shape:
                    raise InputError(
                        f"expected standard errors of the scores' kinds and shapes; for {kind} the scores are "
                        f"{_shown(own)} and the standard errors {_shown(other)}"
                    )
        self.groups, self.group_sizes = _checked_groups(groups, group_sizes, self.values)
        self.name = name
        self.unit = unit
        self.n = int(n)
        self.fingerprint = fingerprint
        self.provenance = _with_ablation(provenance, ablation)

    @property
    def ablation(self) -> str | None:
        """What a pruned head's output became in this measurement; None if none was pruned."""
        settings = self.provenance["settings"] if self.provenance else {}
        return cast("str | None", settings.get("ablation"))

    @property
    def kinds(self) -> tuple[KindName, ...]:
        """The kinds of attention that were measured."""
        return tuple(self.values)

    def __getitem__(self, head: Head) -> float:
        kind, layer, index = head
        try:
            if layer < 0 or index < 0:
                raise IndexError
            return float(self.values[kind][layer, index])
        except (KeyError, IndexError):
            shapes = ", ".join(f"{k} {list(v.shape)}" for k, v in self.values.items())
            raise InputError(f"there is no score for {head!r}; the scores are [layers, heads]: {shapes}") from None

    def __iter__(self) -> Iterator[tuple[Head, float]]:
        """Every head with its score, by kind, layer and index."""
        for kind, array in self.values.items():
            for (layer, index), value in np.ndenumerate(array):
                yield Head(kind, layer, index), float(value)

    def __repr__(self) -> str:
        shapes = ", ".join(f"{kind} {v.shape[0]}x{v.shape[1]}" for kind, v in self.values.items())
        unit = f" [{self.unit}]" if self.unit else ""
        sample = f", n={self.n}" if self.n else ""
        return f"HeadScores({self.name}{unit}: {shapes}{sample})"

    def ranking(self, kind: KindName | None = None) -> list[Head]:
        """Heads, most important first; NaN last; ties by kind, layer and index.

        Args:
            kind: Only heads of this kind; all kinds are ranked together by default.
        """
        if kind is not None and kind not in self.values:
            raise InputError(f"expected a kind that was measured ({', '.join(self.values)}), got {kind!r}")
        listed = [(head, value) for head, value in self if kind is None or head.kind == kind]
        listed.sort(key=lambda item: (np.isnan(item[1]), -item[1]) if not np.isnan(item[1]) else (True, 0.0))
        return [head for head, _ in listed]

    def to_frame(self) -> Any:
        """A pandas DataFrame: kind, layer, head, value, stderr; how it was made is in ``.attrs``.

        Raises:
            InputError: pandas is not installed.
        """
        pandas = import_pandas("scores.to_frame()")
        rows = [
            {
                "kind": head.kind,
                "layer": head.layer,
                "head": head.index,
                "value": value,
                "stderr": float(self.stderr[head.kind][head.layer, head.index]) if self.stderr else np.nan,
            }
            for head, value in self
        ]
        frame = pandas.DataFrame(rows)
        frame.attrs = {
            "name": self.name,
            "unit": self.unit,
            "n": self.n,
            "fingerprint": self.fingerprint,
            "provenance": self.provenance,
        }
        return frame

    def panels(self, kv_heads: Mapping[KindName, int] | None = None) -> list[dict[str, Any]]:
        """Grid panels (wire `GridPanel`, with NumPy arrays), one per kind.

        Args:
            kv_heads: Key/value heads by kind, where heads are grouped.
        """
        return [
            {
                "kind": kind,
                "label": KIND_LABELS[kind],
                "layers": array.shape[0],
                "heads": array.shape[1],
                "kv_heads": (kv_heads or {}).get(kind, array.shape[1]),
                "scores": [
                    {
                        "name": self.name,
                        "unit": self.unit,
                        "n": self.n,
                        "signed": bool(np.any(array < 0)),
                        "values": array.astype(np.float32),
                        "stderr": self.stderr[kind].astype(np.float32) if self.stderr else None,
                    }
                ],
            }
            for kind, array in self.values.items()
        ]

    def document(self) -> dict[str, Any]:
        """The content of a ``.heads`` file (wire `ScoresFile`, with NumPy arrays)."""
        from headwidgets import __version__

        return {
            "schema": SCHEMA,
            "document": "scores",
            "version": __version__,
            "fingerprint": self.fingerprint,
            "name": self.name,
            "unit": self.unit,
            "n": self.n,
            "values": dict(self.values),
            "stderr": dict(self.stderr) if self.stderr else None,
            "groups": dict(self.groups) if self.groups else None,
            "group_sizes": None if self.group_sizes is None else self.group_sizes.astype(np.int32),
            "provenance": self.provenance,
        }

    @classmethod
    def from_document(cls, document: ScoresFile) -> "HeadScores":
        """The inverse of `document` (arrays already decoded)."""
        arrays = cast("dict[str, Any]", document)
        return cls(
            arrays["values"],
            name=str(document["name"]),
            unit=str(document["unit"]),
            n=int(document["n"]),
            stderr=arrays.get("stderr"),
            groups=arrays.get("groups"),
            group_sizes=arrays.get("group_sizes"),
            provenance=document.get("provenance"),
            fingerprint=document.get("fingerprint"),
        )

    def cite(self) -> str:
        """BibTeX of the papers behind the measurement; empty for a control, or when it is not known how it was made."""
        return bibtex([method_of(self.provenance)])

    def save(self, path: str | Path) -> Path:
        """Write a ``.heads`` file; `headwidgets.read` reads it.

        Returns:
            The path; ``.heads`` is added to a name without an extension.
        """
        from headwidgets.files import write

        return write(path, self.document())


def _in_order(kinds: Mapping[KindName, Any]) -> list[KindName]:
    unknown = [kind for kind in kinds if kind not in KIND_ORDER]
    if unknown:
        raise InputError(f"expected kinds of attention out of {', '.join(KIND_ORDER)}, got {unknown[0]!r}")
    return [kind for kind in KIND_ORDER if kind in kinds]


def _checked(kind: str, value: Any, what: str) -> NDArray[np.float64]:
    try:
        if np.iscomplexobj(value):
            raise InputError(
                f"expected {what} for {kind} as real numbers, got complex ones: take their absolute values"
            )
        array = np.array(value, dtype=np.float64)
    except InputError:
        raise
    except (TypeError, ValueError):
        raise InputError(f"expected {what} for {kind} as numbers [layers, heads], got {_shown(value)}") from None
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(f"expected {what} for {kind} of shape [layers, heads], got {list(array.shape)}")
    return array


def _checked_groups(
    groups: Mapping[KindName, Any] | None, sizes: Any, values: Mapping[KindName, NDArray[np.float64]]
) -> tuple[dict[KindName, NDArray[np.float32]] | None, NDArray[np.int64] | None]:
    """Groups of examples: of the scores' kinds and shapes, as many as there are sizes."""
    if groups is None and sizes is None:
        return None, None
    if groups is None or sizes is None:
        raise InputError("expected groups and group_sizes together, got one without the other")
    counts = np.array(sizes)
    if counts.ndim != 1 or len(counts) < 2 or counts.dtype.kind not in "iu" or np.any(counts < 1):
        raise InputError(f"expected group_sizes as at least two whole numbers of examples, got {sizes!r}")
    found = {kind: np.array(groups[kind], dtype=np.float32) for kind in _in_order(groups)}
    for kind in values.keys() | found.keys():
        own, other = values.get(kind), found.get(kind)
        if own is None or other is None or other.shape != (len(counts), *own.shape):
            raise InputError(
                f"expected groups of the scores' kinds as arrays [groups, layers, heads] for {len(counts)} groups; for "
                f"{kind} the scores are {_shown(own)} and the groups {_shown(other)}"
            )
    return found, counts.astype(np.int64)


def _shown(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return f"an array of shape {list(shape)}" if shape is not None else type(value).__name__


def _with_ablation(provenance: Provenance | None, ablation: str | None) -> Provenance | None:
    if ablation is None:
        return provenance
    from headwidgets import __version__

    known: Provenance = provenance or {"model": "", "version": __version__, "settings": {}}
    return {**known, "settings": {**known["settings"], "ablation": ablation}}


def import_pandas(wanted_by: str) -> Any:
    """Pandas, or a sentence that says how to get it."""
    try:
        import pandas
    except ImportError:
        raise InputError(f"{wanted_by} needs pandas: pip install pandas") from None
    return pandas


def _known(end: float, value: float) -> float:
    return end if math.isfinite(end) else value


@dataclass(frozen=True)
class Interval:
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float

    def data(self) -> IntervalData:
        """The wire's form; JSON has no NaN, so an end that is not known (one example) is the value itself."""
        return {"value": self.value, "low": _known(self.low, self.value), "high": _known(self.high, self.value)}


@dataclass(frozen=True)
class Estimate:
    """A metric of a model on a set of examples, possibly unfinished.

    Attributes:
        value: On the examples seen.
        low: With `high`, 95 % interval for new data.
        high: See `low`.
        n: Examples seen.
        total: Examples in the set.
        exact: All examples were seen: `value` is the set's own.
        partial_low: With `partial_high`, 95 % interval for the value on the whole set; equal to `value` when exact.
        partial_high: See `partial_low`.
        change: Paired difference to the full model on the same examples, with its 95 % interval for new data;
            None for the full model itself.
        metric: What `value` is: ``accuracy`` (a fraction), ``loss`` (nats per label, word or token; squared error
            for regression), or a function's name.
        ablation: What pruned heads' outputs became.
        pruned: The heads that were pruned.
        provenance: How it was made.
    """

    value: float
    low: float
    high: float
    n: int
    total: int
    exact: bool
    partial_low: float
    partial_high: float
    change: Interval | None = None
    metric: str = "accuracy"
    ablation: str = "zero"
    pruned: tuple[Head, ...] = ()
    provenance: Provenance | None = field(default=None, repr=False, compare=False)

    def data(self) -> EstimateData:
        """The wire's form; JSON has no NaN, so an end that is not known (one example) is the value itself."""
        return {
            "value": self.value,
            "low": _known(self.low, self.value),
            "high": _known(self.high, self.value),
            "n": self.n,
            "total": self.total,
            "exact": self.exact,
            "partial_low": _known(self.partial_low, self.value),
            "partial_high": _known(self.partial_high, self.value),
            "change": self.change.data() if self.change else None,
        }

    def __str__(self) -> str:
        seen = f"n={self.n}" if self.exact else f"{self.n} of {self.total} examples so far"
        changed = ""
        if self.change is not None:
            changed = f"; change {self.change.value:+.4f} ({self.change.low:+.4f} to {self.change.high:+.4f})"
        return f"{self.metric} {self.value:.4f} ({self.low:.4f} to {self.high:.4f}, {seen}){changed}"
