"""Terms, factors, objectives and methods are values: equal where their settings are, and told apart in print."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace

import pytest
import torch
from torch import Tensor

from classgrow.methods.bic import bic
from classgrow.methods.catalogue import METHODS
from classgrow.methods.fgp import fgp
from classgrow.methods.icarl import icarl
from classgrow.parts.classification import BinaryCrossEntropy, CrossEntropy, labels_only, teacher_for_old
from classgrow.parts.distillation import (
    FeatureGraph,
    GraphCrossEntropy,
    LessForget,
    MarginRanking,
    SigmoidDistillation,
    SoftmaxDistillation,
    nearness,
    uniform,
)
from classgrow.parts.objective import ONE, Constant, Objective, Product, Scale, Term, as_scale, number_text
from classgrow.parts.scales import per_class, sqrt_old_over_new, sqrt_old_share
from classgrow.views import BatchView, ClassCounts


def half(view: BatchView) -> Tensor:
    return 0.5 * labels_only(view)


def steep(squared_distance: Tensor) -> Tensor:
    return squared_distance.exp()


EVERY_TERM: tuple[Callable[[], Term], ...] = (
    BinaryCrossEntropy,
    lambda: BinaryCrossEntropy(teacher_for_old),
    lambda: BinaryCrossEntropy(half),
    lambda: BinaryCrossEntropy(class_sum=True),
    lambda: BinaryCrossEntropy(outputs=4),
    lambda: BinaryCrossEntropy(outputs=100),
    lambda: BinaryCrossEntropy(teacher_for_old, outputs=100),
    CrossEntropy,
    FeatureGraph,
    lambda: FeatureGraph(augmented=True),
    lambda: FeatureGraph(uniform),
    lambda: FeatureGraph(uniform, augmented=True),
    lambda: FeatureGraph(steep),
    GraphCrossEntropy,
    SigmoidDistillation,
    SoftmaxDistillation,
    lambda: SoftmaxDistillation(2.0000001),
    lambda: SoftmaxDistillation(per_block=True),
    lambda: SoftmaxDistillation(relative=True),
    LessForget,
    MarginRanking,
    lambda: MarginRanking(1),
    lambda: MarginRanking(2, 0.2),
)


def test_equal_settings_make_equal_terms_and_nothing_else_does() -> None:
    once, again = [make() for make in EVERY_TERM], [make() for make in EVERY_TERM]
    for row, one in enumerate(once):
        assert [one == other for other in again] == [row == column for column in range(len(again))]
    assert {one: hash(one) for one in once} == {one: hash(one) for one in again}


def test_every_setting_that_changes_the_result_stands_in_the_formula() -> None:
    formulas = [make().formula for make in EVERY_TERM]
    assert len(set(formulas)) == len(formulas)
    assert formulas[:7] == [
        "BCE(σ(a), y)",
        "BCE(σ(a), [σ(a*)_old, y_new])",
        "BCE(σ(a), half)",
        "Σ_c BCE(σ(a), y)",
        "BCE_≥4(σ(a), y)",
        "BCE_≥100(σ(a), y)",
        "BCE_≥100(σ(a), [σ(a*)_old, y_new])",
    ]
    assert [
        one.formula for one in (FeatureGraph(augmented=True), FeatureGraph(uniform, True), FeatureGraph(steep))
    ] == [
        "Σ_old exp(−d_aug*/2)·(d_aug − d_aug*)²",
        "Σ_old (d_aug − d_aug*)²",
        "Σ_old steep(d*)·(d − d*)²",
    ]
    # a sum over classes is not divided by any number of outputs
    assert BinaryCrossEntropy(class_sum=True, outputs=100).formula == "Σ_c BCE(σ(a), y)"


def test_terms_cannot_be_changed_and_print_their_settings() -> None:
    term = FeatureGraph(nearness)
    with pytest.raises(FrozenInstanceError):
        term.augmented = True  # type: ignore[misc]
    assert repr(term) == "FeatureGraph(weight=nearness, augmented=False)"
    assert repr(CrossEntropy() + 0.1 * sqrt_old_share * term) == f"CrossEntropy() + 0.1·√(old/seen) * {term!r}"
    assert repr(2 * sqrt_old_share) == "Scale(2·√(old/seen))"
    assert replace(term, augmented=True) == FeatureGraph(augmented=True)


class Plain(Term):
    """A term as a plain class, with a tensor among its attributes."""

    formula = "P"

    def __init__(self, weight: float, weights: Tensor | None = None) -> None:
        self.weight, self.weights = weight, weights

    def measure(self, view: BatchView) -> tuple[Tensor, float]:
        return torch.tensor(self.weight), 1.0


class Other(Plain):
    pass


def test_plain_classes_are_equal_by_their_attributes() -> None:
    assert Plain(1.0) == Plain(1.0) and hash(Plain(1.0)) == hash(Plain(1.0))
    assert Plain(1.0) != Plain(2.0) and Plain(1.0) != Other(1.0) and Plain(1.0) != CrossEntropy()
    ones = torch.ones(2)
    assert Plain(1.0, ones) == Plain(1.0, ones.clone()) != Plain(1.0, torch.zeros(2))
    assert Plain(1.0, ones) != Plain(1.0)
    assert repr(Plain(0.5)) == "Plain(weight=0.5, weights=None)"
    assert 0.5 * Plain(1.0) + CrossEntropy() == 0.5 * Plain(1.0) + CrossEntropy()


def test_products_are_values_with_the_bits_of_their_grouping() -> None:
    """0.1·3 = 0.30000000000000004 and 3·0.7 = 2.0999999999999996: (0.1·3)·0.7 = 0.21000000000000002, and
    0.1·(3·0.7) = 0.20999999999999996."""
    a, b, c = as_scale(0.1), as_scale(3), as_scale(0.7)
    counts = ClassCounts(1, 1)
    assert (a * b * c).factor(counts) == 0.1 * 3.0 * 0.7 == 0.21000000000000002
    assert (a * (b * c)).factor(counts) == 0.1 * (3.0 * 0.7) == 0.20999999999999996
    assert a * b * c == 0.1 * b * 0.7 != a * (b * c)
    assert 0.1 * (sqrt_old_share * CrossEntropy()) == (0.1 * sqrt_old_share) * CrossEntropy()
    lucir = 5.0 * per_class * sqrt_old_over_new
    assert lucir.factor(ClassCounts(6, 2)) == 5.0 * (1.0 / 8) * (6 / 2) ** 0.5
    assert isinstance(lucir.factor, Product)


def test_one_is_no_factor() -> None:
    assert 1 * sqrt_old_share == sqrt_old_share == sqrt_old_share * 1.0
    assert as_scale(1) == ONE == ONE * ONE == Scale("1", Constant(1.0))
    assert str(0.9999999 * CrossEntropy()) == "0.9999999·CE(softmax(a), y)"
    assert 1 * CrossEntropy() == Objective(CrossEntropy().terms())
    assert [number_text(value) for value in (0.1, 5.0, 1e-5, 0.1234567)] == ["0.1", "5", "1e-05", "0.1234567"]


def test_methods_are_values() -> None:
    for factory in METHODS.values():
        assert factory() == factory() and hash(factory()) == hash(factory())
    assert fgp(0.2) != fgp() and icarl(outputs=4) != icarl(outputs=100) and bic(held_out=0.2) != bic()
