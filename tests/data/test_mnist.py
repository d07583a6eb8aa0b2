from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
import torch

from classgrow.data.mnist import FILES, load_mnist
from classgrow.errors import ClassgrowError

IMAGES, LABELS = FILES["train"]


def packed(content: bytes) -> bytes:
    """The same bytes at any time of day: they stand in the names of tests."""
    return gzip.compress(content, mtime=0)


def write_idx(path: Path, array: np.ndarray) -> None:
    header = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
    path.write_bytes(packed(header + array.tobytes()))


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """Two train images (a 7 all 70, a 2 all 20) and the same for testing, as idx files."""
    folder = tmp_path / "MNIST" / "raw"
    folder.mkdir(parents=True)
    pixels = np.repeat(np.array([70, 20], dtype=np.uint8), 28 * 28).reshape(2, 28, 28)
    for image_file, label_file in FILES.values():
        write_idx(folder / image_file, pixels)
        write_idx(folder / label_file, np.array([7, 2], dtype=np.uint8))
    return folder


def test_small_files_are_read(raw: Path) -> None:
    for folder in (raw, raw.parent, raw.parent.parent):
        dataset = load_mnist(folder)
        assert dataset.train.shape == (28, 28, 1)
        assert dataset.train.labels.tolist() == [7, 2]
        assert dataset.test.read(torch.tensor([1]))[0, 5, 5].item() == 20
        assert len(dataset.classes) == 10


def test_the_real_files(data_dir: Path) -> None:
    dataset = load_mnist(data_dir)
    assert (len(dataset.train), len(dataset.test)) == (60000, 10000)
    assert dataset.train.labels[:5].tolist() == [5, 0, 4, 1, 9]


def test_missing_files_are_named(raw: Path, tmp_path: Path) -> None:
    (raw / LABELS).unlink()
    with pytest.raises(ClassgrowError, match=f"lacks the MNIST file {LABELS}"):
        load_mnist(tmp_path)
    with pytest.raises(ClassgrowError, match="does not hold the MNIST files"):
        load_mnist(tmp_path / "elsewhere")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        (IMAGES, b"no gzip at all", "broken"),
        (IMAGES, packed(bytes(5000))[:-9], "broken"),
        (IMAGES, packed(b"\0\0\x08\x01" + bytes(100)), "does not begin as an idx file of 3"),
        (IMAGES, packed(b"\0\0"), "does not begin"),
        (IMAGES, packed(struct.pack(">HBB3I", 0, 8, 3, 2, 28, 28) + bytes(9)), "holds 9 bytes"),
        (IMAGES, packed(struct.pack(">HBB3I", 0, 8, 3, *[2**32 - 1] * 3)), "holds 0 bytes"),
        (IMAGES, packed(struct.pack(">HBB3I", 0, 8, 3, 2, 2, 2) + bytes(8)), r"are \(2, 2\)"),
        (LABELS, packed(struct.pack(">HBBI", 0, 8, 1, 1) + bytes(1)), "1 labels for 2 images"),
        (LABELS, packed(struct.pack(">HBBI", 0, 8, 1, 2) + b"\x0a\x00"), "label 10"),
    ],
)
def test_corrupt_files_are_named(raw: Path, name: str, content: bytes, says: str) -> None:
    (raw / name).write_bytes(content)
    with pytest.raises(ClassgrowError, match=f"{name} is broken .*download it again") as caught:
        load_mnist(raw)
    assert caught.match(says)
