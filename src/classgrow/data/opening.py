"""The one door through which image files come in: formats are named, so that no other reader of Pillow's ever runs."""

from __future__ import annotations

from pathlib import Path
from typing import IO

from PIL import Image

FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF", "PPM")
"""What people have photos in. Pillow's reader of EPS, for one, would start Ghostscript."""

MOST_PIXELS = 180_000_000
"""Larger pictures are refused: a small file can claim to be one that fills all memory."""


class TooManyPixelsError(ValueError):
    """A picture that would fill the memory."""


def open_image(source: Path | IO[bytes]) -> Image.Image:
    """The image, not decoded yet; only its size and format are known. Close it, or use it in a `with`."""
    image = Image.open(source, formats=FORMATS)
    if image.width * image.height > MOST_PIXELS:
        size = f"{image.width} x {image.height}"
        image.close()
        raise TooManyPixelsError(f"{size} pixels are too many")
    return image
