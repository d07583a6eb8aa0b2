"""Learning within a time: the step is measured first, the epochs are chosen by it, and looked at again as it goes."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import torch

from classgrow.checkpoint import CheckpointFile
from classgrow.data.labelled import LabelledImages
from classgrow.engine.inference import features
from classgrow.errors import ClassgrowError
from classgrow.learner import Learner
from classgrow.progress import Silent
from classgrow.recipes import Recipe
from classgrow.state import Tensors

UNITS = {"s": 1, "m": 60, "h": 3600}
WARM_UP, MEASURED = 2, 4
"""Batches that a measurement passes over, and that it times."""
MOST_EPOCHS = 500
RESERVE = 0.05
"""The share of a budget that is not planned for: a step may take longer than it did when it was measured."""
WRITING = 0.02
"""Seconds to write one kept photo, generously."""


def seconds_of(text: str | float) -> float:
    """90, "90s", "10m" or "1h30m" as seconds."""
    if isinstance(text, int | float) and not isinstance(text, bool):
        found = float(text)
    else:
        words = re.findall(r"(\d+(?:\.\d+)?)([smh]?)", str(text).strip().lower())
        whole = "".join(number + unit for number, unit in words) == str(text).strip().lower()
        found = sum(float(number) * UNITS[unit or "s"] for number, unit in words) if whole else 0.0
    if not 0 < found < float("inf"):
        raise ClassgrowError(f"`time_budget` = {text!r} is no time: write it like 90s, 10m or 1h30m.")
    return found


class OutOfTimeError(Exception):
    """The training would not end in time: it goes on from its checkpoint with fewer epochs."""


class _EnoughError(Exception):
    """The measurement is done."""


@dataclass
class TimeBudget:
    """So many seconds from now on, in which everything is to be done."""

    seconds: float
    started: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        return self.seconds - (time.monotonic() - self.started)


@dataclass(frozen=True)
class Pace:
    """Seconds to train on one image, and to do all that comes after the training."""

    training: float
    afterwards: float

    def epochs(self, budget: TimeBudget, epoch_images: int) -> int:
        """How many epochs there is time for: one at least. A part of the budget is kept in reserve."""
        room = budget.left - self.afterwards - RESERVE * budget.seconds
        return max(1, min(MOST_EPOCHS, int(room / max(1e-9, self.training * epoch_images))))


class _Stopwatch(Silent):
    """Times a few batches of a training, then stops it."""

    def __init__(self) -> None:
        self.training = False
        self.batches, self.images, self.seconds, self._since = 0, 0, 0.0, 0.0

    def begin(self, text: str, total: int, done: int = 0) -> None:
        self.training = False

    def begin_training(self, phase: int, total: int, done: int = 0) -> None:
        self.training, self.batches, self.images = True, 0, 0

    def advance(self, images: int) -> None:
        if not self.training:
            return
        self.batches += 1
        if self.batches <= WARM_UP:
            self._since = time.monotonic()
            return
        self.images += images
        self.seconds = time.monotonic() - self._since
        if self.batches >= WARM_UP + MEASURED:
            raise _EnoughError


def measure(learner: Learner, data: LabelledImages, kept: int) -> Pace:
    """A few batches of the very training that is to come; the learner is then as it was before.

    `kept`: photos that will be written.
    """
    watch, shown = _Stopwatch(), learner.progress
    learner.progress = watch
    try:
        learner.learn_phase(data)
    except _EnoughError:
        pass
    finally:
        learner.progress = shown
    training = watch.seconds / watch.images if watch.images else 0.0
    return Pace(training, looking_seconds(learner, data) * (len(data) + kept) + WRITING * kept + 1.0)


def looking_seconds(learner: Learner, data: LabelledImages) -> float:
    """Seconds for the features of one image."""
    few = data.select(torch.arange(min(16, len(data))))
    state = learner.prepare(data.shape)
    with learner.runtime.active():
        features(state.network, few, learner.inputs, learner.runtime)
        started = time.monotonic()
        features(state.network, few, learner.inputs, learner.runtime)
    return (time.monotonic() - started) / len(few)


def with_epochs(recipe: Recipe, epochs: int) -> Recipe:
    """The recipe with so many epochs in every phase."""
    fine_tune = recipe.fine_tune.scaled(max(1, epochs // 2)) if recipe.fine_tune else None
    return replace(recipe, first=recipe.first.scaled(epochs), later=recipe.later.scaled(epochs), fine_tune=fine_tune)


@dataclass
class TimedCheckpoint(CheckpointFile):
    """Saved after every epoch; there it is seen whether the rest would end in time."""

    budget: TimeBudget | None = None
    pace: Pace | None = None
    epochs: int = 0
    _epoch_ended: float = field(default_factory=time.monotonic)

    def due(self, epoch: int | None) -> bool:
        return True

    def write(self, tensors: Tensors, plain: Mapping[str, object]) -> None:
        super().write(tensors, plain)
        point = plain.get("point")
        epoch = point.get("epoch") if isinstance(point, dict) else None
        took, self._epoch_ended = time.monotonic() - self._epoch_ended, time.monotonic()
        if self.budget is None or self.pace is None or not isinstance(epoch, int):
            return
        to_come = self.epochs - epoch
        if to_come > 0 and took * to_come + self.pace.afterwards > self.budget.left:
            fits = int(max(0.0, self.budget.left - self.pace.afterwards) / max(took, 1e-9))
            self.epochs = epoch + min(fits, to_come - 1)
            raise OutOfTimeError
