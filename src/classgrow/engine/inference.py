"""A network's outputs on many images, in evaluation mode, without gradients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from classgrow.data.labelled import LabelledImages
from classgrow.engine.augment import plain
from classgrow.engine.runtime import Runtime
from classgrow.inputs import Inputs
from classgrow.networks.fused import for_evaluation
from classgrow.networks.network import Network
from classgrow.views import Outputs

BATCH, PIXELS = 256, 2**22
"""Images in a slice, and pixels: 62 images of 260 x 260 are 50 MB of float32."""


@torch.inference_mode()
def outputs(
    network: Network, data: LabelledImages, inputs: Inputs, runtime: Runtime, mirrored: bool = False
) -> Iterator[Outputs]:
    """`Outputs` for consecutive slices of the data, test-time transform, mirrored left to right on demand.

    Several processes share the work, and each gets all outputs: every image once, in its place.
    """
    network = for_evaluation(network)
    batch = min(BATCH, max(1, PIXELS // inputs.size**2))
    for positions in torch.arange(len(data)).split(batch * runtime.processes):
        mine = share(len(positions), runtime.processes)
        part = positions.split(mine)[runtime.rank]
        images = data.read(part if len(part) else positions[:1]).to(runtime.device)
        if mirrored:
            images = images.flip(2)
        yield gathered(network(plain(images, inputs)), mine, runtime)


def share(count: int, processes: int) -> list[int]:
    """How many of `count` images each process takes: as even as can be."""
    return [len(range(rank, count, processes)) for rank in range(processes)]


def gathered(mine: Outputs, sizes: list[int], runtime: Runtime) -> Outputs:
    """The outputs of all processes, of which each has so many rows; the class embeddings are the same everywhere."""
    if runtime.processes == 1:
        return mine
    rows = {name: getattr(mine, name) for name in ("features", "logits", "cosines", "reserved")}
    present = {name: value for name, value in rows.items() if value is not None}
    everything = runtime.group.gather(torch.cat(list(present.values()), dim=1), sizes)
    columns = everything.split([value.shape[1] for value in present.values()], dim=1)
    return replace(mine, **dict(zip(present, columns, strict=True)))


def features(
    network: Network, data: LabelledImages, inputs: Inputs, runtime: Runtime, mirrored: bool = False
) -> Tensor:
    """Features (N, d) of all images."""
    return torch.cat([one.features for one in outputs(network, data, inputs, runtime, mirrored)]).clone()
