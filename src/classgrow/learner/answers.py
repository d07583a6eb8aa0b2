"""From a learner's state to answers: scores by every rule, and probabilities that mean what they say."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor
from torch.nn import functional

from classgrow.data.intake import Name
from classgrow.data.labelled import LabelledImages
from classgrow.engine.inference import outputs
from classgrow.engine.runtime import Runtime
from classgrow.errors import ClassgrowError, one_line
from classgrow.inputs import Inputs
from classgrow.parts.rules import Rule, Tensors
from classgrow.parts.unknown import distances
from classgrow.state import State
from classgrow.views import Outputs


@dataclass(frozen=True)
class Evaluation:
    """How well a learner does on labelled images: by its own rule, and by every rule it could use (fractions)."""

    accuracy: float
    per_class: dict[Name, float]
    by_rule: dict[str, float]


@dataclass(frozen=True)
class Answer:
    """What there is to say of one image.

    ranking   classes with their calibrated probabilities, likeliest first
    distance  squared distance to the nearest class mean (`parts.unknown`); nan where nothing is there to measure with
    unknown   whether that is too far for any known class; None: it cannot be told
    nearest   places in the memory of the kept photos that are most like it, with the cosine of their features
    """

    ranking: list[tuple[Name, float]]
    distance: float
    unknown: bool | None
    nearest: list[tuple[int, float]]


@dataclass(frozen=True)
class Details:
    """Of n images: scores (n, classes), distances (n,), and cosines with the exemplars (n, K)."""

    scores: Tensor
    distances: Tensor
    similarities: Tensor

    def answers(self, names: Sequence[Name], temperature: float, threshold: float, top: int) -> list[Answer]:
        """In words: the `top` likeliest classes, and as many of the most similar photos."""
        chances = probabilities(self.scores, temperature)
        order = torch.argsort(chances, dim=1, descending=True, stable=True)[:, :top]
        alike, places = self.similarities.topk(min(top, self.similarities.shape[1]))
        far = self.distances > threshold
        told = self.distances.isfinite() & math.isfinite(threshold)
        return [
            Answer(
                [(names[number], float(chances[image, number])) for number in order[image].tolist()],
                float(self.distances[image]),
                bool(far[image]) if told[image] else None,
                list(zip(places[image].tolist(), alike[image].tolist(), strict=True)),
            )
            for image in range(len(self.scores))
        ]


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

    def details(self, data: LabelledImages, rule: Rule, unknown: Tensors | None) -> Iterator[Details]:
        """For consecutive slices of the data, everything there is to say, from one look of the network."""
        memory = self.state.memory
        kept = None if memory.features is None else functional.normalize(memory.features)
        for one in outputs(self.state.network, data, self.inputs, self.runtime):
            seen_as = one.features.cpu().float()
            yield Details(
                scores=self.asked(rule, one).cpu(),
                distances=torch.full((len(seen_as),), math.nan) if unknown is None else distances(seen_as, unknown),
                similarities=torch.empty(len(seen_as), 0) if kept is None else functional.normalize(seen_as) @ kept.T,
            )


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
