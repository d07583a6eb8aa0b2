"""The feature-graph term, worked by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from classgrow.parts.distillation import FeatureGraph, nearness, squared_distances, uniform
from classgrow.parts.objective import Composable
from classgrow.views import BatchView, Outputs

MakeView = Callable[..., BatchView]
ValueOf = Callable[[Composable, BatchView], Tensor]


def seen_by(features: list[list[float]], embeddings: list[list[float]]) -> Outputs:
    """Outputs of which features and embeddings matter."""
    f, w = torch.tensor(features, requires_grad=True), torch.tensor(embeddings, requires_grad=True)
    return Outputs(f, torch.zeros(len(features), len(embeddings)), w)


# f̄ = (0.6, 0.8); w̄ = (1, 0), (0, 1) and a new class that must not matter.
STUDENT = ([[3.0, 4.0]], [[2.0, 0.0], [0.0, 1.0], [-5.0, 1.0]])
# f̄* = (1, 0); w̄* = (1, 0), (0, 1).
TEACHER = ([[1.0, 0.0]], [[1.0, 0.0], [0.0, 3.0]])


def test_squared_distances_by_hand() -> None:
    """d = 2 - 2·<f̄, w̄>: 2 - 1.2 = 0.8 and 2 - 1.6 = 0.4 now; 0 and 2 then."""
    torch.testing.assert_close(squared_distances(seen_by(*STUDENT), 2), torch.tensor([[0.8, 0.4]]))
    torch.testing.assert_close(squared_distances(seen_by(*TEACHER), 2), torch.tensor([[0.0, 2.0]]))


def test_squared_distances_of_augmented_vectors() -> None:
    """2 - 2·<W̄, F̄> from the head's cosines 0.6 and -1: 0.8 and 4."""
    outputs = replace(seen_by(*STUDENT), cosines=torch.tensor([[0.6, -1.0, 1.0]]))
    torch.testing.assert_close(squared_distances(outputs, 2, augmented=True), torch.tensor([[0.8, 4.0]]))


def test_edge_weights() -> None:
    distances = torch.tensor([0.0, 2.0, 4.0])
    torch.testing.assert_close(nearness(distances), torch.tensor([1.0, math.exp(-1), math.exp(-2)]))
    assert uniform(distances).tolist() == [1.0, 1.0, 1.0]


def test_feature_graph_by_hand(make_view: MakeView, value_of: ValueOf) -> None:
    """d = (0.8, 0.4), d* = (0, 2): exp(0)·0.8² + exp(-1)·1.6² = 0.64 + 2.56·0.367879 = 1.581771.
    With equal weights: 0.64 + 2.56 = 3.2."""
    view = make_view([0], seen_by(*STUDENT), seen_by(*TEACHER))
    assert value_of(FeatureGraph(), view).item() == pytest.approx(1.581771, abs=1e-6)
    assert value_of(FeatureGraph(uniform), view).item() == pytest.approx(3.2, abs=1e-6)


def test_sum_over_old_classes_and_mean_over_all_images(make_view: MakeView, value_of: ValueOf) -> None:
    """A second image, of the new class, where nothing moved (d = d*) adds 0 to the sum and 1 to the count."""
    features, embeddings = STUDENT
    student = seen_by([*features, [7.0, 0.0]], embeddings)
    teacher = seen_by([*TEACHER[0], [1.0, 0.0]], TEACHER[1])
    view = make_view([0, 2], student, teacher)
    ((weight, total, count),) = FeatureGraph()(view)
    assert (weight, count) == (1.0, 2.0)
    assert float(total.detach()) == pytest.approx(1.581771, abs=1e-6)
    assert value_of(FeatureGraph(), view).item() == pytest.approx(1.581771 / 2, abs=1e-6)


def test_gradients_reach_features_and_old_rows_only(make_view: MakeView, value_of: ValueOf) -> None:
    student, teacher = seen_by(*STUDENT), seen_by(*TEACHER)
    value_of(FeatureGraph(), make_view([0], student, teacher)).backward()  # type: ignore[no-untyped-call]
    assert student.features.grad is not None and bool(student.features.grad.any())
    assert student.embeddings.grad is not None
    assert student.embeddings.grad.any(1).tolist() == [True, True, False]
    assert teacher.features.grad is None and teacher.embeddings.grad is None


def test_no_term_in_the_first_phase(make_view: MakeView) -> None:
    assert FeatureGraph()(make_view([0], seen_by(*STUDENT))) == []
    assert FeatureGraph().needs_teacher
    assert [str(FeatureGraph(weight)) for weight in (nearness, uniform)] == [
        "Σ_old exp(−d*/2)·(d − d*)²",
        "Σ_old (d − d*)²",
    ]
