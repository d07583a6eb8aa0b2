"""One phase as its steps see it, and what every step promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor

from classgrow.data.labelled import LabelledImages
from classgrow.engine.runtime import Runtime
from classgrow.inputs import Inputs
from classgrow.progress import Progress, Silent
from classgrow.recipes import Recipe
from classgrow.seeds import generator
from classgrow.state import State, Tensors


@dataclass
class SavePoint:
    """Where within a step a checkpoint was made."""

    tensors: Tensors
    plain: dict[str, Any]


@dataclass
class PhaseLog:
    """What a phase leaves for the record."""

    training_images: int = 0
    loss: float | None = None
    images: int = 0
    train_seconds: float = 0.0
    remember_seconds: float = 0.0
    notes: list[str] = field(default_factory=list)


def save_nothing(point: SavePoint) -> None:
    """For learners that keep no checkpoints."""


@dataclass
class Phase:
    """The images of the new classes (labels are positions in learning order) and everything a step may use.

    `step` is the position of the running step in the method; `resume` holds where it stopped, if it did;
    `save` makes a checkpoint; `fresh` are the features of the exemplars just remembered, if the last step did that.
    """

    data: LabelledImages
    recipe: Recipe
    inputs: Inputs
    runtime: Runtime
    seed: int
    number: int
    progress: Progress = field(default_factory=Silent)
    log: PhaseLog = field(default_factory=PhaseLog)
    save: Callable[[SavePoint], None] = save_nothing
    step: int = 0
    resume: SavePoint | None = None
    fresh: Tensor | None = None

    @property
    def place(self) -> tuple[str | int, ...]:
        """Where in the run this step stands."""
        return "phase", self.number, "step", self.step

    def generator(self, *place: str | int) -> torch.Generator:
        """A generator of this step's own."""
        return generator(self.seed, *self.place, *place)


class Step(Protocol):
    """A verb of a method: it changes the state, and can be run again from the state before it with the same result."""

    def run(self, state: State, phase: Phase) -> None: ...
