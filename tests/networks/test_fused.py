"""The fused evaluation path says what the plain one says."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from classgrow.networks.efficientnet_lite import EfficientNetLite
from classgrow.networks.fused import CACHED_PIXELS, FusedEfficientNetLite, FusedResNet, for_evaluation, fused
from classgrow.networks.network import Network
from classgrow.networks.resnet_cifar import CifarResNet, resnet32
from classgrow.networks.resnet_imagenet import resnet18
from classgrow.networks.small import SmallNet
from classgrow.parts.heads import CosineHead

BACKBONES = {
    "small": (lambda: SmallNet(1), (6, 1, 8, 8)),
    "resnet32": (lambda: resnet32(), (6, 3, 32, 32)),
    "resnet32 with last ReLU and projections": (lambda: resnet32(last_relu=True, project=True), (6, 3, 32, 32)),
    "resnet18": (lambda: resnet18(), (2, 3, 64, 64)),
    "efficientnet-lite0": (lambda: EfficientNetLite(), (3, 3, 64, 64)),
    "efficientnet-lite2 on odd and uneven sides": (lambda: EfficientNetLite(1.1, 1.2), (3, 3, 67, 96)),
}


def lived_in(backbone: nn.Module, shape: tuple[int, ...]) -> nn.Module:
    """A backbone whose batch norm has statistics, scales and shifts of its own."""
    with torch.no_grad():
        for module in backbone.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.weight.uniform_(0.5, 1.5)
                module.bias.normal_()
        for _ in range(3):
            backbone.train()(torch.randn(*shape))
    return backbone.eval()


@pytest.mark.parametrize("name", BACKBONES)
def test_features_agree_with_the_plain_backbone(name: str) -> None:
    torch.manual_seed(0)
    make, shape = BACKBONES[name]
    backbone = lived_in(make(), shape)
    images = torch.randn(*shape)
    with torch.no_grad():
        plain, fast = backbone(images), fused(backbone)(images)
    assert isinstance(fused(backbone), FusedResNet | FusedEfficientNetLite)
    assert torch.allclose(plain, fast, rtol=1e-5, atol=1e-5 * float(plain.abs().max()))


@pytest.mark.usefixtures("bfloat16")
@pytest.mark.parametrize("name", BACKBONES)
def test_features_in_bfloat16_are_close(name: str) -> None:
    """It has 8 bits for a number: errors of half a percent, in units of the largest feature, are its rounding."""
    torch.manual_seed(0)
    make, shape = BACKBONES[name]
    backbone = lived_in(make(), shape)
    images = torch.randn(*shape)
    with torch.no_grad():
        plain, fast = backbone(images), fused(backbone, torch.bfloat16)(images)
    assert fast.dtype == torch.bfloat16 and plain.dtype == torch.float32
    assert float((plain - fast).abs().max()) < 0.03 * float(plain.abs().max())


def test_many_photos_are_taken_few_at_a_time() -> None:
    """Five images of which two fill the limit are taken as 2, 2 and 1; their features do not depend on that."""
    torch.manual_seed(0)
    backbone = fused(lived_in(EfficientNetLite(), (3, 3, 64, 64)))
    side = int((CACHED_PIXELS // 2) ** 0.5)
    images, seen = torch.randn(5, 3, side, side), []
    backbone.first.register_forward_pre_hook(lambda module, given: seen.append(len(given[0])))  # type: ignore[union-attr]
    with torch.no_grad():
        together = backbone(images)
        assert seen == [2, 2, 1]
        torch.testing.assert_close(together[3:4], backbone(images[3:4]), rtol=1e-5, atol=1e-5)


def test_images_of_the_caller_are_not_written_over() -> None:
    torch.manual_seed(0)
    backbone = fused(lived_in(EfficientNetLite(), (3, 3, 64, 64)))
    images = torch.randn(2, 3, 64, 64).contiguous(memory_format=torch.channels_last)
    before = images.clone()
    backbone(images)
    assert torch.equal(images, before)


def test_the_backbone_itself_is_left_alone() -> None:
    backbone = lived_in(resnet32(), (4, 3, 32, 32))
    before = copy.deepcopy(backbone.state_dict())
    fused(backbone)
    after = backbone.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert all(parameter.requires_grad for parameter in backbone.parameters())


def test_float64_takes_the_plain_convolutions() -> None:
    backbone = lived_in(SmallNet(1), (4, 1, 8, 8)).double()
    images = torch.randn(3, 1, 8, 8, dtype=torch.float64)
    with torch.no_grad():
        assert torch.allclose(fused(backbone)(images), backbone(images), rtol=1e-10, atol=1e-10)


def test_a_backbone_of_the_users_own_is_used_as_it_is() -> None:
    class Mine(CifarResNet):
        def forward(self, images: torch.Tensor) -> torch.Tensor:
            return super().forward(images) + 1

    mine = Mine(depth=1)
    assert fused(mine) is mine


def test_a_network_for_evaluation_shares_its_head() -> None:
    head = CosineHead().build(32)
    head.grow(3)
    network = Network(lived_in(SmallNet(1), (4, 1, 8, 8)), head)
    images = torch.randn(5, 1, 8, 8)
    with torch.no_grad():
        expected, got = network.eval()(images), for_evaluation(network)(images)
    assert for_evaluation(network).head is head
    assert torch.allclose(expected.logits, got.logits, atol=1e-5)
