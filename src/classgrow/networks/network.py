"""A network is a backbone (images to features) and a head (features to logits)."""

from __future__ import annotations

from typing import Protocol, TypeVar

import torch
from torch import Tensor, nn

from classgrow.views import Outputs

Module = TypeVar("Module", bound=nn.Module)


class HeadModule(Protocol):
    """What the rooms above ask of a head: rows of class embeddings that grow (see `parts.heads`)."""

    classes: int
    newest: int
    reserves: bool

    def __call__(self, features: Tensor) -> Outputs: ...

    def grow(self, count: int, rows: Tensor | None = None, freeze_old: bool = False) -> None: ...

    def forget(self, position: int, newest: int) -> None: ...

    def reserve(self, total: int) -> None: ...

    def rows(self) -> Tensor: ...

    def restore(self, classes: int, newest: int, state: dict[str, Tensor]) -> None: ...


class Network(nn.Module):
    """Backbone (a module that maps images (N, C, H, W) to features (N, d)) and head; calling it gives `Outputs`."""

    head: HeadModule

    def __init__(self, backbone: nn.Module, head: nn.Module | HeadModule) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head  # type: ignore[assignment] # a torch module with all that HeadModule asks for

    def forward(self, images: Tensor) -> Outputs:
        return self.head(self.backbone(images))


def channels_last(module: Module) -> Module:
    """The module with its weights in the order in which convolutions are fastest."""
    moved: Module = module.to(memory_format=torch.channels_last)  # type: ignore[call-overload] # torch forgot this one
    return moved


def feature_count(backbone: nn.Module) -> int:
    """How many features a backbone returns, as it says itself."""
    count: object = backbone.features
    assert isinstance(count, int)
    return count
