"""Give the head rows for the new classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from classgrow.engine.inference import features
from classgrow.parts.rules import per_class_mean
from classgrow.seeds import seeded
from classgrow.state import State
from classgrow.steps.declared import Declares
from classgrow.steps.phase import Phase

Rows = Callable[[State, Phase], Tensor]
"""From the state before growth to the new classes' rows (new, d)."""


@dataclass(frozen=True)
class Grow:
    """New rows are random, or made by `rows` (imprinting); `freeze_old` keeps the old ones from learning.

    Biases are never frozen: the head that freezes rows (Hou19's) has none.
    """

    rows: Rows | None = None
    freeze_old: bool = False

    @property
    def declares(self) -> Declares:
        """In a first phase there is nothing to make rows from and nothing to freeze."""
        return Declares(first_phase=replace(self, rows=None, freeze_old=False))

    def run(self, state: State, phase: Phase) -> None:
        counts, head = state.counts, state.network.head
        rows = self.rows(state, phase) if self.rows is not None and counts.old and state.arriving else None
        with seeded(phase.seed, *phase.place):
            if head.reserves and head.classes == 0 and counts.total is not None:
                head.reserve(max(counts.total, counts.seen))
            head.grow(counts.seen - head.classes, rows, freeze_old=self.freeze_old)

    def __str__(self) -> str:
        how = "imprinted rows" if self.rows is not None else "random rows"
        return f"grow the head ({how}{', old rows frozen' if self.freeze_old else ''})"


def imprinted(state: State, phase: Phase) -> Tensor:
    """Hou19: the direction of the class's mean unit feature under the old network, as long as the old rows are."""
    counts = state.counts
    arriving = phase.data.select(torch.nonzero(phase.data.labels >= counts.old)[:, 0])
    unit = functional.normalize(features(state.network, arriving, phase.inputs, phase.runtime))
    labels = arriving.labels.to(unit.device) - counts.old
    length: Tensor = state.network.head.rows()[: counts.old].detach().norm(dim=1).mean()
    return functional.normalize(per_class_mean(unit, labels, counts.new)) * length
