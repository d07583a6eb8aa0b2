"""A learning rate over the progress of a training: plain data, no torch."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Shape = Literal["steps", "linear", "cosine", "one-cycle"]

WHERE_NEEDED: dict[str, Any] = {"json": "where needed"}
"""Metadata of a field that JSON leaves out while it has its default, so that older values keep their identities."""


@dataclass(frozen=True)
class Schedule:
    """A learning rate as a shape over progress, from 0 at the start of a training to 1 at its end.

    - "steps": after each number of completed epochs in `drops`, the rate is multiplied by `factor`
    - "linear", "cosine": from `lr` down to zero, in a straight line or half a cosine wave
    - "one-cycle": up from a 25th of `lr` and down to nearly zero, both in half a cosine wave

    Over the first `warm_up` (a share of the whole) the rate rises to `lr`.
    """

    epochs: int
    lr: float
    drops: tuple[int, ...]
    factor: float
    shape: Shape = field(default="steps", metadata=WHERE_NEEDED)
    warm_up: float = field(default=0.0, metadata=WHERE_NEEDED)

    def scaled(self, epochs: int) -> Schedule:
        """The same shape over `epochs` epochs. A drop never comes before the first epoch is complete nor after the
        last one, so the first epoch always uses the starting rate."""
        drops = tuple(min(epochs, max(1, round(drop * epochs / self.epochs))) for drop in self.drops)
        return replace(self, epochs=epochs, drops=drops)

    def at_least(self, updates: int, of_epoch: int) -> Schedule:
        """The same shape over as many epochs as `updates` take, at `of_epoch` updates each, if these are more."""
        return self.scaled(max(self.epochs, -(-updates // of_epoch)))

    def rate(self, progress: float) -> float:
        """The learning rate at `progress`, from 0 to 1."""
        return SHAPES[self.shape](self, progress)

    def rate_of(self, update: int, updates: int) -> float:
        """The learning rate of an update (counted from 0) out of `updates`: that of the middle of its stretch."""
        return self.rate((update + 0.5) / updates)

    def lr_at(self, epoch: int) -> float:
        """The learning rate in the middle of `epoch`, counted from 0."""
        return self.rate_of(epoch, self.epochs)


def _steps(schedule: Schedule, progress: float) -> float:
    dropped = schedule.lr * schedule.factor ** sum(drop / schedule.epochs <= progress for drop in schedule.drops)
    return dropped * progress / schedule.warm_up if progress < schedule.warm_up else dropped


def _linear(schedule: Schedule, progress: float) -> float:
    if progress < schedule.warm_up:
        return schedule.lr * progress / schedule.warm_up
    return schedule.lr * (1 - progress) / (1 - schedule.warm_up)


def _cosine(schedule: Schedule, progress: float) -> float:
    if progress < schedule.warm_up:
        return schedule.lr * progress / schedule.warm_up
    return _half_wave(schedule.lr, 0.0, (progress - schedule.warm_up) / (1 - schedule.warm_up))


def _one_cycle(schedule: Schedule, progress: float) -> float:
    """Smith, "Super-convergence"; the first and last rates are those of torch's OneCycleLR."""
    start, peak = schedule.lr / 25, schedule.lr
    if progress < schedule.warm_up:
        return _half_wave(start, peak, progress / schedule.warm_up)
    return _half_wave(peak, start / 10_000, (progress - schedule.warm_up) / (1 - schedule.warm_up))


def _half_wave(start: float, end: float, share: float) -> float:
    return end + (start - end) * (1 + math.cos(math.pi * share)) / 2


SHAPES: dict[Shape, Callable[[Schedule, float], float]] = {
    "steps": _steps,
    "linear": _linear,
    "cosine": _cosine,
    "one-cycle": _one_cycle,
}
"""What each shape computes."""
