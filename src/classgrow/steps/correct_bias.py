"""BiC's second stage: two numbers that undo the head's preference for new classes."""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from classgrow.data.labelled import LabelledImages
from classgrow.engine.inference import outputs
from classgrow.memory import HELD_OUT
from classgrow.parts.heads import Linear
from classgrow.recipes import Schedule
from classgrow.state import State
from classgrow.steps.phase import Phase


@dataclass(frozen=True)
class CorrectBias:
    """Fit (alpha, beta) of the newest block on held-out images of all classes, everything else frozen.

    Cross-entropy over [z_old, alpha · z_new + beta] plus penalty · beta² / 2; SGD with momentum 0.9.
    """

    epochs: int = 200
    drops: tuple[int, ...] = (60, 120, 160, 180)
    penalty: float = 0.1
    batch_size: int = 128

    def run(self, state: State, phase: Phase) -> None:
        if phase.number == 1:
            return
        started = time.perf_counter()
        data = validation_set(state, phase)
        if not len(data):
            return  # every class has a single image, which is trained on
        logits = torch.cat([one.logits for one in outputs(state.network, data, phase.inputs, phase.runtime)]).clone()
        labels = data.labels.to(logits.device)
        head = state.network.head
        assert isinstance(head, Linear), "the correction belongs to a linear head"
        head.correction = self.fit(logits, labels, state.counts.old, phase.generator("order"))
        alpha, beta = head.correction.tolist()
        phase.log.remember_seconds += time.perf_counter() - started
        phase.log.notes.append(f"alpha {alpha:.3f}, beta {beta:.3f}")

    def fit(self, logits: Tensor, labels: Tensor, old: int, generator: torch.Generator) -> Tensor:
        """(alpha, beta) from uncorrected logits (N, seen)."""
        pair = torch.tensor([1.0, 0.0], device=logits.device, requires_grad=True)
        schedule = Schedule(self.epochs, 0.1 * self.batch_size / 256, self.drops, 0.1)
        optimiser = torch.optim.SGD([pair], lr=schedule.lr, momentum=0.9)
        for epoch in range(self.epochs):
            optimiser.param_groups[0]["lr"] = schedule.lr_at(epoch)
            for chosen in torch.randperm(len(labels), generator=generator).split(self.batch_size):
                some = logits[chosen]
                corrected = torch.cat((some[:, :old], pair[0] * some[:, old:] + pair[1]), dim=1)
                loss = functional.cross_entropy(corrected, labels[chosen]) + self.penalty * pair[1].square() / 2
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
        return pair.detach()

    def __str__(self) -> str:
        return "correct the new classes' logits: α·a + β on held-out images"


def validation_set(state: State, phase: Phase) -> LabelledImages:
    """The held-out images of old classes and those withheld from the new ones."""
    withheld = phase.data.select(state.withheld)
    kept = state.memory.view(state.classes, HELD_OUT)
    return withheld if kept is None else withheld.joined(kept)
