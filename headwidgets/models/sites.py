"""Sites: every attention module of a model, found by its family's row."""

from collections.abc import Iterator
from dataclasses import dataclass
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
        probabilities: Module whose output is the map, for families outside the attention registry.
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
    probabilities: nn.Module | None = None
    call: int = 0
    calls: int = 1

    def __repr__(self) -> str:
        return f"Site({self.kind} layer {self.layer}: {self.n_heads} heads)"


def _submodule(root: nn.Module, path: str) -> nn.Module | None:
    try:
        return root.get_submodule(path)
    except AttributeError:
        return None


def _blocks(root: nn.Module, place: Place) -> Iterator[nn.Module]:
    if "*" not in place.blocks:
        block = _submodule(root, place.blocks)
        if block is not None:
            yield block
        return
    parent = _submodule(root, place.blocks.removesuffix(".*"))
    if isinstance(parent, nn.ModuleList):
        yield from parent


def _in_features(projection: nn.Module) -> int:
    width = getattr(projection, "in_features", None)
    if width is None:  # transformers' Conv1D keeps its weight [in, out]
        width = projection.weight.shape[0]
    return int(width)


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
    if attention is None or projection is None:
        return None
    own = getattr(attention, "config", config)
    width = _in_features(projection)
    n_heads = _first((attention,), _HEADS)
    if n_heads is None:
        head_dim = _first((attention,), ("head_dim", "attention_head_size"))
        n_heads = width // head_dim if head_dim else _first((own, config), _HEADS)
    if n_heads is None or width % n_heads:
        raise UnsupportedError(
            f"{type(attention).__name__} (layer {layer}): its output projection takes {width} numbers, which is not a "
            f"multiple of its {n_heads} heads; headwidgets cannot tell the heads apart"
        )
    n_kv = _first((attention, own, config), _KV_HEADS) or n_heads
    probabilities = _submodule(block, place.probabilities) if place.probabilities else None
    return Site(
        kind,
        layer,
        n_heads,
        min(n_kv, n_heads),
        width // n_heads,
        attention,
        projection,
        block,
        probabilities,
    )


def _kinds_of(family: Family, config: Any) -> dict[Kind, Place]:
    """The family's places as this model uses them: a BERT with ``is_decoder`` has a decoder."""
    places = dict(family.places)
    if set(places) == {"encoder"} and getattr(config, "is_decoder", False):
        places["decoder"] = places.pop("encoder")
    return places


def _find(root: nn.Module, family: Family, config: Any) -> list[Site]:
    found: list[Site] = []
    for kind, place in _kinds_of(family, config).items():
        blocks = list(_blocks(root, place))
        shared = len(blocks) == 1 and "*" not in place.blocks
        repeats = int(config.num_hidden_layers) if shared else 1
        layer = 0
        for block in blocks:
            for call in range(repeats):
                site = _site(kind, layer, block, place, config)
                if site is not None:
                    if shared:
                        site = Site(**{**site.__dict__, "call": call, "calls": repeats})
                    found.append(site)
                layer += 1
    return sorted(found, key=lambda s: (KINDS.index(s.kind), s.layer))


def find_sites(model: nn.Module, config: Any) -> tuple[list[Site], Family]:
    """Every site of `model`, by kind and layer, with the family's row.

    An unknown family is tried against every known row; what is found is checked when hooks run.

    Raises:
        UnsupportedError: no row fits; the message names the family.
    """
    root = getattr(model, "base_model", model)
    name = getattr(config, "model_type", "")
    families = [FAMILIES[name]] if name in FAMILIES else list(FAMILIES.values())
    for family in families:
        sites = _find(root, family, config)
        if sites:
            return sites, family
    raise UnsupportedError(
        f"headwidgets does not know where the heads of a {name or type(model).__name__!r} model are. Known families: "
        f"{', '.join(sorted(FAMILIES))}. A new family is one row in headwidgets.models.families.FAMILIES"
    )
