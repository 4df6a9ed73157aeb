"""The words that all documents are made of."""

from typing import Literal, NotRequired, TypedDict

SCHEMA = 1
"""Number of this protocol; a reader refuses a document with a larger one."""
MIME_PREFIX = "application/vnd.headwidgets."
"""A saved output carries its document as ``application/vnd.headwidgets.<document>+json``."""
KindName = Literal["encoder", "decoder", "cross"]
DTypeName = Literal["float32", "float64", "int32", "uint8"]
ThemeName = Literal["auto", "light", "dark"]
ViewName = Literal["attention", "attribution", "norm"]
"""What a map shows: weights; what they add to the output; weights times the norm of what they carry."""
HeadRef = tuple[KindName, int, int]
"""``[kind, layer, index]``, counted from 0."""


class ArrayRef(TypedDict):
    """An array, row-major and little-endian; exactly one of `data` and `offset` is present."""

    dtype: DTypeName
    shape: list[int]
    data: NotRequired[str]
    """Base64 of the bytes; in files and saved outputs."""
    offset: NotRequired[int]
    """First byte in the buffer that accompanies the document, a multiple of 8; in live widgets."""


class Provenance(TypedDict):
    """How a result was made; drawn as the foot line of a figure when asked for."""

    model: str
    version: str
    settings: dict[str, str | int | float | bool | None]


class Token(TypedDict):
    """One position of an attention map."""

    text: str
    """What a reader sees: the source text behind the token where offsets are known."""
    special: bool
    """A token the tokenizer added ([CLS], </s>, ...)."""
    continued: bool
    """Shares its (multi-byte) character with the token before it; drawn with a mark."""
    joined: bool
    """Belongs to the same word as the token before it (no space between)."""


class IntervalData(TypedDict):
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float


class EstimateData(TypedDict):
    """A metric on a set of examples, possibly unfinished."""

    value: float
    low: float
    high: float
    """95 % interval for new data."""
    n: int
    """Examples seen."""
    total: int
    """Examples in the set."""
    exact: bool
    """All examples were seen; the value is the set's own."""
    partial_low: float
    partial_high: float
    """95 % interval for the value on the whole set while unfinished; equal to `value` when exact."""
    change: IntervalData | None
    """Paired difference to the full model on the same examples; None for the full model itself."""


class CurvePoint(TypedDict):
    """The metric with `count` heads pruned."""

    count: int
    estimate: EstimateData
