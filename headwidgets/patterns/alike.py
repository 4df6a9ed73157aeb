"""What distances between heads say: who is near whom, and whether heads of one layer are alike."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from headwidgets.citations import bibtex, method_of
from headwidgets.errors import InputError
from headwidgets.patterns.layers import LayerTest, layer_test
from headwidgets.patterns.layout import Clusters, Layout, clustered, laid_out
from headwidgets.scores import KIND_ORDER, Head, import_pandas
from headwidgets.statistics import pearson
from headwidgets.wire.documents import SCHEMA, DistancesFile, KindName, Provenance

Floats = NDArray[np.float64]
KeysName = Literal["all", "content"]
KEYS: tuple[KeysName, ...] = get_args(KeysName)
MOST = math.log(2)
"""Two heads that never look at the same key, in nats."""


class DistanceSums:
    """Sums over texts for every pair of heads of a kind: of x, x^2, x w; x a text's sum over tokens, w its tokens.

    Beside them, by random group of texts, sums by pair of layers (for intervals), and of all pairs by half of the texts
    (for how far distances agree with themselves).
    """

    def __init__(self, heads: Sequence[Head], groups: int) -> None:
        self.heads = list(heads)
        pairs = len(heads) * (len(heads) - 1) // 2
        self.plain, self.squares, self.crossed = np.zeros((3, pairs))
        self.weight = self.square = 0.0
        self.n = 0
        self.halves, self.half_weights = np.zeros((2, pairs)), np.zeros(2)
        layers = layers_of(heads)
        self._layers = int(layers.max()) + 1
        first, second = np.triu_indices(len(heads), 1)
        self._code = layers[first] * self._layers + layers[second]
        self.by_layer = np.zeros((groups, self._layers**2))
        self.group_weights = np.zeros(groups)

    def add(self, groups: Sequence[int], numbers: Floats, weights: Floats) -> None:
        """Take in some texts.

        Args:
            groups: The random group of each text.
            numbers: Sums over its tokens, [texts, pairs].
            weights: Its tokens, [texts].
        """
        self.plain += numbers.sum(0)
        self.squares += (numbers**2).sum(0)
        self.crossed += weights @ numbers
        self.weight += float(weights.sum())
        self.square += float((weights**2).sum())
        self.n += len(weights)
        for group, own, weight in zip(groups, numbers, weights, strict=True):
            self.by_layer[group] += np.bincount(self._code, own, self._layers**2)
            self.group_weights[group] += weight
            self.halves[group % 2] += own
            self.half_weights[group % 2] += weight

    def known(self) -> "KindDistances":
        """The ratios of the sums, with standard errors of ratios over clusters (Cochran 1977, section 6.4)."""
        mean = self.plain / self.weight
        residual = np.maximum(self.squares - 2 * mean * self.crossed + mean**2 * self.square, 0)
        error = np.sqrt(self.n / (self.n - 1) * residual) / self.weight if self.n > 1 else np.full_like(mean, np.nan)
        halves = None
        if self.half_weights.min() > 0:
            halves = (self.halves / self.half_weights[:, None]).astype(np.float32)
        shape = (len(self.group_weights), self._layers, self._layers)
        return KindDistances(
            tuple(self.heads), mean, error, self.n, self.weight, halves, self.by_layer.reshape(shape).copy(),
            self.group_weights.copy(),
        )  # fmt: skip


@dataclass(frozen=True)
class KindDistances:
    """What is kept of one kind. Pairs are (0, 1), (0, 2), ..., (1, 2), ... of `heads`."""

    heads: tuple[Head, ...]
    pairs: Floats
    errors: Floats
    n: int
    tokens: float
    halves: NDArray[np.float32] | None
    by_layer: Floats
    group_weights: Floats


@dataclass(frozen=True)
class HeadDistances:
    """How differently heads attend: mean Jensen-Shannon divergence of their rows, in nats per token.

    Attributes:
        kinds: The kinds of attention that were measured; heads of different kinds have no distance.
        n: Texts.
        keys: ``all``, or ``content``: without special tokens and the first key.
        unit: Of the values; 0 is alike, ln 2 (0.693) is never looking at the same key.
        provenance: How they were made.
        fingerprint: Of the model.
    """

    n: int
    keys: KeysName
    provenance: Provenance | None = field(repr=False)
    fingerprint: str | None = field(repr=False)
    _known: Mapping[KindName, KindDistances] = field(repr=False)
    unit: str = "nats"

    @classmethod
    def of(cls, sums: Mapping[KindName, DistanceSums], *, n: int, keys: KeysName, **made: Any) -> "HeadDistances":
        """Of what was summed so far; kinds without any row yet are not in it."""
        return cls(n=n, keys=keys, _known={k: s.known() for k, s in sums.items() if s.weight > 0}, **made)

    @property
    def kinds(self) -> tuple[KindName, ...]:
        """The kinds that were measured."""
        return tuple(kind for kind in KIND_ORDER if kind in self._known)

    @property
    def values(self) -> dict[KindName, Floats]:
        """By kind, float64 [heads, heads], in the order of `heads`; symmetric, 0 on the diagonal."""
        return {kind: _square(self._known[kind].pairs, len(self._known[kind].heads)) for kind in self.kinds}

    @property
    def stderr(self) -> dict[KindName, Floats]:
        """Standard errors over texts, like `values`; NaN for a single text."""
        return {kind: _square(self._known[kind].errors, len(self._known[kind].heads)) for kind in self.kinds}

    def heads(self, kind: KindName | None = None) -> list[Head]:
        """The heads of a kind, by layer and index: the order of the rows and columns of `values`."""
        return list(self._of(kind)[1].heads)

    def __getitem__(self, pair: tuple[Head, Head]) -> float:
        first, second = (Head(*head) for head in pair)
        for head in (first, second):
            if head.kind not in self._known or head not in self._known[head.kind].heads:
                raise InputError(f"there is no distance of {head!r}; measured were heads of {', '.join(self.kinds)}")
        if first.kind != second.kind:
            raise InputError(
                f"{first.label(True)} and {second.label(True)} are of different kinds: their rows are over different "
                "texts, so there is no distance between them"
            )
        known = self._known[first.kind]
        if first == second:
            return 0.0
        low, high = sorted((known.heads.index(first), known.heads.index(second)))
        return float(known.pairs[low * len(known.heads) - low * (low + 1) // 2 + high - low - 1])

    def nearest(self, head: Head, count: int = 5) -> list[tuple[Head, float]]:
        """The heads that attend most like one, nearest first, with their distances."""
        head = Head(*head)
        others = [other for other in self.heads(head.kind) if other != head]
        found = [(other, self[head, other]) for other in others]
        return sorted(found, key=lambda one: one[1])[:count]

    def reliability(self, kind: KindName | None = None) -> float:
        """Correlation of the distances with those of as many other texts, from two halves (Spearman-Brown).

        NaN for a single text.
        """
        _, known = self._of(kind)
        if known.halves is None:
            return math.nan
        r = pearson(known.halves[0].astype(np.float64), known.halves[1].astype(np.float64))
        return 2 * r / (1 + r)

    def layers(self, kind: KindName | None = None, *, samples: int = 2000, seed: int = 0) -> LayerTest:
        """Are heads of one layer more alike than heads of different layers? See `LayerTest`.

        Args:
            kind: Which kind; may be left out where there is one.
            samples: Permutations, and bootstrap draws.
            seed: Of both.

        Raises:
            InputError: fewer than two layers, or no layer with two heads.
        """
        name, known = self._of(kind)
        square = _square(known.pairs, len(known.heads))
        return layer_test(
            name, square, layers_of(known.heads), known.by_layer, known.group_weights, n=known.n, samples=samples,
            seed=seed,
        )  # fmt: skip

    def layout(self, kind: KindName | None = None, *, root: bool = False, starts: int = 4, seed: int = 0) -> Layout:
        """Heads as points in a plane whose distances are as near as can be to theirs: metric MDS (SMACOF).

        Args:
            kind: Which kind; may be left out where there is one.
            root: Take square roots of the divergences, which are distances in the strict sense, instead of the
                divergences, as published.
            starts: Random starts beside the one from classical scaling; the layout with least stress is kept.
            seed: Of the starts.

        Raises:
            InputError: fewer than three heads, or heads that are all the same.
        """
        name, known = self._of(kind)
        return laid_out(name, known.heads, _square(known.pairs, len(known.heads)), root=root, starts=starts, seed=seed)

    def clusters(self, count: int | None = None, *, kind: KindName | None = None, most: int = 12) -> Clusters:
        """Groups of heads that attend alike: hierarchical clusters (Ward).

        Args:
            count: How many; by default the number from 2 to `most` with the largest silhouette.
            kind: Which kind; may be left out where there is one.
            most: Largest number tried.

        Raises:
            InputError: fewer than three heads, or a count that does not fit.
        """
        name, known = self._of(kind)
        halves = None if known.halves is None else [_square(half, len(known.heads)) for half in known.halves]
        return clustered(name, known.heads, _square(known.pairs, len(known.heads)), halves, count=count, most=most)

    def to_frame(self) -> Any:
        """A pandas DataFrame, a row per pair: kind, layer_a, head_a, layer_b, head_b, distance, stderr.

        Raises:
            InputError: pandas is not installed.
        """
        pandas = import_pandas("distances.to_frame()")
        parts = []
        for kind in self.kinds:
            known = self._known[kind]
            places = np.array([(head.layer, head.index) for head in known.heads])
            first, second = np.triu_indices(len(places), 1)
            columns = np.concatenate([places[first], places[second]], axis=1)
            part = pandas.DataFrame(columns, columns=["layer_a", "head_a", "layer_b", "head_b"])
            part.insert(0, "kind", kind)
            parts.append(part.assign(distance=known.pairs, stderr=known.errors))
        frame = pandas.concat(parts, ignore_index=True)
        frame.attrs = {"unit": self.unit, "n": self.n, "keys": self.keys, "provenance": self.provenance}
        return frame

    def cite(self) -> str:
        """BibTeX of the paper behind the measurement."""
        return bibtex([method_of(self.provenance)])

    def document(self) -> dict[str, Any]:
        """The content of a ``.heads`` file (wire `DistancesFile`, with NumPy arrays)."""
        from headwidgets import __version__

        return {
            "schema": SCHEMA,
            "document": "distances",
            "version": __version__,
            "fingerprint": self.fingerprint,
            "n": self.n,
            "keys": self.keys,
            "kinds": [
                {
                    "kind": kind,
                    "heads": np.array([(h.layer, h.index) for h in known.heads], dtype=np.int32),
                    "pairs": known.pairs,
                    "stderr": known.errors,
                    "n": known.n,
                    "tokens": known.tokens,
                    "halves": known.halves,
                    "by_layer": known.by_layer,
                    "group_weights": known.group_weights,
                }
                for kind, known in ((k, self._known[k]) for k in self.kinds)
            ],
            "provenance": self.provenance,
        }

    @classmethod
    def from_document(cls, document: DistancesFile) -> "HeadDistances":
        """The inverse of `document` (arrays already decoded).

        Raises:
            InputError: arrays that do not fit each other.
        """
        known: dict[KindName, KindDistances] = {}
        for one in cast("list[dict[str, Any]]", document["kinds"]):
            heads = tuple(Head(one["kind"], int(layer), int(index)) for layer, index in one["heads"])
            pairs = len(heads) * (len(heads) - 1) // 2
            layers = int(layers_of(heads).max()) + 1 if heads else 0
            groups = len(one["group_weights"])
            halves = None if one["halves"] is None else one["halves"].astype(np.float32)
            shapes = [one["pairs"].shape, one["stderr"].shape, one["by_layer"].shape]
            if shapes != [(pairs,), (pairs,), (groups, layers, layers)] or (
                halves is not None and halves.shape != (2, pairs)
            ):
                raise InputError(f"expected distances of {pairs} pairs of {len(heads)} heads, got {shapes}")
            plain = {name: one[name].astype(np.float64) for name in ("by_layer", "group_weights")}
            known[one["kind"]] = KindDistances(
                heads, one["pairs"].astype(np.float64), one["stderr"].astype(np.float64), int(one["n"]),
                float(one["tokens"]), halves, **plain,
            )  # fmt: skip
        return cls(
            n=int(document["n"]),
            keys=document["keys"],
            provenance=document["provenance"],
            fingerprint=document["fingerprint"],
            _known=known,
        )

    def save(self, path: str | Path) -> Path:
        """Write a ``.heads`` file; `headwidgets.read` reads it. Returns the path."""
        from headwidgets.files import write

        return write(path, self.document())

    def __str__(self) -> str:
        parts = []
        for kind in self.kinds:
            known = self._known[kind]
            low, mean, high = known.pairs.min(), known.pairs.mean(), known.pairs.max()
            parts.append(f"{kind} {len(known.heads)} heads, mean {mean:.3f} ({low:.3f} to {high:.3f})")
        without = ", without special tokens and the first key" if self.keys == "content" else ""
        return f"HeadDistances({'; '.join(parts)} nats per token, n={self.n} texts{without})"

    __repr__ = __str__

    def _of(self, kind: KindName | None) -> tuple[KindName, KindDistances]:
        if kind is None and len(self.kinds) == 1:
            kind = self.kinds[0]
        if kind is None or kind not in self._known:
            got = "none" if kind is None else repr(kind)
            raise InputError(f"expected kind= as one of {', '.join(self.kinds)}, got {got}")
        return kind, self._known[kind]


def layers_of(heads: Sequence[Head]) -> NDArray[np.intp]:
    """Per head the number of its layer among those that have heads, from 0."""
    return np.unique([head.layer for head in heads], return_inverse=True)[1].astype(np.intp)


def _square(pairs: NDArray[Any], heads: int) -> Floats:
    found = np.zeros((heads, heads))
    upper = np.triu_indices(heads, 1)
    found[upper] = pairs
    found.T[upper] = pairs
    return found
