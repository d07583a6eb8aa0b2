"""What the network sees of an image: its size, normalisation and variations. Plain data, no torch."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Literal

from classgrow.errors import ClassgrowError
from classgrow.presets import PRESETS, PresetName, Statistics

_IMAGENET_SIZE = 224
_KEPT_SIZE = 256
LARGEST_SIZE, MOST_CHANNELS = 4096, 64

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

    def __post_init__(self) -> None:
        wrong = _problem(self)
        if wrong:
            raise ClassgrowError(f"`inputs` do not fit ({wrong}): give values that images can have.")


def _problem(inputs: Inputs) -> str:
    """What no images can have, in a few words; "" if all is well."""
    if not (1 <= inputs.size <= LARGEST_SIZE and 1 <= inputs.channels <= MOST_CHANNELS):
        return f"{inputs.size} pixels and {inputs.channels} channels"
    if not len(inputs.mean) == len(inputs.std) == inputs.channels:
        return f"mean and std are not of {inputs.channels} channels"
    if not all(map(isfinite, (*inputs.mean, *inputs.std))) or min(inputs.std) <= 0:
        return "mean and std must be finite, and std above 0"
    if not (0 <= inputs.padding <= inputs.size and 0 <= inputs.brightness <= 1):
        return f"padding {inputs.padding} or brightness {inputs.brightness}"
    return ""


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
