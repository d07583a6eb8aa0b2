"""What every room's tests share."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# On a virtual Xeon that lists AMX, bfloat16 on the CPU was an illegal instruction; below this limit it runs.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE")

settings.register_profile("classgrow", deadline=None)  # a busy machine is no failure
settings.load_profile("classgrow")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data sets; tests that need it are skipped where there is none."""
    folder = os.environ.get("CLASSGROW_DATA")
    if not folder:
        pytest.skip("needs real data: set CLASSGROW_DATA to a folder with cifar-100-python and MNIST/raw")
    return Path(folder)


@pytest.fixture(scope="session")
def measured_steps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder of the tests' own, where what was measured of this processor is kept for all of them."""
    return tmp_path_factory.mktemp("measured")


@pytest.fixture
def bfloat16(measured_steps: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that compute in bfloat16 are skipped on a processor that cannot."""
    from classgrow.engine.probe import Step, runs_in_bfloat16

    monkeypatch.setenv("CLASSGROW_CACHE", str(measured_steps))
    if not runs_in_bfloat16(Step("small", 8, 1, 32, 1)):
        pytest.skip("a child process failed to compute a step in bfloat16 on this processor")


@pytest.fixture
def patches() -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """Images of 8 x 8 pixels that are easy to tell apart: class k has a bright patch in place k (0 to 8), and noise.

    `patches([3, 5], per_class=10, seed=1)` gives uint8 images (20, 8, 8) and their classes (20,).
    """

    def make(classes: Sequence[int], per_class: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        random = np.random.default_rng([seed, *classes])
        labels = np.repeat(np.array(classes), per_class)
        images = random.integers(0, 60, (len(labels), 8, 8), dtype=np.uint8)
        for image, label in zip(images, labels, strict=True):
            row, column = divmod(int(label), 3)
            image[3 * row : 3 * row + 2, 3 * column : 3 * column + 2] += 180
        return images, labels

    return make
