"""Where the pixels lie; the device "meta" stands for a GPU, as it holds shapes and no values."""

from __future__ import annotations

import torch

from classgrow.data.labelled import ArrayStore, Dataset, LabelledImages
from classgrow.engine.resident import resident

GPU = torch.device("meta")


def test_arrays_that_fit_are_moved_once(left_or_right: LabelledImages) -> None:
    data = Dataset("test", left_or_right, left_or_right.select(torch.arange(4)))
    moved = resident(data, GPU, free_bytes=10_000)  # the images take 320
    assert isinstance(moved.train.store, ArrayStore) and moved.train.store.images.device == GPU
    assert moved.train.store is moved.test.store
    assert moved.train.labels is data.train.labels and len(moved.test) == 4


def test_others_stay(left_or_right: LabelledImages) -> None:
    data = Dataset("test", left_or_right, left_or_right)
    assert resident(data, GPU, free_bytes=700) is data
    assert resident(data, torch.device("cpu")) is data
    joined = LabelledImages.from_arrays(torch.zeros(2, 4, 4, 1, dtype=torch.uint8), [0, 1]).joined(left_or_right)
    mixed = Dataset("test", joined, joined)
    assert resident(mixed, GPU, free_bytes=10_000) is mixed
