"""WA: new rows of the head are made as long as old ones, so that new classes are not preferred."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from classgrow.state import State
from classgrow.steps.phase import Phase


@dataclass(frozen=True)
class AlignWeights:
    """w_new := γ w_new with γ = mean ‖w_old‖ / mean ‖w_new‖ (Zhao et al. 2020, Eq. 8); biases stay."""

    def run(self, state: State, phase: Phase) -> None:
        old, seen, head = state.counts.old, state.counts.seen, state.network.head
        if not old:
            return
        norms = head.rows().detach().norm(dim=1)
        gamma = float(norms[:old].mean() / norms[old:seen].mean())
        learned = dict(state.network.named_parameters())["head.weight"]
        frozen = len(norms) - len(learned)
        with torch.no_grad():
            learned[old - frozen : seen - frozen] *= gamma
        phase.log.notes.append(f"γ {gamma:.3f}")

    def __str__(self) -> str:
        return "scale the new rows to the mean length of the old ones"
