"""What every room's tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data sets; tests that need it are skipped where there is none."""
    folder = os.environ.get("CLASSGROW_DATA")
    if not folder:
        pytest.skip("needs real data: set CLASSGROW_DATA to a folder with cifar-100-python and MNIST/raw")
    return Path(folder)
