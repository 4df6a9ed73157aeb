"""`AttentionMaps`: the maps of one text, fetched per layer when asked for and kept within a bound."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from headwidgets.errors import InputError, MemoryLimitError
from headwidgets.models.capture import Map, MapSource, Place
from headwidgets.models.families import Kind
from headwidgets.models.memory import readable
from headwidgets.models.overview import THUMBNAIL, thumbnails
from headwidgets.scores import Head
from headwidgets.text.alignment import to_words
from headwidgets.text.examples import Side
from headwidgets.text.tokens import pieces, token_labels, word_labels
from headwidgets.wire.documents import Token

if TYPE_CHECKING:
    from headwidgets.models.norms import NormMaps

T = TypeVar("T")

MEMORY = 512 * 2**20
"""Bytes of maps that one text holds by default."""


class _Maps(Mapping[Kind, Map]):
    """By kind, float32 [layers, heads, query, key]; fetched when asked for."""

    def __init__(self, owner: "AttentionMaps") -> None:
        self._owner = owner

    def __getitem__(self, kind: Kind) -> Map:
        return self._owner._whole(kind)

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._owner.kinds)

    def __len__(self) -> int:
        return len(self._owner.kinds)

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{kind!r}: {list(self._owner.map_shape(kind))}' for kind in self)}}}"


class AttentionMaps:
    """Attention maps of one text: fetched per layer when asked for, kept within a bound.

    ``maps[Head("encoder", 2, 5)]`` is one map [query, key]; ``.maps["encoder"]`` all of them, float32
    [layers, heads, query, key]. Layers without attention and heads that a layer does not have are NaN.

    Attributes:
        text: What the user gave.
        kinds: The kinds of attention at hand.
        sides: By kind, the encoded text of the rows and of the columns.
        word_level: Positions are words, else tokens.
        generated: Text that the model wrote for this call; empty otherwise.
        memory: Bytes of maps that are kept at most.
    """

    def __init__(
        self,
        source: MapSource,
        *,
        text: Any,
        tokenizer: Any,
        sides: Mapping[Kind, tuple[Side, Side]],
        heads: Mapping[Place, int],
        memory: int = MEMORY,
        word_level: bool = False,
        generated: str = "",
    ) -> None:
        self.text = text
        self.sides = dict(sides)
        self.kinds: tuple[Kind, ...] = tuple(self.sides)
        self.word_level = word_level
        self.generated = generated
        self.memory = memory
        self.maps: Mapping[Kind, Map] = _Maps(self)
        self._source = source
        self._tokenizer = tokenizer
        self._heads = dict(heads)
        self._labels: dict[Kind, tuple[list[Token], list[Token]]] = {}
        self._kept: OrderedDict[tuple[Any, ...], Map] = OrderedDict()
        self._stacks: dict[Kind, Map] = {}
        self._norms: NormMaps | None = None
        self._lock = threading.Lock()  # of the cache; never held while the model runs

    def __repr__(self) -> str:
        level = "words" if self.word_level else "tokens"
        return f"AttentionMaps({', '.join(f'{k} {list(self.map_shape(k))}' for k in self.kinds)}, {level})"

    # ---- what the positions are -----------------------------------------------------------------------

    @property
    def labels(self) -> dict[Kind, tuple[list[Token], list[Token]]]:
        """By kind, wire tokens of the rows and of the columns: what a reader sees at each position."""
        if not self._labels:
            write = word_labels if self.word_level else token_labels
            self._labels = {
                k: (write(q, self._tokenizer), write(c, self._tokenizer)) for k, (q, c) in self.sides.items()
            }
        return self._labels

    @property
    def tokens(self) -> dict[Kind, tuple[tuple[str, ...], tuple[str, ...]]]:
        """By kind, tokens of rows and columns as the tokenizer made them, special ones too; at word level, words."""
        if self.word_level:
            return {k: (_texts(q), _texts(c)) for k, (q, c) in self.labels.items()}
        return {
            k: (tuple(pieces(q, self._tokenizer)), tuple(pieces(c, self._tokenizer)))
            for k, (q, c) in self.sides.items()
        }

    def shape(self, kind: Kind) -> tuple[int, int]:
        """Layers and (the most) heads per layer of a kind."""
        own = [(layer, n) for (k, layer), n in self._heads.items() if k == self._known(kind)]
        return max(layer for layer, _ in own) + 1, max(n for _, n in own)

    def map_shape(self, kind: Kind) -> tuple[int, int, int, int]:
        """Layers, heads, rows and columns of a kind."""
        layers, heads = self.shape(kind)
        if self.word_level:
            query, key = self.labels[kind]
            return layers, heads, len(query), len(key)
        rows, columns = self.sides[kind]
        return layers, heads, len(rows), len(columns)

    # ---- maps -----------------------------------------------------------------------------------------------

    def __getitem__(self, head: Head | tuple[Kind, int, int]) -> Map:
        """One head's map, float32 [query, key].

        Raises:
            InputError: no such head.
        """
        try:
            kind, layer, index = head
        except (TypeError, ValueError):
            raise InputError(f"expected a head as Head(kind, layer, index), got {head!r}") from None
        n_heads = self._heads.get((self._known(kind), layer))
        if n_heads is None or not 0 <= index < n_heads:
            layers, heads = self.shape(kind)
            raise InputError(
                f"there is no head {index} in {kind} layer {layer}: there are maps of {layers} layers x {heads} heads"
            )
        place, single = (kind, layer), (kind, layer, index)
        kept = self._cached(single)
        if kept is not None:
            return kept
        if self._layer_bytes(place) <= self.memory:
            one: Map = self._fetched([place])[place][index]
            return one
        found: list[Map] = []  # the layer alone is too much: keep this head of it
        self._source.visit([place], lambda _, values: found.append(values[index].copy()))
        self._keep(single, found[0])
        return found[-1]

    def layer(self, kind: Kind, layer: int) -> Map:
        """The maps of one layer, float32 [heads, query, key]; NaN where the layer has no attention.

        Raises:
            InputError: no such layer.
            MemoryLimitError: one layer is over the bound.
        """
        layers, heads, rows, columns = self.map_shape(kind)
        if not 0 <= layer < layers:
            raise InputError(f"there is no layer {layer} of kind {kind!r}: layers are 0 to {layers - 1}")
        place = (kind, layer)
        if place not in self._heads:
            return np.full((heads, rows, columns), np.nan, dtype=np.float32)
        self._check_bound(
            self._layer_bytes(place), f"the maps of {kind} layer {layer}", "take single heads, maps[Head(...)]"
        )
        values = self._fetched([place])[place]
        missing = heads - len(values)
        return np.pad(values, ((0, missing), (0, 0), (0, 0)), constant_values=np.nan) if missing else values

    def each_layer(self, kind: Kind, function: Callable[[Map], T]) -> list[T | None]:
        """Apply a function to every layer's map [heads, query, key] in one pass, keeping only its results.

        Returns:
            Per layer, the result; None where the layer has no attention.
        """
        layers, _ = self.shape(kind)
        results: list[T | None] = [None] * layers
        wanted: list[Place] = []
        for layer in range(layers):
            kept = self._cached((kind, layer))
            if kept is not None:
                results[layer] = function(kept)
            elif (kind, layer) in self._heads:
                wanted.append((kind, layer))

        def apply(place: Place, values: Map) -> None:
            results[place[1]] = function(values)

        if wanted:
            self._source.visit(wanted, apply)
        return results

    def thumbnails(self, kind: Kind, size: int = THUMBNAIL) -> NDArray[np.uint8]:
        """Small pictures of every head, uint8 [layers, heads, rows, columns] with at most `size` rows and columns."""
        layers, heads, rows, columns = self.map_shape(kind)
        out = np.zeros((layers, heads, min(rows, size), min(columns, size)), dtype=np.uint8)
        for layer, small in enumerate(self.each_layer(kind, lambda values: thumbnails(values, size))):
            if small is not None:
                out[layer, : len(small)] = small
        return out

    def words(self) -> Self:
        """The same maps over words: attention to a split word summed, from it averaged (Clark et al. 2019, 4.1).

        Raises:
            InputError: words are not known (a tokenizer without offsets).
        """
        if self.word_level:
            return self
        found = type(self)(
            _WordSource(self),
            text=self.text,
            tokenizer=self._tokenizer,
            sides=self.sides,
            heads=self._heads,
            memory=self.memory,
            word_level=True,
            generated=self.generated,
        )
        _ = found.labels  # says now where words are not known
        return found

    @property
    def norms(self) -> "NormMaps":
        """Norm-based maps of the same text: weights times the norm of what they carry (Kobayashi et al. 2020).

        ``maps.norms[head]`` is one head's, ``maps.norms.summed(kind, layer)`` a layer's; fetched and kept as these are.

        Raises:
            UnsupportedError: the family has none, or the maps come from somebody's `generate` call.
        """
        if self._norms is None:
            from headwidgets.models.norms import norms_of

            tokens = self._source.tokens if isinstance(self._source, _WordSource) else None
            self._norms = norms_of(self) if tokens is None else tokens.norms.words()
        return self._norms

    def fetch(self) -> None:
        """Fetch and keep as many layers as the bound allows, in one pass."""
        room, wanted = self.memory, []
        for place in self._heads:
            size = self._layer_bytes(place)
            if size <= room:
                wanted.append(place)
                room -= size
        if wanted:
            self._fetched(wanted)
        else:
            self._source.visit([], lambda _, __: None)  # the model's output is remembered

    def close(self) -> None:
        """Free the maps and let go of the model."""
        with self._lock:
            self._kept.clear()
            self._stacks.clear()
        norms, self._norms = self._norms, None
        if norms is not None:
            norms.close()
        self._source.close()

    @classmethod
    def from_generate(cls, model: Any, prompt: Any, output: Any, *, memory: int = MEMORY) -> "AttentionMaps":
        """Stitch what ``model.generate(..., output_attentions=True, return_dict_in_generate=True)`` returned.

        One map per layer and head over all tokens that the model has read: the prompt and the generated tokens but the
        last (which was written, not read). For encoder-decoders the rows of ``decoder`` and ``cross`` are the start
        token and the generated tokens but the last.

        Args:
            model: The HeadModel around the model that generated.
            prompt: The text that was given to `generate`, or its token ids.
            output: What `generate` returned, for one text, greedy or sampled (no beams).
            memory: Bytes of maps, at most.

        Raises:
            InputError: several texts, beams, no attentions (sdpa), or another prompt.
            MemoryLimitError: over the bound.
        """
        from headwidgets.models.stitch import stitched

        found: AttentionMaps = stitched(model, prompt, output, memory=memory)
        return found

    # ---- inside ---------------------------------------------------------------------------------------------

    def _known(self, kind: Kind) -> Kind:
        if kind not in self.sides:
            raise InputError(f"expected a kind of attention that is at hand ({', '.join(self.kinds)}), got {kind!r}")
        return kind

    def _layer_bytes(self, place: Place) -> int:
        _, _, rows, columns = self.map_shape(place[0])
        return self._heads[place] * rows * columns * 4

    def _check_bound(self, size: int, what: str, instead: str) -> None:
        if size > self.memory:
            raise MemoryLimitError(
                f"{what} would take {readable(size)}, more than the bound of {readable(self.memory)}: {instead}, "
                "shorten the text, or raise memory="
            )

    def _cached(self, key: tuple[Any, ...]) -> Map | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _keep(self, key: tuple[Any, ...], values: Map) -> None:
        with self._lock:
            self._kept[key] = values
            self._kept.move_to_end(key)
            size = sum(kept.nbytes for kept in self._kept.values())
            while len(self._kept) > 1 and size > self.memory:
                gone, dropped = self._kept.popitem(last=False)
                size -= dropped.nbytes
                self._stacks.pop(gone[0], None)

    def _fetched(self, places: Sequence[Place]) -> dict[Place, Map]:
        found = {place: kept for place in places if (kept := self._cached(place)) is not None}
        missing = [place for place in places if place not in found]

        def take(place: Place, values: Map) -> None:
            found[place] = np.ascontiguousarray(values, dtype=np.float32)

        if missing:
            self._source.visit(missing, take)
        for place in missing:
            self._keep(place, found[place])
        return found

    def _whole(self, kind: Kind) -> Map:
        shape = self.map_shape(kind)
        layers, heads, rows, columns = shape
        with self._lock:
            if kind in self._stacks:
                return self._stacks[kind]
        self._check_bound(
            4 * int(np.prod(shape)),
            f"all {kind} maps ({layers} layers x {heads} heads over {rows} x {columns} positions)",
            "take layer by layer, maps.layer(kind, layer), or single heads, maps[Head(...)]",
        )
        out = np.full(shape, np.nan, dtype=np.float32)
        missing: list[Place] = []

        def put(place: Place, values: Map) -> None:
            out[place[1], : len(values)] = values

        own = [place for place in self._heads if place[0] == kind]
        for place in own:
            kept = self._cached(place)
            if kept is None:
                missing.append(place)
            else:
                put(place, kept)
        if missing:
            self._source.visit(missing, put)
        for place in own:
            self._keep(place, out[place[1], : self._heads[place]])
        with self._lock:
            if all(place in self._kept for place in own):
                self._stacks[kind] = out
        return out


class _WordSource:
    """Maps over words, made of maps over tokens."""

    def __init__(self, tokens: AttentionMaps) -> None:
        self.tokens = tokens

    def visit(self, places: Sequence[Place], visitor: Callable[[Place, Map], None]) -> None:
        rest = []
        for place in places:
            kept = self.tokens._cached(place)
            if kept is None:
                rest.append(place)
            else:
                visitor(place, self._reduced(place, kept))
        if rest:
            self.tokens._source.visit(rest, lambda place, values: visitor(place, self._reduced(place, values)))

    def _reduced(self, place: Place, values: Map) -> Map:
        query, key = self.tokens.sides[place[0]]
        words: Map = to_words(values, query, key)
        return words

    def close(self) -> None:
        self.tokens.close()


def _texts(labels: Sequence[Token]) -> tuple[str, ...]:
    return tuple(label["text"] for label in labels)
