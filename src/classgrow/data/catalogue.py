"""The data sets by name."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from classgrow.data.cifar100 import FOLDER, MD5, load_cifar100
from classgrow.data.digits import load_digits
from classgrow.data.labelled import Dataset
from classgrow.data.mnist import load_mnist
from classgrow.errors import ClassgrowError, nearest_name

CIFAR100_ADDRESS = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
CIFAR100_MD5 = "eb9058c3a382ffc7106e4002c42a8d85"


def load(name: str, data_dir: Path | None = None) -> Dataset:
    """The data set `name`, from `data_dir`, else from the folder CLASSGROW_DATA names, else from the network.

    The digits need no folder. Every failure is a ClassgrowError.
    """
    if name not in _LOADERS:
        known = ", ".join(DATASETS)
        raise ClassgrowError(f"There is no data set {name!r}; known are {known}.{nearest_name(name, DATASETS)}")
    return _LOADERS[name](data_dir)


def _given_folder(data_dir: Path | None) -> Path | None:
    if data_dir is not None:
        folder, origin = Path(data_dir), "--data"
    elif os.environ.get("CLASSGROW_DATA"):
        folder, origin = Path(os.environ["CLASSGROW_DATA"]), "CLASSGROW_DATA"
    else:
        return None
    if not folder.is_dir():
        raise ClassgrowError(f"The data folder {folder} does not exist: create it, or point {origin} elsewhere.")
    return folder


def _digits(data_dir: Path | None) -> Dataset:
    return load_digits()


def _cifar100(data_dir: Path | None) -> Dataset:
    return load_cifar100(_given_folder(data_dir) or _downloaded_cifar100())


def _mnist(data_dir: Path | None) -> Dataset:
    folder = _given_folder(data_dir)
    if folder is None:
        raise ClassgrowError("MNIST is read from a folder: name the one that holds MNIST/raw with --data.")
    return load_mnist(folder)


def _downloaded_cifar100() -> Path:
    """The folder of the unpacked archive in the user's cache; downloaded (169 MB) the first time only."""
    import pooch

    cache = Path(pooch.os_cache("classgrow"))
    members = [f"{FOLDER}/{name}" for name in MD5]
    try:
        pooch.retrieve(
            CIFAR100_ADDRESS,
            known_hash=f"md5:{CIFAR100_MD5}",
            path=cache,
            fname="cifar-100-python.tar.gz",
            processor=pooch.Untar(members=members, extract_dir="cifar100"),
        )
    except (OSError, ValueError) as problem:  # no network, no disk; or not the file we know
        raise ClassgrowError(
            f"CIFAR-100 could not be downloaded from {CIFAR100_ADDRESS} ({_first_line(problem)}): "
            "fetch it yourself, unpack it and name the folder with --data."
        ) from problem
    return cache / "cifar100"


def _first_line(problem: Exception) -> str:
    return (str(problem).splitlines() or [type(problem).__name__])[0]


_LOADERS: dict[str, Callable[[Path | None], Dataset]] = {"digits": _digits, "cifar100": _cifar100, "mnist": _mnist}
DATASETS: tuple[str, ...] = tuple(_LOADERS)
