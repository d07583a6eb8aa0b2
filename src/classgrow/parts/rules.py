"""From features and logits to classes: a rule is a value, and what it learns lies in named tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import torch
from torch import Tensor
from torch.nn import functional

from classgrow.parts.rows import without_row
from classgrow.views import Outputs

Tensors = dict[str, Tensor]


class Sample(Protocol):
    """Images as the network sees them now; features are computed when they are first asked for."""

    @property
    def labels(self) -> Tensor: ...

    @property
    def features(self) -> Tensor: ...

    @property
    def mirrored(self) -> Tensor | None:
        """Features of the same images mirrored left to right; None where that changes what an image means."""
        ...


@dataclass(frozen=True)
class Seen:
    """What a rule may be fitted from when a phase ends.

    exemplars  the images in memory, None without a memory
    images     the images of the phase itself, None where they are gone
    before     what this rule had fitted when the phase began; empty at first
    moved      whether features changed since then, so that `before` no longer fits them
    """

    classes: int
    exemplars: Sample | None
    images: Sample | None = None
    before: Tensors | None = None
    moved: bool = True


class Rule:
    """How a method answers. Subclasses are frozen dataclasses; a rule knows no file, no device and no network.

    `name` is its key in records, `title` its words in tables, `formula` how a paper writes it. A rule that is not
    `everyday` is recorded but left out of the usual tables.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    formula: ClassVar[str]
    everyday: ClassVar[bool] = True

    def applies(self, keeps_memory: bool, trains: bool) -> bool:
        """Whether a method can use it, given that it keeps exemplars and that it changes its network."""
        return True

    def fit(self, seen: Seen) -> Tensors | None:
        """What it has to know, as named tensors; None where it has nothing to learn it from."""
        return {}

    def scores(self, outputs: Outputs, fitted: Tensors) -> Tensor:
        """(N, classes), larger is better."""
        raise NotImplementedError

    def forget(self, fitted: Tensors, position: int) -> Tensors:
        """The fitted tensors without one class; here: without its row in each of them."""
        return {name: without_row(value, position) for name, value in fitted.items()}


@dataclass(frozen=True)
class LargestLogit(Rule):
    """The class with the largest logit (EEIL, BiC, Hou19, Mnemonics)."""

    name: ClassVar[str] = "head"
    title: ClassVar[str] = "head (largest output)"
    formula: ClassVar[str] = "argmax_c a_c(x)"

    def scores(self, outputs: Outputs, fitted: Tensors) -> Tensor:
        return outputs.logits


@dataclass(frozen=True)
class NearestClassMean(Rule):
    """The class whose mean of exemplars is nearest (iCaRL, FGP).

    mu_c = ½ (mean of f̄ over exemplars + mean of f̄ over mirrored exemplars), then unit length. Without `mirrored` the
    exemplars are taken as they are, which spares a second pass over all of them.
    """

    mirrored: bool = True

    name: ClassVar[str] = "nearest"
    title: ClassVar[str] = "nearest class mean"
    formula: ClassVar[str] = "argmin_c ‖μ_c − f̄(x)‖"

    def applies(self, keeps_memory: bool, trains: bool) -> bool:
        return keeps_memory

    def fit(self, seen: Seen) -> Tensors | None:
        return None if seen.exemplars is None else {"means": unit_means(seen.exemplars, seen.classes, self.mirrored)}

    def scores(self, outputs: Outputs, fitted: Tensors) -> Tensor:
        return -squared_distances_to(outputs.features, fitted["means"].to(outputs.features))


@dataclass(frozen=True)
class NearestRawMean(NearestClassMean):
    """The same with means of features that keep their length: an early variant, of use to compare with old files."""

    name: ClassVar[str] = "raw_nearest"
    title: ClassVar[str] = "nearest class mean, unnormalised"
    formula: ClassVar[str] = "argmin_c ‖mean f_c − f̄(x)‖"
    everyday: ClassVar[bool] = False

    def fit(self, seen: Seen) -> Tensors | None:
        return None if seen.exemplars is None else {"means": raw_means(seen.exemplars, seen.classes)}


def views_of(sample: Sample, mirrored: bool = True) -> list[Tensor]:
    """Features of the images, and of their mirror images where those mean the same and are asked for."""
    plain, other = sample.features, sample.mirrored if mirrored else None
    return [plain] if other is None else [plain, other]


def unit_means(sample: Sample, classes: int, mirrored: bool = True) -> Tensor:
    """The mean direction of each class, (classes, d)."""
    views = views_of(sample, mirrored)
    per_view = [per_class_mean(functional.normalize(view), sample.labels, classes) for view in views]
    return functional.normalize(torch.stack(per_view).sum(0))


def raw_means(sample: Sample, classes: int) -> Tensor:
    """The mean feature of each class, (classes, d)."""
    return torch.stack([per_class_mean(view, sample.labels, classes) for view in views_of(sample)]).mean(0)


def per_class_mean(values: Tensor, labels: Tensor, classes: int) -> Tensor:
    """Mean of the rows of each label, (classes, d)."""
    totals = torch.zeros(classes, values.shape[1], dtype=values.dtype, device=values.device)
    totals.index_add_(0, labels, values)
    return totals / torch.bincount(labels, minlength=classes)[:, None].to(values)


def squared_distances_to(features: Tensor, means: Tensor) -> Tensor:
    """||mu_c - f̄||² for unit test features (single view), (N, classes)."""
    return torch.cdist(functional.normalize(features), means, compute_mode="donot_use_mm_for_euclid_dist").square()
