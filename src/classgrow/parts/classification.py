"""Losses that teach the labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from classgrow.parts.objective import Term, function_text, number_text
from classgrow.views import BatchView

Targets = Callable[[BatchView], Tensor]


def labels_only(view: BatchView) -> Tensor:
    """One-hot labels for old and new classes alike, (N, seen)."""
    return functional.one_hot(view.labels, view.counts.seen).to(view.student.logits)


def teacher_for_old(view: BatchView) -> Tensor:
    """iCaRL: the old classes' columns hold the teacher's sigmoids, for every sample; the others the labels."""
    targets = labels_only(view)
    if view.teacher is not None:
        old = view.counts.old
        targets[:, :old] = torch.sigmoid(view.teacher.logits[:, :old].detach())
    return targets


TARGETS: dict[Targets, str] = {labels_only: "y", teacher_for_old: "[σ(a*)_old, y_new]"}


@dataclass(frozen=True, repr=False)
class BinaryCrossEntropy(Term):
    """BCE between sigmoid(logit) and its target, averaged over the batch and over classes.

    Reserved outputs (classes not seen yet) take part with target 0, as in iCaRL's code: the mean is then over all
    classes there will ever be. `outputs`: the mean is over so many at least, as if the rest had no loss. `class_sum`
    divides by the batch alone, as FGP's Eq. 6 is printed (needs lr / n).
    """

    targets: Targets = labels_only
    class_sum: bool = False
    outputs: float = 1

    @property
    def heeds_teacher(self) -> bool:  # type: ignore[override] # follows the settings
        return self.targets is not labels_only

    @property
    def formula(self) -> str:  # type: ignore[override] # follows the settings
        """BCE is the mean over outputs, BCE_≥100 that over 100 at least, and Σ_c BCE the sum."""
        at_least = f"_≥{number_text(self.outputs)}" if self.outputs > 1 else ""
        name = "Σ_c BCE" if self.class_sum else f"BCE{at_least}"
        return f"{name}(σ(a), {TARGETS.get(self.targets) or function_text(self.targets)})"

    def measure(self, view: BatchView) -> tuple[Tensor, float]:
        logits, targets = view.student.logits, self.targets(view)
        reserved = view.student.reserved
        if reserved is not None and reserved.shape[1]:
            logits = torch.cat((logits, reserved), dim=1)
            targets = functional.pad(targets, (0, reserved.shape[1]))
        total = functional.binary_cross_entropy_with_logits(logits, targets, reduction="sum")
        return total, float(len(logits) * (1 if self.class_sum else max(logits.shape[1], self.outputs)))


@dataclass(frozen=True, repr=False)
class CrossEntropy(Term):
    """Softmax cross-entropy over all classes seen, averaged over the batch."""

    formula = "CE(softmax(a), y)"

    def measure(self, view: BatchView) -> tuple[Tensor, float]:
        return functional.cross_entropy(view.student.logits, view.labels, reduction="sum"), float(len(view.labels))
