"""The algebra of objectives, and the factors in front of a loss."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from classgrow.parts import scales
from classgrow.parts.classification import BinaryCrossEntropy
from classgrow.parts.distillation import FeatureGraph
from classgrow.parts.objective import Scale, Term
from classgrow.parts.scales import sqrt_old_share
from classgrow.views import BatchView, ClassCounts, Outputs


class Constant(Term):
    """Totals `value` over a count of `number`."""

    def __init__(self, formula: str, value: float, number: float = 1.0, needs_teacher: bool = False) -> None:
        self.formula, self.value, self.number, self.needs_teacher = formula, value, number, needs_teacher

    def measure(self, view: BatchView) -> tuple[Tensor, float]:
        return torch.tensor(self.value), self.number


A = Constant("A", 3.0, number=2.0)
B = Constant("B", 5.0, needs_teacher=True)
OUTPUTS = Outputs(torch.zeros(1, 2), torch.zeros(1, 4), torch.zeros(4, 2))
OLD_AND_NEW = ClassCounts(1, 3)


def view(teacher: Outputs | None) -> BatchView:
    return BatchView(torch.zeros(1, dtype=torch.long), OUTPUTS, teacher, OLD_AND_NEW, (1, 3))


def test_sums_and_factors() -> None:
    """2·(A + √(1/4)·B) + A: weights 2, 2·0.5 = 1 and 1 on totals 3/2, 5 and 3/2."""
    objective = 2 * (A + sqrt_old_share * B) + A
    parts = [(part.weight, float(part.total), part.number) for part in objective(view(OUTPUTS))]
    assert parts == [(2.0, 3.0, 2.0), (1.0, 5.0, 1.0), (1.0, 3.0, 2.0)]
    assert str(objective) == "2·A + 2·√(old/seen)·B + A"


def test_terms_that_need_a_teacher_wait_for_one() -> None:
    objective = A + B
    assert objective.reads_teacher and not A.reads_teacher
    assert [float(part.total) for part in objective(view(None))] == [3.0]
    assert [float(part.total) for part in objective(view(OUTPUTS))] == [3.0, 5.0]


def test_building_leaves_the_parts_as_they_were() -> None:
    first = A + B
    text = str(first)
    _ = 3 * first + A
    assert str(first) == text == "A + B"


def test_factors_multiply_in_any_order() -> None:
    for scale in (0.1 * sqrt_old_share, sqrt_old_share * 0.1):
        assert scale.factor(ClassCounts(10, 10)) == pytest.approx(0.0707107)
        assert isinstance(scale, Scale)
    assert str(0.1 * sqrt_old_share * A) == "0.1·√(old/seen)·A"
    assert str(0.1 * (sqrt_old_share * A)) == "0.1·√(old/seen)·A"
    assert str(1 * A) == "A"


def test_formula_of_fgp() -> None:
    objective = BinaryCrossEntropy() + 0.1 * sqrt_old_share * FeatureGraph()
    assert str(objective) == "BCE(σ(a), y) + 0.1·√(old/seen)·Σ_old exp(−d*/2)·(d − d*)²"


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        (10, [0.0707, 0.0816, 0.0866, 0.0894, 0.0913, 0.0926, 0.0935, 0.0943, 0.0949]),
        (50, [0.0913, 0.0926, 0.0935, 0.0943, 0.0949]),
    ],
)
def test_strength_of_fgp_by_phase(first: int, expected: list[float]) -> None:
    """FGP: λ = 0.1·√(old/seen) with ten new classes a phase, up to 100."""
    scale = 0.1 * sqrt_old_share
    found = [round(scale.factor(ClassCounts(old, 10)), 4) for old in range(first, 100, 10)]
    assert found == expected


def test_the_other_ratios() -> None:
    """With 6 old and 2 new classes: √3, 3/4, 1/4, 1/8. Hou19 from 50, base 5: 11.18, 12.25, 13.23, 14.14, 15.0."""
    counts = ClassCounts(6, 2)
    assert scales.sqrt_old_over_new.factor(counts) == pytest.approx(3**0.5)
    assert scales.old_share.factor(counts) == 0.75
    assert scales.new_share.factor(counts) == 0.25
    assert scales.per_class.factor(counts) == 0.125
    hou19 = 5 * scales.sqrt_old_over_new
    found = [round(hou19.factor(ClassCounts(old, 10)), 2) for old in range(50, 100, 10)]
    assert found == [11.18, 12.25, 13.23, 14.14, 15.0]
