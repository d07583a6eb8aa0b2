from __future__ import annotations

import hashlib
import io
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from classgrow.data import cifar100
from classgrow.data.cifar100 import SHA256, RestrictedUnpickler, load_cifar100
from classgrow.errors import ClassgrowError


class Malicious:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("exit 3",)


def test_the_real_files(data_dir: Path) -> None:
    """The first train image is of cattle (19), and every class has 500 and 100 images."""
    dataset = load_cifar100(data_dir)
    assert dataset.train.shape == (32, 32, 3)
    assert dataset.train.counts().tolist() == [500] * 100
    assert dataset.test.counts().tolist() == [100] * 100
    assert dataset.classes[int(dataset.train.labels[0])].name == "cattle"
    assert dataset.train.read(torch.tensor([0]))[0, 0, 0].tolist() == [255, 255, 255]


def test_one_flipped_byte_stops_a_real_file_before_it_is_unpickled(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in SHA256:
        (tmp_path / name).symlink_to(data_dir / "cifar-100-python" / name)
    content = bytearray((tmp_path / "meta").read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "meta").unlink()
    (tmp_path / "meta").write_bytes(content)
    opened: list[bytes] = []
    monkeypatch.setattr(cifar100, "_unpickled", opened.append)
    with pytest.raises(ClassgrowError, match="meta is not the canonical"):
        load_cifar100(tmp_path)
    assert opened == []


def test_a_malicious_file_is_stopped_by_its_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SHA256:
        (tmp_path / name).write_bytes(pickle.dumps(Malicious()))
    monkeypatch.setattr(cifar100, "_unpickled", lambda content: pytest.fail("the file was unpickled"))
    with pytest.raises(ClassgrowError, match="SHA-256 differs"):
        load_cifar100(tmp_path)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_the_reader_refuses_everything_but_arrays(protocol: int) -> None:
    content = pickle.dumps(Malicious(), protocol)
    with pytest.raises(pickle.UnpicklingError, match=r"system is not allowed"):
        RestrictedUnpickler(io.BytesIO(content)).load()


def test_planes_become_pixels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files made by hand, naming numpy as the canonical ones do, with their digests put on the list."""
    rows = np.repeat(np.array([[1, 2, 3], [4, 5, 6]], dtype=np.uint8), 1024, axis=1)
    batch = {b"data": rows, b"fine_labels": [1, 0], b"coarse_labels": [0, 0]}
    folder = tmp_path / "cifar-100-python"
    folder.mkdir()
    for name, value in {"train": batch, "test": batch, "meta": {b"fine_label_names": [b"apple", b"bee"]}}.items():
        content = pickle.dumps(value, protocol=3).replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
        (folder / name).write_bytes(content)
        monkeypatch.setitem(SHA256, name, hashlib.sha256(content).hexdigest())
    dataset = load_cifar100(tmp_path)
    assert dataset.train.read(torch.tensor([1, 0]))[:, 31, 7].tolist() == [[4, 5, 6], [1, 2, 3]]
    assert dataset.train.labels.tolist() == [1, 0]
    assert [label.name for label in dataset.classes] == ["apple", "bee"]


def test_missing_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(ClassgrowError, match=r"does not hold the CIFAR-100 files .* unpack"):
        load_cifar100(tmp_path)
