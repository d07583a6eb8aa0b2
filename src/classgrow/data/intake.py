"""What users hand over, made fit to learn from: images at one size, labels as plain names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeGuard

import numpy as np
from PIL import Image
from torch import Tensor

from classgrow.data.images import ImagesLike, OneImage, as_images
from classgrow.errors import ClassgrowError
from classgrow.inputs import Inputs, Shape, kept_side

Name = str | int


def first_shape(images: ImagesLike) -> Shape:
    """Height, width and channels of the first of them, by which the others are made fit; photos are made square."""
    first = as_images(images[:1] if _is_list(images) and len(images) else images)
    height, width, channels = (int(number) for number in first.shape[1:])
    return (min(height, width), min(height, width), channels) if _is_list(images) else (height, width, channels)


def listed(images: ImagesLike) -> ImagesLike:
    """Arrays as they are; a pandas column, a generator or any other collection as a list; equal arrays stacked."""
    if isinstance(images, np.ndarray | Tensor | str | Path | Image.Image):
        return images
    if not isinstance(images, Iterable):
        return images  # opening it says what is wrong
    values = list(images)
    arrays = [value for value in values if isinstance(value, np.ndarray | Tensor)]
    if not arrays or len(arrays) < len(values):
        return values
    same = len({(tuple(value.shape), str(value.dtype)) for value in arrays}) == 1
    if same and arrays[0].ndim in (2, 3):
        return np.stack([np.asarray(value) for value in arrays])
    return [picture_of(value) for value in arrays]


def picture_of(array: np.ndarray | Tensor) -> Image.Image:
    """One array (H, W) or (H, W, C) as an image, so that arrays of several sizes can be learned together."""
    values = np.asarray(array)
    if values.dtype != np.uint8 or values.ndim not in (2, 3) or (values.ndim == 3 and values.shape[2] not in (1, 3)):
        raise ClassgrowError(
            f"An image of shape {values.shape} and type {values.dtype} cannot be read: give uint8 arrays (H, W) or "
            "(H, W, 3) with values 0 to 255."
        )
    return Image.fromarray(values[:, :, 0] if values.ndim == 3 and values.shape[2] == 1 else values)


def sized(images: ImagesLike, inputs: Inputs) -> Tensor:
    """Pixels at the size in which images are kept. Arrays must have it already, unless they are large photos.

    Grey images become colour images for a network that sees colours.
    """
    side = kept_side(inputs)
    pixels = as_images(images, (side, side) if _is_list(images) or inputs.crop == "resized" else None)
    if pixels.shape[3] == 1 and inputs.channels == 3:
        pixels = pixels.expand(-1, -1, -1, 3).contiguous()
    if tuple(pixels.shape[1:]) != (side, side, inputs.channels):
        raise ClassgrowError(
            f"This learner sees images of {side} x {side} pixels with {inputs.channels} channels, "
            f"not {tuple(pixels.shape[1:])}: resize or convert them first."
        )
    return pixels


def names_for(labels: Iterable[Name], images: int) -> list[Name]:
    """Class names as Python text or integers, one for each image."""
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise ClassgrowError(f"Labels cannot be {labels!r}: give a list with one class name per image.")
    values = labels.tolist() if isinstance(labels, np.ndarray | Tensor) else list(labels)
    values = values if isinstance(values, list) else [values]
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    for value in values:
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise ClassgrowError(f"A class name must be text or a whole number, not {value!r}: convert it with str().")
        if isinstance(value, str) and not value.strip():
            raise ClassgrowError("A class name is empty: give every class a name.")
    if len(values) != images:
        raise ClassgrowError(f"{images} images came with {len(values)} labels: give one label per image.")
    return values


def _is_list(images: ImagesLike) -> TypeGuard[Sequence[OneImage]]:
    return isinstance(images, list | tuple)
