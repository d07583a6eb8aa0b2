"""A small network for images of about 8 x 8 pixels, such as scikit-learn's digits."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from classgrow.networks.facts import NetworkFacts
from classgrow.networks.resnet_cifar import BasicBlock, initialise


class SmallNet(nn.Module):
    """One convolution and two residual blocks (16 and 32 channels); features are the mean over all pixels."""

    def __init__(self, channels: int = 1, last_relu: bool = False) -> None:
        super().__init__()
        self.features = 32
        self.conv1 = nn.Conv2d(channels, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.blocks = nn.Sequential(BasicBlock(16, 16), BasicBlock(16, 32, last_relu=last_relu))
        initialise(self)

    def forward(self, images: Tensor) -> Tensor:
        out = functional.relu(self.bn1(self.conv1(images)))
        return torch.mean(self.blocks(out), dim=(2, 3))


SMALL = NetworkFacts("small", SmallNet, features=32, parameters=18_800, megaflops=0.6)
