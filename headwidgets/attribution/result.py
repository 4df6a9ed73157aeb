"""What an attribution holds, and how it is sliced: by layer, head, token and word."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headwidgets.attribution import links
from headwidgets.attribution.links import Link, Sign, TokenLinks
from headwidgets.citations import bibtex, method_of
from headwidgets.errors import InputError
from headwidgets.scores import Head, HeadScores
from headwidgets.text.alignment import reduced
from headwidgets.wire.documents import KindName, Provenance, Token

if TYPE_CHECKING:
    from headwidgets.attribution.trees import Tree

Floats = NDArray[np.float64]
Maps = NDArray[np.float32]


@dataclass(frozen=True)
class Words:
    """How the tokens of one side make words.

    Attributes:
        group: The word of every token, int64 [tokens], ascending from 0; a special token is one of its own.
        labels: The words for a reader (wire `Token`).
    """

    group: NDArray[np.int64]
    labels: list[Token]


@dataclass
class Attribution:
    """How much each link of each head adds to one output of one text (Hao et al. 2021).

    For one layer at a time, all its maps A are scaled from 0 to 1 and the output's gradient is integrated; the entries
    of a layer add up to F(A) - F(0), its `change`. Layers are different quantities: each asks what the output owes to
    this layer's attention while all others stay, so numbers of different layers do not add up to anything.

    ``a[Head("encoder", 2, 5)]`` is one map [query, key]; index -1 is the sum over the heads of a layer.

    Attributes:
        text: The text, as given.
        value: The output F on the unchanged text.
        target: What was attributed, for a reader.
        target_ids: Class or token indices behind `target`: one per position, then those of a contrast's other side.
        output: ``log-odds``, ``probability``, ``log-probability``, ``logit`` (mean-centred), or ``value`` (regression).
        unit: Of the output; empty for a pure number.
        rule: Of the integration.
        tolerance: Asked for; relative to ``max(|change|, 0.1)`` of a layer.
        change: By kind, float64 [layers], F(A) - F(0).
        gap: By kind, float64 [layers], |sum of the entries - change|: the integration error of the layer's total,
            in units of the output. A small gap says that the integral is right, not that the explanation is.
        steps: By kind, int64 [layers], points of the rule, all of them counted.
        totals: By kind, float64 [layers, heads], sum of a head's entries.
        largest: By kind, float64 [layers, heads], a head's largest entry (signed).
        tokens: By kind, (query tokens, key tokens) as the tokenizer made them; at word level, the words.
        labels: By kind, the same positions for a reader (wire `Token`).
        notes: Sentences about what a reader should know.
        provenance: How it was made.
        positions: Where F was read, one per target; empty for one prediction per text.
        sides: By kind, how query and key tokens make words; None where words are not known.
        word_level: Positions are words, else tokens.
    """

    text: Any
    value: float
    target: str
    target_ids: tuple[int, ...]
    output: str
    unit: str
    rule: str
    tolerance: float
    change: dict[KindName, Floats]
    gap: dict[KindName, Floats]
    steps: dict[KindName, NDArray[np.int64]]
    totals: dict[KindName, Floats]
    largest: dict[KindName, Floats]
    tokens: dict[KindName, tuple[list[str], list[str]]]
    labels: dict[KindName, tuple[list[Token], list[Token]]]
    notes: list[str] = field(default_factory=list)
    provenance: Provenance | None = field(default=None, repr=False)
    kept_maps: dict[KindName, Maps] | None = field(default=None, repr=False)
    kept_attention: dict[KindName, Maps] | None = field(default=None, repr=False)
    positions: tuple[int, ...] = ()
    sides: dict[KindName, tuple[Words | None, Words | None]] = field(default_factory=dict, repr=False)
    word_level: bool = False

    @property
    def kinds(self) -> tuple[KindName, ...]:
        """The kinds of attention that were attributed."""
        return tuple(self.change)

    @property
    def maps(self) -> dict[KindName, Maps]:
        """By kind, the attribution, float32 [layers, heads, query, key]; NaN where a layer has no such head."""
        return self._kept(self.kept_maps)

    @property
    def attention(self) -> dict[KindName, Maps]:
        """By kind, the attention maps of the unchanged text, float32 [layers, heads, query, key]."""
        return self._kept(self.kept_attention)

    def _kept(self, maps: dict[KindName, Maps] | None) -> dict[KindName, Maps]:
        if maps is None:
            raise InputError("the maps were not kept; call attribute(..., keep='maps')")
        return maps

    @property
    def contrast(self) -> bool:
        """Whether F is a difference of two targets."""
        return len(self.target_ids) == 2 * max(1, len(self.positions))

    @property
    def fingerprint(self) -> str | None:
        """Of the model that was attributed; None when unknown."""
        return str(self.provenance["settings"].get("fingerprint", "")) or None if self.provenance else None

    # ---- slices ---------------------------------------------------------------------------------------------

    def shape(self, kind: KindName) -> tuple[int, int]:
        """Layers and (the most) heads per layer of a kind."""
        layers, heads = self.totals[self.kind_of(kind)].shape
        return layers, heads

    def kind_of(self, kind: KindName | None) -> KindName:
        """A kind that is at hand; the only one may be left out.

        Raises:
            InputError: another one, or none named where there are several.
        """
        if kind is None and len(self.kinds) == 1:
            return self.kinds[0]
        if kind not in self.kinds:
            raise InputError(f"expected kind= as one of {', '.join(self.kinds)}, got {kind!r}")
        return kind

    def layer(self, kind: KindName | int, layer: int | None = None) -> Maps:
        """One layer's attribution, float32 [heads, query, key]: ``a.layer("cross", 2)``, or ``a.layer(2)`` where
        there is one kind.

        Raises:
            InputError: no such layer.
        """
        named, number = (kind, layer) if isinstance(kind, str) else (None, kind if layer is None else layer)
        own = self.kind_of(named)
        layers, _ = self.shape(own)
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or not 0 <= number < layers:
            raise InputError(f"there is no layer {number!r} of kind {own!r}: layers are 0 to {layers - 1}")
        values: Maps = self.maps[own][int(number)]
        return values

    def __getitem__(self, head: Head | tuple[KindName, int, int]) -> Maps:
        """One head's attribution, float32 [query, key]; index -1 is the sum over the layer's heads.

        Raises:
            InputError: no such head.
        """
        try:
            kind, layer, index = head
        except (TypeError, ValueError):
            raise InputError(f"expected a head as Head(kind, layer, index), got {head!r}") from None
        own = self.layer(self.kind_of(kind), layer)
        if isinstance(index, bool) or not isinstance(index, (int, np.integer)) or not -1 <= index < len(own):
            raise InputError(f"there is no head {index!r} in {kind} layer {layer}: heads are 0 to {len(own) - 1}")
        if index == -1:
            return np.asarray(np.nansum(own, axis=0), dtype=np.float32)
        values: Maps = own[int(index)]
        return values

    def token(self, which: int | str, kind: KindName | None = None, side: links.SideName | None = None) -> TokenLinks:
        """What the links of one position carry: those to it (as key) and those from it (as query).

        Args:
            which: A position, or the text of a token (at word level, of a word) that occurs once.
            kind: Of attention; may be left out where there is one.
            side: ``query`` or ``key``; in cross-attention they are different texts, so a position needs one.

        Raises:
            InputError: no such token, or several.
        """
        return links.of_token(self, which, self.kind_of(kind), side)

    def words(self) -> "Attribution":
        """The same over words: attributions of a split word's tokens are summed, in rows and in columns, so that a
        layer's entries still add up to its change; attention to a split word is summed, from it averaged.

        Raises:
            InputError: words are not known (a tokenizer without offsets), or the maps were not kept.
        """
        if self.word_level:
            return self
        sides: dict[KindName, tuple[Words, Words]] = {}
        for kind in self.kinds:
            query, key = self.sides.get(kind, (None, None))
            if query is None or key is None:
                raise InputError(
                    "words are not known: the tokenizer gives no offsets and its tokens do not match the text; use a "
                    "fast tokenizer"
                )
            sides[kind] = query, key

        def made(maps: dict[KindName, Maps], mean: bool) -> dict[KindName, Maps]:
            found = {}
            for kind, (query, key) in sides.items():
                columns = reduced(maps[kind], key.group, 3)
                found[kind] = reduced(columns, query.group, 2, mean=mean).astype(np.float32, copy=False)
            return found

        maps = made(self.maps, False)
        settings = {**self.provenance["settings"], "words": True} if self.provenance else {}
        return replace(
            self,
            largest={kind: values.max((2, 3)).astype(np.float64) for kind, values in maps.items()},
            tokens={kind: (_texts(q.labels), _texts(k.labels)) for kind, (q, k) in sides.items()},
            labels={kind: (q.labels, k.labels) for kind, (q, k) in sides.items()},
            provenance={**self.provenance, "settings": settings} if self.provenance else None,
            kept_maps=maps,
            kept_attention=None if self.kept_attention is None else made(self.kept_attention, True),
            sides={},
            word_level=True,
        )

    # ---- numbers --------------------------------------------------------------------------------------------

    def heads(self, pooling: str = "max") -> HeadScores:
        """One number per head of this text: its largest entry (``max``) or the sum of its entries (``sum``)."""
        if pooling not in ("max", "sum"):
            raise InputError(f"expected pooling 'max' or 'sum', got {pooling!r}")
        chosen = self.largest if pooling == "max" else self.totals
        return HeadScores(
            dict(chosen),
            name=f"attribution ({pooling})",
            unit=self.unit,
            n=1,
            provenance=self.provenance,
            fingerprint=self.fingerprint,
        )

    def received(self, kind: KindName | None = None) -> Floats:
        """Attribution of the links to every position, summed over heads and queries, float64 [layers, key]."""
        return np.asarray(np.nansum(self.maps[self.kind_of(kind)], axis=(1, 2), dtype=np.float64))

    def given(self, kind: KindName | None = None) -> Floats:
        """Attribution of the links from every position, summed over heads and keys, float64 [layers, query]."""
        return np.asarray(np.nansum(self.maps[self.kind_of(kind)], axis=(1, 3), dtype=np.float64))

    def top(
        self,
        n: int = 10,
        kind: KindName | None = None,
        layer: int | None = None,
        by_head: bool = True,
        diagonal: bool = True,
        sign: Sign = "any",
    ) -> list[Link]:
        """The strongest links, the strongest first.

        Args:
            n: At most so many.
            kind: Only of this kind; all by default.
            layer: Only of this layer.
            by_head: Links of single heads, else summed over the heads of a layer.
            diagonal: With the links of a position to itself.
            sign: ``positive`` (supports the target), ``negative``, or ``any`` (by size).

        Raises:
            InputError: an argument that does not fit.
        """
        return links.strongest(self, n, kind, layer, by_head, diagonal, sign)

    def to_frame(self, n: int = 100, **options: Any) -> Any:
        """The strongest links as a pandas data frame; options as for `top`."""
        return links.frame(self, self.top(n, **options))

    # ---- files ----------------------------------------------------------------------------------------------

    def document(self) -> dict[str, Any]:
        """The content of a ``.heads`` file (wire `AttributionFile`, with NumPy arrays)."""
        stored: Callable[[Attribution], dict[str, Any]] = _stored().document
        return stored(self)

    @classmethod
    def from_document(cls, document: Any) -> "Attribution":
        """The inverse of `document` (arrays already decoded)."""
        found: Attribution = _stored().from_document(document)
        return found

    def save(self, path: str | Path) -> Path:
        """Write a ``.heads`` file; `headwidgets.read` reads it, JupyterLab shows it.

        Returns:
            The path; ``.heads`` is added to a name without an extension.
        """
        from headwidgets.files import write

        return write(path, self.document())

    def cite(self) -> str:
        """BibTeX of the paper behind the attribution; empty when it is not known how it was made."""
        return bibtex([method_of(self.provenance)])

    def tree(self, threshold: float = 0.4, **options: Any) -> "Tree":
        """Grow the attribution tree of this text (Hao et al. 2021, Algorithm 1).

        Args:
            threshold: tau: an edge has to exceed this share of the largest entry of its layer.
            **options: `penalty`, `kind`, `words`, `root` and `order`, as `headwidgets.attribution.tree` has them.

        Returns:
            A `Tree`: edges as data, `.words()`, `.to_frame()`; `hw.AttributionTree` shows it.

        Raises:
            InputError: an argument that cannot be used, or the maps were not kept.
            UnsupportedError: cross-attention.
        """
        from headwidgets.attribution.trees import tree

        return tree(self, threshold, **options)

    def __repr__(self) -> str:
        shapes = ", ".join(f"{kind} {v.shape[0]}x{v.shape[1]}" for kind, v in self.totals.items())
        worst = max((float(np.nanmax(g)) for g in self.gap.values() if not np.isnan(g).all()), default=float("nan"))
        return (
            f"Attribution({self.output} of {self.target!r} = {self.value:.4g}; {shapes}; integration error at most "
            f"{worst:.1e})"
        )


def _stored() -> Any:
    from headwidgets.attribution import stored

    return stored


def _texts(labels: list[Token]) -> list[str]:
    return [label["text"] for label in labels]
