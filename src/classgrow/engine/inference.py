"""A network's outputs on many images, in evaluation mode, without gradients."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from classgrow.data.labelled import LabelledImages
from classgrow.engine.augment import plain
from classgrow.engine.runtime import Runtime
from classgrow.networks.fused import for_evaluation
from classgrow.networks.network import Network
from classgrow.recipes import Inputs
from classgrow.views import Outputs

BATCH = 256


@torch.inference_mode()
def outputs(
    network: Network, data: LabelledImages, inputs: Inputs, runtime: Runtime, mirrored: bool = False
) -> Iterator[Outputs]:
    """`Outputs` for consecutive slices of the data, test-time transform, mirrored left to right on demand."""
    network = for_evaluation(network)
    for positions in torch.arange(len(data)).split(BATCH):
        images = data.read(positions).to(runtime.device)
        if mirrored:
            images = images.flip(2)
        yield network(plain(images, inputs))


def features(
    network: Network, data: LabelledImages, inputs: Inputs, runtime: Runtime, mirrored: bool = False
) -> Tensor:
    """Features (N, d) of all images."""
    return torch.cat([one.features for one in outputs(network, data, inputs, runtime, mirrored)]).clone()
