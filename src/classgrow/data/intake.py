"""What users hand over, made fit to learn from: images at one size, labels as plain names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from classgrow.data.images import as_images
from classgrow.errors import ClassgrowError
from classgrow.inputs import Inputs, Shape, kept_side

Name = str | int


def first_shape(images: Any) -> Shape:
    """Height, width and channels of the first of them, by which the others are made fit."""
    first = as_images(images[:1] if _is_list(images) and len(images) else images)
    height, width, channels = (int(number) for number in first.shape[1:])
    return height, width, channels


def sized(images: Any, inputs: Inputs) -> Tensor:
    """Pixels at the size in which images are kept. Arrays must have it already, unless they are large photos."""
    side = kept_side(inputs)
    pixels = as_images(images, (side, side) if _is_list(images) or inputs.crop == "resized" else None)
    if tuple(pixels.shape[1:]) != (side, side, inputs.channels):
        raise ClassgrowError(
            f"This learner sees images of {side} x {side} pixels with {inputs.channels} channels, "
            f"not {tuple(pixels.shape[1:])}: resize or convert them first."
        )
    return pixels


def names_for(labels: Sequence[Name], images: int) -> list[Name]:
    """Class names as Python text or integers, one for each image."""
    values = labels.tolist() if isinstance(labels, np.ndarray | Tensor) else list(labels)
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    for value in values:
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise ClassgrowError(f"A class name must be text or a whole number, not {value!r}: convert it with str().")
    if len(values) != images:
        raise ClassgrowError(f"{images} images came with {len(values)} labels: give one label per image.")
    return values


def _is_list(images: Any) -> bool:
    return isinstance(images, list | tuple)
