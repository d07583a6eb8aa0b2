"""From features and logits to a class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import torch
from torch import Tensor
from torch.nn import functional

RuleName = Literal["nearest", "head"]


class Rule(Protocol):
    """How a method answers: `name` is the accuracy that counts in its tables."""

    name: ClassVar[RuleName]
    formula: ClassVar[str]


@dataclass(frozen=True)
class NearestClassMean:
    """The class whose mean of exemplars is nearest (iCaRL, FGP)."""

    name: ClassVar[RuleName] = "nearest"
    formula: ClassVar[str] = "argmin_c ‖μ_c − f̄(x)‖"


@dataclass(frozen=True)
class LargestLogit:
    """The class with the largest logit (EEIL, BiC, Hou19, Mnemonics)."""

    name: ClassVar[RuleName] = "head"
    formula: ClassVar[str] = "argmax_c a_c(x)"


@dataclass(frozen=True)
class ClassMeans:
    """Means of exemplars, (classes, d): of unit features and renormalised, and of raw features (an early variant)."""

    unit: Tensor
    raw: Tensor


def class_means(features: Tensor, mirrored: Tensor | None, labels: Tensor, classes: int) -> ClassMeans:
    """mu_c = ½ (mean of f̄ over exemplars + mean of f̄ over mirrored exemplars), then unit length.

    Where mirroring changes the meaning of an image (digits) `mirrored` is None and the first half stands alone.
    """
    views = [features] if mirrored is None else [features, mirrored]
    unit = sum(per_class_mean(functional.normalize(view), labels, classes) for view in views)
    raw = sum(per_class_mean(view, labels, classes) for view in views)
    assert isinstance(unit, Tensor) and isinstance(raw, Tensor)
    return ClassMeans(functional.normalize(unit), raw / len(views))


def per_class_mean(values: Tensor, labels: Tensor, classes: int) -> Tensor:
    """Mean of the rows of each label, (classes, d)."""
    totals = torch.zeros(classes, values.shape[1], dtype=values.dtype, device=values.device)
    totals.index_add_(0, labels, values)
    return totals / torch.bincount(labels, minlength=classes)[:, None].to(values)


def nearest_mean(features: Tensor, means: Tensor) -> Tensor:
    """argmin_c ||mu_c - f̄||² for unit test features (single view)."""
    return squared_distances_to(features, means).argmin(1)


def squared_distances_to(features: Tensor, means: Tensor) -> Tensor:
    """||mu_c - f̄||², (N, classes)."""
    return torch.cdist(functional.normalize(features), means, compute_mode="donot_use_mm_for_euclid_dist").square()
