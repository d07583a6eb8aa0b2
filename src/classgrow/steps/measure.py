"""Features under a backbone that stands still: every image passes through it once."""

from __future__ import annotations

import torch
from torch import Tensor

from classgrow.data.labelled import ArrayStore, LabelledImages
from classgrow.engine.inference import features, outputs
from classgrow.engine.runtime import Runtime
from classgrow.errors import ClassgrowError
from classgrow.inputs import Inputs
from classgrow.state import State
from classgrow.steps.phase import Phase


def phase_features(state: State, phase: Phase) -> Tensor:
    """Features (N, d) of all of the phase's images, computed when they are first asked for."""
    if phase.measured is None:
        phase.progress.begin(f"phase {phase.number}", len(phase.data))
        parts = []
        for one in outputs(state.network, phase.data, phase.inputs, phase.runtime):
            parts.append(one.features)
            phase.progress.advance(len(one.features))
        phase.progress.end()
        phase.measured = torch.cat(parts).clone()
    return phase.measured


def memory_features(state: State, inputs: Inputs, runtime: Runtime) -> Tensor:
    """Features (K, d) of all exemplars, in memory order: those kept, else measured once and kept from then on."""
    memory = state.memory
    if memory.features is None:
        memory.features = features(state.network, everything_kept(state), inputs, runtime).cpu().float()
    return memory.features


def everything_kept(state: State) -> LabelledImages:
    """All exemplars with their pixels."""
    memory = state.memory
    if memory.images is None:
        raise ClassgrowError("The exemplars' photos were not kept, so they cannot be seen by another network.")
    return LabelledImages(ArrayStore(memory.images), torch.arange(len(memory)), memory.labels, state.classes)
