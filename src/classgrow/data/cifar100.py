"""CIFAR-100 from its canonical files, which are pickles: checked before they are read, and read by a wary reader."""

from __future__ import annotations

import hashlib
import io
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from classgrow.data.facts import DatasetFacts, PaperProtocol
from classgrow.data.place import given_folder
from classgrow.disk import read_regular
from classgrow.errors import ClassgrowError
from classgrow.presets import CIFAR_COLOURS
from classgrow.progress import Progress

if TYPE_CHECKING:
    from classgrow.data.labelled import ClassLabel, Dataset, LabelledImages

ADDRESS = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
ARCHIVE_SHA256 = "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7"

FOLDER = "cifar-100-python"
SHA256 = {
    "train": "735e79b04f092ca3d2e6d07f368c0a7d70d48c48d28865950cc24454cf45129b",
    "test": "4b67687d9933c4db8f0831104447f15b93774f4f464bd0516f0f0f2ac83b7864",
    "meta": "a5d4786345c961390f865e93b434dbd5c6904ce880667e0cb888c97d449f28b9",
}
LARGEST_FILE = 256 * 2**20
ALLOWED = {("numpy.core.multiarray", "_reconstruct"), ("numpy", "ndarray"), ("numpy", "dtype")}


def load_cifar100(data_dir: Path) -> Dataset:
    """50,000 and 10,000 images of 32 by 32 in colour, the 100 fine classes under their own ids and names."""
    from classgrow.data.labelled import ClassLabel, Dataset

    folder = _folder(data_dir)
    contents = {name: _checked_bytes(folder / name) for name in SHA256}
    names = [name.decode() for name in _unpickled(contents.pop("meta"))[b"fine_label_names"]]
    classes = tuple(ClassLabel(number, name) for number, name in enumerate(names))
    return Dataset(
        "cifar100", train=_images(contents.pop("train"), classes), test=_images(contents.pop("test"), classes)
    )


class RestrictedUnpickler(pickle.Unpickler):
    """Builds containers, strings, numbers and numpy arrays; refuses to look up anything else."""

    def find_class(self, module: str, name: str) -> object:
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name} is not allowed in a CIFAR-100 file")
        if name == "_reconstruct":  # the files name the module as numpy did before 2.0
            return np.ndarray(0).__reduce__()[0]
        return getattr(np, name)


def _folder(data_dir: Path) -> Path:
    for folder in (data_dir / FOLDER, data_dir):
        if all((folder / name).is_file() for name in SHA256):
            return folder
    raise ClassgrowError(
        f"{data_dir} does not hold the CIFAR-100 files train, test and meta (nor does its folder {FOLDER}): "
        "unpack cifar-100-python.tar.gz there, or leave out `data_dir` and CLASSGROW_DATA to download it."
    )


def _checked_bytes(path: Path) -> bytes:
    """The file's bytes, once they are known to be the canonical ones; what is checked is what will be read."""
    try:
        content = read_regular(path, LARGEST_FILE)
    except OSError as problem:
        raise ClassgrowError(
            f"The CIFAR-100 file {path} cannot be read ({problem.strerror}): make it readable, or unpack it again."
        ) from problem
    if hashlib.sha256(content).hexdigest() != SHA256[path.name]:
        raise ClassgrowError(
            f"{path} is not the canonical CIFAR-100 file (its SHA-256 differs) and was not opened: "
            "put the canonical file there, or unpack it elsewhere and name that folder."
        )
    return content


def _unpickled(content: bytes) -> dict[bytes, Any]:
    unpickled: dict[bytes, Any] = RestrictedUnpickler(io.BytesIO(content), encoding="bytes").load()
    return unpickled


def _images(content: bytes, classes: tuple[ClassLabel, ...]) -> LabelledImages:
    from classgrow.data.labelled import LabelledImages

    batch = _unpickled(content)
    planes = batch[b"data"].reshape(-1, 3, 32, 32)  # a row is all red, then all green, then all blue pixels
    return LabelledImages.from_arrays(
        np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), batch[b"fine_labels"], classes
    )


def _downloaded() -> Path:
    """The folder of the unpacked archive in the user's cache; downloaded (169 MB) the first time only."""
    import pooch

    cache = Path(pooch.os_cache("classgrow"))
    members = [f"{FOLDER}/{name}" for name in SHA256]
    try:
        pooch.retrieve(
            ADDRESS,
            known_hash=f"sha256:{ARCHIVE_SHA256}",
            path=cache,
            fname="cifar-100-python.tar.gz",
            processor=pooch.Untar(members=members, extract_dir="cifar100"),
        )
    except (OSError, ValueError) as problem:  # no network, no disk; or not the file we know
        raise ClassgrowError(
            f"CIFAR-100 could not be downloaded from {ADDRESS} ({_first_line(problem)}): "
            "fetch it yourself, unpack it and name the folder with `data_dir`."
        ) from problem
    return cache / "cifar100"


def _first_line(problem: Exception) -> str:
    return (str(problem).splitlines() or [type(problem).__name__])[0]


def _load(data_dir: Path | None, progress: Progress, strict: bool) -> Dataset:
    return load_cifar100(given_folder(data_dir) or _downloaded())


CIFAR100 = DatasetFacts(
    "cifar100",
    _load,
    title="CIFAR-100",
    shape=(32, 32, 3),
    images_per_class=(500,) * 100,
    statistics=CIFAR_COLOURS,
    preset="cifar",
    protocol=PaperProtocol(memory=2000, first=10, step=10, order="0"),
    published=True,
    test_images=10_000,
    image_bytes=32 * 32 * 3,
)
