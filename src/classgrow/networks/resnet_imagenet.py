"""ResNet-18 for large images: torchvision's layout and parameter names, without its classifier."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from classgrow.networks.facts import NetworkFacts
from classgrow.networks.resnet_cifar import initialise


class BasicBlock(nn.Module):
    """Two 3x3 convolutions around a shortcut; the ReLU after the addition can be left out.

    The last batch norm starts with gamma 0, so that at the start a block only hands on its shortcut.
    """

    def __init__(self, inside: int, outside: int, stride: int, last_relu: bool = True) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outside)
        nn.init.zeros_(self.bn2.weight)
        self.downsample: nn.Module | None = None
        if inside != outside:
            self.downsample = nn.Sequential(
                nn.Conv2d(inside, outside, 1, stride=stride, bias=False), nn.BatchNorm2d(outside)
            )
        self.last_relu = last_relu

    def forward(self, images: Tensor) -> Tensor:
        shortcut = images if self.downsample is None else self.downsample(images)
        out = functional.relu(self.bn1(self.conv1(images)))
        out = self.bn2(self.conv2(out)) + shortcut
        return functional.relu(out) if self.last_relu else out


class ImagenetResNet(nn.Module):
    """A 7x7 convolution and a max-pool, each halving the image, then four stages of two blocks with 64 to 512
    channels; features are the mean over all pixels, so any size from 32 pixels on will do."""

    def __init__(self, channels: int = 3, last_relu: bool = False) -> None:
        super().__init__()
        self.features = 512
        self.conv1 = nn.Conv2d(channels, 64, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.layer1 = nn.Sequential(BasicBlock(64, 64, 1), BasicBlock(64, 64, 1))
        self.layer2 = nn.Sequential(BasicBlock(64, 128, 2), BasicBlock(128, 128, 1))
        self.layer3 = nn.Sequential(BasicBlock(128, 256, 2), BasicBlock(256, 256, 1))
        self.layer4 = nn.Sequential(BasicBlock(256, 512, 2), BasicBlock(512, 512, 1, last_relu=last_relu))
        initialise(self)

    def forward(self, images: Tensor) -> Tensor:
        out = functional.relu(self.bn1(self.conv1(images)))
        out = functional.max_pool2d(out, 3, stride=2, padding=1)
        out = self.layer4(self.layer3(self.layer2(self.layer1(out))))
        return torch.mean(out, dim=(2, 3))


def resnet18(channels: int = 3, last_relu: bool = False) -> ImagenetResNet:
    """11,176,512 parameters with three channels; the last ReLU is removed unless asked for."""
    return ImagenetResNet(channels, last_relu)


RESNET18 = NetworkFacts(
    "resnet18", resnet18, features=512, parameters=11_176_512, megaflops=1800.0, repaid_after=60_000
)
