"""One phase of a learner: its steps in order, with a checkpoint after each, and the rules fitted at the end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TypedDict, cast

import torch

from classgrow.checkpoint import Checkpoint
from classgrow.data.labelled import LabelledImages
from classgrow.errors import ClassgrowError
from classgrow.json_values import JsonDict
from classgrow.learner.fitting import fit_rules
from classgrow.method import Method
from classgrow.state import SavedState, State, Tensors, within
from classgrow.steps.phase import Phase, PhaseLog, SavePoint

Saved = tuple[Tensors, JsonDict]
"""A checkpoint: tensors and plain values."""


class SavedLog(TypedDict):
    """A `PhaseLog` so far."""

    training_images: int
    loss: float | None
    images: int
    train_seconds: float
    remember_seconds: float
    notes: list[str]


class SavedPhase(TypedDict):
    """The plain values of a checkpoint: it is of this `phase`, before this `step`, or within it where it has a
    `point`."""

    phase: int
    step: int
    point: JsonDict | None
    log: SavedLog
    state: SavedState


def saved_phase(plain: JsonDict) -> SavedPhase:
    """What `PhaseRun` wrote: the checkpoint's checksum vouches for it."""
    return cast(SavedPhase, plain)


def begin_phase(state: State, method: Method, data: LabelledImages) -> None:
    """Take in the phase's classes and keep the network so far as the teacher.

    The images may be of known classes and of new ones; new ones are numbered on from the known without a gap.
    """
    old = len(state.classes)
    present = torch.unique(data.labels).tolist()
    arriving = [label for label in present if label >= old]
    if not present or arriving != list(range(old, old + len(arriving))):
        raise ClassgrowError(
            f"A phase must bring images of classes numbered from {old} on, without gaps; it brought {present[:5]}."
        )
    seen = old + len(arriving)
    if method.keeps_memory:
        state.memory.budget.quota(seen)
    state.teacher, state.estimated = None, {}
    if old:
        state.snapshot_teacher()
    state.classes, state.sizes = data.classes[:seen], (*state.sizes, len(arriving))


@dataclass(frozen=True)
class PhaseRun:
    """A phase in progress. `phase` is what all its steps share; each gets a copy of its own."""

    state: State
    method: Method
    phase: Phase
    checkpoint: Checkpoint | None = None

    def go(self, start: int = 0, point: SavePoint | None = None) -> PhaseLog:
        """Run the steps from `start` on; the first of them goes on from `point` if there is one."""
        for number in range(start, len(self.method.steps)):
            own = replace(
                self.phase,
                step=number,
                resume=point if number == start else None,
                save=partial(self._save_if_due, number),
                fresh=None,
                measured=None,
            )
            self.method.steps[number].run(self.state, own)
            if number + 1 == len(self.method.steps):
                self._fit_rules(own)
            self._agree()
            self._save(number + 1, None)
        return self.phase.log

    def _fit_rules(self, last: Phase) -> None:
        rules = self.method.rules
        fit_rules(self.state, rules, last.inputs, last.runtime, last.data, last.fresh, last.measured)
        if self.method.rule.name not in self.state.fitted:
            raise ClassgrowError(
                f"The rule {self.method.rule.name!r} found nothing to be fitted from: choose another `rule`, or a "
                "`method` that keeps exemplars."
            )

    def _agree(self) -> None:
        """The first process's state becomes that of all: they cannot drift apart, whatever a step did."""
        group = self.phase.runtime.group
        if group.count > 1:
            tensors, plain, different = group.same(*self.state.pack())
            if different:
                self.state.unpack(tensors, plain)

    def _save_if_due(self, step: int, point: SavePoint) -> None:
        epoch = point.plain.get("epoch")
        if self.checkpoint is not None and self.checkpoint.due(epoch if isinstance(epoch, int) else None):
            self._save(step, point)

    def _save(self, step: int, point: SavePoint | None) -> None:
        if self.checkpoint is None:
            return
        tensors, plain = self.state.pack()
        if point is not None:
            tensors |= {f"point.{k}": v.detach().cpu().clone().contiguous() for k, v in point.tensors.items()}
        self.checkpoint.write(
            tensors,
            SavedPhase(
                phase=self.state.phase,
                step=step,
                point=point.plain if point else None,
                log=cast(SavedLog, vars(self.phase.log)),
                state=plain,
            ),
        )


def save_point(saved: Saved) -> SavePoint | None:
    """Where within a step the checkpoint was made, if it was."""
    point = saved_phase(saved[1])["point"]
    return SavePoint(within(saved[0], "point."), point) if point is not None else None
