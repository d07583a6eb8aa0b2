"""The one door through which image files come in: formats are named, so that no other reader of Pillow's ever runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO

from PIL import Image

from classgrow.disk import read_regular

FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF", "PPM")
"""What people have photos in. Pillow's reader of EPS, for one, would start Ghostscript."""

MOST_PIXELS = 180_000_000
"""Larger pictures are refused: a small file can claim to be one that fills all memory."""
MANY_PIXELS = 20_000_000
"""Larger pictures are decoded one at a time: several at once would fill the memory together."""
LARGEST_FILE = 2**30
"""Bytes of an image file."""
_alone = threading.Lock()


class TooManyPixelsError(ValueError):
    """A picture that would fill the memory."""


@contextmanager
def room_for(image: Image.Image) -> Iterator[None]:
    """Decode the image inside: one that takes much memory waits until no other such is decoded."""
    with _alone if image.width * image.height > MANY_PIXELS else nullcontext():
        yield


def image_bytes(path: Path) -> bytes:
    """The content of an image file; a pipe, a device or a file beyond all bounds is refused. Raises OSError."""
    return read_regular(path, LARGEST_FILE)


def open_image(source: Path | IO[bytes]) -> Image.Image:
    """The image, not decoded yet; only its size and format are known. Close it, or use it in a `with`."""
    image = Image.open(source, formats=FORMATS)
    if image.width * image.height > MOST_PIXELS:
        size = f"{image.width} x {image.height}"
        image.close()
        raise TooManyPixelsError(f"{size} pixels are too many")
    return image
