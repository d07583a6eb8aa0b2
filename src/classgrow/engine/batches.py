"""The batches of an epoch: every image exactly once, in an order drawn by the seed."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from classgrow.data.labelled import LabelledImages
from classgrow.engine.augment import Draws, augment
from classgrow.engine.runtime import Runtime
from classgrow.recipes import Inputs


def batch_count(images: int, batch_size: int, drop_last: bool) -> int:
    """Batches in an epoch. An incomplete last batch may be dropped, but never the only one."""
    full = images // batch_size
    return max(1, full) if drop_last else -(-images // batch_size)


def training_batches(
    data: LabelledImages,
    inputs: Inputs,
    batch_size: int,
    drop_last: bool,
    generator: torch.Generator,
    runtime: Runtime,
) -> Iterator[tuple[Tensor, Tensor]]:
    """Augmented images and labels, shuffled; each process yields its share of every batch."""
    order = torch.randperm(len(data), generator=generator)
    for number in range(batch_count(len(data), batch_size, drop_last)):
        positions = order[number * batch_size : (number + 1) * batch_size]
        draws = Draws.make(len(positions), inputs, generator).share(runtime.rank, runtime.processes)
        mine = positions[runtime.rank :: runtime.processes]
        images = data.read(mine).to(runtime.device, non_blocking=True)
        yield augment(images, inputs, draws), data.labels[mine].to(runtime.device, non_blocking=True)
