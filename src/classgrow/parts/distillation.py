"""Losses that hold on to what the teacher (the network before this phase, marked *) knew."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from classgrow.parts.objective import Term
from classgrow.views import BatchView, Outputs


class Distillation(Term):
    """A term that compares student and teacher; absent in the first phase."""

    needs_teacher = True

    def measure(self, view: BatchView) -> tuple[Tensor, Tensor | float]:
        assert view.teacher is not None
        return self.compare(view, view.student, view.teacher)

    def compare(self, view: BatchView, student: Outputs, teacher: Outputs) -> tuple[Tensor, Tensor | float]:
        raise NotImplementedError


def squared_distances(outputs: Outputs, old: int) -> Tensor:
    """d_ik = ||f̄_k - w̄_i||² between unit features and unit embeddings of the old classes, (N, old).

    Unit length is taken without the head's augmentation (d entries, not d + 1), as FGP's code does.
    """
    features = functional.normalize(outputs.features)
    embeddings = functional.normalize(outputs.embeddings[:old])
    return 2.0 - 2.0 * functional.linear(features, embeddings)


def nearness(squared_distance: Tensor) -> Tensor:
    """FGP's gamma = exp(-d*/2): strong edges of the old graph matter more."""
    return torch.exp(-squared_distance / 2)


def uniform(squared_distance: Tensor) -> Tensor:
    """gamma = 1: every edge matters the same."""
    return torch.ones_like(squared_distance)


EdgeWeight = Callable[[Tensor], Tensor]
GAMMA: dict[EdgeWeight, str] = {nearness: "exp(−d*/2)·", uniform: ""}


class FeatureGraph(Distillation):
    """FGP, Eq. 5: sum over old classes of gamma(d*) · (d - d*)², mean over the batch."""

    def __init__(self, weight: EdgeWeight = nearness) -> None:
        self.weight = weight
        self.formula = f"Σ_old {GAMMA.get(weight, 'γ(d*)·')}(d − d*)²"

    def compare(self, view: BatchView, student: Outputs, teacher: Outputs) -> tuple[Tensor, float]:
        old = view.counts.old
        then = squared_distances(teacher, old).detach()
        now = squared_distances(student, old)
        return (self.weight(then) * (now - then).square()).sum(), float(len(now))
