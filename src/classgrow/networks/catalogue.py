"""The networks by name, a line each. Importing this needs no torch; asking for a network does.

A package adds its own by an entry point in the group `classgrow.networks` that names a `NetworkFacts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from classgrow.errors import ClassgrowError
from classgrow.installed import Catalogue
from classgrow.networks.facts import NetworkFacts

if TYPE_CHECKING:
    from torch import nn

NETWORKS = Catalogue(
    "network",
    "classgrow.networks",
    NetworkFacts,
    {
        "small": "classgrow.networks.small:SMALL",
        "resnet32": "classgrow.networks.resnet_cifar:RESNET32",
        "resnet18": "classgrow.networks.resnet_imagenet:RESNET18",
        "efficientnet-lite0": "classgrow.networks.efficientnet_lite:LITE0",
        "efficientnet-lite1": "classgrow.networks.efficientnet_lite:LITE1",
        "efficientnet-lite2": "classgrow.networks.efficientnet_lite:LITE2",
    },
)
PRETRAINED = "efficientnet-lite2"
"""The network of a learner that is to start pretrained, unless another is asked for."""


def build_backbone(name: str, channels: int, last_relu: bool) -> nn.Module:
    """The named backbone, with or without the ReLU after its last block; `features` says how many it returns."""
    facts = NETWORKS[name]
    backbone = facts.build(channels, last_relu)
    if getattr(backbone, "features", facts.features) != facts.features:
        raise ClassgrowError(
            f"The network {name!r} returns {backbone.features} features and is listed with {facts.features}: "
            "correct the number in its NetworkFacts."
        )
    backbone.features = facts.features  # type: ignore[assignment] # not a tensor, as torch would have it
    return backbone
