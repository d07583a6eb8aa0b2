"""The batches of an epoch: every image exactly once, in an order drawn by the seed."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor

from classgrow.data.labelled import LabelledImages
from classgrow.data.threads import ahead
from classgrow.engine.augment import Draws, augment
from classgrow.engine.runtime import Runtime
from classgrow.inputs import Inputs

READ_AHEAD = 2
"""Batches that are read while the network still learns from an earlier one."""

Plan = tuple[Tensor, Draws]
"""Which images a batch takes and what is drawn for them."""


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

    def plans() -> Iterator[Plan]:
        for number in range(batch_count(len(data), batch_size, drop_last)):
            positions = order[number * batch_size : (number + 1) * batch_size]
            # With fewer images than processes the last ones stand in with a copy, which the loop gives no weight.
            rank = runtime.rank % len(positions)
            draws = Draws.make(len(positions), inputs, generator).share(rank, runtime.processes)
            yield positions[rank :: runtime.processes], draws

    for mine, draws, pixels in _read(data, inputs, plans()):
        images = pixels.to(runtime.device, non_blocking=True)
        yield augment(images, inputs, draws), data.labels[mine].to(runtime.device, non_blocking=True)


def _read(data: LabelledImages, inputs: Inputs, plans: Iterator[Plan]) -> Iterator[tuple[Tensor, Draws, Tensor]]:
    """Each plan with its pixels. Random parts of images, which take time, are read ahead of the training."""
    if inputs.crop != "resized":
        for mine, draws in plans:
            yield mine, draws, data.read(mine)
        return

    def read_random(plan: Plan) -> tuple[Tensor, Draws, Tensor]:
        mine, draws = plan
        return mine, draws, data.read_random(mine, draws.parts, inputs.size)

    with ThreadPoolExecutor(1, thread_name_prefix="classgrow-ahead") as reader:
        yield from ahead(reader, read_random, plans, READ_AHEAD)
