"""ResNet-18 is torchvision's, name for name, without its classifier."""

from __future__ import annotations

import math

import pytest
import torch

from classgrow.networks.catalogue import build_backbone
from classgrow.networks.resnet_imagenet import BasicBlock, ImagenetResNet, resnet18
from classgrow.presets import PRESETS


def torchvision_names() -> list[str]:
    """The parameters of torchvision's resnet18 in their order, without fc.weight and fc.bias."""
    names = ["conv1.weight", "bn1.weight", "bn1.bias"]
    for layer in (1, 2, 3, 4):
        for block in (0, 1):
            parts = ["conv1.weight", "bn1.weight", "bn1.bias", "conv2.weight", "bn2.weight", "bn2.bias"]
            if layer > 1 and block == 0:
                parts += ["downsample.0.weight", "downsample.1.weight", "downsample.1.bias"]
            names += [f"layer{layer}.{block}.{part}" for part in parts]
    return names


def test_names_and_numbers_are_torchvisions() -> None:
    """11,689,512 parameters with the classifier, which has 512 · 1000 + 1000 of them."""
    network = resnet18()
    assert [name for name, _ in network.named_parameters()] == torchvision_names()
    assert len(torchvision_names()) == 60
    assert sum(parameter.numel() for parameter in network.parameters()) == 11_176_512 == 11_689_512 - 513_000
    assert network.layer4[0].conv1.weight.shape == (512, 256, 3, 3)
    assert network.layer2[0].downsample[0].weight.shape == (128, 64, 1, 1)
    assert network.layer2[0].downsample[0].stride == (2, 2)


def test_the_last_gamma_of_every_block_starts_at_zero_and_no_other() -> None:
    zeros = [name for name, value in resnet18().named_parameters() if name.endswith("weight") and not value.any()]
    assert zeros == [f"layer{layer}.{block}.bn2.weight" for layer in (1, 2, 3, 4) for block in (0, 1)]


def test_a_new_block_hands_on_its_shortcut() -> None:
    images = torch.randn(2, 64, 7, 7)
    assert torch.equal(BasicBlock(64, 64, 1, last_relu=False).eval()(images), images)
    assert torch.equal(BasicBlock(64, 64, 1).eval()(images), images.relu())


def test_convolutions_start_kaiming_fan_out() -> None:
    """std = sqrt(2 / (out channels · kernel area)): 7x7 with 64 and 3x3 with 512 channels."""
    network = resnet18()
    assert float(network.conv1.weight.detach().std()) == pytest.approx(math.sqrt(2 / (64 * 49)), rel=0.05)
    assert float(network.layer4[1].conv2.weight.detach().std()) == pytest.approx(math.sqrt(2 / (512 * 9)), rel=0.02)


@pytest.mark.parametrize("last_relu", [False, True])
def test_features_are_negative_only_without_the_last_relu(last_relu: bool) -> None:
    network = build_backbone(PRESETS["imagenet"].network, 3, last_relu)
    assert isinstance(network, ImagenetResNet)
    torch.nn.init.ones_(network.layer4[1].bn2.weight)
    features = network.train()(torch.randn(2, 3, 84, 84))
    assert features.shape == (2, 512)
    assert bool((features < 0).any()) is not last_relu


@pytest.mark.parametrize("size", [32, 84, 224])
def test_any_size_gives_512_features(size: int) -> None:
    with torch.no_grad():
        assert resnet18().eval()(torch.zeros(1, 3, size, size)).shape == (1, 512)
