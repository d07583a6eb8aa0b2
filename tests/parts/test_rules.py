"""Class means and the nearest one, worked by hand."""

from __future__ import annotations

import math

import pytest
import torch

from classgrow.parts.rules import (
    LargestLogit,
    NearestClassMean,
    class_means,
    nearest_mean,
    per_class_mean,
    squared_distances_to,
)

FEATURES = torch.tensor([[3.0, 4.0], [0.0, -2.0], [1.0, 0.0]])
MIRRORED = torch.tensor([[0.0, 2.0], [-4.0, 0.0], [4.0, 3.0]])
LABELS = torch.tensor([0, 1, 0])


def test_means_without_mirror() -> None:
    """Class 0: unit (0.6, 0.8) and (1, 0), mean (0.8, 0.4), unit again (2, 1)/√5. Raw: (2, 2). Class 1: (0, -1)."""
    means = class_means(FEATURES, None, LABELS, 2)
    torch.testing.assert_close(means.unit, torch.tensor([[2 / math.sqrt(5), 1 / math.sqrt(5)], [0.0, -1.0]]))
    torch.testing.assert_close(means.raw, torch.tensor([[2.0, 2.0], [0.0, -2.0]]))


def test_means_with_mirror() -> None:
    """Class 0 mirrored: unit (0, 1) and (0.8, 0.6), mean (0.4, 0.8); half the sum with (0.8, 0.4) is (0.6, 0.6), unit
    (1, 1)/√2. Raw: half of (2, 2) + (2, 2.5) = (2, 2.25). Class 1: (0, -1) and (-1, 0), so -(1, 1)/√2; raw (-2, -1).
    """
    means = class_means(FEATURES, MIRRORED, LABELS, 2)
    half = math.sqrt(0.5)
    torch.testing.assert_close(means.unit, torch.tensor([[half, half], [-half, -half]]))
    torch.testing.assert_close(means.raw, torch.tensor([[2.0, 2.25], [-2.0, -1.0]]))


def test_mean_of_each_label() -> None:
    values = torch.tensor([[1.0], [2.0], [6.0]])
    assert per_class_mean(values, torch.tensor([1, 0, 1]), 2).tolist() == [[2.0], [3.5]]


def test_nearest_mean_by_hand() -> None:
    """f = (3, 4) is (0.6, 0.8) at unit length: squared distances to (1, 0) and (0, 1) are 0.8 and 0.4.
    f = (30, 1) lies at the first. Raw means (0.5, 0.5) and (4, 4) tell length too: (0.6, 0.8) is at 0.1 and 21.8."""
    features = torch.tensor([[3.0, 4.0], [30.0, 1.0]])
    unit = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    torch.testing.assert_close(squared_distances_to(features, unit)[0], torch.tensor([0.8, 0.4]))
    assert nearest_mean(features, unit).tolist() == [1, 0]
    raw = torch.tensor([[0.5, 0.5], [4.0, 4.0]])
    assert squared_distances_to(features, raw)[0].tolist() == pytest.approx([0.1, 21.8])
    assert nearest_mean(features, raw).tolist() == [0, 0]


def test_rules_say_what_they_are() -> None:
    assert (NearestClassMean().name, LargestLogit().name) == ("nearest", "head")
    assert NearestClassMean().formula == "argmin_c ‖μ_c − f̄(x)‖"
    assert LargestLogit().formula == "argmax_c a_c(x)"
