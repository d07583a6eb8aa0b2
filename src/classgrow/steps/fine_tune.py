"""Train the last stages of a network that has learned before: its first ones see edges and colours well enough."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import nn

from classgrow.errors import ClassgrowError
from classgrow.state import State
from classgrow.steps.declared import Declares, declared
from classgrow.steps.phase import Phase, Step


@dataclass(frozen=True)
class FineTune:
    """`train` with the first layers as they are: `frozen` is their share of all layers, counted from the image on.

    Frozen layers keep their batch-norm statistics too, so that they answer as they did before.
    """

    train: Step
    frozen: float = 0.75

    def __post_init__(self) -> None:
        if not 0 <= self.frozen < 1:
            raise ClassgrowError(
                f"A share of {self.frozen:g} of the layers cannot be frozen: give one from 0 to below 1."
            )

    @property
    def declares(self) -> Declares:
        inner = declared(self.train)
        change = inner.with_objective
        if change is None:
            return inner
        return replace(inner, with_objective=lambda objective: replace(self, train=change(objective)))

    def run(self, state: State, phase: Phase) -> None:
        layers = layers_of(state.network.backbone)
        first = layers[: int(self.frozen * len(layers))]
        try:
            set_learning(first, False)
            self.train.run(state, phase)
        finally:
            set_learning(first, True)

    def __str__(self) -> str:
        return f"{self.train}, with {self.frozen:.0%} of the layers frozen"


def layers_of(backbone: nn.Module) -> list[nn.Module]:
    """Every module with parameters of its own, in the order in which the backbone lists them."""
    return [module for module in backbone.modules() if next(module.parameters(recurse=False), None) is not None]


def set_learning(layers: list[nn.Module], learning: bool) -> None:
    for layer in layers:
        for parameter in layer.parameters(recurse=False):
            parameter.requires_grad_(learning)
