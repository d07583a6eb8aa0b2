"""MNIST from its four canonical idx files."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from classgrow.data.facts import DatasetFacts, PaperProtocol
from classgrow.data.place import needed_folder
from classgrow.errors import ClassgrowError
from classgrow.progress import Progress

if TYPE_CHECKING:
    from classgrow.data.labelled import Dataset, LabelledImages

FILES = {
    "train": ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"),
    "test": ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"),
}
IMAGE_SHAPE = (28, 28)


def load_mnist(data_dir: Path) -> Dataset:
    """60,000 and 10,000 greyscale images of 28 by 28, classes "0" to "9"."""
    from classgrow.data.labelled import Dataset

    folder = _folder(data_dir)
    return Dataset("mnist", train=_images(folder, "train"), test=_images(folder, "test"))


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


def _images(folder: Path, part: str) -> LabelledImages:
    from classgrow.data.labelled import LabelledImages

    image_file, label_file = (folder / name for name in FILES[part])
    pixels, labels = _read_idx(image_file, dimensions=3), _read_idx(label_file, dimensions=1)
    if pixels.shape[1:] != IMAGE_SHAPE:
        raise _broken(image_file, f"its images are {pixels.shape[1:]}, not {IMAGE_SHAPE}")
    if len(labels) != len(pixels):
        raise _broken(label_file, f"it has {len(labels)} labels for {len(pixels)} images")
    if len(labels) and labels.max() > 9:
        raise _broken(label_file, f"it has a label {labels.max()}")
    return LabelledImages.from_arrays(pixels, labels.astype(np.int64), [str(digit) for digit in range(10)])


def _read_idx(path: Path, dimensions: int) -> np.ndarray:
    """An idx file: two zero bytes, 8 for unsigned bytes, the number of dimensions, each size (big-endian), the data."""
    try:
        content = gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as problem:
        raise _broken(path, str(problem)) from problem
    header = 4 + 4 * dimensions
    if len(content) < header or content[:4] != bytes((0, 0, 8, dimensions)):
        raise _broken(path, f"it does not begin as an idx file of {dimensions} dimensions does")
    shape = tuple(int(size) for size in np.frombuffer(content, ">u4", dimensions, offset=4))
    if len(content) - header != np.prod(shape, dtype=object):
        raise _broken(path, f"it holds {len(content) - header} bytes where {shape} was announced")
    return np.frombuffer(bytearray(content), np.uint8, offset=header).reshape(shape)


def _broken(path: Path, what: str) -> ClassgrowError:
    return ClassgrowError(f"The MNIST file {path} is broken ({what}): download it again.")


def _load(data_dir: Path | None, progress: Progress, strict: bool) -> Dataset:
    return load_mnist(needed_folder(data_dir, "MNIST", "MNIST/raw"))


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
