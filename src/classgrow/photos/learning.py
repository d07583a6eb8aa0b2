"""One call of `learn`: photos and a model as it is become a model that knows more. Nothing here writes the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch

from classgrow.checkpoint import CheckpointFile
from classgrow.data.labelled import ArrayStore, ClassLabel, LabelledImages
from classgrow.errors import ClassgrowError
from classgrow.learner import Learner
from classgrow.learner.estimates import estimate
from classgrow.photos import resuming
from classgrow.photos.budget import (
    WRITING,
    OutOfTimeError,
    Pace,
    TimeBudget,
    TimedCheckpoint,
    looking_seconds,
    measure,
    seconds_of,
    with_epochs,
)
from classgrow.photos.history import Measure
from classgrow.photos.intake import Intake
from classgrow.photos.presets import PhotoSettings, Plan, recipe_for_photos
from classgrow.photos.resuming import Job
from classgrow.photos.saved import Content
from classgrow.progress import Progress, Silent
from classgrow.recipes import RECIPES

MEASURES: Mapping[str, Measure] = {"held out": "held-out", "exemplars": "cross-fitted", "nothing": "none"}


@dataclass(frozen=True)
class Effort:
    """How long to learn: `epochs` or a `budget`; None: as the recipe has it."""

    epochs: int | None = None
    budget: TimeBudget | None = None

    @classmethod
    def of(cls, epochs: int | None, time_budget: str | float | None) -> Effort:
        """Either may be given."""
        if epochs is not None and time_budget is not None:
            raise ClassgrowError("`epochs` and `time_budget` contradict each other: give one of them.")
        if epochs is not None and (type(epochs) is not int or epochs < 1):
            raise ClassgrowError(f"`epochs` = {epochs!r} does not fit: give a whole number of at least 1.")
        return cls(epochs, None if time_budget is None else TimeBudget(seconds_of(time_budget)))

    @property
    def words(self) -> str:
        return f"epochs {self.epochs}, seconds {self.budget.seconds if self.budget else None}"


@dataclass(frozen=True)
class Lesson:
    """Photos to be learned, the model so far (None: a new one), and everything that decides how.

    `known`: the classes before; learning changes the very learner of the model so far.
    """

    folder: Path
    intake: Intake
    plan: Plan | None
    before: Content | None
    known: tuple[str, ...] = ()
    effort: Effort = field(default_factory=Effort)
    progress: Progress = field(default_factory=Silent)

    @property
    def settings(self) -> PhotoSettings:
        """What the model remembers of how it was made."""
        if self.before is not None:
            return self.before.settings
        assert self.plan is not None
        return self.plan.settings

    @property
    def trains(self) -> bool:
        """Whether the network changes."""
        if self.before is not None:
            return bool(self.before.learner.method.objectives)
        return self.plan is not None and self.plan.trains

    @property
    def notes(self) -> list[str]:
        """What was asked for and has no use here."""
        if not self.trains and self.effort.epochs is not None:
            return ["Nothing is trained here: `epochs` are not used."]
        return []

    @property
    def arriving(self) -> list[str]:
        """New classes, in alphabetical order."""
        return [name for name in self.intake.counts if name not in self.known]

    def learn(self) -> Learner:
        """The learner after this lesson. Interrupted, it goes on where it was when the same is learned again."""
        learner = self.learner()
        data = self.labelled(learner)
        self.check_memory(learner)
        if not learner.method.objectives:
            self.check_time(learner, data)
            learner.learn_phase(data)
            return learner
        return self.train(learner, data)

    def learner(self) -> Learner:
        """The learner as it is before, with a recipe for this number of photos."""
        photos = len(self.intake)
        if self.before is None:
            assert self.plan is not None
            learner = self.plan.learner(photos, self.effort.epochs, self.progress)
            learner.prepare(self.shape)
            return learner
        learner = self.before.learner
        learner.progress = self.progress
        if learner.method.objectives:
            base = RECIPES[learner.method.recipe][learner.setup.preset]
            again = photos + len(learner.state.memory)
            learner.use_recipe(recipe_for_photos(base, again, bool(learner.started_from), self.effort.epochs))
        return learner

    @property
    def shape(self) -> tuple[int, int, int]:
        _, height, width, channels = self.intake.pixels.shape
        return height, width, channels

    def labelled(self, learner: Learner) -> LabelledImages:
        """The photos with the positions of their classes: known ones first, then those that arrive."""
        known = learner.state.classes if self.before else ()
        first = max((label.id for label in known), default=-1) + 1
        everyone = known + tuple(ClassLabel(first + n, name) for n, name in enumerate(self.arriving))
        place = {label.name: number for number, label in enumerate(everyone)}
        numbers = torch.tensor([place[name] for name in self.intake.names])
        return LabelledImages(ArrayStore(self.intake.pixels), torch.arange(len(numbers)), numbers, everyone)

    def check_memory(self, learner: Learner) -> None:
        """Said before anything is learned."""
        classes = len(self.known) + len(self.arriving)
        budget = learner.prepare(self.shape).memory.budget
        if learner.method.keeps_memory:
            budget.quota(classes)
        if learner.method.held_out:
            budget.held_out_quota(classes, learner.method.held_out)

    def seconds(self, learner: Learner) -> float:
        """How long learning would take from here on, by a look at a few photos or a few batches of its training."""
        data = self.labelled(learner)
        self.check_memory(learner)
        if not learner.method.objectives:
            return looking(learner, data)
        pace = self.pace(learner, data)
        training = pace.training * self.epoch_images(learner, data) * learner.recipe.later.epochs
        needed = training + pace.afterwards
        return needed if self.effort.budget is None else min(needed, self.effort.budget.left)

    def pace(self, learner: Learner, data: LabelledImages) -> Pace:
        kept = min(len(data), learner.prepare(self.shape).memory.budget.total or len(data))
        return measure(learner, data, kept)

    def epoch_images(self, learner: Learner, data: LabelledImages) -> int:
        """Images in an epoch: these and, once something was learned, the exemplars."""
        return len(data) + len(learner.state.memory) if self.before else len(data)

    def check_time(self, learner: Learner, data: LabelledImages) -> None:
        """Where nothing is trained there is nothing to shorten: what cannot be done in time is refused."""
        budget = self.effort.budget
        if budget is None:
            return
        needed = looking(learner, data)
        if needed > budget.left * 1.1:
            spent = budget.seconds - budget.left
            raise ClassgrowError(
                f"This takes about {spent + needed:.0f} s: give a `time_budget` of as much, or fewer photos."
            )

    # --- training --------------------------------------------------------------------------------------------------

    def train(self, learner: Learner, data: LabelledImages) -> Learner:
        """With checkpoints, and within the budget if there is one."""
        version = self.before.history[-1].number if self.before else 0
        how = f"{learner.method.name} {learner.seed} {self.effort.words}"
        job = Job(self.intake.digest, version, how, learner.recipe.later.epochs)
        earlier = resuming.interrupted(self.folder)
        saved = resuming.saved_in(self.folder) if earlier is not None and earlier.is_same(job) else None
        if saved is not None and earlier is not None:
            self.progress.say("Going on where learning was interrupted.")
            train_for(learner, earlier.epochs)
            return self.resume(learner, data, saved)
        pace = None
        if self.effort.budget is not None:
            pace = self.pace(learner, data)
            train_for(learner, pace.epochs(self.effort.budget, self.epoch_images(learner, data)))
            job = replace(job, epochs=learner.recipe.later.epochs)
        checkpoint = self.timed(resuming.begin(self.folder, job), pace, job.epochs)
        try:
            learner.learn_phase(data, checkpoint)
        except OutOfTimeError:
            train_for(learner, epochs_left(checkpoint))
            return self.resume(learner, data, checkpoint)
        return learner

    def resume(self, learner: Learner, data: LabelledImages, checkpoint: CheckpointFile) -> Learner:
        """From the checkpoint to the end; with ever fewer epochs where time runs out."""
        while True:
            saved = checkpoint.read()
            assert saved is not None
            try:
                learner.resume_phase(data, checkpoint, saved)
                return learner
            except OutOfTimeError:
                train_for(learner, epochs_left(checkpoint))

    def timed(self, checkpoint: CheckpointFile, pace: Pace | None, epochs: int) -> CheckpointFile:
        if self.effort.budget is None or pace is None:
            return checkpoint
        return TimedCheckpoint(checkpoint.path, budget=self.effort.budget, pace=pace, epochs=epochs)


def looking(learner: Learner, data: LabelledImages) -> float:
    """Seconds to learn photos where nothing is trained: to see each of them once, and to write it."""
    return len(data) * (looking_seconds(learner, data) + WRITING)


def train_for(learner: Learner, epochs: int) -> None:
    """So many epochs in each phase from now on."""
    learner.use_recipe(with_epochs(learner.recipe, epochs))


def epochs_left(checkpoint: CheckpointFile) -> int:
    assert isinstance(checkpoint, TimedCheckpoint)
    return max(1, checkpoint.epochs)


def measured_accuracy(learner: Learner) -> tuple[dict[str, float], Measure]:
    """The accuracy of each class by the photos that are kept, and how it was measured."""
    found = estimate(learner)
    return {str(name): value for name, value in found.per_class.items()}, MEASURES[found.source]
