"""Between the rows of numbers that scikit-learn knows and the images that a learner takes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from classgrow.errors import ClassgrowError

Array = npt.NDArray[Any]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class PixelFormat:
    """How rows of numbers become images: (height, width, channels), and the values that are black and white."""

    shape: tuple[int, int, int]
    black: float
    white: float

    @property
    def values(self) -> int:
        """Pixels times channels."""
        return math.prod(self.shape)

    def images(self, rows: Array) -> npt.NDArray[np.uint8]:
        """(N, height, width, channels): values scaled to 0..255, those beyond the range cut off, gaps black."""
        pixels = rows
        if rows.dtype != np.uint8 or (self.black, self.white) != (0, 255):
            scaled = (rows.astype(np.float64) - self.black) * (255 / (self.white - self.black))
            pixels = np.rint(scaled.clip(0, 255)).astype(np.uint8)
        if rows.shape[1] < self.values:
            pixels = np.pad(pixels, ((0, 0), (0, self.values - rows.shape[1])))
        return pixels.reshape(-1, *self.shape)

    def check(self, shape: Shape | None) -> None:
        """Refuses images of another shape than those learned from; None: rows, which are counted elsewhere."""
        if shape is not None and with_channels(shape) != self.shape:
            raise ValueError(f"The images have shape {shape}, those learned from {self.shape}: resize or convert them.")


def format_for(
    rows: Array, shape: Shape | None, image_shape: Shape | None, value_range: tuple[float, float] | None
) -> PixelFormat:
    """The format of the first rows. `shape`: that of the images they were; the others as the user gave them."""
    known = image_shape if shape is None else shape
    if known is None:
        return PixelFormat(square_for(rows.shape[1]), *range_for(rows, value_range))
    found = with_channels(known)
    if math.prod(found) != rows.shape[1] or (image_shape is not None and with_channels(image_shape) != found):
        given = f"rows of {rows.shape[1]} values" if shape is None else f"images of shape {shape}"
        raise ClassgrowError(f"`image_shape` = {image_shape} does not fit {given}: give the shape that they have.")
    return PixelFormat(found, *range_for(rows, value_range))


def range_for(rows: Array, given: tuple[float, float] | None) -> tuple[float, float]:
    """The values that are black and white: as given, 0 and 255 for uint8, else the smallest and largest there are."""
    if given is not None:
        black, white = (float(value) for value in given)
        if not black < white:
            raise ClassgrowError(f"`value_range` = {given} is empty: give the value that is black, then a larger one.")
        return black, white
    if rows.dtype == np.uint8:
        return 0.0, 255.0
    black, white = float(rows.min()), float(rows.max())
    return (black, white) if black < white else (black, black + 1)


def rows_of(images: Any) -> tuple[Any, Shape | None]:
    """Images flattened to rows, with their shape; rows and whatever else scikit-learn may check, as they are."""
    if isinstance(images, list | tuple) and len(images) and np.ndim(images[0]) > 1:
        images = np.stack(images)
    if getattr(images, "ndim", 0) not in (3, 4):
        return images, None
    array = np.asarray(images)
    return array.reshape(len(array), math.prod(array.shape[1:])), array.shape[1:]


def with_channels(shape: Iterable[int]) -> tuple[int, int, int]:
    """(H, W, C); without C it is grey."""
    numbers = tuple(shape)
    if len(numbers) not in (2, 3) or any(not isinstance(n, int | np.integer) or n < 1 for n in numbers):
        raise ClassgrowError(f"`image_shape` = {numbers} does not fit: give (height, width) or (height, width, 3).")
    height, width, channels = (*numbers, 1)[:3]
    return int(height), int(width), int(channels)


def square_for(values: int) -> tuple[int, int, int]:
    """The square image with so many values, grey or in colour; where there is none, the next larger grey one."""
    for channels in (1, 3):
        side = math.isqrt(values // channels)
        if side * side * channels == values:
            return side, side, channels
    side = math.isqrt(values) + 1
    warnings.warn(
        f"Rows of {values} values are not square images: they become {side} x {side} pixels, the last ones black. "
        "If they are images, give `image_shape`.",
        stacklevel=2,
    )
    return side, side, 1
