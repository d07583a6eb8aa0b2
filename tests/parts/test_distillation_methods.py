"""The distillation terms of the other methods, worked by hand. σ(ln 3) = 3/4, softmax(ln 3, 0) = (3/4, 1/4)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from classgrow.data.catalogue import DATASETS
from classgrow.data.labelled import LabelledImages
from classgrow.engine.loop import Training
from classgrow.engine.runtime import Execution, Runtime
from classgrow.networks.network import Network
from classgrow.parts.classification import BinaryCrossEntropy, CrossEntropy, teacher_for_old
from classgrow.parts.distillation import (
    GraphCrossEntropy,
    LessForget,
    MarginRanking,
    SigmoidDistillation,
    SoftmaxDistillation,
)
from classgrow.parts.heads import CosineHead
from classgrow.parts.objective import Composable
from classgrow.parts.scales import new_share, old_share, per_class, sqrt_old_over_new
from classgrow.recipes import recipe_for
from classgrow.specs.training import inputs_of
from classgrow.views import BatchView, ClassCounts, Outputs

MakeView = Callable[..., BatchView]
ValueOf = Callable[[Composable, BatchView], Tensor]
LN2, LN3 = math.log(2), math.log(3)


def says(logits: list[list[float]], reserved: list[list[float]] | None = None) -> Outputs:
    """Outputs of which only the logits matter."""
    values = torch.tensor(logits)
    extra = None if reserved is None else torch.tensor(reserved)
    return Outputs(torch.zeros(len(values), 2), values, torch.zeros(values.shape[1], 2), reserved=extra)


def near(cosines: list[list[float]]) -> Outputs:
    """Outputs of which only the cosines matter."""
    values = torch.tensor(cosines, requires_grad=True)
    return Outputs(torch.zeros(len(values), 2), 10 * values, torch.zeros(values.shape[1], 2), cosines=values)


def seen_by(features: list[list[float]], embeddings: list[list[float]]) -> Outputs:
    """Outputs of which features and embeddings matter."""
    return Outputs(torch.tensor(features), torch.zeros(len(features), len(embeddings)), torch.tensor(embeddings))


def random(*shape: int, seed: int, learn: bool = False) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_(learn)


# --- sigmoids (FGP's L_dist_bce) -------------------------------------------------------------------------------------


def test_sigmoid_distillation_by_hand(make_view: MakeView, value_of: ValueOf) -> None:
    """Old classes: the teacher says ½ and ¾, the student ¾ and ½. ½·ln(4/3) + ½·ln 4 = ½·ln(16/3), and ln 2.
    Divided by 1 image · 3 classes seen: (½·ln(16/3) + ln 2) / 3 = 0.510045. The new class's logit does not matter."""
    view = make_view([0], says([[LN3, 0.0, 9.0]]), says([[0.0, LN3]]))
    assert float(value_of(SigmoidDistillation(), view)) == pytest.approx(0.510045, abs=1e-6)
    ((_, _, count),) = SigmoidDistillation()(view)
    assert count == 3.0


def test_icarls_loss_with_outputs_reserved_for_later(make_view: MakeView, value_of: ValueOf) -> None:
    """An image of the new class; classes: one old, one new, one of which nothing is known yet, in all 3.
    Old: the teacher says ½, the student ¾: ½·ln(16/3). New: target 1, σ(0) = ½: ln 2. Unseen: target 0, σ = ¾: ln 4.
    Mean over the three there will ever be: (½·ln(16/3) + 3·ln 2) / 3 = 0.972143."""
    view = make_view([1], says([[LN3, 0.0]], reserved=[[LN3]]), says([[0.0]], reserved=[[5.0, 5.0]]))
    loss = BinaryCrossEntropy(teacher_for_old)
    assert float(value_of(loss, view)) == pytest.approx(0.972143, abs=1e-6)
    ((_, _, count),) = loss(view)
    assert count == 3.0


# --- softmax (LwF, BiC, EEIL, FGP's L_dist_KL) -----------------------------------------------------------------------


def test_softmax_distillation_by_hand(make_view: MakeView, value_of: ValueOf) -> None:
    """T = 2: the teacher's (2·ln 3, 0) become (¾, ¼), the student's (0, 0) become (½, ½); the new class is left out.
    Cross-entropy ln 2, without any factor T²; less the teacher's entropy ¾·ln(4/3) + ¼·ln 4 it is KL = 0.130812."""
    view = make_view([0], says([[0.0, 0.0, 7.0]]), says([[2 * LN3, 0.0]]))
    assert float(value_of(SoftmaxDistillation(2.0), view)) == pytest.approx(LN2)
    assert float(value_of(SoftmaxDistillation(2.0, relative=True), view)) == pytest.approx(0.130812, abs=1e-6)


def test_softmax_distillation_is_a_mean_over_all_images(make_view: MakeView, value_of: ValueOf) -> None:
    """A second image where both say (¾, ¼): its cross-entropy is the entropy 0.562335. (ln 2 + 0.562335) / 2."""
    view = make_view([0, 2], says([[0.0, 0.0, 7.0], [2 * LN3, 0.0, 1.0]]), says([[2 * LN3, 0.0]] * 2))
    assert float(value_of(SoftmaxDistillation(2.0), view)) == pytest.approx((LN2 + 0.562335) / 2, abs=1e-6)


@pytest.mark.parametrize("known", [3, 6], ids=["old blocks only", "all blocks, after the first stage"])
def test_per_block_against_a_plain_loop(known: int, value_of: ValueOf) -> None:
    """EEIL: each block of classes has a softmax of its own. Blocks 2, 1 and 3; the teacher of the first stage knows
    the first two, the one of the second stage all three."""
    student, teacher = random(5, 6, seed=1), random(5, known, seed=2)
    view = BatchView(
        torch.tensor([0, 1, 2, 3, 5]),
        Outputs(torch.zeros(5, 2), student, torch.zeros(6, 2)),
        Outputs(torch.zeros(5, 2), teacher, torch.zeros(known, 2)),
        ClassCounts(3, 3),
        (2, 1, 3),
    )
    expected = 0.0
    for image in range(5):
        for block in ([0, 1], [2], [3, 4, 5]):
            if block[-1] >= known:
                continue
            then = [math.exp(float(teacher[image, k]) / 2) for k in block]
            now = [math.exp(float(student[image, k]) / 2) for k in block]
            for t, n in zip(then, now, strict=True):
                expected -= t / sum(then) * math.log(n / sum(now)) / 5
    assert float(value_of(SoftmaxDistillation(2.0, per_block=True), view)) == pytest.approx(expected)


def test_a_single_block_is_the_single_softmax(make_view: MakeView, value_of: ValueOf) -> None:
    view = make_view([0, 1], says([[0.3, -1.0, 2.0], [1.0, 0.0, 0.5]]), says([[1.0, 0.2], [0.0, 0.7]]))
    single, blocks = SoftmaxDistillation(2.0), SoftmaxDistillation(2.0, per_block=True)
    assert view.blocks == (2, 1)
    assert float(value_of(single, view)) == pytest.approx(float(value_of(blocks, view)))


@pytest.mark.parametrize("seed", range(5))
def test_divergence_is_never_negative_and_zero_where_nothing_changed(seed: int, value_of: ValueOf) -> None:
    def divergence(student: Tensor, teacher: Tensor) -> float:
        now, then = (Outputs(torch.zeros(4, 2), one, torch.zeros(one.shape[1], 2)) for one in (student, teacher))
        view = BatchView(torch.zeros(4, dtype=torch.long), now, then, ClassCounts(3, 2), (3, 2))
        return float(value_of(SoftmaxDistillation(2.0, relative=True), view))

    student = random(4, 5, seed=seed)
    assert divergence(student, random(4, 3, seed=seed + 10)) > 0
    assert divergence(student, student[:, :3] + 1.5) == pytest.approx(0, abs=1e-12)  # a softmax knows no offset


# --- Hou19 -----------------------------------------------------------------------------------------------------------


def test_less_forget_by_hand(make_view: MakeView, value_of: ValueOf) -> None:
    """f = (3, 4) against f* = (1, 0): 1 - 0.6 = 0.4. f = (0, 2) against (0, 5): the same direction, 0. Mean: 0.2."""
    student = seen_by([[3.0, 4.0], [0.0, 2.0]], [[1.0, 0.0]] * 3)
    teacher = seen_by([[1.0, 0.0], [0.0, 5.0]], [[1.0, 0.0]] * 2)
    assert float(value_of(LessForget(), make_view([0, 2], student, teacher))) == pytest.approx(0.2)


COSINES = [[0.6, 0.9, 0.5, -0.3, 0.3], [0.0, 0.0, 0.9, 0.8, 0.7], [0.0, 0.9, 0.3, 0.2, 0.1]]


def test_margin_ranking_by_hand(make_view: MakeView, value_of: ValueOf) -> None:
    """Two old classes, three new. Anchors are the images of old classes, the first and the third.
    First: own 0.6, hardest new 0.5 and 0.3: 0.5 - 0.6 + 0.5 = 0.4 and 0.2. Third: own 0.9, rivals 0.3 and 0.2: both
    beaten by more than 0.5, so 0. The old class's 0.9 is no rival. Mean over 2 anchors · 2: 0.6 / 4 = 0.15."""
    view = make_view([0, 2, 1], near(COSINES), near([[0.0, 0.0]] * 3))
    ((_, total, count),) = MarginRanking(hardest=2, margin=0.5)(view)
    assert (float(total.detach()), int(count)) == (pytest.approx(0.6), 4)
    assert value_of(MarginRanking(), view).item() == pytest.approx(0.15)


def test_a_single_new_class_is_the_only_rival(make_view: MakeView, value_of: ValueOf) -> None:
    """K = min(2, 1) = 1: own 0.6, rival 0.5: 0.4 over 1 anchor · 1."""
    view = make_view([0], near([[0.6, 0.9, 0.5]]), near([[0.0, 0.0]]))
    ((_, _, count),) = MarginRanking()(view)
    assert int(count) == 1 and value_of(MarginRanking(), view).item() == pytest.approx(0.4)


def test_only_anchors_get_a_gradient(make_view: MakeView, value_of: ValueOf) -> None:
    student = near(COSINES)
    value_of(MarginRanking(), make_view([0, 2, 1], student, near([[0.0, 0.0]] * 3))).backward()
    assert student.cosines is not None and student.cosines.grad is not None
    expected = [[-0.5, 0.0, 0.25, 0.0, 0.25], [0.0] * 5, [0.0] * 5]
    torch.testing.assert_close(student.cosines.grad, torch.tensor(expected))


def test_a_batch_without_anchors_costs_nothing_and_is_a_number(make_view: MakeView) -> None:
    """0 over a count of 0; the engine makes it 0, and its gradient too."""
    ((_, total, count),) = MarginRanking()(make_view([2, 3, 4], near(COSINES), near([[0.0, 0.0]] * 3)))
    assert (float(total.detach()), int(count)) == (0.0, 0)

    network = Network(nn.Flatten(), CosineHead().build(4))
    network.head.grow(3)
    teacher = Network(nn.Flatten(), CosineHead().build(4))
    teacher.head.grow(1)
    training = Training(
        network=network,
        teacher=teacher,
        data=LabelledImages.from_arrays(torch.zeros(1, 2, 2, 1, dtype=torch.uint8), torch.tensor([0])),
        objective=MarginRanking(),
        schedule=recipe_for("lucir", "digits").later,
        recipe=recipe_for("lucir", "digits"),
        inputs=inputs_of(DATASETS["digits"], (8, 8, 1)),
        counts=ClassCounts(1, 2),
        blocks=(1, 2),
        runtime=Runtime(Execution(threads=1)),
        seed=1,
        place=(),
    )
    images = torch.rand(2, 1, 2, 2, generator=torch.Generator().manual_seed(0))
    nothing = training.loss(images, torch.tensor([1, 2]))
    nothing.backward()
    assert float(nothing.detach()) == 0.0
    assert all(p.grad is None or bool((p.grad == 0).all()) for p in network.parameters())
    beside = replace(training, objective=CrossEntropy() + MarginRanking()).loss(images, torch.tensor([1, 2]))
    alone = replace(training, objective=CrossEntropy()).loss(images, torch.tensor([1, 2]))
    assert float(beside.detach()) == float(alone.detach()) > 0


# --- FGP's graph, compared by cross-entropy --------------------------------------------------------------------------


def test_graph_cross_entropy_by_hand(make_view: MakeView, value_of: ValueOf) -> None:
    """f̄ = (0.6, 0.8), w̄ = (1, 0), (0, 1): d = (0.8, 0.4); the teacher's f̄* = (1, 0): d* = (0, 2).
    Edges p = exp(-d/2) = (0.670320, 0.818731), p* = (1 - 1e-6, 0.367879), weights exp(-d*/2) = (1, 0.367879).
    First edge: -ln 0.670320 = 0.4 (and 7e-7 from the clamp).
    Second: 0.367879·0.2 - 0.632121·ln(1 - 0.818731) = 0.073576 + 1.079518 = 1.153094, weighted 0.424199.
    Sum over old classes: 0.824200."""
    student = seen_by([[3.0, 4.0]], [[2.0, 0.0], [0.0, 1.0], [-5.0, 1.0]])
    teacher = seen_by([[1.0, 0.0]], [[1.0, 0.0], [0.0, 3.0]])
    assert float(value_of(GraphCrossEntropy(), make_view([0], student, teacher))) == pytest.approx(0.8242, abs=2e-5)


def test_graph_cross_entropy_is_a_number_where_feature_and_embedding_agree(
    make_view: MakeView, value_of: ValueOf
) -> None:
    """d = 0 would be ln(1 - 1); the clamp keeps the loss and its gradient finite."""
    features = torch.tensor([[1.0, 0.0]], requires_grad=True)
    student = Outputs(features, torch.zeros(1, 2), torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
    value = value_of(GraphCrossEntropy(), make_view([0], student, seen_by([[0.0, 1.0]], [[1.0, 0.0]])))
    value.backward()
    assert math.isfinite(float(value.detach()))
    assert features.grad is not None and bool(features.grad.isfinite().all())


# --- factors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        (10, [5.0, 7.07, 8.66, 10.0, 11.18, 12.25, 13.23, 14.14, 15.0]),
        (50, [11.18, 12.25, 13.23, 14.14, 15.0]),
    ],
)
def test_strength_of_hou19_by_phase(first: int, expected: list[float]) -> None:
    """LUCIR: λ = 5·√(old/new)."""
    scale = 5 * sqrt_old_over_new
    assert [round(scale.factor(ClassCounts(old, 10)), 2) for old in range(first, 100, 10)] == expected


def test_bics_weights_share_one() -> None:
    """Ten classes a phase: (t-1)/t of distillation, as in the authors' code; from 50: 50/60 and not ½."""
    shares = [old_share.factor(ClassCounts(10 * (t - 1), 10)) for t in (1, 2, 3, 4, 10)]
    assert shares == pytest.approx([0, 1 / 2, 2 / 3, 3 / 4, 9 / 10])
    assert old_share.factor(ClassCounts(50, 10)) == pytest.approx(5 / 6)
    for old in (0, 10, 50):
        counts = ClassCounts(old, 10)
        assert old_share.factor(counts) + new_share.factor(counts) == pytest.approx(1)


def test_hou19s_strength_beside_an_averaged_loss() -> None:
    """L^G_dis in the ablation of FGP: 5/seen·√(old/new); with 50 old and 10 new classes 11.18 / 60 = 0.186."""
    scale = 5.0 * per_class * sqrt_old_over_new
    assert scale.factor(ClassCounts(50, 10)) == pytest.approx(0.186339, abs=1e-6)


# --- finite differences ----------------------------------------------------------------------------------------------

TERMS = [
    SigmoidDistillation(),
    SoftmaxDistillation(),
    SoftmaxDistillation(relative=True),
    SoftmaxDistillation(per_block=True),
    LessForget(),
    MarginRanking(),
    GraphCrossEntropy(),
    CrossEntropy() + 5 * sqrt_old_over_new * LessForget() + MarginRanking(),
    old_share * SoftmaxDistillation() + new_share * CrossEntropy(),
]


@pytest.mark.parametrize("term", TERMS, ids=str)
def test_gradients(term: Composable, make_view: MakeView, value_of: ValueOf) -> None:
    """Three images, two old classes and two new; gradients reach the student only."""
    teacher = Outputs(*(random(*shape, seed=n, learn=True) for n, shape in enumerate(((3, 4), (3, 2), (2, 4)))))

    def loss(features: Tensor, logits: Tensor, embeddings: Tensor) -> Tensor:
        cosines = functional.normalize(features) @ functional.normalize(embeddings).T
        student = Outputs(features, logits, embeddings, cosines)
        return value_of(term, make_view([0, 1, 3], student, teacher))

    inputs = tuple(random(*shape, seed=10 + n, learn=True) for n, shape in enumerate(((3, 4), (3, 4), (4, 4))))
    assert torch.autograd.gradcheck(loss, inputs)
    loss(*inputs).backward()
    assert teacher.features.grad is None and teacher.logits.grad is None and teacher.embeddings.grad is None
