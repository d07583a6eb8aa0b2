"""Data and networks small enough to train in a moment."""

from __future__ import annotations

import pytest
import torch

from classgrow.data.labelled import LabelledImages
from classgrow.engine.runtime import Execution, Runtime
from classgrow.inputs import Inputs


@pytest.fixture
def runtime() -> Runtime:
    return Runtime(Execution(threads=1))


@pytest.fixture
def inputs() -> Inputs:
    """4 x 4 pixels, one channel, scaled to 0..1, nothing varied."""
    return Inputs(4, 1, (0.0,), (1.0,), padding=0, mirror=False, brightness=0.0)


@pytest.fixture
def left_or_right() -> LabelledImages:
    """20 images of 4 x 4 pixels: class 0 is bright on the left, class 1 on the right."""
    images = torch.randint(0, 60, (20, 4, 4, 1), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    labels = torch.arange(20) % 2
    images[labels == 0, :, :2] += 150
    images[labels == 1, :, 2:] += 150
    return LabelledImages.from_arrays(images, labels)
