"""Choose exemplars of the new classes and keep the memory within its budget."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from classgrow.data.labelled import LabelledImages
from classgrow.engine.inference import features
from classgrow.memory import HELD_OUT, TRAIN
from classgrow.networks.network import Network
from classgrow.parts.selection import Selection
from classgrow.state import State
from classgrow.steps.declared import Declares
from classgrow.steps.phase import Phase


@dataclass(frozen=True)
class Remember:
    """Rank the phase's images by `selection`, keep the best of every class; other classes keep a prefix.

    Of a class that was known before, the new images and its exemplars are ranked together.
    `held_out`: the share of the quota that stays out of training (BiC), taken from the images withheld in this phase.
    """

    selection: Selection
    held_out: float = 0.0

    @property
    def declares(self) -> Declares:
        return Declares(
            memory="budget",
            held_out=self.held_out,
            with_selection=lambda selection: replace(self, selection=selection),
        )

    def run(self, state: State, phase: Phase) -> None:
        started = time.perf_counter()
        budget, seen = state.memory.budget, state.counts.seen
        held_out = budget.held_out_quota(seen, self.held_out) if self.held_out else 0
        quota = budget.quota(seen) - held_out
        candidates = candidates_for(state, phase)
        taught = torch.unique(candidates.labels).tolist()
        chosen = select_exemplars(state, phase, candidates, taught, self.selection, quota)
        state.memory.shrink(quota, TRAIN)
        state.memory.shrink(held_out, HELD_OUT)
        state.memory.drop(taught, TRAIN)
        for one in chosen:
            keep(state, candidates.select(one.positions), TRAIN)
        phase.fresh = torch.cat([one.features for one in chosen])
        withheld = phase.data.select(state.withheld)
        for label in state.arriving:
            mine = torch.nonzero(withheld.labels == label)[:, 0][:held_out]
            if len(mine):
                keep(state, withheld.select(mine), HELD_OUT)
        state.withheld = state.withheld[:0]
        phase.log.remember_seconds += time.perf_counter() - started

    def __str__(self) -> str:
        return f"remember exemplars by {self.selection.__name__.replace('_', ' ')}"


def candidates_for(state: State, phase: Phase) -> LabelledImages:
    """The phase's images that were trained on, and the exemplars of those of its classes that were known before."""
    allowed = torch.ones(len(phase.data), dtype=torch.bool)
    allowed[state.withheld] = False
    fresh = phase.data.select(torch.nonzero(allowed)[:, 0])
    exemplars = state.memory.view(state.classes, TRAIN)
    if exemplars is None:
        return fresh
    again = torch.isin(exemplars.labels, torch.unique(fresh.labels))
    return fresh.joined(exemplars.select(torch.nonzero(again)[:, 0])) if bool(again.any()) else fresh


@dataclass(frozen=True)
class Chosen:
    """The exemplars of one class, best first: where they stand in the data, and their features."""

    positions: Tensor
    features: Tensor


def select_exemplars(
    state: State,
    phase: Phase,
    data: LabelledImages,
    classes: Sequence[int],
    selection: Selection,
    quota: int,
    network: Network | None = None,
) -> list[Chosen]:
    """The exemplars of each of these classes among `data`, by the network's features."""
    members = [torch.nonzero(data.labels == label)[:, 0] for label in classes]
    everything = features(network or state.network, data, phase.inputs, phase.runtime)
    by_class = [everything[mine.to(everything.device)] for mine in members]
    ranked = phase.runtime.group.decided(lambda: selection(by_class, quota, phase.generator("select")))
    return [
        Chosen(mine[best], theirs[best.to(theirs.device)])
        for mine, theirs, best in zip(members, by_class, ranked, strict=True)
    ]


def keep(state: State, images: LabelledImages, role: int) -> None:
    """Move images into the memory, ranked as they stand."""
    pixels = images.read(torch.arange(len(images))).cpu()
    state.memory.add(pixels, images.labels, torch.arange(len(images)), role)


@dataclass(frozen=True)
class RememberEverything:
    """Keep every image of every class: the memory of joint training, which has no budget."""

    @property
    def declares(self) -> Declares:
        return Declares(memory="everything")

    def run(self, state: State, phase: Phase) -> None:
        keep(state, phase.data, TRAIN)

    def __str__(self) -> str:
        return "remember every image"
