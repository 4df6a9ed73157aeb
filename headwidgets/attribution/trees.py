"""How does information flow to the prediction? The attribution tree of one text (Hao et al. 2021, Algorithm 1)."""

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from headwidgets.attribution.result import Attribution
from headwidgets.errors import InputError, UnsupportedError
from headwidgets.scores import import_pandas
from headwidgets.wire.documents import SCHEMA, KindName, Provenance, Token, TreeDocument, TreeLevel
from headwidgets.wire.growth import ORDERS, Grown, TreeEdge, grow

Order = Literal["strongest", "published"]
Root = int | Literal["auto"] | None
_ONE_ROW = 1e-6
"""The last layer is read at one position when all other rows have less than this share of it."""
_MOST_EDGES = 4000
"""Candidate edges of a level that a document carries: 8 bytes each."""
_FLOOR_STEPS = 1000


def tree(
    attribution: Attribution,
    threshold: float = 0.4,
    penalty: float = 0.0,
    kind: KindName | None = None,
    words: bool = False,
    root: Root = "auto",
    order: Order = "strongest",
) -> "Tree":
    """Grow the attribution tree of one text.

    An edge (i, j) of layer l says that i attends to j there, so that information flows from j to i; its weight is the
    attribution summed over the layer's heads. The tree seeks much weight with few edges, sum of weights - lambda per
    edge. It is grown greedily: the top node is the position that takes most from others over all layers; layers come
    from above, and an edge of more than tau times the largest entry of its layer is taken when its upper end is in the
    tree and its lower end is not.

    It is a heuristic: each layer's attributions add up to a quantity of their own, F(A) - F(0) of that layer, and the
    tree compares across them; greedily grown, it need not be the best one; and links that oppose the target have no
    part in it.

    Where this differs from the published code: that ignores lambda, leaves the root's row out of a layer's largest
    entry, and takes edges of a layer row by row (``order="published"``), so that the order of tokens decides ties.

    Args:
        attribution: From `attribute`, with its maps kept.
        threshold: tau, from 0 to below 1; a larger one gives a smaller tree.
        penalty: lambda, from 0 to 1: what an edge has to weigh to be worth its place, as a share of the heaviest edge
            that a tree may have. `Tree.price` is the same in units of the output.
        kind: Which attention, for an encoder-decoder: ``encoder`` or ``decoder``.
        words: Grow over words; the entries of a word's tokens are added up.
        root: The position that the prediction is read at. It stands on top and is tied to all nodes in the last layer,
            the only layer where it is considered, as the paper's author says. ``auto`` takes the one position that the
            last layer is read at (the first token of BERT's classifiers, the predicted position of language models).
            None is no root: then all positions and layers take part alike, which shows more of a language model, whose
            predicted position gathers in many layers.
        order: Inside a layer, ``strongest`` edge first, or ``published``.

    Returns:
        A `Tree`.

    Raises:
        InputError: an argument that cannot be used, or an attribution without maps.
        UnsupportedError: cross-attention, whose maps have two rows of tokens.

    Reference:
        Hao, Dong, Wei, Xu: Self-Attention Attribution, AAAI 2021, section 5 and Algorithm 1.
    """
    if not isinstance(attribution, Attribution):
        raise InputError(f"expected what hw.attribution.attribute returned, got {type(attribution).__name__}")
    check(threshold, penalty, order)
    chosen = _kind(attribution, kind)
    matrix, notes = layer_matrices(attribution.maps[chosen])
    labels = attribution.labels[chosen][0]
    place = _root(attribution, matrix, root, notes)
    groups = _groups(attribution, chosen)
    levels = [_level(matrix, place)]
    if len(set(groups)) < len(labels):
        levels.append(_level(_joined(matrix, groups), groups[place] if place >= 0 else -1))
    grown = Tree(
        text=attribution.text,
        target=attribution.target,
        output=attribution.output,
        unit=attribution.unit,
        value=float(attribution.value),
        kind=chosen,
        layers=len(matrix),
        threshold=float(threshold),
        penalty=float(penalty),
        order=order,
        collapsed=bool(words),
        notes=tuple(notes),
        provenance=attribution.provenance,
        all_tokens=tuple(labels),
        groups=tuple(groups),
        levels=tuple(levels),
    )
    return grown.grow()


@dataclass(frozen=True)
class Tree:
    """The attribution tree of one text, as data; see `tree` for what it is and is not.

    Attributes:
        text: The text, as given.
        target: What was attributed, for a reader.
        output: Name of the quantity, for example ``log-odds``.
        unit: Of weights; empty for a pure number.
        value: The output F on the unchanged text.
        kind: Which attention.
        layers: Their number.
        threshold: tau.
        penalty: lambda, as a share of the heaviest edge that a tree may have.
        order: In which edges of a layer were tried.
        collapsed: Positions are words.
        top: The top node; None when the root is the only position.
        edges: `TreeEdge` (layer, query, key, weight, share), in the order in which they were taken.
        terminals: The ties from the root to every node in the last layer, whatever their weight, the top node's first;
            empty without a root. They are no part of the objective.
        objective: Sum of the weights of `edges`, less `price` for each.
        notes: Sentences about what a reader should know.
        provenance: How the attribution was made.
    """

    text: Any
    target: str
    output: str
    unit: str
    value: float
    kind: KindName
    layers: int
    threshold: float
    penalty: float
    order: Order
    collapsed: bool
    notes: tuple[str, ...]
    provenance: Provenance | None = field(repr=False)
    all_tokens: tuple[Token, ...] = field(repr=False)
    groups: tuple[int, ...] = field(repr=False)
    levels: tuple[TreeLevel, ...] = field(repr=False, compare=False)
    top: int | None = None
    edges: tuple[TreeEdge, ...] = field(default=(), repr=False)
    terminals: tuple[TreeEdge, ...] = field(default=(), repr=False)
    objective: float = 0.0

    @property
    def level(self) -> TreeLevel:
        """What it was grown from."""
        return self.levels[-1] if self.collapsed else self.levels[0]

    @property
    def root(self) -> int | None:
        """The position that the prediction is read at; None when it is read nowhere in particular."""
        return self.level["root"] if self.level["root"] >= 0 else None

    @property
    def price(self) -> float:
        """Lambda in units of the output: what every edge has to weigh more than."""
        return self.penalty * float(self.level["heaviest"])

    @property
    def labels(self) -> list[str]:
        """The text of every position, tokens or words."""
        return word_texts(self.all_tokens, self.groups) if self.collapsed else [t["text"] for t in self.all_tokens]

    def grow(self, threshold: float | None = None, penalty: float | None = None, order: Order | None = None) -> "Tree":
        """Grow it anew with another tau, lambda or order; nothing is attributed again.

        Raises:
            InputError: a number out of its range.
        """
        tau = self.threshold if threshold is None else threshold
        price, by = self.penalty if penalty is None else penalty, self.order if order is None else order
        check(tau, price, by)
        new: Grown = grow(self.level, tau, price, by)
        return dataclasses.replace(
            self,
            threshold=float(tau),
            penalty=float(price),
            order=by,
            top=new.top if new.top >= 0 else None,
            edges=new.edges,
            terminals=new.terminals,
            objective=new.objective,
        )

    def words(self) -> "Tree":
        """Return the tree over words, grown with the same numbers from the sums over their tokens."""
        return dataclasses.replace(self, collapsed=True).grow()

    def to_frame(self) -> Any:
        """A pandas DataFrame, a row per edge: layer, query, key, query_text, key_text, weight, share, part.

        `part` is ``tree``, or ``root`` for the ties of the last layer.

        Raises:
            InputError: pandas is not installed.
        """
        pandas = import_pandas("tree.to_frame()")
        labels = self.labels
        rows = [
            {
                "layer": edge.layer,
                "query": edge.query,
                "key": edge.key,
                "query_text": labels[edge.query],
                "key_text": labels[edge.key],
                "weight": edge.weight,
                "share": edge.share,
                "part": part,
            }
            for part, edges in (("tree", self.edges), ("root", self.terminals))
            for edge in edges
        ]
        columns = ["layer", "query", "key", "query_text", "key_text", "weight", "share", "part"]
        frame = pandas.DataFrame(rows, columns=columns)
        frame.attrs = {
            "target": self.target,
            "output": self.output,
            "unit": self.unit,
            "threshold": self.threshold,
            "penalty": self.penalty,
            "objective": self.objective,
            "provenance": self.provenance,
        }
        return frame

    def document(self, title: str = "") -> TreeDocument:
        """Return what is drawn, with NumPy arrays; the weakest candidates are left out where there are too many."""
        found = {
            "schema": SCHEMA,
            "document": "tree",
            "title": title or "Attribution tree",
            "text": _line(self.text),
            "target": self.target,
            "output": self.output,
            "unit": self.unit,
            "value": self.value,
            "kind": self.kind,
            "layers": self.layers,
            "tokens": list(self.all_tokens),
            "words": list(self.groups),
            "levels": [fewer(level, _MOST_EDGES) for level in self.levels],
            "order": self.order,
            "threshold": self.threshold,
            "penalty": self.penalty,
            "collapsed": self.collapsed,
            "notes": list(self.notes),
            "provenance": self.provenance,
        }
        return cast(TreeDocument, found)

    def __repr__(self) -> str:
        root = f"root {self.labels[self.root]!r}, " if self.root is not None else ""
        top = f"top node {self.labels[self.top]!r}" if self.top is not None else "no node"
        return (
            f"Tree({self.output} of {self.target!r}; {root}{top}, {len(self.edges)} edges in {self.layers} layers; "
            f"threshold {self.threshold:g}, penalty {self.penalty:g}, objective {self.objective:.4g})"
        )


# ---- what it is grown from ------------------------------------------------------------------------------


def check(threshold: Any, penalty: Any, order: Any) -> None:
    """Raise `InputError` for numbers that no tree can be grown with."""
    if not _number(threshold) or not 0 <= threshold < 1:
        raise InputError(f"expected threshold (tau) to be a share from 0 to below 1, got {threshold!r}")
    if not _number(penalty) or not 0 <= penalty <= 1:
        raise InputError(f"expected penalty (lambda) to be from 0 to 1, a share of the heaviest edge; got {penalty!r}")
    if order not in ORDERS:
        raise InputError(f"expected order 'strongest' or 'published', got {order!r}")


def layer_matrices(maps: NDArray[np.float32]) -> tuple[NDArray[np.float32], list[str]]:
    """Sum maps [layers, heads, query, key] over heads to float32 [layers, query, key], and say what is wrong with them.

    A layer without any head, or with a head that holds some entries that are not numbers, is NaN as a whole; heads that
    a layer does not have are left out.
    """
    notes: list[str] = []
    out = np.full((maps.shape[0], *maps.shape[2:]), np.nan, dtype=np.float32)
    for layer, heads in enumerate(maps):
        missing = np.isnan(heads).all((1, 2))
        there = heads[~missing]
        if len(there) == 0:
            notes.append(f"Layer {layer} was not measured and has no edges.")
        elif not np.isfinite(there).all():
            notes.append(f"Layer {layer} holds entries that are not numbers, so none of its edges is used.")
        else:
            out[layer] = there.sum(0, dtype=np.float64)
            if not out[layer].any():
                notes.append(f"Layer {layer} adds nothing: all its entries are 0.")
            elif out[layer].max() <= 0:
                notes.append(f"Layer {layer} only opposes the target and has no edges.")
    return out, notes


def word_numbers(labels: list[Token]) -> list[int]:
    """Number the words that the tokens belong to, from 0; special tokens are words of their own."""
    numbers: list[int] = []
    for at, label in enumerate(labels):
        joined = at > 0 and label["joined"] and not label["special"] and not labels[at - 1]["special"]
        numbers.append(numbers[-1] if joined else numbers[-1] + 1 if numbers else 0)
    return numbers


def word_texts(labels: tuple[Token, ...], groups: tuple[int, ...]) -> list[str]:
    """The text of every word: its tokens' texts joined, a character that several tokens share only once."""
    out = [""] * (max(groups) + 1 if groups else 0)
    for label, group in zip(labels, groups, strict=True):
        out[group] += "" if label["continued"] else label["text"]
    return out


def fewer(level: TreeLevel, most: int) -> TreeLevel:
    """Return the level with its at most `most` strongest candidates (by share), and the floor that this makes."""
    edges, weight = np.asarray(level["edges"]), np.asarray(level["weight"])
    if len(edges) <= most:
        return level
    size = level["count"] ** 2
    peak = np.asarray(level["peak"]).astype(np.float64)[edges // size]
    share = weight.astype(np.float64) / peak
    floor = math.ceil(float(np.partition(share, -most - 1)[-most - 1]) * _FLOOR_STEPS) / _FLOOR_STEPS
    kept = weight.astype(np.float64) > floor * peak
    return cast(TreeLevel, {**level, "floor": floor, "edges": edges[kept], "weight": weight[kept]})


def _level(matrix: NDArray[np.float32], root: int) -> TreeLevel:
    layers, count, _ = matrix.shape
    clean = np.nan_to_num(matrix, nan=0.0)
    use = clean > 0
    use[:, np.arange(count), np.arange(count)] = False
    if root >= 0:
        use[:, root, :] = use[:, :, root] = use[-1] = False
    edges = np.flatnonzero(use)
    summed = clean.sum(0, dtype=np.float64)
    found = {
        "count": count,
        "root": root,
        "floor": 0.0,
        "edges": edges.astype(np.int32),
        "weight": clean.ravel()[edges],
        "heaviest": float(clean.ravel()[edges].max()) if edges.size else 0.0,
        "peak": matrix.reshape(layers, -1).max(1),  # NaN stays
        "gathered": (summed.sum(1) - summed.diagonal()).astype(np.float32),
        "terminal": clean[-1, root] if root >= 0 else np.zeros(count, dtype=np.float32),
    }
    return cast(TreeLevel, found)


def _groups(attribution: Attribution, kind: KindName) -> list[int]:
    """The word of every token: as the tokenizer's offsets say, else by the marks of its tokens."""
    side = attribution.sides.get(kind)
    if side is None or side[0] is None:
        return word_numbers(attribution.labels[kind][0])
    return [int(number) for number in side[0].group]


def _joined(matrix: NDArray[np.float32], groups: list[int]) -> NDArray[np.float32]:
    member = np.zeros((len(groups), max(groups) + 1))
    member[np.arange(len(groups)), groups] = 1.0
    return np.asarray(member.T @ matrix.astype(np.float64) @ member, dtype=np.float32)


def _kind(attribution: Attribution, kind: KindName | None) -> KindName:
    kinds = attribution.kinds
    alone: list[KindName] = [one for one in kinds if one != "cross"]
    if kind is None and len(alone) > 1:
        raise InputError(
            f"there are {len(alone)} kinds of self-attention: choose kind={' or kind='.join(map(repr, alone))}"
        )
    chosen = kind if kind is not None else alone[0] if alone else "cross"
    if chosen == "cross":
        raise UnsupportedError(
            "a tree grows over one row of tokens, and cross-attention has two (target tokens attend to source tokens): "
            "take kind='encoder' or kind='decoder', or look at the cross maps in AttributionView"
        )
    if chosen not in kinds:
        raise InputError(f"expected kind to be one of {', '.join(kinds)}, got {kind!r}")
    return chosen


def _root(attribution: Attribution, matrix: NDArray[np.float32], root: Any, notes: list[str]) -> int:
    """The root's position, -1 for none."""
    count: int = matrix.shape[1]
    if root is None:
        return -1
    if root != "auto":
        whole = isinstance(root, (int, np.integer)) and not isinstance(root, bool)
        if not whole or not -count <= root < count:
            raise InputError(f"expected root to be 'auto', None, or a position from 0 to {count - 1}, got {root!r}")
        return int(root) % count
    rows = np.abs(np.nan_to_num(matrix[-1], nan=0.0)).sum(1, dtype=np.float64)
    if not rows.any():
        if len(attribution.positions) == 1 and len(attribution.kinds) == 1:
            return int(attribution.positions[0])
        notes.append("The last layer carries nothing, so it does not show where the prediction is read: no root.")
        return -1
    best = int(rows.argmax())
    others = np.delete(rows, best)
    alone = not others.size or bool(others.max() <= _ONE_ROW * rows[best])
    return best if alone else -1


def _number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and math.isfinite(value)


def _line(text: Any) -> str:
    if isinstance(text, tuple):
        return " → ".join(map(_line, text))
    return " ".join(map(str, text)) if isinstance(text, list) else str(text)


__all__ = ["Tree", "TreeEdge", "tree"]
