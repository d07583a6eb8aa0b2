"""What users hand over, made fit to learn from: images at one size, labels as plain names."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeGuard

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from classgrow.data.images import ImagesLike, OneImage, as_images, short_side_and_channels, usable_images
from classgrow.errors import ClassgrowError
from classgrow.inputs import Inputs, Shape, kept_side

Name = str | int
NAMED = 3
"""How many files a warning names."""


def common_shape(images: ImagesLike) -> Shape:
    """Height, width and channels for all of them: photos become squares of their median short side, and colours as
    soon as one of them has some."""
    if not _is_list(images):
        height, width, channels = (int(number) for number in as_images(images).shape[1:])
        return height, width, channels
    found = [one for one in map(short_side_and_channels, images) if one is not None]
    if not found:
        height, width, channels = (int(number) for number in as_images(images[:1]).shape[1:])  # says what is wrong
        return min(height, width), min(height, width), channels
    side = int(np.median([side for side, _ in found]))
    return side, side, max(channels for _, channels in found)


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
    """Pixels at the size in which images are kept, grey or in colours as the network has it. Arrays must have that
    size already, unless they are large photos."""
    side = kept_side(inputs)
    pixels = as_images(images, (side, side) if _is_list(images) or inputs.crop == "resized" else None)
    if tuple(pixels.shape[1:3]) != (side, side):
        raise ClassgrowError(
            f"This learner sees images of {side} x {side} pixels with {inputs.channels} channels, "
            f"not {tuple(pixels.shape[1:])}: resize or convert them first."
        )
    return with_channels(pixels, inputs.channels)


def with_channels(pixels: Tensor, channels: int) -> Tensor:
    """Images (N, H, W, C) with 1 or 3 channels: grey as equal colours, colours as their luma (ITU-R 601)."""
    present = pixels.shape[3]
    if present == channels:
        return pixels
    if present == 1:
        return pixels.expand(-1, -1, -1, channels).contiguous()
    if channels == 1 and present == 3:
        red, green, blue = pixels.to(torch.int32).unbind(3)
        return ((299 * red + 587 * green + 114 * blue + 500) // 1000).to(torch.uint8).unsqueeze(3)
    raise ClassgrowError(f"Images of {present} channels cannot be given {channels}: convert them first.")


def labelled(images: ImagesLike, labels: Iterable[Name], inputs: Inputs) -> tuple[Tensor, list[Name]]:
    """Pixels and a name for each. Files that cannot be read are left out with their labels; a warning names them."""
    if not _is_list(images) or not len(images):
        pixels = sized(images, inputs)
        return pixels, names_for(labels, len(pixels))
    names = names_for(labels, len(images))
    side = kept_side(inputs)
    usable = usable_images(images, (side, side))
    if not usable.places:
        raise ClassgrowError(f"None of the {len(images)} images can be used. {usable.problems[0]}")
    if usable.problems:
        more = f" and {len(usable.problems) - NAMED} more" if len(usable.problems) > NAMED else ""
        warnings.warn(
            f"{len(usable.problems)} of {len(images)} images are left out: {' '.join(usable.problems[:NAMED])}{more}",
            stacklevel=3,
        )
    return with_channels(usable.pixels, inputs.channels), [names[place] for place in usable.places]


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
