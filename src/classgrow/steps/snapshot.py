"""Replace the teacher within a phase, or start the network again."""

from __future__ import annotations

from dataclasses import dataclass

from classgrow.state import State, restore_network
from classgrow.steps.phase import Phase


@dataclass(frozen=True)
class Snapshot:
    """The network as it stands becomes the teacher of what follows in this phase (EEIL's second stage)."""

    def run(self, state: State, phase: Phase) -> None:
        if phase.number > 1:
            state.snapshot_teacher()

    def __str__(self) -> str:
        return "the network so far becomes the teacher"


@dataclass(frozen=True)
class Restart:
    """Forget everything: the network returns to its start (joint training)."""

    def run(self, state: State, phase: Phase) -> None:
        restore_network(state.network, state.blank.state_dict(), {"classes": 0, "newest": 0})
        state.teacher = None

    def __str__(self) -> str:
        return "start the network again"
