"""Backbones by name, and which one suits which image size."""

from __future__ import annotations

from collections.abc import Callable

from torch import nn

from classgrow.errors import ClassgrowError, nearest_name
from classgrow.networks.resnet_cifar import resnet32
from classgrow.networks.resnet_imagenet import resnet18
from classgrow.networks.small import SmallNet

BACKBONES: dict[str, Callable[..., nn.Module]] = {
    "small": lambda channels, last_relu: SmallNet(channels, last_relu),
    "resnet32": lambda channels, last_relu: resnet32(channels, last_relu),
    "resnet18": lambda channels, last_relu: resnet18(channels, last_relu),
}
BY_KIND = {"digits": "small", "cifar": "resnet32", "imagenet": "resnet18"}


def build_backbone(name: str, channels: int, last_relu: bool) -> nn.Module:
    """The named backbone, with or without the ReLU after its last block."""
    if name not in BACKBONES:
        known = sorted(BACKBONES)
        raise ClassgrowError(f"Unknown network {name!r}; known: {', '.join(known)}.{nearest_name(name, known)}")
    return BACKBONES[name](channels, last_relu)
