"""A matrix as a small PNG inside the page: one pixel for each entry, so that 10,000 of them cost one element."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
import numpy.typing as npt

_INK = (37, 99, 176)


def matrix_uri(shares: npt.NDArray[np.float64]) -> str:
    """A data URI with a blue whose opacity grows with the square root of each share from 0 to 1: small errors stay
    visible, and the page's own background shows through in light and dark."""
    alpha = np.round(255 * np.sqrt(np.clip(shares, 0, 1))).astype(np.uint8)
    pixels = np.empty((*alpha.shape, 4), dtype=np.uint8)
    pixels[..., :3], pixels[..., 3] = _INK, alpha
    return "data:image/png;base64," + base64.b64encode(png(pixels)).decode("ascii")


def png(pixels: npt.NDArray[np.uint8]) -> bytes:
    """RGBA pixels (height, width, 4) as a PNG file."""
    height, width, _ = pixels.shape
    lines = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, width * 4)], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)  # 8 bits, RGBA
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        _chunk(name, content)
        for name, content in ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 6)), (b"IEND", b""))
    )


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
