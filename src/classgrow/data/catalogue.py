"""The data sets by name."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from classgrow.data.cifar100 import FOLDER, MD5, load_cifar100
from classgrow.data.digits import load_digits
from classgrow.data.folder import load_folder
from classgrow.data.imagenet import load_imagenet100, load_mini_imagenet
from classgrow.data.labelled import Dataset
from classgrow.data.mnist import load_mnist
from classgrow.errors import ClassgrowError, nearest_name
from classgrow.progress import Progress, Silent

CIFAR100_ADDRESS = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
CIFAR100_MD5 = "eb9058c3a382ffc7106e4002c42a8d85"


def load(name: str, data_dir: Path | None = None, progress: Progress | None = None, strict: bool = False) -> Dataset:
    """The data set `name`, from `data_dir`, else from the folder CLASSGROW_DATA names, else from the network.

    The digits need no folder. ImageNet-100, mini-ImageNet and other folders of images go through the image cache,
    which `progress` hears of while it is built; files in them that cannot be used are skipped and named, or refused
    if `strict`. Every failure is a ClassgrowError.
    """
    if name not in _LOADERS:
        known = ", ".join(DATASETS)
        raise ClassgrowError(f"There is no data set {name!r}; known are {known}.{nearest_name(name, DATASETS)}")
    return _LOADERS[name](data_dir, progress or Silent(), strict)


def given_folder(data_dir: Path | None) -> Path | None:
    """`data_dir`, else the folder that CLASSGROW_DATA names, else none; one that is not there is refused."""
    if data_dir is not None:
        folder, origin = Path(data_dir), "--data"
    elif os.environ.get("CLASSGROW_DATA"):
        folder, origin = Path(os.environ["CLASSGROW_DATA"]), "CLASSGROW_DATA"
    else:
        return None
    if not folder.is_dir():
        raise ClassgrowError(f"The data folder {folder} does not exist: create it, or point {origin} elsewhere.")
    return folder


def _digits(data_dir: Path | None, progress: Progress, strict: bool) -> Dataset:
    return load_digits()


def _cifar100(data_dir: Path | None, progress: Progress, strict: bool) -> Dataset:
    return load_cifar100(given_folder(data_dir) or _downloaded_cifar100())


def _mnist(data_dir: Path | None, progress: Progress, strict: bool) -> Dataset:
    return load_mnist(_needed_folder(data_dir, "MNIST", "MNIST/raw"))


def _imagenet100(data_dir: Path | None, progress: Progress, strict: bool) -> Dataset:
    folder = _needed_folder(data_dir, "ImageNet-100", "ImageNet's train and val")
    return load_imagenet100(folder, strict=strict, progress=progress)


def _mini_imagenet(data_dir: Path | None, progress: Progress, strict: bool) -> Dataset:
    folder = _needed_folder(data_dir, "mini-ImageNet", "its train and val")
    return load_mini_imagenet(folder, strict=strict, progress=progress)


def _folder(data_dir: Path | None, progress: Progress, strict: bool) -> Dataset:
    folder = _needed_folder(data_dir, "The data set folder", "train and val, a folder for every class in each,")
    return load_folder(folder, "folder", strict=strict, progress=progress)


def _needed_folder(data_dir: Path | None, title: str, content: str) -> Path:
    folder = given_folder(data_dir)
    if folder is None:
        raise ClassgrowError(f"{title} is read from a folder: name the one that holds {content} with --data.")
    return folder


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


_LOADERS: dict[str, Callable[[Path | None, Progress, bool], Dataset]] = {
    "digits": _digits,
    "cifar100": _cifar100,
    "mnist": _mnist,
    "imagenet100": _imagenet100,
    "mini-imagenet": _mini_imagenet,
    "folder": _folder,
}
DATASETS: tuple[str, ...] = tuple(_LOADERS)
