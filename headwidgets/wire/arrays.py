"""Arrays inside documents: NumPy on this side, `ArrayRef` on the wire and in files."""

import base64
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from headwidgets.wire.documents import ArrayRef

_DTYPES = {"float32": "<f4", "float64": "<f8", "int32": "<i4", "uint8": "|u1"}
_ALIGN = 8


def _walk(value: Any, visit: Callable[[NDArray[Any]], ArrayRef]) -> Any:
    if isinstance(value, np.ndarray):
        return visit(value)
    if isinstance(value, dict):
        return {key: _walk(item, visit) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_walk(item, visit) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    return value


def _described(array: NDArray[Any]) -> tuple[ArrayRef, bytes]:
    name = array.dtype.name
    if name not in _DTYPES:
        raise TypeError(f"an array on the wire is one of {', '.join(_DTYPES)}; got {name}: convert it first")
    ref = cast(ArrayRef, {"dtype": name, "shape": list(array.shape)})
    return ref, np.ascontiguousarray(array, dtype=_DTYPES[name]).tobytes()


def inline(document: Any) -> Any:
    """Return `document` with every NumPy array written as base64 (for files and saved outputs)."""

    def visit(array: NDArray[Any]) -> ArrayRef:
        ref, raw = _described(array)
        ref["data"] = base64.b64encode(raw).decode("ascii")
        return ref

    return _walk(document, visit)


def pack(document: Any) -> tuple[Any, bytes]:
    """Return `document` with every NumPy array replaced by an offset into the returned bytes."""
    pieces: list[bytes] = []
    size = 0

    def visit(array: NDArray[Any]) -> ArrayRef:
        nonlocal size
        ref, raw = _described(array)
        ref["offset"] = size
        padding = -len(raw) % _ALIGN
        pieces.append(raw + b"\0" * padding)
        size += len(raw) + padding
        return ref

    header = _walk(document, visit)
    return header, b"".join(pieces)


def decode(ref: ArrayRef, buffer: bytes | memoryview | None = None) -> NDArray[Any]:
    """Return the array that `ref` describes, a writable copy.

    Raises:
        ValueError: the reference is not one of ours, or the bytes do not fit the shape.
    """
    if not isinstance(ref, dict) or ref.get("dtype") not in _DTYPES or not isinstance(ref.get("shape"), list):
        raise ValueError(f"expected an array as {{dtype, shape, data}}, got {str(ref)[:80]}")
    if not all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in ref["shape"]):
        raise ValueError(f"an array's shape is a list of whole numbers, got {ref['shape']}")
    dtype = np.dtype(_DTYPES[ref["dtype"]])
    count = 1
    for n in ref["shape"]:
        count *= n
    if "data" in ref:
        try:
            raw = base64.b64decode(ref["data"], validate=True)
        except (ValueError, TypeError) as error:
            raise ValueError(f"an array's data is not base64: {error}") from None
        if len(raw) != count * dtype.itemsize:
            raise ValueError(f"an array of shape {ref['shape']} has {count * dtype.itemsize} bytes, got {len(raw)}")
    elif "offset" in ref and buffer is not None:
        start = ref["offset"]
        raw = bytes(memoryview(buffer)[start : start + count * dtype.itemsize])
        if len(raw) != count * dtype.itemsize:
            raise ValueError(f"the buffer ends inside an array of shape {ref['shape']}")
    else:
        raise ValueError("an array has neither data nor a buffer to look in")
    return np.frombuffer(raw, dtype=dtype).reshape(ref["shape"]).copy()


def unpack(document: Any, buffer: bytes | None = None) -> Any:
    """Return `document` with every `ArrayRef` replaced by its NumPy array; the inverse of `inline` and `pack`."""
    if isinstance(document, dict):
        if "dtype" in document and "shape" in document and ("data" in document or "offset" in document):
            return decode(cast(ArrayRef, document), buffer)
        return {key: unpack(item, buffer) for key, item in document.items()}
    if isinstance(document, list):
        return [unpack(item, buffer) for item in document]
    return document
