"""Batches small enough to work out by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from classgrow.parts.objective import Composable
from classgrow.views import BatchView, ClassCounts, Outputs

MakeView = Callable[..., BatchView]
ValueOf = Callable[[Composable, BatchView], Tensor]


@pytest.fixture
def make_view() -> MakeView:
    """A batch from labels and outputs; the classes the teacher does not know are new."""

    def make(labels: list[int], student: Outputs, teacher: Outputs | None = None) -> BatchView:
        seen = student.logits.shape[1]
        old = 0 if teacher is None else teacher.logits.shape[1]
        blocks = (seen,) if old == 0 else (old, seen - old)
        return BatchView(torch.tensor(labels), student, teacher, ClassCounts(old, seen - old), blocks)

    return make


@pytest.fixture
def value_of() -> ValueOf:
    """The number the engine would minimise: every term's weight · total / count, added up."""

    def value(objective: Composable, view: BatchView) -> Tensor:
        return torch.stack([torch.as_tensor(w * total / count) for w, total, count in objective(view)]).sum()

    return value
