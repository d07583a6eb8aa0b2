"""ImageNet's validation images in one flat folder: which class each belongs to, from a list beside them.

Known lists, looked for in the data folder, in the folder of the images and in the development kit's data folder:

    LOC_val_solution.csv                        Kaggle: ImageId,PredictionString; the first word of the second is a wnid
    val_labels.csv, val_labels.txt, val.txt     file and wnid on every line; or file and a number, which counts the
                                                1,000 wnids in alphabetical order from 0 (Caffe's val.txt)
    ILSVRC2012_validation_ground_truth.txt      the development kit: one number per image in order of the file names;
                                                its numbers are explained by map_clsloc.txt or meta.mat beside it
    imagenet_2012_validation_synset_labels.txt  one wnid per image in order of the file names
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from classgrow.data.folder import Listing, looks_like_image, source_of
from classgrow.errors import ClassgrowError

LISTS = (
    "LOC_val_solution.csv",
    "val_labels.csv",
    "val_labels.txt",
    "val.txt",
    "ILSVRC2012_validation_ground_truth.txt",
    "imagenet_2012_validation_synset_labels.txt",
)
KIT = "ILSVRC2012_devkit_t12/data"
WNID = re.compile(r"n\d{8}")


def list_flat(folder: Path, root: Path, wnids: Sequence[str]) -> Listing:
    """The images of a flat folder with their classes; `wnids` are all 1,000 in alphabetical order."""
    path = find_list(folder, root)
    files = sorted((entry for entry in os.scandir(folder) if entry.is_file()), key=lambda entry: entry.name)
    images = [file for file in files if looks_like_image(file.name)]
    unrecognised = [file.name for file in files if not looks_like_image(file.name) and file.name not in LISTS]
    found = read_list(path, [Path(image.name).stem for image in images], wnids)
    sources, labels = [], []
    for image in images:
        wnid = found.get(Path(image.name).stem)
        name = Path(image.path).relative_to(root).as_posix()
        if wnid is None:
            unrecognised.append(f"{name} (not in {path.name})")
        else:
            sources.append(source_of(image, name))
            labels.append(wnid)
    return Listing(tuple(sources), tuple(labels), tuple(unrecognised))


def find_list(folder: Path, root: Path) -> Path:
    """The list that belongs to a flat folder of validation images."""
    for place in (root, folder, root / KIT, *list(root.parents)[:3]):
        for name in LISTS:
            if (place / name).is_file():
                return place / name
    raise ClassgrowError(
        f"{folder} holds images without class folders, and there is no list of their classes: "
        f"put one of {', '.join(LISTS)} into {root}, or sort the images into folders named by wnid."
    )


def read_list(path: Path, stems: Sequence[str], wnids: Sequence[str]) -> dict[str, str]:
    """The wnid of every image the list names, by file name without suffix."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        rows = [re.split(r"[,\s]+", line.strip()) for line in lines if line.strip()]
        if rows and rows[0][-1].lower() in ("predictionstring", "wnid", "label", "class", "synset"):
            rows = rows[1:]
        if all(len(row) == 1 for row in rows):
            return dict(zip(stems, _in_file_order(path, [row[0] for row in rows], len(stems)), strict=True))
        return {Path(row[0]).stem: row[1] if WNID.fullmatch(row[1]) else _counted(row[1], wnids) for row in rows}
    except UnicodeDecodeError as problem:
        raise ClassgrowError(f"The list of validation classes {path} is not text: replace or remove it.") from problem
    except (ValueError, IndexError) as problem:
        raise ClassgrowError(
            f"The list of validation classes {path} cannot be read ({problem}): "
            "write the file name and the wnid of one image on every line."
        ) from problem


def _in_file_order(path: Path, words: list[str], images: int) -> list[str]:
    if len(words) != images:
        raise ClassgrowError(
            f"{path} lists {len(words)} images and there are {images}: a list without file names needs all of them."
        )
    if all(WNID.fullmatch(word) for word in words):
        return words
    explained = _kit_numbers(path.parent)
    numbers = [_number(word) for word in words]
    unknown = next((number for number in numbers if number not in explained), None)
    if unknown is not None:
        raise ValueError(f"the class number {unknown} is not explained beside it")
    return [explained[number] for number in numbers]


def _counted(word: str, wnids: Sequence[str]) -> str:
    number = _number(word)
    if number >= len(wnids):
        raise ValueError(f"the class number {number} is none of 0 to {len(wnids) - 1}")
    return wnids[number]


def _number(word: str) -> int:
    if not word.isdecimal():
        raise ValueError(f"{word!r} is neither a wnid nor a number")
    return int(word)


def _kit_numbers(folder: Path) -> dict[int, str]:
    """The wnid of every class number of the development kit, which are not in alphabetical order."""
    if (folder / "map_clsloc.txt").is_file():
        rows = [line.split() for line in (folder / "map_clsloc.txt").read_text(encoding="utf-8").splitlines()]
        return {int(row[1]): row[0] for row in rows if len(row) >= 2}
    if (folder / "meta.mat").is_file():
        return _from_matlab(folder / "meta.mat")
    raise ClassgrowError(
        f"The numbers of the ground-truth list in {folder} mean nothing without meta.mat or map_clsloc.txt: "
        "copy one of them from the development kit to the same folder."
    )


def _from_matlab(path: Path) -> dict[int, str]:
    try:
        from scipy.io import loadmat
    except ImportError as problem:
        raise ClassgrowError(f"{path} needs scipy to be read: pip install scipy, or give map_clsloc.txt.") from problem
    try:
        synsets = loadmat(path, squeeze_me=True)["synsets"]
        return {int(row["ILSVRC2012_ID"]): str(row["WNID"]) for row in synsets if int(row["num_children"]) == 0}
    except Exception as problem:  # scipy fails in many ways on broken files
        raise ClassgrowError(
            f"{path} is not the development kit's file of classes: copy it again, or give map_clsloc.txt."
        ) from problem
