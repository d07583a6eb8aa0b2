"""The one door through which image files come in: formats are named, so that no other reader of Pillow's ever runs."""

from __future__ import annotations

import os
import stat
import warnings
from pathlib import Path
from typing import IO

from PIL import Image

from classgrow.disk import read_regular

FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF", "PPM")
"""What people have photos in. Pillow's reader of EPS, for one, would start Ghostscript."""

MOST_PIXELS = 180_000_000
"""Larger pictures are refused: a small file can claim to be one that fills all memory."""
LARGEST_FILE = 2**30
"""Bytes of an image file."""
# Pillow warns from half of that on; the bound above, which open_image keeps, is the one that counts here
warnings.filterwarnings("ignore", message=r"Image size \(\d+ pixels\) exceeds limit", module=r"PIL\.Image")


class TooManyPixelsError(ValueError):
    """A picture that would fill the memory."""


def image_bytes(path: Path) -> bytes:
    """The content of an image file; a pipe, a device or a file beyond all bounds is refused. Raises OSError."""
    return read_regular(path, LARGEST_FILE)


def open_image(source: Path | IO[bytes]) -> Image.Image:
    """The image, not decoded yet; only its size and format are known. Close it, or use it in a `with`."""
    try:
        image = Image.open(source, formats=FORMATS)
    except Image.DecompressionBombError as error:  # Pillow's own bound, whose words speak of an attack
        most = min(MOST_PIXELS, 2 * (Image.MAX_IMAGE_PIXELS or MOST_PIXELS))
        raise TooManyPixelsError(f"more than {most:,} pixels are too many") from error
    if image.width * image.height > MOST_PIXELS:
        size = f"{image.width} x {image.height}"
        image.close()
        raise TooManyPixelsError(f"{size} pixels are too many")
    return image


MOST_BYTES = 1 << 30
"""Larger files are no photos."""


class UnreadableFileError(Exception):
    """This file cannot be read as a photo; the text says why, in a few words."""


def read_photo(path: Path) -> bytes:
    """The bytes of a photo file. Whatever is no regular file (a pipe, a device) is refused without waiting for it."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(path, flags), "rb") as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode):
                raise UnreadableFileError("not a regular file")
            if facts.st_size > MOST_BYTES:
                raise UnreadableFileError(f"larger than {MOST_BYTES >> 20} MB")
            content = file.read(MOST_BYTES)
    except FileNotFoundError:
        raise UnreadableFileError("there is no such file") from None
    except OSError as error:
        raise UnreadableFileError((error.strerror or "cannot be opened").lower()) from error
    if not content:
        raise UnreadableFileError("empty file")
    return content
