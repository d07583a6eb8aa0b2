"""The data sets by name, a line each. Importing this, and asking for what is known of one, needs no torch.

A package adds its own by an entry point in the group `classgrow.datasets` that names a `DatasetFacts`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from classgrow.data.facts import DatasetFacts
from classgrow.errors import ClassgrowError
from classgrow.installed import Catalogue
from classgrow.progress import Progress, Silent

if TYPE_CHECKING:
    from classgrow.data.labelled import Dataset

DATASETS = Catalogue(
    "data set",
    "classgrow.datasets",
    DatasetFacts,
    {
        "digits": "classgrow.data.digits:DIGITS",
        "cifar100": "classgrow.data.cifar100:CIFAR100",
        "mnist": "classgrow.data.mnist:MNIST",
        "imagenet100": "classgrow.data.imagenet:IMAGENET100",
        "mini-imagenet": "classgrow.data.imagenet:MINI_IMAGENET",
        "folder": "classgrow.data.folder:FOLDER",
    },
)


def load(name: str, data_dir: Path | None = None, progress: Progress | None = None, strict: bool = False) -> Dataset:
    """The data set `name`, from `data_dir`, else from the folder CLASSGROW_DATA names, else from the network.

    The digits need no folder. ImageNet-100, mini-ImageNet and other folders of images go through the image cache,
    which `progress` hears of while it is built; files in them that cannot be used are skipped and named, or refused
    if `strict`. Every failure is a ClassgrowError.
    """
    from classgrow.data.labelled import Dataset

    found: object = DATASETS[name].load(data_dir, progress or Silent(), strict)
    if not isinstance(found, Dataset):
        raise ClassgrowError(
            f"The loader of the data set {name!r} returned a value of type {type(found).__name__}, not a Dataset: "
            "fix or uninstall the package that brings it."
        )
    return found


def dataset_title(name: str) -> str:
    """What tables call a data set: its title, or its name if nothing is known of it here."""
    facts = DATASETS.find(name)
    return (facts and facts.title) or name
