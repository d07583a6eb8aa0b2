"""Heads: hand-worked logits, and what growth promises."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from classgrow.parts.heads import CosineHead, GrowingHead, LinearHead, RectifiedCosineHead

EVERY_HEAD = [
    LinearHead(),
    LinearHead(draw="he"),
    CosineHead(),
    CosineHead(restart_scale=True),
    RectifiedCosineHead(),
    RectifiedCosineHead(restart_scale=False),
]
FEATURE = torch.tensor([[3.0, 4.0]])


def with_rows(head: GrowingHead, rows: list[list[float]], biases: list[float] | None = None) -> GrowingHead:
    """The head with these rows (and biases) for all its classes."""
    head.grow(len(rows), torch.tensor(rows))
    if biases is not None:
        assert head.bias is not None
        head.bias.data = torch.tensor(biases)
    return head


def test_rectified_cosine_by_hand() -> None:
    """f = (3, 4): F = (3, 4, 1), length √26.

    w = (1, 2), b = 2: W = (1, 2, 2), length 3, <W, F> = 3 + 8 + 2 = 13, cosine 13 / (3√26) = √26/6 = 0.849837.
    w = (2, -1), b = -2: length 3, <W, F> = 6 - 4 - 2 = 0. With eta = 2 the logits are 1.699673 and 0.
    """
    head = with_rows(RectifiedCosineHead().build(2), [[1.0, 2.0], [2.0, -1.0]], [2.0, -2.0])
    head.scale.data = torch.tensor(2.0)
    out = head(FEATURE)
    torch.testing.assert_close(out.cosines, torch.tensor([[math.sqrt(26) / 6, 0.0]]))
    torch.testing.assert_close(out.logits, torch.tensor([[1.699673, 0.0]]))
    assert torch.equal(out.embeddings, torch.tensor([[1.0, 2.0], [2.0, -1.0]]))
    assert torch.equal(out.features, FEATURE)


def test_rows_and_features_are_normalised_with_their_extra_entry() -> None:
    """Stretching (w, b) changes nothing. Stretching f does, because its 1 stays:
    f = (0.6, 0.8) gives F of length √2 and (0.6 + 1.6 + 2) / (3√2) = 1.4/√2 = 0.989949 instead of 0.849837."""
    head = with_rows(RectifiedCosineHead().build(2), [[1.0, 2.0], [10.0, 20.0], [10.0, 20.0]], [2.0, 20.0, 2.0])
    logits = head(FEATURE).logits[0].detach()
    torch.testing.assert_close(logits[1], logits[0])
    assert abs(float(logits[2] - logits[0])) > 0.01  # the bias must be stretched along
    torch.testing.assert_close(head(FEATURE / 5).logits[0, 0], torch.tensor(1.4 / math.sqrt(2)))


def test_cosine_by_hand() -> None:
    """f = (3, 4), length 5. w = (1, 2): 11 / (5√5) = 0.983870; w = (2, -1): 2 / (5√5) = 0.178885."""
    head = with_rows(CosineHead().build(2), [[1.0, 2.0], [2.0, -1.0]])
    torch.testing.assert_close(head(FEATURE).logits, torch.tensor([[0.983870, 0.178885]]))
    assert head.bias is None


def test_linear_by_hand_with_and_without_correction() -> None:
    """a = (1·3 + 2·4 + 0.5, 2·3 - 1·4 - 1) = (11.5, 1); (0.5, 3) corrects the newest class to 0.5·1 + 3 = 3.5."""
    head = LinearHead().build(2)
    head.grow(1, torch.tensor([[1.0, 2.0]]))
    head.grow(1, torch.tensor([[2.0, -1.0]]))
    head.bias.data = torch.tensor([0.5, -1.0])
    torch.testing.assert_close(head(FEATURE).logits, torch.tensor([[11.5, 1.0]]))
    head.correction = torch.tensor([0.5, 3.0])
    torch.testing.assert_close(head(FEATURE).logits, torch.tensor([[11.5, 3.5]]))
    head.grow(1)
    assert head.correction.tolist() == [1.0, 0.0]
    torch.testing.assert_close(head(FEATURE).logits[:, :2], torch.tensor([[11.5, 1.0]]))


@pytest.mark.parametrize("value", EVERY_HEAD, ids=str)
def test_growth_keeps_old_rows_and_biases_to_the_bit(value: LinearHead) -> None:
    head = value.build(8)
    head.grow(3)
    rows = head.rows().detach().clone()
    biases = None if head.bias is None else head.bias.detach().clone()
    head.grow(2)
    assert (head.classes, head.newest, len(head.rows())) == (5, 2, 5)
    assert torch.equal(head.rows()[:3], rows)
    assert not torch.equal(head.rows()[3], head.rows()[4])
    if biases is not None:
        assert head.bias is not None and len(head.bias) == 5
        assert torch.equal(head.bias[:3], biases)
    assert head.weight.requires_grad and len(head.weight) == 5


@pytest.mark.parametrize(("restart", "expected"), [(True, 1.0), (False, 7.0)])
def test_scale_restarts_at_one_or_is_kept(restart: bool, expected: float) -> None:
    for value in (CosineHead(restart_scale=restart), RectifiedCosineHead(restart_scale=restart)):
        head = value.build(4)
        assert head.scale.item() == 1.0
        head.grow(2)
        head.scale.data = torch.tensor(7.0)
        head.grow(2)
        assert head.scale.item() == expected
        assert head.scale.requires_grad


def test_frozen_rows_are_no_parameter_and_thaw_again() -> None:
    head = CosineHead().build(4)
    head.grow(2)
    old = head.rows().detach().clone()
    head.grow(1, torch.ones(1, 4), freeze_old=True)
    assert torch.equal(head.frozen, old)
    assert torch.equal(head.weight, torch.ones(1, 4))
    head(torch.randn(5, 4)).logits.sum().backward()
    assert head.weight.grad is not None and head.frozen.grad is None
    assert {name for name, _ in head.named_parameters()} == {"weight", "scale"}
    head.grow(1)
    assert len(head.frozen) == 0 and torch.equal(head.weight[:2], old)


@pytest.mark.parametrize(
    "value", [LinearHead(reserve=True), CosineHead(reserve=True), RectifiedCosineHead(reserve=True)], ids=str
)
def test_reserved_rows_exist_from_the_start_and_come_into_use(value: LinearHead) -> None:
    head = value.build(4)
    assert head.reserves
    head.reserve(6)
    drawn = head.rows().detach().clone()
    features = torch.randn(3, 4)
    head.grow(2)
    first = head(features)
    assert first.logits.shape == (3, 2) and first.reserved is not None and first.reserved.shape == (3, 4)
    head.grow(3)
    second = head(features)
    assert torch.equal(head.rows(), drawn)
    assert torch.equal(second.logits, torch.cat((first.logits, first.reserved[:, :3]), 1))
    head.grow(2)  # more classes than foreseen: rows are added
    assert head(features).logits.shape == (3, 7)
    assert torch.equal(head.rows()[:6], drawn)


def spread(values: Tensor) -> tuple[float, float]:
    return float(values.min()), float(values.max())


@pytest.mark.parametrize(("features", "bound"), [(64, 0.125), (512, 0.0441942)])
def test_new_rows_and_biases_are_uniform_within_one_over_root_d(features: int, bound: float) -> None:
    torch.manual_seed(0)
    head = RectifiedCosineHead().build(features)
    head.grow(400)
    assert head.bias is not None
    for values in (head.weight.detach(), head.bias.detach()):
        low, high = spread(values)
        assert -bound <= low < -0.95 * bound and 0.95 * bound < high <= bound
        assert float(values.std()) == pytest.approx(bound / math.sqrt(3), rel=0.1)


@pytest.mark.parametrize(("draw", "variance"), [("he", 2.0), ("lasagne", 1.0)])
def test_normal_rows(draw: str, variance: float) -> None:
    torch.manual_seed(0)
    head = LinearHead(draw=draw).build(64)  # type: ignore[arg-type]
    head.grow(500)
    assert float(head.weight.detach().std()) == pytest.approx(math.sqrt(variance / 64), rel=0.02)
    assert head.bias is not None and not head.bias.any()


@pytest.mark.parametrize("value", EVERY_HEAD, ids=str)
def test_restore_gives_the_same_logits(value: LinearHead) -> None:
    head = value.build(4)
    head.grow(2)
    head.grow(1, freeze_old=True)
    other = value.build(4)
    other.restore(head.classes, head.newest, head.state_dict())
    features = torch.randn(5, 4)
    assert torch.equal(other(features).logits, head(features).logits)
    assert (other.classes, other.newest) == (3, 1)
    assert {name for name, _ in other.named_parameters()} == {name for name, _ in head.named_parameters()}
