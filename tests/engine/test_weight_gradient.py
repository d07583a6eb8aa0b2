"""The kernel for weight gradients against PyTorch's in double precision, and that compiled steps use it."""

from __future__ import annotations

import copy
import hashlib
import os
from pathlib import Path

import pytest
import torch
from torch import Tensor

from classgrow.disk import make_private
from classgrow.engine import compiled
from classgrow.engine import weight_gradient as room
from classgrow.engine.compiled import CompiledBackbones
from classgrow.engine.weight_gradient import (
    OwnWeightGradients,
    build,
    digest_file,
    is_as_built,
    kernel,
    weight_gradient,
)
from classgrow.networks.small import SmallNet

needs_kernel = pytest.mark.skipif(kernel() is None, reason="needs an AVX2 processor and a C++ compiler")


def by_torch(gradient: Tensor, images: Tensor) -> Tensor:
    weights = torch.zeros(gradient.shape[1], images.shape[1], 3, 3, dtype=torch.float64, requires_grad=True)
    torch.conv2d(images.double(), weights, padding=1).backward(gradient.double())
    assert weights.grad is not None
    return weights.grad


@needs_kernel
def test_one_pixel_by_hand() -> None:
    """One image of one pixel meets the middle of the kernel alone: gradient times input."""
    images, gradient = torch.arange(4.0).reshape(1, 4, 1, 1), torch.arange(16.0).reshape(1, 16, 1, 1)
    made = weight_gradient(gradient, images)
    assert torch.equal(made[:, :, 1, 1], torch.outer(torch.arange(16.0), torch.arange(4.0)))
    assert int((made != 0).sum()) == 15 * 3


@needs_kernel
@pytest.mark.parametrize("shape", [(3, 16, 16, 5, 7), (5, 32, 32, 16, 16), (2, 64, 64, 8, 8), (2, 4, 48, 19, 3)])
@pytest.mark.parametrize("layout", [torch.channels_last, torch.contiguous_format])
def test_any_shape(shape: tuple[int, ...], layout: torch.memory_format) -> None:
    torch.manual_seed(7)
    count, inside, outside, height, width = shape
    images = torch.randn(count, inside, height, width).contiguous(memory_format=layout)
    gradient = torch.randn(count, outside, height, width).contiguous(memory_format=layout)
    made, expected = weight_gradient(gradient, images), by_torch(gradient, images)
    assert made.is_contiguous(memory_format=torch.channels_last)
    assert float((made - expected).abs().max() / expected.abs().max()) < 3e-6
    assert torch.equal(made, weight_gradient(gradient, images))
    torch.library.opcheck(weight_gradient, (gradient, images))


@needs_kernel
def test_a_compiled_step_uses_it_and_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loss within 1e-5, gradients too; strided convolutions and those of one channel stay with PyTorch."""
    taken: list[tuple[int, ...]] = []
    take_over = room.take_over
    monkeypatch.setattr(
        room, "take_over", lambda graph, node: (taken.append(node.args[2].meta["val"].shape), take_over(graph, node))
    )
    monkeypatch.setattr(OwnWeightGradients, "uuid", lambda self: None)  # no compiled graph of an earlier process
    torch.manual_seed(2)
    plain = SmallNet(1).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    quick = copy.deepcopy(plain)
    images = torch.randn(16, 1, 8, 8).contiguous(memory_format=torch.channels_last)
    losses = [model(images).square().mean() for model in (plain, CompiledBackbones()(quick))]
    for loss in losses:
        loss.backward()
    assert losses[0].item() == pytest.approx(losses[1].item(), abs=1e-5)
    for ours, theirs in zip(quick.parameters(), plain.parameters(), strict=True):
        assert ours.grad is not None and theirs.grad is not None
        assert float((ours.grad - theirs.grad).abs().max()) < 1e-5
    convolutions = [part for part in plain.modules() if isinstance(part, torch.nn.Conv2d)]
    fitting = [part for part in convolutions if part.stride == (1, 1) and part.in_channels % 4 == 0]
    assert 0 < len(fitting) < len(convolutions)
    assert sorted(taken) == sorted(part.weight.shape for part in fitting)


def test_a_library_is_known_by_its_digest(tmp_path: Path) -> None:
    library = tmp_path / "kernel.so"
    library.write_bytes(b"code")
    assert not is_as_built(library)
    digest_file(library).write_text(hashlib.sha256(b"code").hexdigest())
    assert is_as_built(library)
    library.write_bytes(b"other code")
    assert not is_as_built(library)


def test_the_folder_of_libraries_belongs_to_nobody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "kernels"
    folder.mkdir()
    folder.chmod(0o777)
    make_private(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    with pytest.raises(PermissionError, match="belongs to somebody else"):
        make_private(folder)
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(PermissionError):
        make_private(tmp_path / "link")


def test_without_a_compiler_pytorch_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "works", lambda name: False)
    kernel.cache_clear()
    try:
        assert kernel() is None
    finally:
        kernel.cache_clear()


@needs_kernel
def test_the_library_is_built_once(tmp_path: Path) -> None:
    first = build(tmp_path)
    made = first.stat().st_mtime_ns
    assert build(tmp_path) == first and first.stat().st_mtime_ns == made
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([first.name, digest_file(first).name])


@needs_kernel
def test_another_library_in_its_place_is_never_loaded(tmp_path: Path) -> None:
    first = build(tmp_path)
    good = first.read_bytes()
    first.write_bytes(b"not what was built")
    assert not is_as_built(first)
    assert build(tmp_path).read_bytes()[:4] == good[:4] and is_as_built(first)
