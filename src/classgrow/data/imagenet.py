"""ImageNet-100 as the papers chose it from ImageNet, and mini-ImageNet, which is never called ImageNet-100."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from classgrow.data.cache import SHORT_SIDE
from classgrow.data.facts import DatasetFacts, PaperProtocol
from classgrow.data.folder import Splits, dataset_from, list_split, list_splits, listed, split_folders
from classgrow.data.place import needed_folder
from classgrow.data.validation_list import WNID, list_flat
from classgrow.errors import ClassgrowError
from classgrow.presets import IMAGENET_COLOURS
from classgrow.progress import Progress, Silent

if TYPE_CHECKING:
    from classgrow.data.labelled import Dataset

PLACES = ("", "imagenet100", "imagenet", "ILSVRC2012", "ILSVRC/Data/CLS-LOC")
MINI_SIDE = 84
MINI_CLASSES = 100


@cache
def imagenet_names() -> dict[str, str]:
    """The 1,000 wnids of ILSVRC-2012 in alphabetical order, each with a readable name."""
    text = files("classgrow.specs").joinpath("data/imagenet_wnids.csv").read_text(encoding="utf-8")
    return {row["wnid"]: row["name"] for row in csv.DictReader(text.splitlines())}


@cache
def published_subset() -> tuple[str, ...]:
    """The wnids of ImageNet-100, in alphabetical order: label k is the k-th.

    As in the script of Hou et al. 2019: numpy's legacy generator, seed 1993, takes 100 of the sorted 1,000 without
    replacement.
    """
    chosen = np.random.RandomState(1993).choice(sorted(imagenet_names()), 100, replace=False)
    return tuple(sorted(str(wnid) for wnid in chosen))


def class_names(wnids: Sequence[str]) -> dict[str, str]:
    """Readable names where they are known; two classes of the same name (crane, maillot) also carry their wnids."""
    known = {wnid: imagenet_names().get(wnid, wnid) for wnid in wnids}
    names = list(known.values())
    return {wnid: name if names.count(name) == 1 else f"{name} ({wnid})" for wnid, name in known.items()}


def load_imagenet100(data_dir: Path, *, strict: bool = False, progress: Progress | None = None) -> Dataset:
    """The 100 published classes from a folder of ImageNet (or of these classes alone), 256-pixel squares.

    Validation images may be sorted into folders by wnid or lie flat beside a list (see `validation_list`). ClassLabel
    ids are alphabetical ranks within the 100, names are readable.
    """
    splits = imagenet_splits(find_imagenet(data_dir), published_subset())
    refuse_missing(splits, data_dir)
    wnids = published_subset()
    return dataset_from(IMAGENET100.name, splits, wnids, class_names(wnids), SHORT_SIDE, strict, progress or Silent())


def load_mini_imagenet(data_dir: Path, *, strict: bool = False, progress: Progress | None = None) -> Dataset:
    """The 100 classes of mini-ImageNet, 84-pixel squares: the images as they are."""
    root = data_dir / MINI_IMAGENET.name if (data_dir / MINI_IMAGENET.name).is_dir() else data_dir
    splits = list_splits(root)
    wnids = sorted(splits.train.counts())
    if len(wnids) != MINI_CLASSES:
        raise ClassgrowError(
            f"mini-ImageNet has {MINI_CLASSES} classes and {root} holds {len(wnids)}: name its folder with `data_dir`."
        )
    return dataset_from(MINI_IMAGENET.name, splits, wnids, class_names(wnids), MINI_SIDE, strict, progress or Silent())


def find_imagenet(data_dir: Path) -> Path:
    """The folder that holds train and val: `data_dir`, or one of the usual places in it."""
    for place in PLACES:
        if (data_dir / place / "train").is_dir():
            return data_dir / place
    raise ClassgrowError(f"{data_dir} does not hold ImageNet: name the folder that has train/<wnid>/ and val/ in it.")


def imagenet_splits(root: Path, wnids: Sequence[str]) -> Splits:
    """The files of these classes; the validation images in class folders or flat."""
    train, test = split_folders(root)
    train_files = list_split(train, root, wnids)
    if any(WNID.fullmatch(path.name) and path.is_dir() for path in test.iterdir()):
        return Splits(train_files, list_split(test, root, wnids))
    return Splits(train_files, list_flat(test, root, sorted(imagenet_names())).of(wnids))


def refuse_missing(splits: Splits, data_dir: Path) -> None:
    """ImageNet-100 is these 100 classes and no others."""
    for title, listing in (("train", splits.train), ("val", splits.test)):
        present = listing.counts()
        missing = [wnid for wnid in published_subset() if wnid not in present]
        if missing:
            raise ClassgrowError(
                f"{data_dir} lacks {len(missing)} of the 100 classes of ImageNet-100 in {title} ({listed(missing)}): "
                "add them; for other classes use the data set folder, or mini-imagenet."
            )


def _load_100(data_dir: Path | None, progress: Progress, strict: bool) -> Dataset:
    folder = needed_folder(data_dir, "ImageNet-100", "ImageNet's train and val")
    return load_imagenet100(folder, strict=strict, progress=progress)


def _load_mini(data_dir: Path | None, progress: Progress, strict: bool) -> Dataset:
    folder = needed_folder(data_dir, "mini-ImageNet", "its train and val")
    return load_mini_imagenet(folder, strict=strict, progress=progress)


_PROTOCOL = PaperProtocol(memory=2000, first=10, step=10, order="0")
IMAGENET100 = DatasetFacts(
    "imagenet100",
    _load_100,
    title="ImageNet-100",
    shape=(SHORT_SIDE, SHORT_SIDE, 3),
    # 1,300 for most of the 100 classes, a few hundred fewer for some; 1,286 on the average of all of ImageNet
    images_per_class=(1286,) * 100,
    statistics=IMAGENET_COLOURS,
    preset="imagenet",
    protocol=_PROTOCOL,
    published=True,
    test_images=5_000,
    image_bytes=256 * 341 * 3,  # ImageNet's usual 500 x 375 pixels with a short side of 256
)
MINI_IMAGENET = DatasetFacts(
    "mini-imagenet",
    _load_mini,
    title="mini-ImageNet",
    shape=(MINI_SIDE, MINI_SIDE, 3),
    statistics=IMAGENET_COLOURS,
    preset="imagenet",
    protocol=_PROTOCOL,
)
