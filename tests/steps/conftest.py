"""States and phases small enough to work out by hand: the network sees pixels, scaled to 0..1, as features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from classgrow.data.labelled import ClassLabel, LabelledImages
from classgrow.engine.runtime import Execution, Runtime
from classgrow.inputs import Inputs
from classgrow.memory import Budget, Memory
from classgrow.networks.network import Network
from classgrow.parts.heads import Head, LinearHead
from classgrow.recipes import recipe_for
from classgrow.state import State, frozen_copy
from classgrow.steps import Phase

CLASSES = tuple(ClassLabel(number, str(number)) for number in range(100))


class Flat(nn.Module):
    """Pixels as features."""

    def __init__(self) -> None:
        super().__init__()
        self.unused = nn.Parameter(torch.zeros(()))

    def forward(self, images: Tensor) -> Tensor:
        return images.flatten(1)


class Begin:
    """Starts phases as a learner does, one after the other, on 1 x d pixels."""

    def __init__(self, head: Head, features: int, budget: Budget, backbone: nn.Module | None) -> None:
        network = Network(backbone or Flat(), head.build(features))
        self.state = State(network, Memory(budget), frozen_copy(network))
        self.runtime = Runtime(Execution(threads=1))

    def __call__(self, images: Tensor, labels: Tensor, **options: Any) -> Phase:
        """The next phase, with these images (N, H, W, C) of new classes."""
        state = self.state
        if state.classes:
            state.snapshot_teacher()
        new = len(torch.unique(labels))
        state.classes = CLASSES[: len(state.classes) + new]
        state.sizes = (*state.sizes, new)
        data = LabelledImages.from_arrays(images, labels, list(CLASSES))
        size, channels = images.shape[2], images.shape[3]
        inputs = Inputs(size, channels, (0.0,) * channels, (1.0,) * channels, 0, False, 0.0, crop="none")
        settings = {"recipe": recipe_for("fgp", "digits", epochs=1), "seed": 1, **options}
        return Phase(data, inputs=inputs, runtime=self.runtime, number=state.phase, **settings)


@pytest.fixture
def begin() -> Callable[..., Begin]:
    """A state without classes, ready to begin phases."""

    def make(
        head: Head | None = None,
        features: int = 2,
        budget: Budget | None = None,
        backbone: nn.Module | None = None,
    ) -> Begin:
        return Begin(head or LinearHead(), features, budget or Budget(total=100), backbone)

    return make


@pytest.fixture
def pixels() -> Callable[..., tuple[Tensor, Tensor]]:
    """Random images (N, 1, width, 1) and their labels, so many of each label."""

    def make(labels: range, count: int, width: int = 2, seed: int = 0) -> tuple[Tensor, Tensor]:
        generator = torch.Generator().manual_seed(seed)
        shape = (count * len(labels), 1, width, 1)
        images = torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)
        return images, torch.tensor(labels).repeat_interleave(count)

    return make
