"""Sites: every attention module of a model, found by its family's row."""

import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from torch import nn

from headwidgets.errors import UnsupportedError
from headwidgets.models.families import FAMILIES, KINDS, Family, Kind, Place


@dataclass(frozen=True, eq=False)
class Site:
    """One attention module: a kind and a layer.

    Attributes:
        kind: Which attention.
        layer: Counted from 0.
        n_heads: Query heads.
        n_kv_heads: Key/value heads; smaller under grouped-query attention.
        head_dim: Width of one head's output.
        attention: The module that computes the map.
        projection: The output projection (Linear or Conv1D); its input is ``[batch, query, n_heads * head_dim]``.
        block: The block (layer) around them.
        registered: Whether the module computes its map through transformers' attention registry.
        has_map: Whether there is a ``[query, key]`` map at all.
        call: The site is the n-th call of its module in one forward pass; 0 but for shared layers (ALBERT).
        calls: How many sites share the module.
    """

    kind: Kind
    layer: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    attention: nn.Module
    projection: nn.Module
    block: nn.Module
    registered: bool = True
    has_map: bool = True
    call: int = 0
    calls: int = 1

    def __repr__(self) -> str:
        return f"Site({self.kind} layer {self.layer}: {self.n_heads} heads)"

    def kv_head(self, index: int) -> int:
        """The key/value head that query head `index` reads from."""
        return index * self.n_kv_heads // self.n_heads


def forward_of(module: nn.Module) -> Callable[..., Any]:
    """The function that a module's class runs, without the decorators around it."""
    forward: Callable[..., Any] = inspect.unwrap(type(module).forward)
    return forward


def is_registered(attention: nn.Module) -> bool:
    """Whether a module's forward asks transformers' registry for its attention function."""
    code = getattr(forward_of(attention), "__code__", None)
    return code is not None and "ALL_ATTENTION_FUNCTIONS" in code.co_names


def _submodule(root: nn.Module, path: str) -> nn.Module | None:
    try:
        return root.get_submodule(path)
    except AttributeError:
        return None


def _listed(root: nn.Module, path: str) -> list[nn.Module]:
    found = _submodule(root, path)
    return list(found) if isinstance(found, nn.ModuleList) else []


def _blocks(root: nn.Module, place: Place, config: Any) -> Iterator[nn.Module]:
    """The blocks in the order in which they run; one that runs many times comes as often."""
    parts = place.blocks.split(".*")
    if len(parts) == 2:
        yield from _listed(root, parts[0])
    elif groups := [_listed(group, parts[1].lstrip(".")) for group in _listed(root, parts[0])]:
        n_layers = int(config.num_hidden_layers)
        for layer in range(n_layers):
            yield from groups[int(layer / (n_layers / len(groups)))]


def _in_features(projection: nn.Module) -> int | None:
    width = getattr(projection, "in_features", None)
    weight = getattr(projection, "weight", None)
    if width is None and weight is not None and weight.dim() == 2:  # transformers' Conv1D keeps its weight [in, out]
        width = weight.shape[0]
    return width


def _first(objects: tuple[Any, ...], names: tuple[str, ...]) -> int | None:
    for holder in objects:
        for name in names:
            value = getattr(holder, name, None)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
    return None


_HEADS = ("num_attention_heads", "n_heads", "num_heads", "n_head", "encoder_attention_heads")
_KV_HEADS = ("num_key_value_heads", "num_kv_heads")


def _site(kind: Kind, layer: int, block: nn.Module, place: Place, config: Any) -> Site | None:
    attention = _submodule(block, place.attention)
    projection = _submodule(block, place.projection)
    width = None if projection is None else _in_features(projection)
    if attention is None or projection is None or width is None:
        return None
    own = getattr(attention, "config", config)
    n_heads = _first((attention,), _HEADS)
    if n_heads is None:
        head_dim = _first((attention,), ("head_dim", "attention_head_size", "head_size"))
        n_heads = width // head_dim if head_dim else _first((own, config), _HEADS)
    if n_heads is None or width % n_heads:
        raise UnsupportedError(
            f"{type(attention).__name__} (layer {layer}): its output projection takes {width} numbers, which is not a "
            f"multiple of its {n_heads} heads; headwidgets cannot tell the heads apart"
        )
    shared = _first((attention,), ("num_key_value_groups",))
    n_kv = n_heads // shared if shared else _first((attention, own, config), _KV_HEADS) or n_heads
    return Site(
        kind,
        layer,
        n_heads,
        min(n_kv, n_heads),
        width // n_heads,
        attention,
        projection,
        block,
        registered=is_registered(attention),
    )


def _kinds_of(family: Family, config: Any) -> dict[Kind, Place]:
    """The family's places as this model uses them: a BERT with ``is_decoder`` has a decoder."""
    places = dict(family.places)
    if "encoder" in places and "decoder" not in places and getattr(config, "is_decoder", False):
        places["decoder"] = places.pop("encoder")
    crosses = getattr(config, "is_encoder_decoder", False) or getattr(config, "add_cross_attention", False)
    if not crosses:
        places.pop("cross", None)
    return places


def _find(root: nn.Module, family: Family, config: Any) -> list[Site]:
    found: list[Site] = []
    for kind, place in _kinds_of(family, config).items():
        for layer, block in enumerate(_blocks(root, place, config)):
            site = _site(kind, layer, block, place, config)
            if site is not None:
                found.append(replace(site, has_map=family.maps))
    sharing = Counter(site.attention for site in found)
    before: Counter[nn.Module] = Counter()
    numbered = []
    for site in found:
        numbered.append(replace(site, call=before[site.attention], calls=sharing[site.attention]))
        before[site.attention] += 1
    return sorted(numbered, key=lambda s: (KINDS.index(s.kind), s.layer))


_INSIDE = ("", "language_model", "text_model", "model", "transformer")
"""Where the text model may stand inside a larger one."""


def _best(root: nn.Module, families: list[Family], config: Any) -> tuple[list[Site], Family] | None:
    """The row that finds most sites."""
    best: tuple[list[Site], Family] | None = None
    for path in _INSIDE:
        inner = root if not path else _submodule(root, path)
        if inner is None:
            continue
        own = getattr(inner, "config", config)
        for family in families:
            sites = _find(inner, family, own)
            if sites and (best is None or len(sites) > len(best[0])):
                best = sites, family
        if best is not None:
            return best
    return None


def _composed(model: nn.Module, config: Any) -> tuple[list[Site], Family] | None:
    """An encoder-decoder put together from two models of their own families (``EncoderDecoderModel``)."""
    parts = [part for name in ("encoder", "decoder") if isinstance(part := getattr(model, name, None), nn.Module)]
    if len(parts) != 2 or not all(hasattr(part, "config") for part in parts):
        return None
    (encoder, _), (decoder, family) = (find_sites(part, part.config) for part in parts)
    return [*encoder, *decoder], family


def find_sites(model: nn.Module, config: Any) -> tuple[list[Site], Family]:
    """Every site of `model`, by kind and layer, with the family's row.

    An unknown family is tried against every known row; what is found is checked when hooks run.

    Raises:
        UnsupportedError: no row fits, or the family cannot be taken; the message names the family.
    """
    root = getattr(model, "base_model", model)
    name = getattr(config, "model_type", "")
    row = FAMILIES.get(name)
    if row is not None and row.refusal:
        raise UnsupportedError(f"headwidgets cannot take a {name!r} model: {row.refusal}")
    found = _composed(model, config) if name == "encoder-decoder" else None
    if found is None:
        found = _best(root, [row] if row is not None else [r for r in FAMILIES.values() if r.places], config)
    if found is not None:
        return found
    raise UnsupportedError(
        f"headwidgets does not know where the heads of a {name or type(model).__name__!r} model are. Known families: "
        f"{', '.join(sorted(k for k, r in FAMILIES.items() if not r.refusal))}. A new family is one row in "
        "headwidgets.models.families.FAMILIES"
    )
