"""From a learner's state to answers: scores by every rule, and probabilities that mean what they say."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from types import SimpleNamespace

import torch
from torch import Tensor
from torch.nn import functional

from classgrow.data.intake import Name
from classgrow.data.labelled import LabelledImages
from classgrow.engine.inference import outputs
from classgrow.engine.runtime import Runtime
from classgrow.errors import ClassgrowError, one_line
from classgrow.inputs import Inputs
from classgrow.learner.fitting import fitted_by
from classgrow.memory import HELD_OUT, TRAIN
from classgrow.parts.rules import Rule, Seen, Tensors
from classgrow.state import State
from classgrow.views import Outputs

FOLDS = 4
"""Parts into which exemplars are cut: a rule is fitted on the others and tried on each."""


@dataclass(frozen=True)
class Evaluation:
    """How well a learner does on labelled images: by its own rule, and by every rule it could use (fractions)."""

    accuracy: float
    per_class: dict[Name, float]
    by_rule: dict[str, float]


@dataclass(frozen=True)
class Answers:
    """A state that is asked, and how: everything it takes to answer."""

    state: State
    rules: tuple[Rule, ...]
    inputs: Inputs
    runtime: Runtime

    def scores(self, data: LabelledImages) -> Iterator[dict[str, Tensor]]:
        """For consecutive slices of the data, scores (n, classes) by every rule that could be fitted."""
        ready = [rule for rule in self.rules if rule.name in self.state.fitted]
        for one in outputs(self.state.network, data, self.inputs, self.runtime):
            yield {rule.name: self.asked(rule, one) for rule in ready}

    def asked(self, rule: Rule, one: Outputs) -> Tensor:
        """A rule's scores (n, classes)."""
        return checked(rule, one, self.state.fitted[rule.name], len(self.state.classes))

    def whole(self, data: LabelledImages) -> Outputs:
        """The network's outputs on all of the data at once."""
        parts = list(outputs(self.state.network, data, self.inputs, self.runtime))
        rows = ("features", "logits", "cosines", "reserved")
        joined = {n: torch.cat([getattr(p, n) for p in parts]) for n in rows if getattr(parts[0], n) is not None}
        return replace(parts[0], **joined)

    def temperature(self, rule: Rule) -> float:
        """What a rule's scores are divided by before the softmax, so that 90 % sure is right nine times in ten.

        Fitted on images held out of training where the memory has some, else on exemplars that the rule itself was
        not fitted on (the network has seen those: it stays a little too sure). Without either it is 1.
        """
        held_out = self.state.memory.view(self.state.classes, HELD_OUT)
        if held_out is not None:
            answers = self.asked(rule, self.whole(held_out))
            return best_temperature(answers, held_out.labels.to(answers.device))
        exemplars = self.state.memory.view(self.state.classes, TRAIN)
        if exemplars is None:
            return 1.0
        answers, labels = cross_fitted(rule, self.whole(exemplars), exemplars.labels, self.state)
        return best_temperature(answers, labels)


def checked(rule: Rule, one: Outputs, fitted: Tensors, classes: int) -> Tensor:
    """The rule's scores, with its tensors on the outputs' device; a user's own rule may get them wrong."""
    device, wanted = one.features.device, (len(one.features), classes)
    try:
        found = rule.scores(one, {name: value.to(device) for name, value in fitted.items()})
    except Exception as error:
        raise ClassgrowError(f"The rule {rule.name!r} cannot answer ({one_line(error)}): fix its scores.") from error
    if not isinstance(found, Tensor) or tuple(found.shape) != wanted:
        shape = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
        raise ClassgrowError(
            f"The rule {rule.name!r} answers with {shape} instead of a tensor {wanted}: fix its scores."
        )
    if bool(torch.isnan(found).any()):
        raise ClassgrowError(f"The rule {rule.name!r} gives scores that are not numbers: fix its fit or its scores.")
    return found


def some(one: Outputs, chosen: Tensor) -> Outputs:
    """The outputs of some of the images; class embeddings belong to all."""
    rows: dict[str, Tensor] = {
        field.name: value[chosen]
        for field in fields(one)
        if field.name != "embeddings" and (value := getattr(one, field.name)) is not None
    }
    return replace(one, **rows)


def cross_fitted(rule: Rule, one: Outputs, labels: Tensor, state: State) -> tuple[Tensor, Tensor]:
    """Scores of exemplars by rules fitted without them, and their labels; a class's only exemplar is never left out."""
    labels, classes = labels.to(one.features.device), len(state.classes)
    sizes = torch.bincount(labels, minlength=classes)
    place = torch.empty_like(labels)
    place[torch.argsort(labels, stable=True)] = torch.cat([torch.arange(int(size)) for size in sizes]).to(labels)
    found = []
    for fold in range(FOLDS):
        out = (place % FOLDS == fold) & (sizes[labels] > 1)
        if bool(out.any()):
            rest = SimpleNamespace(labels=labels[~out], features=one.features[~out], mirrored=None)
            fitted = fitted_by(rule, Seen(classes, rest))
            found.append((checked(rule, some(one, out), fitted or {}, classes), labels[out]))
    if not found:
        return checked(rule, one, state.fitted[rule.name], classes), labels
    return torch.cat([scores for scores, _ in found]), torch.cat([names for _, names in found])


def best_temperature(scores: Tensor, labels: Tensor) -> float:
    """The temperature under which the labels are likeliest, by golden-section search over its logarithm.

    A label counts as (n + 1)/(n + 2) sure, the rest being spread over the other classes (Platt's targets): a handful
    of images that all are right must not make it certain.
    """
    number, classes = scores.shape
    if classes < 2 or not number:
        return 1.0
    values, labels = scores.cpu().double(), labels.cpu()
    values = values.clamp(min=float(values[values.isfinite()].min()) if bool(values.isfinite().any()) else 0.0)
    scale = float((values - values.mean(1, keepdim=True)).std()) or 1.0
    sure = (number + 1) / (number + 2)
    targets = functional.one_hot(labels, classes).double() * (sure - (1 - sure) / (classes - 1))
    targets += (1 - sure) / (classes - 1)

    def loss(log: float) -> float:
        return float(-(targets * functional.log_softmax(values / (scale * math.exp(log)), 1)).sum(1).mean())

    low, high, ratio = -7.0, 5.0, (math.sqrt(5) - 1) / 2
    for _ in range(60):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if loss(left) <= loss(right) else (left, high)
    return scale * math.exp((low + high) / 2)


def probabilities(scores: Tensor, temperature: float) -> Tensor:
    """softmax(scores / temperature), (N, classes), in double precision."""
    return torch.softmax(scores.cpu().double() / temperature, 1)


def forget_class(state: State, rules: tuple[Rule, ...], position: int) -> None:
    """Take a class out of the state and out of what every rule knows."""
    for rule in rules:
        rows = {len(value) if value.ndim else 0 for value in state.fitted.get(rule.name, {}).values()}
        if type(rule).forget is Rule.forget and rows - {len(state.classes)}:
            raise ClassgrowError(
                f"The rule {rule.name!r} keeps tensors that do not have a row for each class: give it a method forget."
            )
    fitted: dict[str, Tensors] = {
        rule.name: rule.forget(state.fitted[rule.name], position) for rule in rules if rule.name in state.fitted
    }
    state.forget(position)
    state.fitted = fitted
