"""What of a learner goes into an exported file: all it takes to answer, and nothing it learned that from."""

from __future__ import annotations

import copy
import json
import math
from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor

from classgrow import __version__
from classgrow.engine.runtime import Execution, Runtime
from classgrow.inputs import Inputs, kept_side
from classgrow.learner import Learner
from classgrow.learner.answers import Answers
from classgrow.networks.network import Network
from classgrow.parts.rules import Rule, Tensors


class HasLearner(Protocol):
    """A model with a learner inside, such as one of photos."""

    @property
    def learner(self) -> Learner: ...


Model = Learner | HasLearner
"""What can be exported."""


@dataclass(frozen=True)
class Contents:
    """A network and a rule that answer, on the CPU and in float32, with what is known of them.

    `fitted` are the rule's tensors; `temperature` divides scores before the softmax; `unknown` is what distances are
    measured with (`parts.unknown`), None where there is no `threshold` beyond which an image is of no known class.
    """

    network: Network
    rule: Rule
    fitted: Tensors
    inputs: Inputs
    classes: tuple[str, ...]
    temperature: float
    unknown: Tensors | None
    threshold: float | None
    names: dict[str, str]
    """Method, network and objective, for people."""

    @property
    def side(self) -> int:
        """Pixels along a side of the images that come in; the network may see only their centre."""
        return kept_side(self.inputs)

    def metadata(self) -> dict[str, str]:
        """What a file says of itself. Lists are JSON."""
        return {
            "classgrow": __version__,
            "classes": json.dumps(self.classes, ensure_ascii=False),
            **self.names,
            "rule": self.rule.name,
            "formula": self.rule.formula,
            "temperature": repr(self.temperature),
            **({} if self.threshold is None else {"unknown_threshold": repr(self.threshold)}),
            "image_size": str(self.side),
            "network_size": str(self.inputs.size),
            "channels": str(self.inputs.channels),
            "mean": json.dumps(self.inputs.mean),
            "std": json.dumps(self.inputs.std),
        }


def learner_of(model: Model) -> Learner:
    return model if isinstance(model, Learner) else model.learner


def answers_of(learner: Learner) -> Answers:
    """The learner's answers as an exported file must give them: on the CPU, in float32, whatever it trained on."""
    network = copy.deepcopy(learner.state.network).cpu().float().requires_grad_(False).eval()
    runtime = Runtime(Execution(threads=learner.runtime.execution.threads))
    return Answers(replace(learner.state, network=network), learner.method.rules, learner.inputs, runtime)


def contents_of(learner: Learner, answers: Answers) -> Contents:
    """What is exported of a learner. Its rule's tensors are all there; `graph_of` leaves out those it never reads."""
    rule, settings = learner.method.rule, learner.config()
    with learner.runtime.active():
        temperature, unknown = learner.estimating.temperature(rule), learner.estimating.unknown()
    threshold = math.inf if unknown is None else float(unknown["threshold"])
    return Contents(
        network=answers.state.network,
        rule=rule,
        fitted={name: single(value) for name, value in answers.state.fitted[rule.name].items()},
        inputs=learner.inputs,
        classes=tuple(label.name for label in learner.state.classes),
        temperature=temperature,
        unknown=None if unknown is None or math.isinf(threshold) else measuring(unknown),
        threshold=None if math.isinf(threshold) else threshold,
        names={
            "method": learner.method.name,
            "network": settings["network"] or "one of the user's own",
            "objective": learner.method.formula,
        },
    )


def measuring(unknown: Tensors) -> Tensors:
    """What distances are measured with; the threshold is not part of the graph."""
    return {name: single(value) for name, value in unknown.items() if name != "threshold"}


def single(value: Tensor) -> Tensor:
    """On the CPU, and float32 where it was float64."""
    value = value.detach().cpu()
    return value.float() if value.dtype == torch.float64 else value
