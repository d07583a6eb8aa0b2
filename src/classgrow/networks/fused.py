"""A backbone made ready to be read many times: batch norm folded into the convolutions, ReLU and addition fused.

Only for evaluation, without gradients: the teacher of a phase, features, predictions. Backbones this file does not
know, and devices other than the CPU, are used as they are.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.fusion import fuse_conv_bn_eval

from classgrow.networks.efficientnet_lite import CEILING, EfficientNetLite, InvertedBlock
from classgrow.networks.network import Network, channels_last
from classgrow.networks.resnet_cifar import BasicBlock, CifarResNet
from classgrow.networks.resnet_imagenet import BasicBlock as ImagenetBlock
from classgrow.networks.resnet_imagenet import ImagenetResNet
from classgrow.networks.small import SmallNet

CACHED_PIXELS = 4 * 260 * 260
"""EfficientNet-Lite takes so many pixels at once: between two of its convolutions lie 100 floats for each pixel, and
batches that leave the processor's cache were half as fast (docs/performance.md)."""


class FoldedConv(nn.Module):
    """A convolution with its batch norm folded in; ReLU in the same pass, cut off at `ceiling` where there is one.

    With `added` it also adds that tensor, and may write the sum over it: it must not be used afterwards.
    """

    def __init__(self, convolution: nn.Module, norm: nn.Module, ceiling: float | None = None) -> None:
        super().__init__()
        assert isinstance(convolution, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d)
        folded = fuse_conv_bn_eval(copy.deepcopy(convolution).eval(), copy.deepcopy(norm).eval())
        self.convolution = channels_last(folded)
        self.ceiling = ceiling

    def forward(self, images: Tensor, relu: bool, added: Tensor | None = None) -> Tensor:
        conv = self.convolution
        weight = self.weight_for(images)
        out: Tensor
        if not fusible(images):
            out = functional.conv2d(images, weight, conv.bias, conv.stride, conv.padding, conv.dilation, conv.groups)
            out = out if added is None else out + added
            return out.clamp_(0, self.ceiling) if relu else out
        weights = (weight, conv.bias, conv.padding, conv.stride, conv.dilation, conv.groups)
        if added is None:
            out = torch.ops.mkldnn._convolution_pointwise(images, *weights, *self.activation(relu), "")
            return out
        after = "relu" if relu else None
        out = torch.ops.mkldnn._convolution_pointwise_(added, images, *weights, "add", None, after, [], None)
        return out

    def weight_for(self, images: Tensor) -> Tensor:
        """The weights to use on images of this size."""
        weight: Tensor = self.convolution.weight
        return weight

    def activation(self, relu: bool) -> tuple[str, list[float]]:
        """What oneDNN does to the sum: the name, and its numbers."""
        if not relu:
            return "none", []
        return ("relu", []) if self.ceiling is None else ("hardtanh", [0.0, self.ceiling])


class FoldedSameConv(FoldedConv):
    """The same with TensorFlow's padding, and without a padded copy of the images.

    With stride 2 and an even size the first row would be padded by one less than the last. Such a kernel gets a first
    row of zero weights instead, and is padded evenly.
    """

    def weight_for(self, images: Tensor) -> Tensor:
        weight: Tensor = self.convolution.weight
        if self.convolution.stride == (1, 1):
            return weight
        rows, columns = (1 - size % 2 for size in images.shape[2:])
        if not rows and not columns:
            return weight
        return functional.pad(weight, (columns, 0, rows, 0)).contiguous(memory_format=torch.channels_last)


def fusible(images: Tensor) -> bool:
    """oneDNN's fused convolutions: on the CPU, in float32 or bfloat16."""
    return (
        images.device.type == "cpu"
        and images.dtype in (torch.float32, torch.bfloat16)
        and torch.backends.mkldnn.is_available()
        and hasattr(torch.ops.mkldnn, "_convolution_pointwise_")
    )


class FusedBlock(nn.Module):
    """A residual block in two fused convolutions."""

    def __init__(self, block: BasicBlock | ImagenetBlock) -> None:
        super().__init__()
        self.first, self.second = FoldedConv(block.conv1, block.bn1), FoldedConv(block.conv2, block.bn2)
        shortcut = block.shortcut if isinstance(block, BasicBlock) else block.downsample
        self.projects = isinstance(shortcut, nn.Sequential)
        if isinstance(shortcut, nn.Sequential):
            shortcut = FoldedConv(shortcut[0], shortcut[1])
        self.shortcut = shortcut
        self.last_relu = block.last_relu

    def forward(self, images: Tensor) -> Tensor:
        kept = images
        if self.shortcut is not None:
            kept = self.shortcut(images, relu=False) if self.projects else self.shortcut(images)
        kept = kept.contiguous(memory_format=torch.channels_last)
        out: Tensor = self.second(self.first(images, relu=True), relu=self.last_relu, added=kept)
        return out


class FusedResNet(nn.Module):
    """Any of our residual backbones for evaluation, computed in `dtype`, or else in that of its weights."""

    def __init__(self, backbone: CifarResNet | SmallNet | ImagenetResNet, dtype: torch.dtype | None = None) -> None:
        super().__init__()
        self.features = backbone.features
        self.first = FoldedConv(backbone.conv1, backbone.bn1)
        self.pools = isinstance(backbone, ImagenetResNet)
        self.blocks = nn.Sequential(
            *(FusedBlock(part) for part in backbone.modules() if isinstance(part, BasicBlock | ImagenetBlock))
        )
        self.eval().requires_grad_(False).to(dtype)
        self.dtype = self.first.convolution.weight.dtype

    def forward(self, images: Tensor) -> Tensor:
        out = self.first(images.to(self.dtype, memory_format=torch.channels_last), relu=True)
        if self.pools:
            out = functional.max_pool2d(out, 3, stride=2, padding=1)
        return torch.mean(self.blocks(out), dim=(2, 3))


class FusedInvertedBlock(nn.Module):
    """A block of EfficientNet-Lite in two or three fused convolutions."""

    def __init__(self, block: InvertedBlock) -> None:
        super().__init__()
        self.expand: FoldedConv | None = None
        if block.expand is not None and block.expand_norm is not None:
            self.expand = FoldedConv(block.expand, block.expand_norm, CEILING)
        self.depthwise = FoldedSameConv(block.depthwise, block.depthwise_norm, CEILING)
        self.project = FoldedConv(block.project, block.project_norm)
        self.adds = block.adds

    def forward(self, images: Tensor) -> Tensor:
        wide = images if self.expand is None else self.expand(images, relu=True)
        out: Tensor = self.project(self.depthwise(wide, relu=True), relu=False, added=images if self.adds else None)
        return out


class FusedEfficientNetLite(nn.Module):
    """EfficientNet-Lite for evaluation, computed in `dtype`, or else in that of its weights."""

    def __init__(self, backbone: EfficientNetLite, dtype: torch.dtype | None = None) -> None:
        super().__init__()
        self.features = backbone.features
        self.first = FoldedSameConv(backbone.first, backbone.first_norm, CEILING)
        blocks = (part for part in backbone.blocks if isinstance(part, InvertedBlock))
        self.blocks = nn.Sequential(*(FusedInvertedBlock(block) for block in blocks))
        self.last = FoldedConv(backbone.last, backbone.last_norm, CEILING)
        self.eval().requires_grad_(False).to(dtype)
        self.dtype = self.first.convolution.weight.dtype

    def forward(self, images: Tensor) -> Tensor:
        few = max(1, CACHED_PIXELS // (images.shape[2] * images.shape[3]))
        return torch.cat([self._features(part) for part in images.split(few)])

    def _features(self, images: Tensor) -> Tensor:
        out = self.first(images.to(self.dtype, memory_format=torch.channels_last), relu=True)
        return torch.mean(self.last(self.blocks(out), relu=True), dim=(2, 3))


def fused(backbone: nn.Module, dtype: torch.dtype | None = None) -> nn.Module:
    """The same features, faster; or the backbone itself where this file does not know it."""
    if next(backbone.parameters(), torch.empty(0)).device.type != "cpu":
        return backbone
    if type(backbone) is CifarResNet or type(backbone) is SmallNet or type(backbone) is ImagenetResNet:
        return FusedResNet(backbone, dtype)
    return FusedEfficientNetLite(backbone, dtype) if type(backbone) is EfficientNetLite else backbone


def for_evaluation(network: Network, dtype: torch.dtype | None = None) -> Network:
    """A network that answers as `network` does in evaluation mode; it shares the head and does not follow changes.

    Where its backbone can be fused and a `dtype` is given, it computes in it, and its features are of that type.
    """
    network.eval()
    return Network(fused(network.backbone, dtype), network.head)
