"""One phase as its steps see it, and what every step promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from classgrow.data.labelled import LabelledImages
from classgrow.engine.runtime import Runtime
from classgrow.inputs import Inputs
from classgrow.json_values import JsonDict
from classgrow.progress import Progress, Silent
from classgrow.recipes import Recipe
from classgrow.seeds import generator
from classgrow.state import State, Tensors


@dataclass
class SavePoint:
    """Where within a step a checkpoint was made: whatever the step needs to go on. Training notes its `epoch`."""

    tensors: Tensors
    plain: JsonDict


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
    """The phase's images (labels are positions in learning order) and everything one step of it may use.

    Every step gets one of its own. `step` is its position in the method; `resume` holds where it stopped, if it did;
    `save` makes a checkpoint; `log` is the phase's. A step that has just chosen exemplars leaves their features in
    `fresh`, in the order of the memory, so that they are not computed again; `measured` are those of all images of the
    phase under a backbone that stands still (`steps.measure`).
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
    measured: Tensor | None = None

    @property
    def place(self) -> tuple[str | int, ...]:
        """Where in the run this step stands."""
        return "phase", self.number, "step", self.step

    def generator(self, *place: str | int) -> torch.Generator:
        """A generator of this step's own."""
        return generator(self.seed, *self.place, *place)


class Step(Protocol):
    """A verb of a method: it changes the state, and can be run again from the state before it with the same result.

    What others must know of it before it runs, it says in an attribute `declares` (see `steps.declared`).
    """

    def run(self, state: State, phase: Phase) -> None: ...
