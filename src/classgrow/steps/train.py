"""Train the network on an objective."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypedDict, cast

from torch import nn

from classgrow.data.labelled import LabelledImages
from classgrow.engine.batches import batch_count
from classgrow.engine.loop import Fit, Training
from classgrow.json_values import JsonDict
from classgrow.networks.fused import for_evaluation
from classgrow.parts.objective import Composable
from classgrow.recipes import Recipe, Schedule
from classgrow.state import State
from classgrow.steps.declared import Declares, PhasePlan
from classgrow.steps.phase import Phase, SavePoint

TrainingSet = Callable[[State, Phase], LabelledImages]


def everything(state: State, phase: Phase) -> LabelledImages:
    """All images of the new classes and all exemplars."""
    return state.training_set(phase.data)


@dataclass(frozen=True)
class Train:
    """SGD on `objective` over `data`; `schedule` says which of the recipe's schedules; `later_only` skips phase 1."""

    objective: Composable
    data: TrainingSet = everything
    schedule: Literal["main", "fine_tune"] = "main"
    later_only: bool = False

    @property
    def declares(self) -> Declares:
        return Declares(
            objective=self.objective,
            images=self.planned_images,
            with_objective=lambda objective: replace(self, objective=objective),
        )

    def planned_images(self, plan: PhasePlan) -> int:
        """How many images it goes over, repetitions counted; a training set of its own is taken for a balanced one."""
        if self.later_only and plan.number == 1:
            return 0
        size = plan.everything if self.data is everything else plan.balanced
        return size * self.schedule_for(plan.recipe, plan.number, size).epochs

    def run(self, state: State, phase: Phase) -> None:
        if self.later_only and phase.number == 1:
            return
        set_batch_norm_momentum(state.network, 0.1 if phase.number == 1 else phase.recipe.later_batch_norm_momentum)
        training = self.training(state, phase)
        fit = restored(phase.resume)
        epoch_images, epochs = training.epoch_images(), training.schedule.epochs
        phase.progress.begin_training(phase.number, epochs * epoch_images, fit.epoch * epoch_images)
        training.run(fit, phase.progress, lambda fit: phase.save(saved(fit)))
        phase.progress.end()
        phase.log.training_images = max(phase.log.training_images, len(training.data))
        phase.log.loss, phase.log.images = fit.loss, phase.log.images + fit.images
        phase.log.train_seconds += fit.seconds

    def training(self, state: State, phase: Phase) -> Training:
        """What is trained, on what, how."""
        data = self.data(state, phase)
        return Training(
            network=state.network,
            teacher=for_evaluation(state.teacher, phase.runtime.dtype)
            if state.teacher and self.objective.reads_teacher
            else None,
            data=data,
            objective=self.objective,
            schedule=self.schedule_for(phase.recipe, phase.number, len(data)),
            recipe=phase.recipe,
            inputs=phase.inputs,
            counts=state.counts,
            blocks=state.blocks,
            runtime=phase.runtime,
            seed=phase.seed,
            place=phase.place,
        )

    def schedule_for(self, recipe: Recipe, number: int, images: int) -> Schedule:
        """The schedule of this stage over so many images: a second stage makes the updates it needs at least."""
        schedule = schedule_of(recipe, self.schedule, number)
        if self.schedule == "main" or not images:
            return schedule
        return schedule.at_least(recipe.fine_tune_updates, batch_count(images, recipe.batch_size, recipe.drop_last))

    def __str__(self) -> str:
        subset = "" if self.data is everything else f" on {self.data.__name__.replace('_', ' ')}"
        return f"train{subset}: {self.objective}"


def schedule_of(recipe: Recipe, which: Literal["main", "fine_tune"], number: int) -> Schedule:
    """The recipe's schedule for this stage of this phase."""
    if which == "fine_tune":
        return recipe.fine_tune or recipe.later
    return recipe.first if number == 1 else recipe.later


def set_batch_norm_momentum(network: nn.Module, momentum: float) -> None:
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = momentum


class SavedFit(TypedDict):
    """The numbers of a `Fit`, as a checkpoint holds them."""

    epoch: int
    loss: float
    images: int
    seconds: float


def saved(fit: Fit) -> SavePoint:
    plain: JsonDict = {"epoch": fit.epoch, "loss": fit.loss, "images": fit.images, "seconds": fit.seconds}
    return SavePoint(fit.momentum, plain)


def restored(point: SavePoint | None) -> Fit:
    return Fit() if point is None else Fit(momentum=point.tensors, **cast(SavedFit, point.plain))
