"""ResNet-32 for 32-pixel images, as the authors of FGP built it (463,504 parameters without the head)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from classgrow.networks.facts import NetworkFacts


class PaddedShortcut(nn.Module):
    """He et al.'s option A: every second pixel, and zeros for the channels that are new (after the old ones)."""

    def __init__(self, extra_channels: int) -> None:
        super().__init__()
        self.extra_channels = extra_channels

    def forward(self, images: Tensor) -> Tensor:
        return functional.pad(images[:, :, ::2, ::2], (0, 0, 0, 0, 0, self.extra_channels))


def projected_shortcut(inside: int, outside: int) -> nn.Module:
    """He et al.'s option B: a strided 1x1 convolution with batch norm."""
    return nn.Sequential(nn.Conv2d(inside, outside, 1, stride=2, bias=False), nn.BatchNorm2d(outside))


class BasicBlock(nn.Module):
    """Two 3x3 convolutions around a shortcut; the ReLU after the addition can be left out."""

    def __init__(self, inside: int, outside: int, last_relu: bool = True, project: bool = False) -> None:
        super().__init__()
        stride = 1 if inside == outside else 2
        self.conv1 = nn.Conv2d(inside, outside, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outside)
        self.shortcut: nn.Module = nn.Identity()
        if inside != outside:
            self.shortcut = projected_shortcut(inside, outside) if project else PaddedShortcut(outside - inside)
        self.last_relu = last_relu

    def forward(self, images: Tensor) -> Tensor:
        out = functional.relu(self.bn1(self.conv1(images)))
        out = self.bn2(self.conv2(out)) + self.shortcut(images)
        return functional.relu(out) if self.last_relu else out


class CifarResNet(nn.Module):
    """Three stages of 16, 32 and 64 channels with `depth` blocks each; features are the mean over all pixels."""

    def __init__(self, depth: int = 5, channels: int = 3, last_relu: bool = False, project: bool = False) -> None:
        super().__init__()
        self.features = 64
        self.conv1 = nn.Conv2d(channels, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        widths = [16] * depth + [32] * depth + [64] * depth
        self.blocks = nn.Sequential(
            *(
                BasicBlock(inside, outside, last_relu=last_relu or place < len(widths) - 1, project=project)
                for place, (inside, outside) in enumerate(zip([16, *widths], widths, strict=False))
            )
        )
        initialise(self)

    def forward(self, images: Tensor) -> Tensor:
        out = functional.relu(self.bn1(self.conv1(images)))
        return torch.mean(self.blocks(out), dim=(2, 3))


def initialise(network: nn.Module) -> None:
    """Kaiming normal (fan out) for convolutions; batch norm starts as the identity."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")


def resnet32(channels: int = 3, last_relu: bool = False, project: bool = False) -> CifarResNet:
    """Shortcuts of option A (padded, without weights); the last ReLU can be left out."""
    return CifarResNet(depth=5, channels=channels, last_relu=last_relu, project=project)


RESNET32 = NetworkFacts("resnet32", resnet32, features=64, parameters=463_504, megaflops=69.0, repaid_after=100_000)
