"""Maps made small enough for a first look: thumbnails of all heads, and one map down-sampled to a budget."""

import math

import numpy as np
from numpy.typing import NDArray

from headwidgets.errors import InputError

THUMBNAIL = 16
"""Rows and columns of a thumbnail, at most."""

MAX_CELLS = 131_072
"""Cells of one map on the wire, at most: 0.5 MB of float32."""


def _shrunk(maps: NDArray[np.floating], edges: NDArray[np.int64], axis: int) -> NDArray[np.floating]:
    """Mean over [edges[i], edges[i + 1]) along an axis."""
    sizes = np.diff(edges)
    if (sizes == 1).all():
        return maps
    shape = [1] * maps.ndim
    shape[axis] = len(sizes)
    return np.add.reduceat(maps, edges[:-1], axis=axis) / sizes.astype(maps.dtype).reshape(shape)


def _even(length: int, most: int) -> NDArray[np.int64]:
    parts = min(length, most)
    return np.round(np.linspace(0, length, parts + 1)).astype(np.int64)


def thumbnails(maps: NDArray[np.floating], size: int = THUMBNAIL) -> NDArray[np.uint8]:
    """Small pictures of maps, each scaled to its own largest cell.

    Args:
        maps: [..., query, key], not negative; NaN (no such head, not measured) becomes 0.
        size: Rows and columns, at most; longer axes are averaged over nearly equal stretches.

    Returns:
        uint8 [..., min(query, size), min(key, size)]; 255 is the largest cell of that picture.
    """
    if maps.ndim < 2 or 0 in maps.shape[-2:]:
        raise InputError(f"expected maps [..., query, key] with at least one cell, got shape {list(maps.shape)}")
    columns = _shrunk(maps, _even(maps.shape[-1], size), maps.ndim - 1)
    small = np.nan_to_num(_shrunk(columns, _even(maps.shape[-2], size), maps.ndim - 2), nan=0.0)
    largest = small.max(axis=(-2, -1), keepdims=True)
    scaled = np.divide(small, largest, out=np.zeros_like(small), where=largest > 0)
    picture: NDArray[np.uint8] = np.round(255 * np.clip(scaled, 0, 1)).astype(np.uint8)
    return picture


def pooled(values: NDArray[np.floating], max_cells: int = MAX_CELLS) -> tuple[NDArray[np.float32], int, int]:
    """One map with at most `max_cells` cells: means over blocks of tokens.

    Args:
        values: [query, key].
        max_cells: Cells, at most.

    Returns:
        The map float32 [rows, columns], tokens per row and tokens per column (1 where nothing was averaged; the last
        row and column may stand for fewer). NaN stays NaN.

    Raises:
        InputError: not a map, or no cell allowed.
    """
    if values.ndim != 2 or values.size == 0:
        raise InputError(f"expected a map [query, key] with at least one cell, got shape {list(values.shape)}")
    if max_cells < 1:
        raise InputError(f"expected max_cells to be at least 1, got {max_cells}")
    rows, columns = values.shape
    query_step = key_step = max(1, math.isqrt(rows * columns // max_cells))
    while math.ceil(rows / query_step) * math.ceil(columns / key_step) > max_cells:
        if query_step < rows:
            query_step += 1
        if key_step < columns:
            key_step += 1
    query_step, key_step = min(query_step, rows), min(key_step, columns)
    edges = [np.append(np.arange(0, n, step), n) for n, step in ((rows, query_step), (columns, key_step))]
    small = _shrunk(_shrunk(values, edges[1], 1), edges[0], 0)
    return np.ascontiguousarray(small, dtype=np.float32), query_step, key_step


__all__ = ["MAX_CELLS", "THUMBNAIL", "pooled", "thumbnails"]
