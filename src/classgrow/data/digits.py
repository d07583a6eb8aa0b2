"""The handwritten digits that come with scikit-learn: 1,797 real images of 8 by 8 pixels, no download."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from classgrow.data.facts import DatasetFacts, PaperProtocol
from classgrow.errors import ClassgrowError
from classgrow.progress import Progress

if TYPE_CHECKING:
    from classgrow.data.labelled import Dataset

BRIGHTEST = 16  # scikit-learn counts the dark pixels of 4 by 4 blocks: 0 to 16
TEST_EVERY = 4


def load_digits() -> Dataset:
    """Ten classes "0" to "9", one channel, 0..16 scaled to 0..255; every 4th image of each class is for testing."""
    import numpy as np
    import torch

    from classgrow.data.labelled import Dataset, LabelledImages

    try:
        from sklearn import datasets
    except ImportError as problem:
        raise ClassgrowError(
            "The digits come with scikit-learn, which is not installed: pip install 'classgrow[demo]'."
        ) from problem
    bunch = datasets.load_digits()
    pixels = np.rint(bunch.images * (255 / BRIGHTEST)).astype(np.uint8)
    everything = LabelledImages.from_arrays(pixels, bunch.target, [str(digit) for digit in range(10)])
    testing = torch.zeros(len(everything), dtype=torch.bool)
    for digit in range(10):
        places = (everything.labels == digit).nonzero().squeeze(1)
        testing[places[TEST_EVERY - 1 :: TEST_EVERY]] = True
    return Dataset("digits", train=everything.select(~testing), test=everything.select(testing))


def _load(data_dir: Path | None, progress: Progress, strict: bool) -> Dataset:
    return load_digits()


DIGITS = DatasetFacts(
    "digits",
    _load,
    title="digits",
    shape=(8, 8, 1),
    images_per_class=(134, 137, 133, 138, 136, 137, 136, 135, 131, 135),
    statistics=((0.305,), (0.376,)),
    preset="digits",
    protocol=PaperProtocol(memory=50, first=2, step=2, order="natural"),
    published=True,
    test_images=445,
    image_bytes=8 * 8,
)
