"""From uint8 images (N, H, W, C) to normalised floats (N, C, H, W) in channels-last memory, a batch at a time."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from classgrow.recipes import Inputs


@dataclass(frozen=True)
class Draws:
    """The random part of one batch: crop corners (N, 2), mirrored or not (N,), brightness factors (N,)."""

    corners: Tensor
    mirrored: Tensor
    brightness: Tensor

    @classmethod
    def make(cls, count: int, inputs: Inputs, generator: torch.Generator) -> Draws:
        low, high = 1 - inputs.brightness, 1 + inputs.brightness
        return cls(
            torch.randint(0, 2 * inputs.padding + 1, (count, 2), generator=generator),
            torch.rand(count, generator=generator) < (0.5 if inputs.mirror else 0.0),
            torch.empty(count).uniform_(low, high, generator=generator),
        )

    def share(self, rank: int, processes: int) -> Draws:
        """The draws of one process: a batch means the same however many processes share it."""
        return Draws(*(part[rank::processes] for part in (self.corners, self.mirrored, self.brightness)))


def augment(images: Tensor, inputs: Inputs, draws: Draws) -> Tensor:
    """Random crop with black padding, mirror, brightness (clamped to the image range), then normalise."""
    device = images.device
    count, height, width, _ = images.shape
    padding = inputs.padding
    padded = functional.pad(images, (0, 0, padding, padding, padding, padding)) if padding else images
    corners, mirrored = draws.corners.to(device), draws.mirrored.to(device)
    rows = corners[:, :1] + torch.arange(height, device=device)
    columns = corners[:, 1:] + torch.arange(width, device=device)
    columns = torch.where(mirrored[:, None], columns.flip(1), columns)
    batch = torch.arange(count, device=device)
    cropped = padded[batch[:, None, None], rows[:, :, None], columns[:, None, :]]
    values = cropped.permute(0, 3, 1, 2).float()
    if inputs.brightness:
        values = (values * draws.brightness.to(device)[:, None, None, None]).clamp_(0, 255)
    return scale(values, inputs)


def plain(images: Tensor, inputs: Inputs) -> Tensor:
    """The test-time transform: normalise only."""
    return scale(images.permute(0, 3, 1, 2).float(), inputs)


def scale(values: Tensor, inputs: Inputs) -> Tensor:
    """(x / 255 - mean) / std, per channel."""
    mean = torch.tensor(inputs.mean, device=values.device)[:, None, None] * 255
    std = torch.tensor(inputs.std, device=values.device)[:, None, None] * 255
    return values.sub_(mean).div_(std)
