"""An attribution in a ``.heads`` file: everything that it holds, and back."""

from typing import Any, cast

import numpy as np

from headwidgets.attribution.result import Attribution, Words
from headwidgets.errors import InputError
from headwidgets.wire.documents import SCHEMA, KindName, Token

_PER_LAYER = ("change", "gap", "steps")
_PER_HEAD = ("totals", "largest")


def document(found: Attribution) -> dict[str, Any]:
    """See `Attribution.document`."""
    from headwidgets import __version__

    return {
        "schema": SCHEMA,
        "document": "attribution-result",
        "version": __version__,
        "fingerprint": found.fingerprint,
        "segments": _segments(found.text),
        "target": found.target,
        "target_ids": [int(i) for i in found.target_ids],
        "positions": [int(i) for i in found.positions],
        "output": found.output,
        "unit": found.unit,
        "value": float(found.value),
        "rule": found.rule,
        "tolerance": float(found.tolerance),
        "words": found.word_level,
        "notes": list(found.notes),
        "kinds": [_kind(found, kind) for kind in found.kinds],
        "provenance": found.provenance,
    }


def _segments(text: Any) -> list[Any]:
    parts = text if isinstance(text, tuple) else (text,)
    return [[str(word) for word in part] if isinstance(part, list) else str(part) for part in parts]


def _kind(found: Attribution, kind: KindName) -> dict[str, Any]:
    layers, heads = found.shape(kind)
    sides = found.sides.get(kind, (None, None))
    query, key = (_side(found.tokens[kind][i], found.labels[kind][i], sides[i]) for i in (0, 1))
    return {
        "kind": kind,
        "layers": layers,
        "heads": heads,
        "query": query,
        "key": key,
        "totals": found.totals[kind],
        "largest": found.largest[kind],
        "change": found.change[kind],
        "gap": found.gap[kind],
        "steps": found.steps[kind].astype(np.int32),
        "maps": None if found.kept_maps is None else found.kept_maps[kind],
        "attention": None if found.kept_attention is None else found.kept_attention[kind],
    }


def _side(tokens: list[str], labels: list[Token], words: Words | None) -> dict[str, Any]:
    return {
        "tokens": list(tokens),
        "labels": list(labels),
        "group": None if words is None else words.group.tolist(),
        "words": None if words is None else list(words.labels),
    }


def from_document(stored: dict[str, Any]) -> Attribution:
    """See `Attribution.from_document`.

    Raises:
        InputError: arrays or sides whose sizes do not fit each other; the message names the first.
        KeyError: a field that is missing.
    """
    kinds = {cast(KindName, own["kind"]): own for own in stored["kinds"]}
    if not kinds:
        raise InputError("expected at least one kind of attention, got none")
    for kind, own in kinds.items():
        _check(kind, own)

    def arrays(name: str, dtype: Any) -> dict[KindName, Any]:
        return {kind: np.asarray(own[name], dtype=dtype) for kind, own in kinds.items()}

    def kept(name: str) -> dict[KindName, Any] | None:
        return None if any(own[name] is None for own in kinds.values()) else arrays(name, np.float32)

    segments = stored["segments"]
    if not segments or len(segments) > 2:
        raise InputError(f"expected the text as one or two segments, got {len(segments)}")
    return Attribution(
        text=segments[0] if len(segments) == 1 else tuple(segments),
        value=float(stored["value"]),
        target=str(stored["target"]),
        target_ids=tuple(int(i) for i in stored["target_ids"]),
        output=str(stored["output"]),
        unit=str(stored["unit"]),
        rule=str(stored["rule"]),
        tolerance=float(stored["tolerance"]),
        change=arrays("change", np.float64),
        gap=arrays("gap", np.float64),
        steps=arrays("steps", np.int64),
        totals=arrays("totals", np.float64),
        largest=arrays("largest", np.float64),
        tokens={kind: (own["query"]["tokens"], own["key"]["tokens"]) for kind, own in kinds.items()},
        labels={kind: (own["query"]["labels"], own["key"]["labels"]) for kind, own in kinds.items()},
        notes=[str(note) for note in stored["notes"]],
        provenance=stored["provenance"],
        kept_maps=kept("maps"),
        kept_attention=kept("attention"),
        positions=tuple(int(i) for i in stored["positions"]),
        sides={} if stored["words"] else {k: (_words(own["query"]), _words(own["key"])) for k, own in kinds.items()},
        word_level=bool(stored["words"]),
    )


def _check(kind: str, own: dict[str, Any]) -> None:
    layers, heads = own["layers"], own["heads"]
    sizes = [len(own[side]["labels"]) for side in ("query", "key")]
    for side, size in zip(("query", "key"), sizes, strict=True):
        for name in ("tokens", "group"):
            given = own[side][name]
            if given is not None and len(given) != size:
                raise InputError(f"{kind}, {side}: {size} labels, but {len(given)} entries of {name!r}")
    expected = {key: [layers] for key in _PER_LAYER} | {key: [layers, heads] for key in _PER_HEAD}
    expected |= {key: [layers, heads, *sizes] for key in ("maps", "attention")}
    for name, shape in expected.items():
        given = own[name]
        if given is None and name in ("maps", "attention"):
            continue
        if not isinstance(given, np.ndarray) or list(given.shape) != shape:
            got = list(given.shape) if isinstance(given, np.ndarray) else type(given).__name__
            raise InputError(f"{kind}: expected {name!r} of shape {shape}, got {got}")


def _words(side: dict[str, Any]) -> Words | None:
    group = side["group"]
    if group is None:
        return None
    numbers = np.asarray(group, dtype=np.int64)
    count = len(side["words"])
    if len(numbers) and (numbers.min() < 0 or len(np.unique(numbers)) != count or numbers.max() != count - 1):
        raise InputError(f"expected every token's word as one of {count}, got numbers up to {int(numbers.max())}")
    return Words(numbers, side["words"])
