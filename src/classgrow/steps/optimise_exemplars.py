"""Mnemonics: exemplars as free pixels, optimised bilevel.

A temporary copy of the network takes a few differentiable steps of SGD on a batch of exemplars; the loss of that copy
on validation images is differentiated back into the pixels.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.func import functional_call
from torch.nn import functional

from classgrow.engine.augment import centre, pixels_of, plain
from classgrow.memory import TRAIN
from classgrow.networks.network import Network
from classgrow.state import State
from classgrow.steps.phase import Phase

Batch = tuple[Tensor, Tensor]
"""Images (N, C, H, W), normalised, and their labels."""


@dataclass(frozen=True)
class OptimiseExemplars:
    """New exemplars are validated on the phase's data; old ones in two halves, each validated on the other.

    One outer epoch updates every exemplar once. `outer_epochs=0` leaves the memory as it was chosen (Hou19).
    `unroll`: which weights the temporary copy may change, the whole network's or the head's alone.
    """

    outer_epochs: int = 10
    outer_lr: float = 0.01
    halve_every: int = 2
    inner_steps: int = 5
    inner_lr: float = 0.01
    batch_size: int = 64
    unroll: Literal["network", "head"] = "network"

    def run(self, state: State, phase: Phase) -> None:
        memory, old = state.memory, state.counts.old
        if self.outer_epochs == 0 or memory.images is None:
            return
        started = time.perf_counter()
        trainable = memory.roles == TRAIN
        new = torch.nonzero(trainable & (memory.labels >= old))[:, 0]
        odd = trainable & (memory.labels < old) & (memory.ranks % 2 == 1)
        even = trainable & (memory.labels < old) & (memory.ranks % 2 == 0)
        jobs = [(new, self.phase_data(state, phase))]
        for half, other in ((even, odd), (odd, even)):
            tuned, judges = torch.nonzero(half)[:, 0], torch.nonzero(other)[:, 0]
            if len(tuned) and len(judges):
                jobs.append((tuned, self.exemplar_data(state, phase, judges)))
        batches = sum(-(-len(tuned) // self.batch_size) for tuned, _ in jobs) * self.outer_epochs
        phase.progress.say(
            f"optimising {sum(len(tuned) for tuned, _ in jobs)} exemplars: {batches} outer steps, "
            f"each unrolling {self.inner_steps} steps on {self.batch_size} images"
        )
        phase.progress.begin("exemplars", batches * self.batch_size)
        for number, (tuned, validation) in enumerate(jobs):
            pixels = memory.images[tuned]
            centre(pixels, phase.inputs).copy_(self.optimise(state, phase, tuned, validation, number))
            memory.images[tuned] = pixels
        memory.features = None  # they were those of the images as they were chosen
        phase.progress.end()
        phase.log.remember_seconds += time.perf_counter() - started

    def optimise(
        self, state: State, phase: Phase, tuned: Tensor, validation: Callable[[torch.Generator], Batch], job: int
    ) -> Tensor:
        """What the network sees of the exemplars at these places of the memory, improved, as uint8."""
        assert state.memory.images is not None
        network = state.network.eval()
        labels = state.memory.labels[tuned].to(phase.runtime.device)
        images = plain(state.memory.images[tuned].to(phase.runtime.device), phase.inputs)
        moments = Moments(torch.zeros_like(images), torch.zeros_like(images))
        generator = phase.generator("job", job)
        darkest, brightest = plain_range(phase, images)
        for epoch in range(self.outer_epochs):
            rate = self.outer_lr * 0.5 ** (epoch // self.halve_every)
            for chosen in torch.randperm(len(tuned), generator=generator).split(self.batch_size):
                some = images[chosen].requires_grad_(True)
                loss = self.outer_loss(network, (some, labels[chosen]), validation(generator))
                (slope,) = torch.autograd.grad(loss, some)
                moved = some.detach() - rate * moments.step(chosen, slope, epoch + 1)
                images[chosen] = torch.minimum(torch.maximum(moved, darkest), brightest)
                phase.progress.advance(self.batch_size)
        return pixels_of(images, phase.inputs).cpu()

    def outer_loss(self, network: Network, exemplars: Batch, validation: Batch) -> Tensor:
        """Cross-entropy on `validation` of a copy that took `inner_steps` steps on `exemplars`; differentiable."""
        weights = {
            name: parameter.detach().requires_grad_(True)
            for name, parameter in network.named_parameters()
            if self.unroll == "network" or name.startswith("head.")
        }
        images, labels = exemplars
        for _ in range(self.inner_steps):
            loss = functional.cross_entropy(functional_call(network, weights, (images,)).logits, labels)
            slopes = torch.autograd.grad(loss, tuple(weights.values()), create_graph=True, allow_unused=True)
            weights = {
                name: weight if slope is None else weight - self.inner_lr * slope
                for (name, weight), slope in zip(weights.items(), slopes, strict=True)
            }
        images, labels = validation
        return functional.cross_entropy(functional_call(network, weights, (images,)).logits, labels)

    def phase_data(self, state: State, phase: Phase) -> Callable[[torch.Generator], Batch]:
        """Random batches of the new classes' images and the old classes' exemplars."""
        mine = state.memory.labels < state.counts.old
        old = torch.nonzero(mine & (state.memory.roles == TRAIN))[:, 0]

        def draw(generator: torch.Generator) -> Batch:
            assert state.memory.images is not None
            chosen = torch.randperm(len(phase.data) + len(old), generator=generator)[: self.batch_size]
            fresh, kept = chosen[chosen < len(phase.data)], old[chosen[chosen >= len(phase.data)] - len(phase.data)]
            images = torch.cat((phase.data.read(fresh).cpu(), state.memory.images[kept]))
            labels = torch.cat((phase.data.labels[fresh], state.memory.labels[kept]))
            return plain(images.to(phase.runtime.device), phase.inputs), labels.to(phase.runtime.device)

        return draw

    def exemplar_data(self, state: State, phase: Phase, places: Tensor) -> Callable[[torch.Generator], Batch]:
        """Random batches of the exemplars at these places of the memory."""

        def draw(generator: torch.Generator) -> Batch:
            assert state.memory.images is not None
            chosen = places[torch.randperm(len(places), generator=generator)[: self.batch_size]]
            images = plain(state.memory.images[chosen].to(phase.runtime.device), phase.inputs)
            return images, state.memory.labels[chosen].to(phase.runtime.device)

        return draw

    def __str__(self) -> str:
        return f"optimise the exemplars' pixels bilevel ({self.outer_epochs} epochs, {self.inner_steps} inner steps)"


@dataclass(frozen=True)
class Moments:
    """Adam's two moments of every exemplar; only those of a batch move, so a large memory is tuned like a small one."""

    first: Tensor
    second: Tensor

    def step(self, chosen: Tensor, slope: Tensor, times: int) -> Tensor:
        """Adam's direction for the exemplars `chosen`, which are updated for the `times`-th time."""
        self.first[chosen] = 0.9 * self.first[chosen] + 0.1 * slope
        self.second[chosen] = 0.999 * self.second[chosen] + 0.001 * slope.square()
        mean, spread = self.first[chosen] / (1 - 0.9**times), self.second[chosen] / (1 - 0.999**times)
        return mean / (spread.sqrt() + 1e-8)


def plain_range(phase: Phase, images: Tensor) -> tuple[Tensor, Tensor]:
    """Black and white as the network sees them."""
    ends = torch.tensor([0, 255], dtype=torch.uint8).repeat_interleave(images.shape[1]).reshape(2, 1, 1, -1)
    black, white = plain(ends.to(images.device), phase.inputs)
    return black, white
