"""Outputs on many images."""

from __future__ import annotations

import pytest
import torch

from classgrow.data.labelled import LabelledImages
from classgrow.engine.inference import BATCH, features, outputs
from classgrow.engine.runtime import Execution, Runtime, decide
from classgrow.errors import ClassgrowError
from classgrow.inputs import Inputs
from classgrow.networks.network import Network
from classgrow.networks.small import SmallNet
from classgrow.parts.heads import LinearHead


@pytest.fixture
def network() -> Network:
    made = Network(SmallNet(1), LinearHead().build(32))
    made.head.grow(3)
    return made.train()


def test_features_are_those_of_evaluation_mode(
    network: Network, left_or_right: LabelledImages, inputs: Inputs, runtime: Runtime
) -> None:
    found = features(network, left_or_right, inputs, runtime)
    assert not network.training and not found.requires_grad
    pixels = left_or_right.read(torch.arange(20)).permute(0, 3, 1, 2).float() / 255
    torch.testing.assert_close(found, network.backbone(pixels).detach())
    assert int(network.backbone.bn1.num_batches_tracked) == 0  # type: ignore[union-attr,arg-type]


def test_mirrored_features_are_those_of_mirrored_images(
    network: Network, left_or_right: LabelledImages, inputs: Inputs, runtime: Runtime
) -> None:
    turned = LabelledImages.from_arrays(left_or_right.read(torch.arange(20)).flip(2), left_or_right.labels)
    mirrored = features(network, left_or_right, inputs, runtime, mirrored=True)
    assert torch.equal(mirrored, features(network, turned, inputs, runtime))
    assert not torch.equal(mirrored, features(network, left_or_right, inputs, runtime))


def test_many_images_come_in_slices_and_in_order(
    network: Network, left_or_right: LabelledImages, inputs: Inputs, runtime: Runtime
) -> None:
    many = left_or_right.select(torch.arange(20).repeat(30))
    sizes = [len(one.logits) for one in outputs(network, many, inputs, runtime)]
    assert sizes == [BATCH, BATCH, 600 - 2 * BATCH]
    found = features(network, many, inputs, runtime)
    torch.testing.assert_close(found[-20:], features(network, left_or_right, inputs, runtime))


def test_the_runtime_does_what_was_decided() -> None:
    assert decide("cpu", threads=1) == Execution("cpu", 1, 1, False)
    assert Execution(**Execution("cpu", 1).as_json()) == Execution("cpu", 1)
    runtime = Runtime(Execution("cpu", threads=1))
    assert torch.get_num_threads() == 1 and runtime.device.type == "cpu"
    with pytest.raises(ClassgrowError, match="not available here"):
        decide("nonsense")
