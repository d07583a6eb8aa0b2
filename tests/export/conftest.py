"""Models to export, and their files as other programs see them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from classgrow.engine.runtime import Execution
from classgrow.learner import Learner
from classgrow.method import Method
from classgrow.parts.heads import CosineHead
from classgrow.parts.rules import NearestClassMean
from classgrow.parts.selection import herding
from classgrow.steps import Grow, Remember

Patches = Callable[..., tuple[np.ndarray, np.ndarray]]
STILL = Method("still", CosineHead(), (Grow(), Remember(herding)), NearestClassMean())
"""Trains nothing: for tests of what does not depend on weights."""


@pytest.fixture
def taught(patches: Patches) -> Callable[..., Learner]:
    """A learner of three classes, in two phases."""

    def make(method: str | Method = "fgp", **settings: object) -> Learner:
        settings = {"memory": 12, "execution": Execution(threads=1), **settings}
        one = Learner(method, **settings)  # type: ignore[arg-type]
        return one.learn(*patches([5, 2], per_class=6)).learn(*patches([8], per_class=6))

    return make


@pytest.fixture
def photos() -> Callable[..., np.ndarray]:
    """Random colour images, uint8 (count, side, side, channels)."""

    def make(count: int, side: int, channels: int = 3, seed: int = 0) -> np.ndarray:
        return np.random.default_rng(seed).integers(0, 256, (count, side, side, channels), dtype=np.uint8)

    return make


@pytest.fixture
def ask() -> Callable[..., dict[str, np.ndarray]]:
    """What onnxruntime answers with a file, by the names of its outputs."""
    import onnxruntime

    @cache
    def opened(path: Path) -> onnxruntime.InferenceSession:
        return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])

    def run(path: Path, values: np.ndarray) -> dict[str, np.ndarray]:
        session = opened(path)
        names = [one.name for one in session.get_outputs()]
        found = session.run(names, {session.get_inputs()[0].name: values})
        return dict(zip(names, found, strict=True))

    return run
