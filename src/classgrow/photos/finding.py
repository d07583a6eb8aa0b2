"""What users call photos, found but not opened yet: a path, or whatever collection a learner takes."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image
from torch import Tensor

from classgrow.data.images import ImagesLike, as_images, on_white, plain_image
from classgrow.data.intake import Name, listed, names_for
from classgrow.data.opening import UnreadableFileError
from classgrow.errors import ClassgrowError, one_line
from classgrow.photos.names import UnusableNameError, class_name
from classgrow.photos.sources import (
    Found,
    Photo,
    in_archive,
    in_class_folders,
    in_one_folder,
    is_archive,
    of_file,
)

PhotosLike = ImagesLike | Path | Image.Image
"""A folder or an archive, or whatever a learner takes: files, folders, pictures, arrays, in any collection."""


def find(photos: PhotosLike, labels: Iterable[Name] | None) -> Found:
    """Photos with their classes, not opened yet."""
    if isinstance(photos, str | Path):
        path = Path(photos)
        if labels is not None:
            return _labelled([photos], [labels] if isinstance(labels, str) else labels)
        if path.is_dir():
            return in_class_folders(path)
        if path.is_file() and is_archive(path):
            return in_archive(path, labelled=True)
        raise ClassgrowError(
            f"{path} is not a folder of photos: give one that has a folder for each class, or a .zip or .tar of it."
            if path.exists()
            else f"There is no folder {path}: check the path."
        )
    if isinstance(photos, Image.Image):
        raise ClassgrowError("One picture alone is not a collection of photos: put it in a list, with its label.")
    items = listed(photos)
    if labels is None:
        return _folders(items)
    return _labelled(items, labels)


def find_unlabelled(photos: PhotosLike) -> Found:
    """Photos without classes, not opened yet."""
    if isinstance(photos, str | Path | Image.Image):
        photos = [photos]
    items = listed(photos)
    return _joined([_one(item, place, "") for place, item in enumerate(_items(items))])


def _folders(items: ImagesLike) -> Found:
    """A list of folders, each of which is a class by its own name."""
    found = []
    for item in _items(items):
        path = Path(item) if isinstance(item, str | Path) else None
        if path is None or not path.is_dir():
            raise ClassgrowError("Photos in a list need `labels`, one for each: only folders have names of their own.")
        try:
            found.append(in_one_folder(path, class_name(path.resolve().name)))
        except UnusableNameError as problem:
            raise ClassgrowError(f"The folder {path} cannot be a class: {problem}.") from problem
    return _joined(found)


def _labelled(items: ImagesLike, labels: Iterable[Name]) -> Found:
    """Each item with its label; an item that is a folder has many photos of one class."""
    values = _items(items)
    found = []
    for place, (item, label) in enumerate(zip(values, names_for(labels, len(values)), strict=True)):
        try:
            found.append(_one(item, place, class_name(str(label))))
        except UnusableNameError as problem:
            words = str(problem).replace("rename the folder", "give another one")
            raise ClassgrowError(f"The class {str(label)!r} cannot be learned: {words}.") from problem
    return _joined(found)


def _items(items: ImagesLike) -> list[object]:
    if isinstance(items, np.ndarray | Tensor):
        if isinstance(items, np.ndarray) and items.dtype.kind in "OU":
            return list(items.tolist())
        return list(as_images(items).numpy())
    if not isinstance(items, Iterable):
        raise ClassgrowError(f"Photos cannot be read from {type(items).__name__}: give a folder, files or arrays.")
    return list(items)


def _one(item: object, place: int, name: str) -> Found:
    """One item of a list: a file, a folder, an archive, a picture or an array."""
    if isinstance(item, str | Path):
        path = Path(item)
        if path.is_dir():
            return in_one_folder(path, name)
        if is_archive(path) and path.is_file():
            inside = in_archive(path, labelled=False)
            return replace(inside, photos=(replace(photo, name=name) for photo in inside.photos))
        return Found(1, [of_file(path, name)])
    return Found(1, [Photo(f"image {place}", name, lambda: _as_file(item))])


def _as_file(item: object) -> bytes:
    """A picture or an array as an image file in memory, so that it takes the way that all photos take."""
    try:
        if isinstance(item, np.ndarray | Tensor):
            item = _picture(np.asarray(item))
        if not isinstance(item, Image.Image):
            raise UnreadableFileError(f"a {type(item).__name__} is no image")
        content = io.BytesIO()
        plain_image(item, "The image").save(content, "BMP")
    except (ClassgrowError, OSError) as problem:
        raise UnreadableFileError(one_line(problem)) from problem
    return content.getvalue()


def _picture(values: np.ndarray) -> Image.Image:
    if values.dtype != np.uint8 or values.ndim not in (2, 3) or 0 in values.shape:
        raise UnreadableFileError(f"an array {values.shape} of {values.dtype} is no image: give uint8 (H, W, C)")
    if values.ndim == 3 and values.shape[2] == 4:
        values = on_white(values[None])[0].numpy()
    if values.ndim == 3 and values.shape[2] not in (1, 3):
        raise UnreadableFileError(f"{values.shape[2]} channels are no image: give 1, 3 or 4")
    return Image.fromarray(values[:, :, 0] if values.ndim == 3 and values.shape[2] == 1 else values)


def _joined(found: list[Found]) -> Found:
    photos = (photo for one in found for photo in one.photos)
    return Found(sum(one.count for one in found), photos, [file for one in found for file in one.skipped])
