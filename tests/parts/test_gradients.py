"""Every term and every head against finite differences, in double precision."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.func import functional_call

from classgrow.parts.classification import BinaryCrossEntropy, CrossEntropy, teacher_for_old
from classgrow.parts.distillation import (
    FeatureGraph,
    GraphCrossEntropy,
    LessForget,
    MarginRanking,
    SigmoidDistillation,
    SoftmaxDistillation,
    uniform,
)
from classgrow.parts.heads import CosineHead, LinearHead, RectifiedCosineHead
from classgrow.parts.objective import Composable
from classgrow.parts.scales import sqrt_old_share
from classgrow.views import BatchView, Outputs

MakeView = Callable[..., BatchView]
ValueOf = Callable[[Composable, BatchView], Tensor]

TERMS = [
    BinaryCrossEntropy(),
    BinaryCrossEntropy(teacher_for_old),
    CrossEntropy(),
    FeatureGraph(),
    FeatureGraph(uniform),
    FeatureGraph(augmented=True),
    GraphCrossEntropy(),
    SigmoidDistillation(),
    SoftmaxDistillation(temperature=2.0),
    SoftmaxDistillation(per_block=True, relative=True),
    LessForget(),
    MarginRanking(),
    BinaryCrossEntropy() + 0.1 * sqrt_old_share * FeatureGraph(),
]


def random(*shape: int, seed: int, learn: bool = False) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_(learn)


@pytest.mark.parametrize("term", TERMS, ids=str)
def test_terms(term: Composable, make_view: MakeView, value_of: ValueOf) -> None:
    """Three images, two old classes and one new, one reserved output, features of four entries."""
    teacher = Outputs(random(3, 4, seed=1), random(3, 2, seed=2), random(2, 4, seed=3), random(3, 2, seed=4))

    def loss(features: Tensor, logits: Tensor, embeddings: Tensor, cosines: Tensor, reserved: Tensor) -> Tensor:
        student = Outputs(features, logits, embeddings, cosines, reserved)
        return value_of(term, make_view([0, 1, 2], student, teacher))

    shapes = ((3, 4), (3, 3), (3, 4), (3, 3), (3, 1))
    inputs = tuple(random(*shape, seed=10 + n, learn=True) for n, shape in enumerate(shapes))
    assert torch.autograd.gradcheck(loss, inputs)


@pytest.mark.parametrize("value", [LinearHead(), CosineHead(), RectifiedCosineHead()], ids=str)
def test_heads(value: LinearHead) -> None:
    head = value.build(4).double()
    head.grow(3)
    names = [name for name, _ in head.named_parameters()]
    parameters = [parameter.detach().clone().requires_grad_() for parameter in head.parameters()]

    def logits(features: Tensor, *values: Tensor) -> Tensor:
        out: Outputs = functional_call(head, dict(zip(names, values, strict=True)), (features,))
        return out.logits

    assert torch.autograd.gradcheck(logits, (random(3, 4, seed=1, learn=True), *parameters))
