"""Keep some images of the new classes out of training, for a later correction (BiC)."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from classgrow.errors import ClassgrowError
from classgrow.state import State
from classgrow.steps.phase import Phase


@dataclass(frozen=True)
class HoldOut:
    """Withhold as many images of each new class as the memory holds out of each old one.

    In the first phase: as many as the next phase will ask of these classes. A memory that is large for the data asks
    for more than a class can spare: then that share of the class's own images (one at least, and one is trained on).
    """

    share: float = 0.1

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise ClassgrowError(f"A share of {self.share:g} cannot be held out: give one between 0 and 1.")

    def run(self, state: State, phase: Phase) -> None:
        counts = state.counts
        quota = state.memory.budget.held_out_quota(counts.old or counts.new, self.share)
        withheld = [state.withheld[:0]]
        for label in state.arriving:
            mine = torch.nonzero(phase.data.labels == label)[:, 0]
            shuffled = mine[torch.randperm(len(mine), generator=phase.generator("class", label))]
            withheld.append(shuffled[: min(quota, max(1, int(self.share * len(mine))), len(mine) - 1)])
        state.withheld = torch.cat(withheld)

    def __str__(self) -> str:
        return f"hold out {self.share:.0%} of the memory for validation"
