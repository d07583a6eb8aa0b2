"""MNIST from its four canonical idx files."""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from classgrow.data.facts import DatasetFacts, PaperProtocol
from classgrow.data.place import needed_folder
from classgrow.disk import read_regular
from classgrow.errors import ClassgrowError
from classgrow.progress import Progress

if TYPE_CHECKING:
    from classgrow.data.labelled import Dataset, LabelledImages

FILES = {
    "train": ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"),
    "test": ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"),
}
SHA256 = {
    "train-images-idx3-ubyte.gz": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte.gz": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte.gz": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte.gz": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
"""Of the files unpacked: packed again by another gzip they are still the same."""
IMAGE_SHAPE = (28, 28)
LARGEST_FILE = 64 * 2**20
"""Bytes, packed and unpacked: the training images have 47 million."""


def load_mnist(data_dir: Path, published: bool = False) -> Dataset:
    """60,000 and 10,000 greyscale images of 28 by 28, classes "0" to "9".

    `published`: other files than the published ones are refused, as their numbers would pass for those of MNIST.
    """
    from classgrow.data.labelled import Dataset

    folder = _folder(data_dir)
    return Dataset("mnist", train=_images(folder, "train", published), test=_images(folder, "test", published))


def _folder(data_dir: Path) -> Path:
    wanted = [name for pair in FILES.values() for name in pair]
    places = (data_dir / "MNIST" / "raw", data_dir / "raw", data_dir)
    for folder in places:
        missing = [name for name in wanted if not (folder / name).is_file()]
        if not missing:
            return folder
        if len(missing) < len(wanted):
            raise ClassgrowError(f"{folder} lacks the MNIST file {missing[0]}: download it again and put it there.")
    raise ClassgrowError(
        f"{data_dir} does not hold the MNIST files (looked in {places[0]} too): "
        f"put {wanted[0]} and the three others there, or point `data_dir` elsewhere."
    )


def _images(folder: Path, part: str, published: bool) -> LabelledImages:
    from classgrow.data.labelled import LabelledImages

    image_file, label_file = (folder / name for name in FILES[part])
    pixels, labels = _read_idx(image_file, 3, published), _read_idx(label_file, 1, published)
    if pixels.shape[1:] != IMAGE_SHAPE:
        raise _broken(image_file, f"its images are {pixels.shape[1:]}, not {IMAGE_SHAPE}")
    if len(labels) != len(pixels):
        raise _broken(label_file, f"it has {len(labels)} labels for {len(pixels)} images")
    if len(labels) and labels.max() > 9:
        raise _broken(label_file, f"it has a label {labels.max()}")
    return LabelledImages.from_arrays(pixels, labels.astype(np.int64), [str(digit) for digit in range(10)])


def _read_idx(path: Path, dimensions: int, published: bool) -> np.ndarray:
    """An idx file: two zero bytes, 8 for unsigned bytes, the number of dimensions, each size (big-endian), the data."""
    content = _unpacked(path)
    if published and hashlib.sha256(content).hexdigest() != SHA256[path.name]:
        raise ClassgrowError(
            f"{path} is not the published MNIST file (its SHA-256 differs): put that one there, or learn your own "
            "images as a folder of classes."
        )
    header = 4 + 4 * dimensions
    if len(content) < header or content[:4] != bytes((0, 0, 8, dimensions)):
        raise _broken(path, f"it does not begin as an idx file of {dimensions} dimensions does")
    shape = tuple(int(size) for size in np.frombuffer(content, ">u4", dimensions, offset=4))
    if len(content) - header != np.prod(shape, dtype=object):
        raise _broken(path, f"it holds {len(content) - header} bytes where {shape} was announced")
    return np.frombuffer(bytearray(content), np.uint8, offset=header).reshape(shape)


def _unpacked(path: Path) -> bytes:
    """The file's content, of which no more is unpacked than MNIST has."""
    try:
        packed = read_regular(path, LARGEST_FILE)
    except OSError as problem:
        raise ClassgrowError(
            f"The MNIST file {path} cannot be read ({problem.strerror}): make it readable, or download it again."
        ) from problem
    try:
        with gzip.open(io.BytesIO(packed)) as file:
            content = file.read(LARGEST_FILE + 1)
    except (OSError, EOFError, zlib.error) as problem:
        raise _broken(path, str(problem)) from problem
    if len(content) > LARGEST_FILE:
        raise _broken(path, f"it unpacks to more than {LARGEST_FILE // 2**20} MB")
    return content


def _broken(path: Path, what: str) -> ClassgrowError:
    return ClassgrowError(f"The MNIST file {path} is broken ({what}): download it again.")


def _load(data_dir: Path | None, progress: Progress, strict: bool) -> Dataset:
    return load_mnist(needed_folder(data_dir, "MNIST", "MNIST/raw"), published=True)


MNIST = DatasetFacts(
    "mnist",
    _load,
    title="MNIST",
    shape=(28, 28, 1),
    images_per_class=(5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949),
    statistics=((0.1307,), (0.3081,)),
    preset="cifar",
    protocol=PaperProtocol(memory=200, first=2, step=2, order="natural"),
    published=True,
    test_images=10_000,
    image_bytes=28 * 28,
)
