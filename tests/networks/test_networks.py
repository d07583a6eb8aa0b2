"""Backbones: sizes, shortcuts, starting values."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.nn import functional

from classgrow.errors import ClassgrowError
from classgrow.networks.catalogue import NETWORKS, build_backbone
from classgrow.networks.network import Network
from classgrow.networks.resnet_cifar import BasicBlock, PaddedShortcut, projected_shortcut, resnet32
from classgrow.networks.small import SmallNet
from classgrow.parts.heads import CosineHead


def parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def test_resnet32_has_the_parameters_of_the_authors_network() -> None:
    """Counted by hand for option A; option B adds 16·32 + 2·32 and 32·64 + 2·64 for its two projections."""
    assert parameters(resnet32()) == 463_504
    assert parameters(resnet32(project=True)) == 463_504 + 576 + 2_176
    assert len(resnet32().blocks) == 15


def test_resnet32_shapes() -> None:
    network = resnet32().eval()
    images = torch.randn(2, 3, 32, 32)
    assert network(images).shape == (2, 64)
    assert network.features == 64
    first = functional.relu(network.bn1(network.conv1(images)))
    assert network.blocks[:5](first).shape == (2, 16, 32, 32)
    assert network.blocks(first).shape == (2, 64, 8, 8)
    torch.testing.assert_close(network(images), network.blocks(first).mean((2, 3)))


def test_padded_shortcut_takes_every_second_pixel_and_adds_empty_channels() -> None:
    """One channel 0..15 in rows of four: pixels 0, 2, 8, 10 stay; the two new channels come after and are zero."""
    image = torch.arange(16.0).reshape(1, 1, 4, 4)
    out = PaddedShortcut(2)(image)
    assert out.tolist() == [[[[0.0, 2.0], [8.0, 10.0]], [[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]]]


def test_projected_shortcut_is_a_strided_convolution_with_batch_norm() -> None:
    """Weight 3 on 0, 2, 8, 10; batch norm with mean 0 and variance 1 leaves 3·x (but for its epsilon)."""
    shortcut = projected_shortcut(1, 1).eval()
    nn.init.constant_(shortcut[0].weight, 3.0)  # type: ignore[index]
    image = torch.arange(16.0).reshape(1, 1, 4, 4)
    torch.testing.assert_close(shortcut(image), torch.tensor([[[[0.0, 6.0], [24.0, 30.0]]]]), rtol=1e-4, atol=1e-4)
    assert parameters(projected_shortcut(16, 32)) == 576


def test_a_block_adds_its_shortcut() -> None:
    """With the second batch norm at gamma 0 only the shortcut is left: negative values survive without the ReLU."""
    image = torch.tensor([[[[-1.0, 2.0], [3.0, -4.0]]]])
    for last_relu, expected in ((True, [[0.0, 2.0], [3.0, 0.0]]), (False, [[-1.0, 2.0], [3.0, -4.0]])):
        block = BasicBlock(1, 1, last_relu=last_relu)
        nn.init.zeros_(block.bn2.weight)
        assert block(image)[0, 0].tolist() == expected


@pytest.mark.parametrize("make", [resnet32, SmallNet])
def test_last_relu_changes_the_last_block_only(make: type[SmallNet]) -> None:
    with_relu, without = make(last_relu=True), make(last_relu=False)
    without.load_state_dict(with_relu.state_dict())
    assert [block.last_relu for block in with_relu.blocks] == [True] * len(with_relu.blocks)
    assert [block.last_relu for block in without.blocks] == [True] * (len(without.blocks) - 1) + [False]
    images = torch.randn(2, 16, 8, 8)
    kept, removed = with_relu.eval().blocks(images), without.eval().blocks(images)
    assert torch.equal(kept, functional.relu(removed)) and bool((removed < 0).any())


def test_kaiming_fan_out_start() -> None:
    """std = √(2 / (9 · outgoing channels)); batch norm starts as the identity."""
    torch.manual_seed(0)
    network = resnet32()
    for block, width in ((network.blocks[1], 16), (network.blocks[5], 32), (network.blocks[10], 64)):
        expected = math.sqrt(2 / (9 * width))
        assert float(block.conv1.weight.std()) == pytest.approx(expected, rel=0.05)  # type: ignore[union-attr]
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            assert bool((module.weight == 1).all()) and bool((module.bias == 0).all())


def test_small_network_shapes() -> None:
    for channels in (1, 3):
        network = SmallNet(channels)
        assert network(torch.randn(4, channels, 8, 8)).shape == (4, network.features) == (4, 32)
    assert parameters(SmallNet(1)) < 25_000


def test_backbones_by_name() -> None:
    assert isinstance(build_backbone("small", 1, last_relu=True), SmallNet)
    assert not build_backbone("resnet32", 3, last_relu=False).blocks[-1].last_relu  # type: ignore[index,union-attr]
    with pytest.raises(ClassgrowError, match="Did you mean 'resnet32'"):
        build_backbone("resnet23", 3, last_relu=False)


def test_network_is_backbone_and_head() -> None:
    network = Network(SmallNet(1), CosineHead().build(32)).eval()
    network.head.grow(3)
    images = torch.randn(2, 1, 8, 8)
    out = network(images)
    assert out.logits.shape == (2, 3)
    assert torch.equal(out.features, network.backbone(images))


@pytest.mark.parametrize(("name", "channels"), [("small", 1), ("resnet32", 3), ("resnet18", 3)])
def test_what_is_said_of_a_network_is_true_of_it(name: str, channels: int) -> None:
    facts, backbone = NETWORKS[name], build_backbone(name, channels, last_relu=False)
    assert (facts.name, backbone.features) == (name, facts.features)
    assert sum(parameter.numel() for parameter in backbone.parameters()) == facts.parameters
    assert backbone.eval()(torch.zeros(1, channels, 32, 32)).shape == (1, facts.features)
