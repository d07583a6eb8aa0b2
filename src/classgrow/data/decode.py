"""One image file's bytes as upright RGB pixels, by the fastest decoder at hand."""

from __future__ import annotations

import io
import threading
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image, UnidentifiedImageError

from classgrow.data.crops import resized, size_with_short_side
from classgrow.data.images import plain_image
from classgrow.data.opening import MOST_PIXELS, open_image
from classgrow.errors import ClassgrowError

try:
    import simplejpeg
except ImportError:  # an extra: pip install 'classgrow[imagenet]'
    simplejpeg = None

_ORIENTATION = 274  # the EXIF tag
TURNS = range(2, 9)  # its values that ask for turning or mirroring; 1 is upright, others mean nothing

LARGE = 40_000_000
"""Pixels from which a picture is decoded alone."""
_one_large = threading.Lock()

GREYSCALE, CMYK, TURNED, OTHER_FORMAT = "greyscale", "CMYK", "turned upright (EXIF)", "not a JPEG"


class BrokenImageError(Exception):
    """These bytes are not a usable image; the text says why."""


@dataclass(frozen=True)
class Decoded:
    """Pixels (H, W, 3), and what had to be done to get them ("" for a plain RGB file).

    `full` is the height and width of the upright picture in the file.
    """

    pixels: np.ndarray
    note: str
    full: tuple[int, int]


def decoder_name() -> str:
    """Which decoder JPEGs go through here."""
    return "Pillow" if simplejpeg is None else "simplejpeg"


def decode(content: bytes, short_side: int) -> Decoded:
    """The image with its short side at most `short_side`, never enlarged.

    JPEGs at least twice too large are decoded at 1/2, 1/4 or 1/8 of their size, which costs a fraction of the time;
    the rest of the way is antialiased resizing.
    """
    decoded = _fast(content, short_side) or _by_pillow(content, short_side)
    if min(decoded.full) <= short_side:
        return decoded
    height, width = size_with_short_side(*decoded.full, short_side)
    return replace(decoded, pixels=resized(decoded.pixels, height, width).contiguous().numpy())


def square_pixels(content: bytes, side: int) -> np.ndarray:
    """The square in the middle of a picture, at `side` pixels: uint8 (side, side, 3).

    However large or oblong the picture is, no more than its own pixels are held; of several threads only one at a time
    has one of more than `LARGE` pixels in its hands.
    """
    decoded = _fast(content, side) or _by_pillow(content, side, shrink=True)
    height, width = decoded.pixels.shape[:2]
    short = min(height, width)
    top, left = (height - short) // 2, (width - short) // 2
    middle = np.ascontiguousarray(decoded.pixels[top : top + short, left : left + short])
    return resized(middle, side, side).contiguous().numpy()


def _fast(content: bytes, short_side: int) -> Decoded | None:
    """By simplejpeg; None for what it does not do well, which is Pillow's then (also to say what is broken)."""
    if simplejpeg is None or not simplejpeg.is_jpeg(content):
        return None
    try:
        height, width, colours, _ = simplejpeg.decode_jpeg_header(content)
        if colours in ("CMYK", "YCCK") or height * width > MOST_PIXELS or _is_turned(content):
            return None
        pixels = simplejpeg.decode_jpeg(
            content, "RGB", min_height=short_side, min_width=short_side, min_factor=2, strict=True
        )
    except ValueError:
        return None
    return Decoded(pixels, GREYSCALE if colours == "Gray" else "", (height, width))


def _is_turned(content: bytes) -> bool:
    """Whether EXIF data say that the picture is not upright."""
    if b"Exif\0\0" not in content[:65536]:
        return False
    try:
        with open_image(io.BytesIO(content)) as image:
            return image.getexif().get(_ORIENTATION, 1) in TURNS
    except Exception:  # unreadable EXIF data: the image is not turned
        return False


def _by_pillow(content: bytes, short_side: int, shrink: bool = False) -> Decoded:
    """`shrink`: one more than four times too large is first made smaller by averaging blocks of pixels."""
    try:
        with open_image(io.BytesIO(content)) as image, _one_large if _is_large(image) else nullcontext():
            notes, (width, height) = _notes(image), image.size
            if image.format == "JPEG" and image.mode == "RGB":
                image.draft("RGB", (short_side, short_side))
            smaller = _reduced(image, short_side) if shrink else image
            upright = plain_image(smaller, "The image").convert("RGB")
        full = (height, width) if (upright.width > upright.height) == (width > height) else (width, height)
        return Decoded(np.array(upright), ", ".join(notes), full)
    except (BrokenImageError, ClassgrowError) as problem:
        raise BrokenImageError(str(problem)) from problem
    except Exception as problem:  # decoders fail in many ways on broken bytes
        raise BrokenImageError(_reason(problem)) from problem


def _is_large(image: Image.Image) -> bool:
    return image.width * image.height > LARGE


def _reduced(image: Image.Image, short_side: int) -> Image.Image:
    factor = min(image.size) // (2 * short_side)
    return image.reduce(factor) if factor >= 2 and image.mode in ("L", "LA", "RGB", "RGBA", "CMYK") else image


def _notes(image: Image.Image) -> list[str]:
    notes = []
    if image.format != "JPEG":
        notes.append(OTHER_FORMAT)
    if image.mode == "L":
        notes.append(GREYSCALE)
    if image.mode == "CMYK":
        notes.append(CMYK)
    if image.getexif().get(_ORIENTATION, 1) in TURNS:
        notes.append(TURNED)
    return notes


def _reason(problem: Exception) -> str:
    if isinstance(problem, UnidentifiedImageError):
        return "not an image"
    return (str(problem).splitlines() or [type(problem).__name__])[0]
