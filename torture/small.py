"""Runs and learners small enough to be broken thousands of times."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch

from classgrow import checkpoint
from classgrow.data.digits import load_digits
from classgrow.data.labelled import Dataset, LabelledImages
from classgrow.engine.runtime import Execution
from classgrow.experiments import run as running
from classgrow.experiments.run import Outcome, run_spec
from classgrow.learner import Learner
from classgrow.progress import Progress, Silent
from classgrow.specs.spec import Spec

METHODS = ("fgp", "icarl", "eeil", "bic", "lucir")
ONE_THREAD = Execution(threads=1)


def spec_of(method: str) -> Spec:
    return Spec(dataset="digits", method=method, memory=12, classes=4, first=2, step=2, epochs=3)


def few(data: LabelledImages, count: int) -> LabelledImages:
    return data.select(torch.cat([(data.labels == label).nonzero()[:count, 0] for label in range(10)]))


@contextmanager
def small_digits() -> Iterator[None]:
    """Inside, runs see a few digits and make a checkpoint after every epoch."""
    digits = load_digits()
    small = Dataset("digits", few(digits.train, 12), few(digits.test, 4))
    often = partial(checkpoint.CheckpointFile, every_epochs=1)
    with patch.object(running, "load", lambda *_: small), patch.object(running, "CheckpointFile", often):
        yield


def go(method: str, output: Path, progress: Progress | None = None) -> Outcome:
    return run_spec(spec_of(method), output, resume=True, execution=ONE_THREAD, progress=progress or Silent())


def learner(classes: tuple[str, ...] = ("a", "b"), method: str = "fgp") -> Learner:
    """Knows these classes, from twelve images each."""
    images = np.random.default_rng(len(classes)).integers(0, 255, (12 * len(classes), 8, 8), dtype=np.uint8)
    one = Learner(method, memory=8, epochs=1, execution=ONE_THREAD)
    return one.learn(images, [name for name in classes for _ in range(12)])
