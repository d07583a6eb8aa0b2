"""What a learner can say of itself from the photos it keeps: accuracy, how sure it may be, and what is too far away.

Photos held out of training are tried as they are. Without any, the exemplars are: each by a rule that was fitted
without its fold (the network of a method that trains has seen them, so that its estimate stays a little too good).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from classgrow.data.intake import Name
from classgrow.engine.runtime import Runtime
from classgrow.inputs import Inputs
from classgrow.learner.answers import best_temperature, checked, some
from classgrow.learner.fitting import fitted_by
from classgrow.memory import HELD_OUT, TRAIN
from classgrow.parts.discriminant import LinearDiscriminant, sums_of
from classgrow.parts.folds import FOLDS, folds_of
from classgrow.parts.rules import Rule, Seen, Tensors
from classgrow.parts.unknown import Photos, Unknown
from classgrow.state import State
from classgrow.steps.measure import memory_features
from classgrow.views import Outputs

if TYPE_CHECKING:
    from classgrow.learner.phased import PhaseLearner


@dataclass(frozen=True)
class Tried:
    """Images a rule was tried on: their places in the memory, true classes (positions) and scores (n, classes)."""

    places: Tensor
    labels: Tensor
    scores: Tensor

    @property
    def predicted(self) -> Tensor:
        """The class with the best score."""
        return self.scores.argmax(1)

    @property
    def right(self) -> Tensor:
        return self.predicted == self.labels


@dataclass(frozen=True)
class Estimate:
    """How a learner does on photos that its rule was not fitted on. Classes are positions in its `classes`.

    source       what was tried: photos held out of training, exemplars by folds, or nothing
    places       of each image tried, in the memory; `labels` and `predicted` are its true and its predicted class
    scores       by the learner's own rule, (n, classes)
    accuracy     the share told right, None where nothing could be tried; `per_class` lacks classes without an image
    temperature  what scores are divided by before the softmax
    threshold    the distance beyond which an image is of no known class; None: that cannot be told
    """

    source: Literal["held out", "exemplars", "nothing"]
    places: Tensor
    labels: Tensor
    predicted: Tensor
    scores: Tensor
    accuracy: float | None
    per_class: dict[Name, float]
    temperature: float
    threshold: float | None


@dataclass(frozen=True)
class Estimating:
    """A state that is asked about itself. What it finds is kept in `state.estimated` until the state changes."""

    state: State
    inputs: Inputs
    runtime: Runtime

    def temperature(self, rule: Rule) -> float:
        """Under which the rule is 90 % sure where it is right nine times in ten; 1 where there is nothing to try."""
        name = f"temperature.{rule.name}"
        if name not in self.state.estimated:
            tried = self.tried(rule) or self.fitted_on(rule)
            found = 1.0 if tried is None else best_temperature(tried.scores, tried.labels)
            self.state.estimated[name] = torch.tensor(found, dtype=torch.float64)
        return float(self.state.estimated[name])

    def unknown(self) -> Tensors | None:
        """What `Unknown` has fitted; None without statistics and without exemplars."""
        names = ("whitening", "centres", "threshold")
        if "threshold" not in self.state.estimated:
            sums = self.sums()
            if sums is None:
                return None
            self.state.estimated |= Unknown().fit(sums, self.photos(TRAIN), self.photos(HELD_OUT))
        return {name: self.state.estimated[name] for name in names}

    def tried(self, rule: Rule) -> Tried | None:
        """Scores of photos that the rule was not fitted on."""
        held_out = self.seen_as(HELD_OUT)
        if held_out is not None:
            return self.asked(rule, held_out, self.state.memory.of(HELD_OUT))
        exemplars = self.seen_as(TRAIN)
        return None if exemplars is None else self.cross_fitted(rule, exemplars)

    def fitted_on(self, rule: Rule) -> Tried | None:
        """Scores of the exemplars by the rule as it is: all there is where every class has a single one."""
        exemplars = self.seen_as(TRAIN)
        return None if exemplars is None else self.asked(rule, exemplars, self.state.memory.of(TRAIN))

    def cross_fitted(self, rule: Rule, one: Outputs) -> Tried | None:
        """Scores of exemplars by rules fitted without their fold; a class's only exemplar is never left out."""
        labels, classes = self.labels(TRAIN).to(one.features.device), len(self.state.classes)
        folds, before = folds_of(labels), self.state.fitted.get(rule.name)
        places, scores = [], []
        for fold in range(FOLDS):
            out = folds == fold
            if bool(out.any()):
                rest = SimpleNamespace(labels=labels[~out], features=one.features[~out], mirrored=None)
                fitted = fitted_by(rule, Seen(classes, rest, before=before))
                scores.append(checked(rule, some(one, out), fitted or {}, classes).cpu())
                places.append(torch.nonzero(out)[:, 0].cpu())
        if not places:
            return None
        where = torch.cat(places)
        return Tried(self.state.memory.of(TRAIN)[where], labels.cpu()[where], torch.cat(scores))

    def asked(self, rule: Rule, one: Outputs, places: Tensor) -> Tried:
        scores = checked(rule, one, self.state.fitted[rule.name], len(self.state.classes))
        return Tried(places, self.state.memory.labels[places], scores.cpu())

    def sums(self) -> Tensors | None:
        """Those of the discriminant where it was fitted, else the same of the exemplars."""
        fitted = self.state.fitted.get(LinearDiscriminant.name, {})
        if {"count", "total", "rows", "owner"} <= fitted.keys():
            return fitted
        seen = self.seen_as(TRAIN)
        if seen is None:
            return None
        exemplars = SimpleNamespace(labels=self.labels(TRAIN), features=seen.features, mirrored=None)
        return sums_of(exemplars, len(self.state.classes))

    def photos(self, role: int) -> Photos | None:
        """Features and labels of the images of one role."""
        seen = self.seen_as(role)
        return None if seen is None else (seen.features.cpu(), self.labels(role))

    def labels(self, role: int) -> Tensor:
        return self.state.memory.labels[self.state.memory.of(role)]

    def seen_as(self, role: int) -> Outputs | None:
        """The network's outputs on the exemplars of one role, from their features."""
        places = self.state.memory.of(role)
        if not len(places):
            return None
        head = self.state.network.head
        known = memory_features(self.state, self.inputs, self.runtime)[places].to(head.rows())
        with torch.inference_mode():
            return head(known)


def estimate(learner: PhaseLearner) -> Estimate:
    """Everything a learner can say of itself without a photo more than it keeps."""
    with learner.runtime.active():
        asking, rule = learner.estimating, learner.method.rule
        tried, unknown = asking.tried(rule), asking.unknown()
        temperature = asking.temperature(rule)
    threshold = None if unknown is None or unknown["threshold"].isinf() else float(unknown["threshold"])
    held_out = learner.state.memory.count(HELD_OUT) > 0
    if tried is None:
        nothing = torch.empty(0, dtype=torch.long)
        tried = Tried(nothing, nothing, torch.empty(0, len(learner.state.classes)))
    return Estimate(
        source="nothing" if not len(tried.labels) else "held out" if held_out else "exemplars",
        places=tried.places,
        labels=tried.labels,
        predicted=tried.predicted,
        scores=tried.scores,
        accuracy=float(tried.right.double().mean()) if len(tried.labels) else None,
        per_class=accuracy_per_class(tried, learner.class_names),
        temperature=temperature,
        threshold=threshold,
    )


def accuracy_per_class(tried: Tried, names: Sequence[Name]) -> dict[Name, float]:
    """The share of each class that is told right, for the classes that have an image."""
    return {
        names[number]: float(tried.right[tried.labels == number].double().mean())
        for number in torch.unique(tried.labels).tolist()
    }
