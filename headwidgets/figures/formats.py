"""One picture, four formats: SVG, PNG, PDF and an interactive HTML page."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headwidgets.errors import InputError
from headwidgets.figures.engine import DrawingError, draw
from headwidgets.figures.page import page

SUFFIXES = (".svg", ".png", ".pdf", ".html")
_CSS_DPI = 96


def png(svg: str, dpi: float = 192) -> bytes:
    """Return SVG markup as PNG; 96 dots per inch is one dot per CSS pixel."""
    return bytes(_converter("svg_to_png")(svg, scale=_scale(dpi)))


def pdf(svg: str) -> bytes:
    """Return SVG markup as PDF, still as vectors."""
    return bytes(_converter("svg_to_pdf")(svg))


def encode(
    document: Any,
    suffix: str,
    *,
    theme: str | None = None,
    width: int | None = None,
    dpi: float = 192,
    background: bool = True,
    provenance: bool = False,
) -> bytes:
    """Return a document as the bytes of a file with this suffix.

    Args:
        document: Any document of `headwidgets.wire.documents`.
        suffix: ``.svg``, ``.png``, ``.pdf`` or ``.html``.
        theme: ``light`` or ``dark``; None is light for pictures and the reader's own choice for HTML.
        width: In CSS pixels; None lets the component choose.
        dpi: Dots per inch of a PNG.
        background: Paint the theme's background; False leaves it transparent.
        provenance: Print how the result was made as a foot line.

    Raises:
        InputError: the suffix is another one, or an option cannot be used.
    """
    if suffix == ".html":
        return page(document, theme=theme or "auto", width=width, provenance=provenance).encode("utf-8")
    _check_suffix(suffix)
    svg = draw(document, theme=theme or "light", width=width, background=background, provenance=provenance).svg
    if suffix == ".png":
        return png(svg, dpi)
    return pdf(svg) if suffix == ".pdf" else svg.encode("utf-8")


def check(target: Path) -> None:
    """Raise `InputError` if no figure can be written to `target`: unknown suffix, no such folder."""
    _check_suffix(target.suffix.lower())
    if not target.parent.is_dir():
        raise InputError(f"there is no folder {target.parent}: make it first")


def save(document: Any, path: str | os.PathLike[str], **options: Any) -> Path:
    """Write a document as a figure; `options` are those of `encode`. Returns the path written."""
    target = Path(path).expanduser()
    return write(target, encode(document, target.suffix.lower(), **options))


def write(target: Path, content: bytes) -> Path:
    """Write bytes to a temporary name beside `target` and rename, so that no reader sees half a file."""
    check(target)
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return target


def _check_suffix(suffix: str) -> None:
    if suffix not in SUFFIXES:
        raise InputError(
            f"a figure is saved as {', '.join(SUFFIXES)}; got {suffix or 'no suffix'!r}: change the end of the name"
        )


def _scale(dpi: float) -> float:
    if not 10 <= dpi <= 2400:
        raise InputError(f"dpi is from 10 to 2400, got {dpi!r}")
    return dpi / _CSS_DPI


def _converter(name: str) -> Callable[..., bytes]:
    try:
        import vl_convert
    except ImportError:
        raise DrawingError("PNG and PDF need the package vl-convert-python: pip install vl-convert-python") from None
    converter: Callable[..., bytes] = getattr(vl_convert, name)
    return converter
