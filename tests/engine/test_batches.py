"""Every image exactly once an epoch."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from classgrow.data.labelled import LabelledImages
from classgrow.engine.batches import batch_count, training_batches
from classgrow.engine.runtime import Execution, Runtime
from classgrow.inputs import Inputs

AS_THEY_ARE = Inputs(1, 1, (0.0,), (1 / 255,), padding=0, mirror=False, brightness=0.0)


def numbered(count: int) -> LabelledImages:
    """Images of one pixel whose value and label are their number."""
    images = torch.arange(count, dtype=torch.uint8).reshape(-1, 1, 1, 1)
    return LabelledImages.from_arrays(images, torch.arange(count))


def epoch(count: int, batch_size: int, drop_last: bool, seed: int) -> list[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(seed)
    runtime = Runtime(Execution(threads=1))
    return list(training_batches(numbered(count), AS_THEY_ARE, batch_size, drop_last, generator, runtime))


@given(st.integers(1, 60), st.integers(1, 20), st.integers(0, 99))
def test_every_image_once_with_its_label(count: int, batch_size: int, seed: int) -> None:
    batches = epoch(count, batch_size, False, seed)
    labels = torch.cat([labels for _, labels in batches])
    pixels = torch.cat([images.flatten() for images, _ in batches])
    assert sorted(labels.tolist()) == list(range(count))
    assert pixels.round().long().tolist() == labels.tolist()
    assert all(len(labels) == batch_size for _, labels in batches[:-1])


@given(st.integers(1, 60), st.integers(1, 20))
def test_only_an_incomplete_last_batch_is_dropped_and_never_the_only_one(count: int, batch_size: int) -> None:
    sizes = [len(labels) for _, labels in epoch(count, batch_size, True, 0)]
    assert len(sizes) == batch_count(count, batch_size, True)
    assert sizes == ([batch_size] * (count // batch_size) if count >= batch_size else [count])


@pytest.mark.parametrize(
    ("images", "drop_last", "expected"), [(10, False, 3), (10, True, 2), (8, False, 2), (3, True, 1), (3, False, 1)]
)
def test_number_of_batches_of_four(images: int, drop_last: bool, expected: int) -> None:
    assert batch_count(images, 4, drop_last) == expected


def test_the_seed_decides_the_order() -> None:
    orders = [[labels.tolist() for _, labels in epoch(30, 8, False, seed)] for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]
    assert orders[0] != [list(range(k, min(k + 8, 30))) for k in range(0, 30, 8)]
