"""A probe as a ``.heads`` file: its numbers as arrays, nothing pickled."""

from typing import Any, cast

import numpy as np
import torch
from torch import nn

from headwidgets.errors import InputError
from headwidgets.probing.probe.features import Lens
from headwidgets.probing.probe.scorers import MapScorer, PairScorer
from headwidgets.probing.probe.trained import FEATURES, Member, Probe
from headwidgets.scores import Head
from headwidgets.wire.documents import SCHEMA, KindName

_KINDS: tuple[KindName, ...] = ("encoder", "decoder")
_MARK = 12
"""Characters of a digest."""


def document(probe: Probe) -> dict[str, Any]:
    """The file's form."""
    from headwidgets import __version__

    scorers = []
    for name, members in probe.members.items():
        for member in members:
            numbers = {key: value.numpy() for key, value in member.module.state_dict().items()}
            scorers.append({"name": name, "seed": member.seed, "reads": member.reads, "numbers": numbers})
    marks = "".join(sorted(probe.marks))
    return {
        "schema": SCHEMA,
        "document": "trained-probe",
        "version": __version__,
        "fingerprint": probe.fingerprint,
        "features": probe.features,
        "heads": np.array([(_KINDS.index(h.kind), h.layer, h.index) for h in probe.heads], dtype=np.int32),
        "scorers": scorers,
        "lens": None if probe.lens is None else {"mean": probe.lens.mean, "turn": probe.lens.turn},
        "vectors": probe.vectors,
        "offsets": probe.offsets,
        "subtypes": probe.subtypes,
        "limit": probe.limit,
        "trained_on": list(probe.trained_on),
        "marks": marks,
        "notes": list(probe.notes),
        "provenance": probe.provenance,
    }


def probe_of(document: dict[str, Any]) -> Probe:
    """The probe in a file; it has no model yet.

    Raises:
        InputError: numbers that do not fit each other.
    """
    if document["features"] not in FEATURES:
        raise InputError(f"expected features as {' or '.join(FEATURES)}, got {document['features']!r}")
    heads = np.asarray(document["heads"])
    if heads.ndim != 2 or heads.shape[1] != 3 or heads.dtype.kind != "i":
        raise InputError(f"expected heads as whole numbers [heads, 3], got {heads.dtype} {heads.shape}")
    if len(heads) == 0 or heads.min() < 0 or heads[:, 0].max() >= len(_KINDS):
        raise InputError("expected heads of an encoder or a decoder, numbered from 0")
    lens = None
    if document["lens"] is not None:
        lens = Lens(*(np.asarray(document["lens"][key], dtype=np.float32) for key in ("mean", "turn")))
        if lens.turn.ndim != 2 or lens.mean.shape != lens.turn.shape[:1]:
            raise InputError(f"expected a lens of one width, got {lens.mean.shape} and {lens.turn.shape}")
    members: dict[str, list[Member]] = {}
    for row in document["scorers"]:
        if row["reads"] not in ("maps", "distances", "nothing"):
            raise InputError(f"expected a scorer that reads maps, distances or nothing, got {row['reads']!r}")
        module = _module(row["reads"], row["numbers"], len(heads), lens.width if lens is not None else 0)
        members.setdefault(str(row["name"]), []).append(Member(int(row["seed"]), row["reads"], module))
    if not members:
        raise InputError("expected at least one scorer, got none")
    marks = str(document["marks"])
    return Probe(
        features=document["features"],
        heads=tuple(Head(_KINDS[kind], layer, index) for kind, layer, index in heads.tolist()),
        members={name: tuple(own) for name, own in members.items()},
        lens=lens,
        vectors=str(document["vectors"]),
        offsets={str(name): int(offset) for name, offset in document["offsets"].items()},
        subtypes=bool(document["subtypes"]),
        limit=None if document["limit"] is None else int(document["limit"]),
        trained_on=cast(tuple[int, int], tuple(map(int, document["trained_on"]))),
        marks=frozenset(marks[i : i + _MARK] for i in range(0, len(marks), _MARK)),
        notes=tuple(map(str, document["notes"])),
        fingerprint=document["fingerprint"],
        provenance=document["provenance"],
    )


def _module(reads: str, numbers: dict[str, Any], channels: int, width: int) -> nn.Module:
    hidden = len(np.atleast_1d(numbers["out"])) if reads == "nothing" else 0
    module = PairScorer(width, hidden) if reads == "nothing" else MapScorer(channels, width)
    wanted = module.state_dict()
    for key, value in wanted.items():
        given = np.asarray(numbers[key])
        if given.shape != tuple(value.shape) or given.dtype != np.float32 or not np.isfinite(given).all():
            raise InputError(f"expected {key} of a scorer as finite float32 {tuple(value.shape)}, got {given.shape}")
    module.load_state_dict({key: torch.from_numpy(np.array(numbers[key])) for key in wanted})
    return module.requires_grad_(False)
