"""Losses that teach the labels, worked by hand. All the numbers are made of ln 3: σ(ln 3) = 3/4, σ(0) = 1/2."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from classgrow.parts.classification import BinaryCrossEntropy, CrossEntropy, labels_only, teacher_for_old
from classgrow.parts.heads import RectifiedCosineHead
from classgrow.parts.objective import Composable
from classgrow.views import BatchView, Outputs

MakeView = Callable[..., BatchView]
ValueOf = Callable[[Composable, BatchView], Tensor]
LN2, LN3 = math.log(2), math.log(3)


def says(logits: list[list[float]], reserved: list[list[float]] | None = None) -> Outputs:
    """Outputs of which only the logits matter."""
    values = torch.tensor(logits)
    extra = None if reserved is None else torch.tensor(reserved)
    return Outputs(torch.zeros(len(values), 2), values, torch.zeros(values.shape[1], 2), reserved=extra)


def test_binary_cross_entropy_of_two_features_and_two_embeddings(make_view: MakeView, value_of: ValueOf) -> None:
    """f = (1, 0) and (0, 1); w = (1, 0) and (0, 1), biases 0. F̄ = (1, 0, 1)/√2, so the cosine with the own class is
    1/√2 and 0 with the other; eta = √2·ln 3 makes the logits ln 3 and 0.

    Right labels: -ln(3/4) for the own class, -ln(1 - 1/2) for the other, twice; divided by 2 images · 2 classes:
    (2·ln(4/3) + 2·ln 2) / 4 = ½·ln(8/3) = 0.490415.
    Swapped labels: -ln(1 - 3/4) = ln 4 and -ln(1/2) = ln 2: (2·ln 4 + 2·ln 2) / 4 = ½·ln 8 = 1.039721.
    """
    head = RectifiedCosineHead().build(2)
    head.grow(2, torch.eye(2))
    head.bias.data = torch.zeros(2)  # type: ignore[union-attr]
    head.scale.data = torch.tensor(math.sqrt(2) * LN3)  # type: ignore[union-attr]
    with torch.no_grad():
        student = head(torch.eye(2))
    loss = BinaryCrossEntropy()
    assert float(value_of(loss, make_view([0, 1], student))) == pytest.approx(0.490415, abs=1e-6)
    assert float(value_of(loss, make_view([1, 0], student))) == pytest.approx(1.039721, abs=1e-6)


def test_binary_cross_entropy_is_a_mean_over_batch_and_classes(make_view: MakeView) -> None:
    """Six logits of 0 cost ln 2 each; the count is 2 images · 3 classes."""
    ((weight, total, count),) = BinaryCrossEntropy()(make_view([0, 2], says([[0.0] * 3] * 2)))
    assert (weight, count) == (1.0, 6.0)
    assert float(total) == pytest.approx(6 * LN2)
    ((_, total, count),) = BinaryCrossEntropy(class_sum=True)(make_view([0, 2], says([[0.0] * 3] * 2)))
    assert (float(total), count) == (pytest.approx(6 * LN2), 2.0)
    counts = [BinaryCrossEntropy(outputs=least)(make_view([0, 2], says([[0.0] * 3] * 2)))[0][2] for least in (2, 100)]
    assert counts == [6.0, 200.0]  # never over fewer outputs than there are


def test_the_teacher_answers_for_old_classes(make_view: MakeView, value_of: ValueOf) -> None:
    """One old and one new class, an exemplar of the old one. The teacher says σ(0) = ½ for the old class, which
    replaces the label: ½·ln(4/3) + ½·ln 4 = ½·ln(16/3) at logit ln 3. The new class, target 0, logit 0: ln 2.
    Mean of the two: ¼·ln(16/3) + ½·ln 2."""
    view = make_view([0], says([[LN3, 0.0]]), says([[0.0]]))
    assert teacher_for_old(view).tolist() == [[0.5, 0.0]]
    expected = math.log(16 / 3) / 4 + LN2 / 2
    assert float(value_of(BinaryCrossEntropy(teacher_for_old), view)) == pytest.approx(expected)
    assert str(BinaryCrossEntropy(teacher_for_old)) == "BCE(σ(a), [σ(a*)_old, y_new])"


def test_without_a_teacher_the_labels_stand(make_view: MakeView) -> None:
    view = make_view([1, 0], says([[0.0, 0.0], [0.0, 0.0]]))
    assert teacher_for_old(view).tolist() == labels_only(view).tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_reserved_outputs_have_target_zero_and_count(make_view: MakeView, value_of: ValueOf) -> None:
    """The seen class, right, at ln 3: ln(4/3). Two reserved outputs at ln 3 and 0: ln 4 and ln 2.
    Mean over three classes: ln(32/3) / 3."""
    view = make_view([0], says([[LN3]], reserved=[[LN3, 0.0]]))
    assert float(value_of(BinaryCrossEntropy(), view)) == pytest.approx(math.log(32 / 3) / 3)
    nothing_reserved = replace(view, student=says([[LN3]], reserved=[[]]))
    assert float(value_of(BinaryCrossEntropy(), nothing_reserved)) == pytest.approx(math.log(4 / 3))


def test_cross_entropy_is_a_mean_over_the_batch(make_view: MakeView, value_of: ValueOf) -> None:
    """softmax(ln 3, 0) = (3/4, 1/4): label 0 costs ln(4/3), label 1 costs ln 4; their mean is ½·ln(16/3)."""
    view = make_view([0, 1], says([[LN3, 0.0], [LN3, 0.0]]))
    assert float(value_of(CrossEntropy(), view)) == pytest.approx(math.log(16 / 3) / 2)


def test_cross_entropy_leaves_reserved_outputs_alone(make_view: MakeView, value_of: ValueOf) -> None:
    view = make_view([0], says([[LN3, 0.0]], reserved=[[100.0]]))
    assert float(value_of(CrossEntropy(), view)) == pytest.approx(math.log(4 / 3))
