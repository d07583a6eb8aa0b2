"""Give the head rows for the new classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from classgrow.seeds import seeded
from classgrow.state import State
from classgrow.steps.phase import Phase

Rows = Callable[[State, Phase], Tensor]
"""From the state before growth to the new classes' rows (new, d)."""


@dataclass(frozen=True)
class Grow:
    """New rows are random, or made by `rows` (imprinting); `freeze_old` keeps the old ones from learning."""

    rows: Rows | None = None
    freeze_old: bool = False

    def run(self, state: State, phase: Phase) -> None:
        counts, head = state.counts, state.network.head
        rows = self.rows(state, phase) if self.rows is not None and counts.old else None
        with seeded(phase.seed, *phase.place):
            if head.reserves and counts.old == 0 and counts.total is not None:
                head.reserve(max(counts.total, counts.new))
            head.grow(counts.new, rows, freeze_old=self.freeze_old)

    def __str__(self) -> str:
        how = "imprinted rows" if self.rows is not None else "random rows"
        return f"grow the head ({how}{', old rows frozen' if self.freeze_old else ''})"
