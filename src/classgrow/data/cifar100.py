"""CIFAR-100 from its canonical files, which are pickles: checked before they are read, and read by a wary reader."""

from __future__ import annotations

import hashlib
import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np

from classgrow.data.labelled import ClassLabel, Dataset, LabelledImages
from classgrow.errors import ClassgrowError

FOLDER = "cifar-100-python"
MD5 = {
    "train": "16019d7e3df5f24257cddd939b257f8d",
    "test": "f0ef6b0ae62326f3e7ffdfab6717acfc",
    "meta": "7973b15100ade9c7d40fb424638fde48",
}
ALLOWED = {("numpy.core.multiarray", "_reconstruct"), ("numpy", "ndarray"), ("numpy", "dtype")}


def load_cifar100(data_dir: Path) -> Dataset:
    """50,000 and 10,000 images of 32 by 32 in colour, the 100 fine classes under their own ids and names."""
    folder = _folder(data_dir)
    contents = {name: _checked_bytes(folder / name) for name in MD5}
    names = [name.decode() for name in _unpickled(contents.pop("meta"))[b"fine_label_names"]]
    classes = tuple(ClassLabel(number, name) for number, name in enumerate(names))
    return Dataset(
        "cifar100", train=_images(contents.pop("train"), classes), test=_images(contents.pop("test"), classes)
    )


class RestrictedUnpickler(pickle.Unpickler):
    """Builds containers, strings, numbers and numpy arrays; refuses to look up anything else."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name} is not allowed in a CIFAR-100 file")
        if name == "_reconstruct":  # the files name the module as numpy did before 2.0
            return np.ndarray(0).__reduce__()[0]
        return getattr(np, name)


def _folder(data_dir: Path) -> Path:
    for folder in (data_dir / FOLDER, data_dir):
        if all((folder / name).is_file() for name in MD5):
            return folder
    raise ClassgrowError(
        f"{data_dir} does not hold the CIFAR-100 files train, test and meta (nor does its folder {FOLDER}): "
        "unpack cifar-100-python.tar.gz there, or leave out --data and CLASSGROW_DATA to download it."
    )


def _checked_bytes(path: Path) -> bytes:
    """The file's bytes, once they are known to be the canonical ones; what is checked is what will be read."""
    content = path.read_bytes()
    if hashlib.md5(content, usedforsecurity=False).hexdigest() != MD5[path.name]:
        raise ClassgrowError(
            f"{path} is not the canonical CIFAR-100 file (its md5 differs) and was not opened: "
            "delete it and unpack or download it again."
        )
    return content


def _unpickled(content: bytes) -> dict[bytes, Any]:
    unpickled: dict[bytes, Any] = RestrictedUnpickler(io.BytesIO(content), encoding="bytes").load()
    return unpickled


def _images(content: bytes, classes: tuple[ClassLabel, ...]) -> LabelledImages:
    batch = _unpickled(content)
    planes = batch[b"data"].reshape(-1, 3, 32, 32)  # a row is all red, then all green, then all blue pixels
    return LabelledImages.from_arrays(
        np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), batch[b"fine_labels"], classes
    )
