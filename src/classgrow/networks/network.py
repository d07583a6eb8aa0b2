"""A network is a backbone (images to features) and a head (features to logits)."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from torch import Tensor, nn

from classgrow.views import Outputs


@runtime_checkable
class Backbone(Protocol):
    """Any module that maps images (N, C, H, W) to features (N, features)."""

    features: int

    def __call__(self, images: Tensor) -> Tensor: ...


class Network(nn.Module):
    """Backbone and head; calling it gives `Outputs`."""

    def __init__(self, backbone: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head

    def forward(self, images: Tensor) -> Outputs:
        outputs: Outputs = self.head(self.backbone(images))
        return outputs
