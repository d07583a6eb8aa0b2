"""What the network sees of an image: its size, normalisation and variations. Plain data, no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from classgrow.errors import ClassgrowError
from classgrow.presets import PRESETS, PresetName, Statistics

_IMAGENET_SIZE = 224
_KEPT_SIZE = 256

Shape = tuple[int, int, int]
"""Height, width and channels."""


@dataclass(frozen=True)
class Inputs:
    """What the network sees: square images of `size` pixels, normalised, and how training varies them.

    `brightness` b draws a factor from U[1 - b, 1 + b]. `crop` is "pad" (`padding` black pixels around, then a random
    crop), "resized" (a random part at a random scale; a centred crop in tests) or "none".
    """

    size: int
    channels: int
    mean: tuple[float, ...]
    std: tuple[float, ...]
    padding: int
    mirror: bool
    brightness: float
    crop: Literal["pad", "resized", "none"] = "pad"


def inputs_for(
    preset: PresetName, shape: Shape, statistics: Statistics | None = None, mirror: bool | None = None
) -> Inputs:
    """How images of `shape` enter the network, with the preset's statistics unless the data have their own.

    Unless `mirror` says otherwise, one-channel images are never mirrored: a mirrored digit is another shape, and most
    grey images have a left and a right that matter.
    """
    height, width, channels = checked_shape(shape)
    mean, std = statistics or PRESETS[preset].statistics(channels)
    mirrored = channels > 1 if mirror is None else mirror
    if preset == "imagenet":
        return Inputs(min(height, width, _IMAGENET_SIZE), channels, mean, std, 0, mirrored, 0.0, "resized")
    if height != width:
        side = min(height, width)
        raise ClassgrowError(f"Images of {height} x {width} pixels are not square: resize them to {side} x {side}.")
    brightness = 63 / 255 if channels > 1 and preset == "cifar" else 0.0
    padding = max(1, height // 8) if channels > 1 else max(1, height // 14)
    return Inputs(height, channels, mean, std, padding, mirrored, brightness)


def checked_shape(shape: tuple[int, ...]) -> Shape:
    """`shape`, if it is a height, a width and channels."""
    if len(shape) != 3 or min(shape) < 1:
        raise ClassgrowError(
            f"Images of the shape {tuple(shape)} cannot be learned: `shape` is (height, width, channels)."
        )
    height, width, channels = shape
    return height, width, channels


def kept_side(inputs: Inputs) -> int:
    """Pixels along a side of the square images that are kept: a margin around what the network sees of large ones."""
    return _KEPT_SIZE if inputs.crop == "resized" and inputs.size == _IMAGENET_SIZE else inputs.size
