"""How was a result made? Fingerprints of texts, and the record that every score and estimate carries."""

import hashlib
import math
import numbers
import platform
from collections.abc import Iterable
from functools import cache
from typing import Any

from headwidgets.errors import InputError
from headwidgets.wire.documents import Provenance

Setting = str | int | float | bool | None


def checked_seed(seed: Any) -> int:
    """The seed of everything that is drawn: a whole number from 0, so that the same call gives the same numbers.

    Raises:
        InputError: anything else.
    """
    whole = isinstance(seed, numbers.Integral) and not isinstance(seed, bool)
    if not whole or seed < 0:
        raise InputError(f"expected seed= as a whole number from 0 on, got {seed!r}")
    return int(seed)


def data_fingerprint(texts: Iterable[Any]) -> str:
    """Hex digest of a set of texts; the order does not matter, labels do not count."""
    marks = sorted(hashlib.sha256(repr(text).encode()).digest() for text in texts)
    return hashlib.sha256(b"".join(marks)).hexdigest()[:32]


def made(model: Any, texts: Iterable[Any] | None = None, **settings: Any) -> Provenance:
    """The record of one result.

    Args:
        model: A HeadModel; its name and fingerprint are kept.
        texts: The texts measured on; their fingerprint is kept as ``data``.
        settings: Arguments, seed, ablation, definition; anything that is no plain value is kept as its repr.
    """
    from headwidgets import __version__

    kept: dict[str, Setting] = {key: _plain(value) for key, value in settings.items()}
    if texts is not None:
        kept["data"] = data_fingerprint(texts)
    kept["fingerprint"] = model.fingerprint
    for package in ("torch", "transformers"):
        kept[package] = _version(package)
    kept["python"] = platform.python_version()
    return {"model": model.name, "version": __version__, "settings": kept}


def _plain(value: Any) -> Setting:
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    return getattr(value, "__name__", None) or repr(value)


@cache
def _version(package: str) -> str:
    """Metadata takes milliseconds to parse, and every partial result says how it was made."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return ""
