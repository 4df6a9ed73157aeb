"""Single links of an attribution: the strongest ones, and those of one token."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headwidgets.errors import InputError
from headwidgets.scores import import_pandas
from headwidgets.wire.documents import KindName

if TYPE_CHECKING:
    from headwidgets.attribution.result import Attribution

Floats = NDArray[np.float64]
Sign = Literal["any", "positive", "negative"]
SideName = Literal["query", "key"]


class Link(NamedTuple):
    """One entry of a map: `query` attends to `key`."""

    kind: KindName
    layer: int
    head: int
    """-1: summed over the layer's heads."""
    query: int
    key: int
    query_text: str
    key_text: str
    value: float
    """Attribution, in the unit of the output."""
    attention: float
    """The weight on it; the mean over heads where `head` is -1."""

    def __str__(self) -> str:
        name = f"L{self.layer}" if self.head < 0 else f"L{self.layer}H{self.head}"
        return f"{self.kind} {name}: {self.query_text} → {self.key_text} {self.value:+.3g}"


@dataclass(frozen=True)
class TokenLinks:
    """What the links of one position carry. Layers are different quantities: do not add them up.

    Attributes:
        kind: Of attention.
        position: Of the token.
        text: What a reader sees there.
        received: Links to it, summed over queries, float64 [layers, heads]; None where it is no key.
        given: Links from it, summed over keys, float64 [layers, heads]; None where it is no query.
        received_from: Links to it by the position that attends, summed over heads, float64 [layers, query].
        given_to: Links from it by the position attended to, summed over heads, float64 [layers, key].
    """

    kind: KindName
    position: int
    text: str
    received: Floats | None
    given: Floats | None
    received_from: Floats | None
    given_to: Floats | None


def of_token(found: "Attribution", which: int | str, kind: KindName, side: SideName | None) -> TokenLinks:
    """See `Attribution.token`."""
    if side not in (None, "query", "key"):
        raise InputError(f"expected side to be 'query' or 'key', got {side!r}")
    maps = found.maps[kind]
    as_query, as_key = side in (None, "query"), side in (None, "key")
    if kind == "cross" and side is None:
        if not isinstance(which, str):
            raise InputError("cross-attention goes from one text to another: say which with side='query' or side='key'")
        held = [bool(_places(found, kind, at, which)) for at in (0, 1)]
        if held == [True, True]:
            raise InputError(f"{which!r} is in both texts: say which one with side='query' or side='key'")
        as_query, as_key = held[0], held[1] or not held[0]
    at = 0 if as_query else 1
    position = _position(found, kind, at, which)
    query, key = maps[:, :, position] if as_query else None, maps[..., position] if as_key else None
    return TokenLinks(
        kind,
        position,
        found.labels[kind][at][position]["text"],
        received=None if key is None else np.sum(key, axis=2, dtype=np.float64),
        given=None if query is None else np.sum(query, axis=2, dtype=np.float64),
        received_from=None if key is None else np.nansum(key, axis=1, dtype=np.float64),
        given_to=None if query is None else np.nansum(query, axis=1, dtype=np.float64),
    )


def _places(found: "Attribution", kind: KindName, at: int, text: str) -> list[int]:
    labels, names = found.labels[kind][at], found.tokens[kind][at]
    exact = [i for i, label in enumerate(labels) if label["text"].strip() == text.strip()]
    return exact or [i for i, name in enumerate(names) if name == text]


def _position(found: "Attribution", kind: KindName, at: int, which: Any) -> int:
    labels = found.labels[kind][at]
    if isinstance(which, str):
        places = _places(found, kind, at, which)
        level = "word" if found.word_level else "token"
        if not places:
            near = " (it may be several tokens: try a.words())" if not found.word_level else ""
            raise InputError(f"there is no {level} {which!r} in this text{near}: {_some(labels)}")
        if len(places) > 1:
            raise InputError(
                f"{which!r} occurs {len(places)} times: name its position, one of {', '.join(map(str, places))}"
            )
        return places[0]
    if isinstance(which, bool) or not isinstance(which, (int, np.integer)) or not 0 <= which < len(labels):
        raise InputError(f"expected a position from 0 to {len(labels) - 1}, or a token's text, got {which!r}")
    return int(which)


def _some(labels: Any) -> str:
    shown = [label["text"] for label in labels[:12]]
    return f"it reads {' '.join(shown)}" + (" …" if len(labels) > 12 else "")


def strongest(
    found: "Attribution",
    n: int,
    kind: KindName | None,
    layer: int | None,
    by_head: bool,
    diagonal: bool,
    sign: Sign,
) -> list[Link]:
    """See `Attribution.top`."""
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise InputError(f"expected n as a whole number from 1, got {n!r}")
    if sign not in ("any", "positive", "negative"):
        raise InputError(f"expected sign to be 'any', 'positive' or 'negative', got {sign!r}")
    links: list[Link] = []
    for own in found.kinds if kind is None else (found.kind_of(kind),):
        links += _of_kind(found, own, int(n), layer, by_head, diagonal, sign)
    return sorted(links, key=lambda link: -abs(link.value))[:n]


def _of_kind(
    found: "Attribution", kind: KindName, n: int, layer: int | None, by_head: bool, diagonal: bool, sign: Sign
) -> list[Link]:
    if layer is not None:
        found.layer(kind, layer)  # refuses one that there is not
    first = 0 if layer is None else int(layer)
    layers = slice(None) if layer is None else slice(first, first + 1)
    maps = found.maps[kind][layers]
    if not by_head:
        maps = np.nansum(maps, axis=1, keepdims=True)
    size = np.nan_to_num({"any": np.abs(maps), "positive": maps, "negative": -maps}[sign], nan=0.0)
    if not diagonal and kind != "cross":
        own = np.arange(size.shape[-1])
        size[..., own, own] = 0
    flat = size.reshape(-1)
    some = np.argpartition(-flat, min(n, len(flat)) - 1)[:n]
    some = some[np.argsort(-flat[some], kind="stable")]
    weights = found.kept_attention[kind][layers] if found.kept_attention is not None else None
    queries, keys = found.labels[kind]
    links = []
    for place in some[flat[some] > 0]:
        at, head, query, key = (int(i) for i in np.unravel_index(place, size.shape))
        weight = float("nan")
        if weights is not None:
            weight = float(weights[at, head, query, key] if by_head else np.nanmean(weights[at, :, query, key]))
        link = Link(
            kind,
            first + at,
            head if by_head else -1,
            query,
            key,
            queries[query]["text"],
            keys[key]["text"],
            float(maps[at, head, query, key]),
            weight,
        )
        links.append(link)
    return links


def frame(found: "Attribution", links: list[Link]) -> Any:
    """Links as a pandas data frame, one a row."""
    pandas = import_pandas("to_frame()")
    table = pandas.DataFrame(links, columns=Link._fields)
    table.attrs = {
        "output": found.output,
        "target": found.target,
        "value": found.value,
        "unit": found.unit,
        "provenance": found.provenance,
    }
    return table
