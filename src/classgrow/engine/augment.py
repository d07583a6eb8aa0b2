"""From uint8 images (N, H, W, C) to normalised floats (N, C, H, W) in channels-last memory, a batch at a time."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from classgrow.data.crops import NUMBERS
from classgrow.data.threads import over_slices
from classgrow.inputs import Inputs


@dataclass(frozen=True)
class Draws:
    """The random part of one batch: crop corners (N, 2), mirrored or not (N,), brightness factors (N,).

    For inputs with crop "resized", `parts` (N, 22) decides which part of each image is taken; no rows otherwise.
    """

    corners: Tensor
    mirrored: Tensor
    brightness: Tensor
    parts: Tensor = field(default_factory=lambda: torch.empty(0, NUMBERS, dtype=torch.float64))

    @classmethod
    def make(cls, count: int, inputs: Inputs, generator: torch.Generator) -> Draws:
        low, high = 1 - inputs.brightness, 1 + inputs.brightness
        return cls(
            torch.randint(0, 2 * inputs.padding + 1, (count, 2), generator=generator),
            torch.rand(count, generator=generator) < (0.5 if inputs.mirror else 0.0),
            torch.empty(count).uniform_(low, high, generator=generator),
            torch.rand(count if inputs.crop == "resized" else 0, NUMBERS, generator=generator, dtype=torch.float64),
        )

    def share(self, rank: int, processes: int) -> Draws:
        """The draws of one process: a batch means the same however many processes share it."""
        return Draws(*(part[rank::processes] for part in (self.corners, self.mirrored, self.brightness, self.parts)))


def augment(images: Tensor, inputs: Inputs, draws: Draws) -> Tensor:
    """Random crop with black padding, mirror, brightness (clamped to the image range), then normalise.

    With crop "resized" the images come cropped already (`read_random`), with "none" they stay whole: only the rest is
    done.
    """
    device = images.device
    cropped = _cropped(images, inputs, draws) if inputs.crop == "pad" else _mirrored(images, draws)
    if not inputs.brightness:
        return _scaled(cropped, inputs)
    values = cropped.permute(0, 3, 1, 2).float()
    return scale((values * draws.brightness.to(device)[:, None, None, None]).clamp_(0, 255), inputs)


def _mirrored(images: Tensor, draws: Draws) -> Tensor:
    images = images.clone()
    for place in torch.nonzero(draws.mirrored)[:, 0].tolist():  # on the CPU 20 times as fast as a gather
        images[place] = images[place].flip(1)
    return images


def _cropped(images: Tensor, inputs: Inputs, draws: Draws) -> Tensor:
    """Random crops with black padding, mirrored or not."""
    device = images.device
    count, height, width, _ = images.shape
    padding = inputs.padding
    padded = functional.pad(images, (0, 0, padding, padding, padding, padding)) if padding else images
    corners, mirrored = draws.corners.to(device), draws.mirrored.to(device)
    rows = corners[:, :1] + torch.arange(height, device=device)
    columns = corners[:, 1:] + torch.arange(width, device=device)
    columns = torch.where(mirrored[:, None], columns.flip(1), columns)
    batch = torch.arange(count, device=device)
    return padded[batch[:, None, None], rows[:, :, None], columns[:, None, :]]


def plain(images: Tensor, inputs: Inputs) -> Tensor:
    """The test-time transform: normalise; with crop "resized", the centre only."""
    return _scaled(centre(images, inputs), inputs)


def centre(images: Tensor, inputs: Inputs) -> Tensor:
    """What the network sees of images (N, H, W, C) in tests: with crop "resized" the square of `inputs.size` in the
    middle (a view, not a copy), else everything."""
    height, width = images.shape[1:3]
    if inputs.crop != "resized" or min(height, width) <= inputs.size:
        return images
    top, left = (height - inputs.size) // 2, (width - inputs.size) // 2
    return images[:, top : top + inputs.size, left : left + inputs.size]


def _scaled(images: Tensor, inputs: Inputs) -> Tensor:
    """`scale` of uint8 images (N, H, W, C); the same numbers, in a quicker way for large images on the CPU."""
    if inputs.crop != "resized" or images.device.type != "cpu":
        return scale(images.permute(0, 3, 1, 2).float(), inputs)
    count, height, width, channels = images.shape
    # Fresh memory is the bottleneck (38 MB for 64 images): numpy asks the system for large pages, and one image at a
    # time stays in the processor's cache. Measured: 0.14 instead of 0.5 ms an image.
    values, pixels = np.empty((count, height, width, channels), np.float32), images.numpy()
    mean = (torch.tensor(inputs.mean) * 255).repeat(width).numpy()
    std = (torch.tensor(inputs.std) * 255).repeat(width).numpy()

    def fill(places: range) -> None:
        for place in places:
            values[place] = pixels[place]
            rows = values[place].reshape(height, -1)
            np.subtract(rows, mean, out=rows)
            np.divide(rows, std, out=rows)

    over_slices(fill, count)
    return torch.from_numpy(values).permute(0, 3, 1, 2)


def scale(values: Tensor, inputs: Inputs) -> Tensor:
    """(x / 255 - mean) / std, per channel."""
    mean = torch.tensor(inputs.mean, device=values.device)[:, None, None] * 255
    std = torch.tensor(inputs.std, device=values.device)[:, None, None] * 255
    return values.sub_(mean).div_(std)


def pixels_of(values: Tensor, inputs: Inputs) -> Tensor:
    """The reverse of `plain`: rounded, clipped uint8 (N, H, W, C)."""
    mean = torch.tensor(inputs.mean, device=values.device)[:, None, None]
    std = torch.tensor(inputs.std, device=values.device)[:, None, None]
    return ((values * std + mean) * 255).round().clamp(0, 255).to(torch.uint8).permute(0, 2, 3, 1).contiguous()
