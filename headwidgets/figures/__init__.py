"""How does a picture live without a browser? Documents as SVG, PNG, PDF and self-contained HTML."""

from typing import Any

from headwidgets.figures.engine import Drawing, DrawingError, draw
from headwidgets.figures.formats import SUFFIXES, encode, pdf, png, save
from headwidgets.figures.page import page
from headwidgets.figures.saved import bundle

__all__ = ["SUFFIXES", "Drawing", "DrawingError", "bundle", "draw", "encode", "figure", "page", "pdf", "png", "save"]


def figure(document: Any, theme: str = "light", width: int | None = None, **options: Any) -> str:
    """Return the picture of a document as SVG markup; `options` are those of `draw`."""
    return draw(document, theme=theme, width=width, **options).svg
