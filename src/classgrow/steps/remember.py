"""Choose exemplars of the new classes and keep the memory within its budget."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from classgrow.data.labelled import ArrayStore, LabelledImages
from classgrow.engine.inference import features
from classgrow.memory import HELD_OUT, TRAIN
from classgrow.networks.network import Network
from classgrow.parts.selection import Selection
from classgrow.state import State
from classgrow.steps.declared import Declares
from classgrow.steps.measure import memory_features, phase_features
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
        stands_still = state.stands_still
        if not stands_still:
            state.memory.features = None
        candidates = candidates_for(state, phase)
        taught = torch.unique(candidates.labels).tolist()
        seen_as = candidates.features(state, phase, stands_still)
        chosen = chosen_among(phase, seen_as, candidates.labels, taught, self.selection, quota)
        state.memory.shrink(quota, TRAIN)
        state.memory.shrink(held_out, HELD_OUT)
        state.memory.drop(taught, TRAIN)
        for one in chosen:
            candidates.keep(state, one.positions, seen_as if stands_still else None)
        phase.fresh = torch.cat([one.features for one in chosen])
        own = phase_features(state, phase) if stands_still and len(state.withheld) else None
        for label in state.arriving:
            mine = state.withheld[phase.data.labels[state.withheld] == label][:held_out]
            if len(mine):
                keep(state, phase.data.select(mine), HELD_OUT, None if own is None else own[mine.to(own.device)])
        state.withheld = state.withheld[:0]
        phase.log.remember_seconds += time.perf_counter() - started

    def __str__(self) -> str:
        return f"remember exemplars by {self.selection.__name__.replace('_', ' ')}"


@dataclass(frozen=True)
class Candidates:
    """What competes for a place: the phase's own images at `fresh`, then exemplars at `kept` in the memory.

    `images` has the pixels of all of them, or without `keep_photos` those of the phase's own.
    """

    fresh: Tensor
    kept: Tensor
    labels: Tensor
    images: LabelledImages

    def features(self, state: State, phase: Phase, stands_still: bool) -> Tensor:
        """How the network sees them; under a backbone that stands still nothing is computed twice."""
        if not stands_still:
            return features(state.network, self.images, phase.inputs, phase.runtime)
        own = phase_features(state, phase)[self.fresh.to(phase.runtime.device)]
        if not len(self.kept):
            return own
        return torch.cat((own, memory_features(state, phase.inputs, phase.runtime)[self.kept].to(own)))

    def keep(self, state: State, chosen: Tensor, seen_as: Tensor | None) -> None:
        """Move those at `chosen` into the memory, best first; `seen_as`: features of all, where these stay valid."""
        pixels = self.images.read(chosen).cpu() if state.memory.keep_photos else None
        mine = None if seen_as is None else seen_as[chosen.to(seen_as.device)]
        state.memory.add(pixels, self.labels[chosen], torch.arange(len(chosen)), TRAIN, mine)


def candidates_for(state: State, phase: Phase) -> Candidates:
    """The phase's images that were trained on, and the exemplars of those of its classes that were known before."""
    memory = state.memory
    allowed = torch.ones(len(phase.data), dtype=torch.bool)
    allowed[state.withheld] = False
    fresh = torch.nonzero(allowed)[:, 0]
    images = phase.data.select(fresh)
    places = memory.of(TRAIN)
    kept = places[torch.isin(memory.labels[places], torch.unique(images.labels))]
    labels = torch.cat((images.labels, memory.labels[kept]))
    if len(kept) and memory.images is not None:
        images = images.joined(LabelledImages(ArrayStore(memory.images), kept, memory.labels[kept], state.classes))
    return Candidates(fresh, kept, labels, images)


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
    everything = features(network or state.network, data, phase.inputs, phase.runtime)
    return chosen_among(phase, everything, data.labels, classes, selection, quota)


def chosen_among(
    phase: Phase, everything: Tensor, labels: Tensor, classes: Sequence[int], selection: Selection, quota: int
) -> list[Chosen]:
    """The exemplars of each of these classes among images with these features and labels."""
    members = [torch.nonzero(labels == label)[:, 0] for label in classes]
    by_class = [everything[mine.to(everything.device)] for mine in members]
    ranked = phase.runtime.group.decided(lambda: selection(by_class, quota, phase.generator("select")))
    return [
        Chosen(mine[best], theirs[best.to(theirs.device)])
        for mine, theirs, best in zip(members, by_class, ranked, strict=True)
    ]


def keep(state: State, images: LabelledImages, role: int, seen_as: Tensor | None = None) -> None:
    """Move images into the memory, ranked as they stand; `seen_as`: their features, where these stay valid."""
    pixels = images.read(torch.arange(len(images))).cpu() if state.memory.keep_photos else None
    state.memory.add(pixels, images.labels, torch.arange(len(images)), role, seen_as)


@dataclass(frozen=True)
class RememberEverything:
    """Keep every image of every class: the memory of joint training, which has no budget."""

    @property
    def declares(self) -> Declares:
        return Declares(memory="everything")

    def run(self, state: State, phase: Phase) -> None:
        keep(state, phase.data, TRAIN, phase_features(state, phase) if state.stands_still else None)

    def __str__(self) -> str:
        return "remember every image"
