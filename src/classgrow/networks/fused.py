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

from classgrow.networks.network import Network, channels_last
from classgrow.networks.resnet_cifar import BasicBlock, CifarResNet
from classgrow.networks.resnet_imagenet import BasicBlock as ImagenetBlock
from classgrow.networks.resnet_imagenet import ImagenetResNet
from classgrow.networks.small import SmallNet


class FoldedConv(nn.Module):
    """A convolution with its batch norm folded in; ReLU in the same pass.

    With `added` it also adds that tensor, and may write the sum over it: it must not be used afterwards.
    """

    def __init__(self, convolution: nn.Module, norm: nn.Module) -> None:
        super().__init__()
        assert isinstance(convolution, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d)
        folded = fuse_conv_bn_eval(copy.deepcopy(convolution).eval(), copy.deepcopy(norm).eval())
        self.convolution = channels_last(folded)

    def forward(self, images: Tensor, relu: bool, added: Tensor | None = None) -> Tensor:
        conv = self.convolution
        out: Tensor
        if not fusible(images):
            out = conv(images) if added is None else conv(images) + added
            return functional.relu_(out) if relu else out
        shape = (conv.weight, conv.bias, conv.padding, conv.stride, conv.dilation, conv.groups)
        if added is None:
            out = torch.ops.mkldnn._convolution_pointwise(images, *shape, "relu" if relu else "none", [], "")
            return out
        after = "relu" if relu else None
        out = torch.ops.mkldnn._convolution_pointwise_(added, images, *shape, "add", None, after, [], None)
        return out


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


def fused(backbone: nn.Module, dtype: torch.dtype | None = None) -> nn.Module:
    """The same features, faster; or the backbone itself where this file does not know it."""
    if type(backbone) is CifarResNet or type(backbone) is SmallNet or type(backbone) is ImagenetResNet:
        on_cpu = next(backbone.parameters()).device.type == "cpu"
        return FusedResNet(backbone, dtype) if on_cpu else backbone
    return backbone


def for_evaluation(network: Network, dtype: torch.dtype | None = None) -> Network:
    """A network that answers as `network` does in evaluation mode; it shares the head and does not follow changes.

    Where its backbone can be fused and a `dtype` is given, it computes in it, and its features are of that type.
    """
    network.eval()
    return Network(fused(network.backbone, dtype), network.head)
