"""The balanced training set of EEIL's second stage."""

from __future__ import annotations

import torch

from classgrow.data.labelled import LabelledImages
from classgrow.memory import TRAIN, Budget
from classgrow.parts.selection import herding
from classgrow.state import State
from classgrow.steps.phase import Phase
from classgrow.steps.remember import select_exemplars


def balanced_quota(budget: Budget, old: int, new: int) -> int:
    """Images per new class: floor((M + new · m) / n), m being the old classes' quota; so about m."""
    kept = budget.quota(old)
    return kept if budget.total is None else (budget.total + new * kept) // (old + new)


def a_balanced_set(state: State, phase: Phase) -> LabelledImages:
    """All exemplars of the old classes, and as many of each new class, herded by the network after the first stage.

    That network is the teacher by now, so a resumed run chooses the same images.
    """
    assert state.teacher is not None
    exemplars = state.memory.view(state.classes, TRAIN)
    if not state.arriving and exemplars is not None:
        return exemplars  # more images of known classes: the memory is balanced already
    quota = balanced_quota(state.memory.budget, state.counts.old, state.counts.new)
    arriving = torch.unique(phase.data.labels[phase.data.labels >= state.arriving.start]).tolist()
    chosen = select_exemplars(state, phase, phase.data.of(arriving), arriving, herding, quota, network=state.teacher)
    fresh = phase.data.of(arriving).select(torch.cat([one.positions for one in chosen]))
    return fresh if exemplars is None else fresh.joined(exemplars)
