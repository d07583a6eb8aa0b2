"""Losses that hold on to what the teacher (the network before this phase, marked *) knew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from classgrow.errors import ClassgrowError
from classgrow.parts.objective import Term, function_text, number_text
from classgrow.views import BatchView, Outputs


class Distillation(Term):
    """A term that compares student and teacher; absent in the first phase."""

    needs_teacher = True

    def measure(self, view: BatchView) -> tuple[Tensor, Tensor | float]:
        assert view.teacher is not None
        return self.compare(view, view.student, view.teacher)

    def compare(self, view: BatchView, student: Outputs, teacher: Outputs) -> tuple[Tensor, Tensor | float]:
        raise NotImplementedError


def squared_distances(outputs: Outputs, old: int, augmented: bool = False) -> Tensor:
    """d_ik = ||f̄_k - w̄_i||² between unit features and unit embeddings of the old classes, (N, old).

    Unit length is taken without the head's augmentation (d entries), as FGP's code does; `augmented` reads the paper
    to the letter (d + 1 entries: then <W̄, F̄> is what the rectified head answers before its scale).
    """
    if augmented:
        assert outputs.cosines is not None
        return 2.0 - 2.0 * outputs.cosines[:, :old]
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
GAMMA: dict[EdgeWeight, str] = {nearness: "exp(−{}*/2)·", uniform: ""}


@dataclass(frozen=True, repr=False)
class FeatureGraph(Distillation):
    """FGP, Eq. 5: sum over old classes of gamma(d*) · (d - d*)², mean over the batch."""

    weight: EdgeWeight = nearness
    augmented: bool = False

    @property
    def formula(self) -> str:  # type: ignore[override] # follows the settings
        d = "d_aug" if self.augmented else "d"
        gamma = GAMMA.get(self.weight, f"{function_text(self.weight)}({{}}*)·").format(d)
        return f"Σ_old {gamma}({d} − {d}*)²"

    def compare(self, view: BatchView, student: Outputs, teacher: Outputs) -> tuple[Tensor, float]:
        old = view.counts.old
        then = squared_distances(teacher, old, self.augmented).detach()
        now = squared_distances(student, old, self.augmented)
        return (self.weight(then) * (now - then).square()).sum(), float(len(now))


@dataclass(frozen=True, repr=False)
class GraphCrossEntropy(Distillation):
    """FGP's appendix: the same graph, but edges p = exp(-d/2) are compared by binary cross-entropy (asymmetric)."""

    formula = "Σ_old exp(−d*/2)·BCE(p*, p), p = exp(−d/2)"

    def compare(self, view: BatchView, student: Outputs, teacher: Outputs) -> tuple[Tensor, float]:
        then = squared_distances(teacher, view.counts.old).detach()
        now = squared_distances(student, view.counts.old)
        edge_then = nearness(then).clamp(max=1 - 1e-6)
        edge_now = nearness(now).clamp(max=1 - 1e-6)
        discrepancy = -edge_then * edge_now.log() - (1 - edge_then) * torch.log1p(-edge_now)
        return (nearness(then) * discrepancy).sum(), float(len(now))


@dataclass(frozen=True, repr=False)
class SigmoidDistillation(Distillation):
    """FGP, Eq. 1 (iCaRL's distillation as a term of its own): BCE between sigmoids of the old classes.

    Divided by the batch and by the classes seen, so that it weighs as much per class as the averaged BCE beside it.
    """

    formula = "Σ_old BCE(σ(a*), σ(a))/seen"

    def compare(self, view: BatchView, student: Outputs, teacher: Outputs) -> tuple[Tensor, float]:
        old = view.counts.old
        targets = torch.sigmoid(teacher.logits[:, :old].detach())
        total = functional.binary_cross_entropy_with_logits(student.logits[:, :old], targets, reduction="sum")
        return total, float(len(targets) * view.counts.seen)


@dataclass(frozen=True, repr=False)
class SoftmaxDistillation(Distillation):
    """Cross-entropy between the teacher's and the student's softened outputs, mean over the batch, no T² factor.

    `per_block`: every phase's classes have a softmax and a loss of their own (EEIL); otherwise one softmax spans all
    classes the teacher knows. `relative` subtracts the teacher's entropy, which makes it the KL divergence.
    """

    temperature: float = 2.0
    per_block: bool = False
    relative: bool = False

    def __post_init__(self) -> None:
        if self.temperature <= 0:
            raise ClassgrowError(f"A temperature of {self.temperature:g} softens nothing: give one above 0.")

    @property
    def formula(self) -> str:  # type: ignore[override] # follows the settings
        name, sum_sign = ("KL" if self.relative else "H"), ("Σ_blocks " if self.per_block else "")
        temperature = number_text(self.temperature)
        return f"{sum_sign}{name}(softmax(a*/{temperature}), softmax(a/{temperature}))"

    def compare(self, view: BatchView, student: Outputs, teacher: Outputs) -> tuple[Tensor, float]:
        known = teacher.logits.shape[1]
        total = student.logits.new_zeros(())
        start = 0
        for size in view.blocks if self.per_block else (known,):
            if start + size > known:
                break
            then = functional.log_softmax(teacher.logits[:, start : start + size].detach() / self.temperature, dim=1)
            now = functional.log_softmax(student.logits[:, start : start + size] / self.temperature, dim=1)
            total = total - (then.exp() * ((now - then) if self.relative else now)).sum()
            start += size
        return total, float(len(student.logits))


@dataclass(frozen=True, repr=False)
class LessForget(Distillation):
    """Hou19, Eq. 6: features keep their direction, mean of 1 - <f̄*, f̄>."""

    formula = "(1 − ⟨f̄*, f̄⟩)"

    def compare(self, view: BatchView, student: Outputs, teacher: Outputs) -> tuple[Tensor, float]:
        similarity = functional.cosine_similarity(teacher.features.detach(), student.features)
        return (1 - similarity).sum(), float(len(similarity))


@dataclass(frozen=True, repr=False)
class MarginRanking(Distillation):
    """Hou19, Eq. 8: an exemplar's own cosine beats those of the K nearest new classes by a margin.

    Anchors are samples of old classes; the mean is over anchors times K and is 0 where a batch has none.
    """

    hardest: int = 2
    margin: float = 0.5

    @property
    def formula(self) -> str:  # type: ignore[override] # follows the settings
        return f"Σ_hardest {self.hardest} max(0, {number_text(self.margin)} − cos_y + cos_new)"

    def compare(self, view: BatchView, student: Outputs, teacher: Outputs) -> tuple[Tensor, Tensor]:
        assert student.cosines is not None, "margin ranking needs a cosine head"
        anchors = view.labels < view.counts.old
        own = student.cosines.gather(1, view.labels[:, None])
        rivals = student.cosines[:, view.counts.old :].topk(min(self.hardest, view.counts.new), dim=1).values
        violation = functional.relu(self.margin - own + rivals) * anchors[:, None]
        return violation.sum(), anchors.sum() * rivals.shape[1]
