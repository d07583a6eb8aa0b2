"""Which part of an image, and that part at another size: what torchvision documents, resampled as Pillow does it.

Resizing is bilinear with antialiasing on uint8. It agrees with Pillow's `resize(..., BILINEAR)` to one grey level
(of 255) in every pixel, and is two to three times as fast (torch 2.13 with AVX2).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from classgrow.data.threads import over_slices

TRIES = 10
NUMBERS = 2 * TRIES + 2
"""Uniform numbers that decide a random box: an area and a shape for every try, and a place."""
AREA = (0.08, 1.0)
RATIO = (3 / 4, 4 / 3)


def random_boxes(numbers: Tensor, heights: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """Top, left, height and width (N, 4) of one random-resized crop per image.

    As torchvision's RandomResizedCrop: an area of 8 to 100 % and a ratio of 3/4 to 4/3 (even in its logarithm) are
    drawn up to ten times until the box fits; if none does, the largest centred box of an allowed ratio is taken.
    `numbers` (N, 22) in [0, 1) hold all the chance there is, whatever the sizes of the images.
    """
    drawn = numbers.double().numpy()
    heights, widths = np.asarray(heights, np.int64), np.asarray(widths, np.int64)
    areas = (heights * widths)[:, None] * (AREA[0] + (AREA[1] - AREA[0]) * drawn[:, :TRIES])
    low, high = math.log(RATIO[0]), math.log(RATIO[1])
    ratios = np.exp(low + (high - low) * drawn[:, TRIES : 2 * TRIES])
    tall, wide = np.rint(np.sqrt(areas / ratios)), np.rint(np.sqrt(areas * ratios))
    fits = (tall >= 1) & (wide >= 1) & (tall <= heights[:, None]) & (wide <= widths[:, None])
    first = fits.argmax(1)[:, None]
    height = np.take_along_axis(tall, first, 1)[:, 0].astype(np.int64)
    width = np.take_along_axis(wide, first, 1)[:, 0].astype(np.int64)
    top = _place(drawn[:, -2], heights - height)
    left = _place(drawn[:, -1], widths - width)
    boxes = np.stack((top, left, height, width), 1)
    return np.where(fits.any(1)[:, None], boxes, _centred_boxes(heights, widths))


def _place(drawn: np.ndarray, room: np.ndarray) -> np.ndarray:
    """A whole number from 0 to `room`, each as likely."""
    place: np.ndarray = np.minimum((drawn * (room + 1)).astype(np.int64), room)
    return place


def _centred_boxes(heights: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """The whole image, or as much of it as the allowed ratios leave."""
    height = np.minimum(heights, np.rint(widths / RATIO[0])).astype(np.int64)
    width = np.minimum(widths, np.rint(heights * RATIO[1])).astype(np.int64)
    return np.stack(((heights - height) // 2, (widths - width) // 2, height, width), 1)


def resized(image: np.ndarray, height: int, width: int) -> Tensor:
    """An image (H, W, C) at another size, uint8."""
    pixels = torch.from_numpy(image)
    if image.shape[:2] == (height, width):
        return pixels
    # the batch dimension comes first so that torch sees channels-last memory: otherwise it takes three times as long
    batch = pixels.unsqueeze(0).permute(0, 3, 1, 2)
    return functional.interpolate(batch, size=(height, width), mode="bilinear", antialias=True)[0].permute(1, 2, 0)


def size_with_short_side(height: int, width: int, short_side: int) -> tuple[int, int]:
    """Height and width once the shorter one is `short_side`; the longer is rounded down, as torchvision does."""
    if height <= width:
        return short_side, int(short_side * width / height)
    return int(short_side * height / width), short_side


def central_square(image: np.ndarray, side: int) -> Tensor:
    """Short side to `side`, then the square in the middle: uint8 (side, side, C)."""
    height, width = image.shape[:2]
    tall, wide = size_with_short_side(height, width, side)
    top, left = round((tall - side) / 2), round((wide - side) / 2)
    return resized(image, tall, wide)[top : top + side, left : left + side]


def random_views(image_at: Callable[[int], np.ndarray], boxes: np.ndarray, size: int, channels: int) -> Tensor:
    """The boxes of images 0, 1, ... at `size` x `size`: uint8 (B, size, size, C). Only the boxes are read."""
    views = np.empty((len(boxes), size, size, channels), dtype=np.uint8)

    def fill(places: range) -> None:
        for place in places:
            top, left, height, width = boxes[place].tolist()
            part = image_at(place)[top : top + height, left : left + width]
            views[place] = resized(part, size, size).numpy()

    over_slices(fill, len(boxes))
    return torch.from_numpy(views)
