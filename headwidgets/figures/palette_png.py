"""A smaller PNG: the same picture in 256 colours, for outputs that have to stay small."""

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOURS = 256


def in_palette(png: bytes) -> bytes:
    """Return a PNG with at most 256 colours; the same bytes where that is not known to work.

    Reads what our converter writes: 8 bits per channel, RGB with or without alpha, not interlaced, rows stored plain
    or as differences to the left or to the row above. Alpha is painted on white.
    """
    pixels = _decoded(png)
    if pixels is None:
        return png
    index, palette = _quantised(pixels)
    height, width = index.shape
    rows = np.zeros((height, width + 1), np.uint8)  # each row begins with its filter, 0 for plain
    rows[:, 1:] = index
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    small = b"".join(
        [
            _SIGNATURE,
            _chunk(b"IHDR", header),
            _chunk(b"PLTE", palette.tobytes()),
            _chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)),
            _chunk(b"IEND", b""),
        ]
    )
    return small if len(small) < len(png) else png


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def _decoded(png: bytes) -> NDArray[np.uint8] | None:
    """RGB pixels uint8 [height, width, 3], or None for a PNG of another make."""
    if png[:8] != _SIGNATURE:
        return None
    at, header, packed = 8, b"", b""
    while at + 8 <= len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        name, content = png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        header = content if name == b"IHDR" else header
        packed += content if name == b"IDAT" else b""
        at += 12 + length
    width, height, bits, colours, _, _, interlaced = struct.unpack(">IIBBBBB", header)
    channels = {2: 3, 6: 4}.get(colours)
    if bits != 8 or channels is None or interlaced:
        return None
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * channels)
    filters, values = rows[:, 0], rows[:, 1:].reshape(height, width, channels)
    if filters.max() > 2:
        return None
    plain = np.where((filters == 1)[:, None, None], np.cumsum(values, axis=1, dtype=np.uint8), values)
    for row in np.flatnonzero(filters == 2):
        plain[row] = values[row] + (plain[row - 1] if row else 0)
    if channels == 3:
        return plain
    alpha = plain[:, :, 3:].astype(np.float32) / 255
    return np.rint(plain[:, :, :3] * alpha + 255 * (1 - alpha)).astype(np.uint8)


def _quantised(pixels: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Index of each pixel's colour [height, width] and the palette uint8 [n, 3], the commonest colours."""
    wide = pixels.astype(np.uint32)
    packed = (wide[:, :, 0] << 16) | (wide[:, :, 1] << 8) | wide[:, :, 2]
    found, inverse, counts = np.unique(packed, return_inverse=True, return_counts=True)
    colours = np.stack([found >> 16, (found >> 8) & 255, found & 255], axis=1).astype(np.float64)
    if len(found) <= _COLOURS:
        return inverse.reshape(packed.shape).astype(np.uint8), colours.astype(np.uint8)
    coarse = (colours // 8).astype(np.int64) @ np.array([1024, 32, 1])
    _, bins = np.unique(coarse, return_inverse=True)
    weights = np.bincount(bins, counts)
    means = np.stack([np.bincount(bins, counts * colours[:, c]) / weights for c in range(3)], axis=1)
    palette = np.rint(means[np.argsort(-weights, kind="stable")[:_COLOURS]])
    # |a - b|^2 = |a|^2 - 2ab + |b|^2, of which the first part is the same for every candidate
    nearest = np.argmin((palette**2).sum(1) - 2 * colours @ palette.T, axis=1)
    return nearest[inverse].reshape(packed.shape).astype(np.uint8), palette.astype(np.uint8)
