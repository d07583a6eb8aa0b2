"""Growth: imprinted rows by hand, frozen rows that stay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from classgrow.parts.classification import CrossEntropy
from classgrow.parts.heads import CosineHead, LinearHead, RectifiedCosineHead
from classgrow.recipes import recipe_for
from classgrow.steps import Grow, Train, imprinted

MakeBegin = Callable[..., Any]
Pixels = Callable[..., tuple[Tensor, Tensor]]


def row_of(*pixels: list[int]) -> Tensor:
    """Images of 1 x 2 pixels."""
    return torch.tensor(pixels, dtype=torch.uint8).reshape(-1, 1, 2, 1)


def test_imprinted_rows_by_hand(begin: MakeBegin) -> None:
    """Old rows (3, 4) and (0, 1) have lengths 5 and 1, on average 3.
    Class 2 has features (1, 0) and (0, 0.4): unit (1, 0) and (0, 1), mean (½, ½), direction (1, 1)/√2:
    row (3/√2, 3/√2). Class 3 has one image (0, 0.8): row (0, 3)."""
    start = begin(CosineHead())
    Grow(rows=imprinted).run(start.state, start(row_of([9, 1], [1, 9]), torch.tensor([0, 1])))
    head = start.state.network.head
    head.weight.data = torch.tensor([[3.0, 4.0], [0.0, 1.0]])
    phase = start(row_of([255, 0], [0, 102], [0, 204]), torch.tensor([2, 2, 3]))
    Grow(rows=imprinted).run(start.state, phase)
    expected = [[3.0, 4.0], [0.0, 1.0], [3 / 2**0.5, 3 / 2**0.5], [0.0, 3.0]]
    torch.testing.assert_close(head.rows().detach(), torch.tensor(expected))


def test_imprinting_ignores_how_long_features_are(begin: MakeBegin) -> None:
    """(1, 0) ten times as bright as (0, 0.1): both count the same."""
    start = begin(CosineHead())
    Grow().run(start.state, start(row_of([9, 1]), torch.tensor([0])))
    phase = start(row_of([250, 0], [0, 25]), torch.tensor([1, 1]))
    (row,) = imprinted(start.state, phase)
    assert float(row[0]) == pytest.approx(float(row[1]))


@pytest.mark.parametrize("head", [CosineHead(), LinearHead(), RectifiedCosineHead()], ids=str)
def test_frozen_rows_do_not_move_even_with_weight_decay(head: Any, begin: MakeBegin, pixels: Pixels) -> None:
    start = begin(head)
    Grow(freeze_old=True).run(start.state, start(*pixels(range(2), 8)))
    network = start.state.network
    assert len(network.head.frozen) == 0  # nothing is old in the first phase
    phase = start(*pixels(range(2, 4), 8), recipe=replace(recipe_for("lucir", "digits", epochs=2), weight_decay=0.5))
    Grow(freeze_old=True).run(start.state, phase)
    before = network.head.rows().detach().clone()
    Train(CrossEntropy()).run(start.state, phase)
    after = network.head.rows().detach()
    assert torch.equal(before[:2], after[:2])
    assert not torch.isclose(before[2:], after[2:]).any()


def test_rows_that_are_not_frozen_move(begin: MakeBegin, pixels: Pixels) -> None:
    start = begin(CosineHead())
    Grow().run(start.state, start(*pixels(range(2), 8)))
    phase = start(*pixels(range(2, 4), 8))
    Grow().run(start.state, phase)
    before = start.state.network.head.rows().detach().clone()
    Train(CrossEntropy()).run(start.state, phase)
    assert not torch.isclose(before, start.state.network.head.rows().detach()).any()


def test_frozen_rows_grow_with_the_phases(begin: MakeBegin, pixels: Pixels) -> None:
    start = begin(CosineHead())
    for phase, new in enumerate((range(2), range(2, 3), range(3, 6))):
        Grow(freeze_old=True).run(start.state, start(*pixels(new, 4)))
        head = start.state.network.head
        assert (len(head.frozen), len(head.weight)) == [(0, 2), (2, 1), (3, 3)][phase]


def test_random_rows_are_the_seeds(begin: MakeBegin, pixels: Pixels) -> None:
    rows = []
    for seed in (1, 1, 2):
        start = begin()
        Grow().run(start.state, start(*pixels(range(3), 4), seed=seed))
        rows.append(start.state.network.head.rows().detach())
    assert torch.equal(rows[0], rows[1]) and not torch.equal(rows[0], rows[2])


def test_what_it_says() -> None:
    assert str(Grow()) == "grow the head (random rows)"
    assert str(Grow(rows=imprinted, freeze_old=True)) == "grow the head (imprinted rows, old rows frozen)"
