"""The rules by hand: what they fit, how they score, how they forget a class."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from classgrow.errors import ClassgrowError
from classgrow.parts.rule_catalogue import RULES, build_rule
from classgrow.parts.rules import (
    LargestLogit,
    NearestClassMean,
    NearestRawMean,
    Seen,
    per_class_mean,
    squared_distances_to,
)
from classgrow.views import Outputs

FEATURES = torch.tensor([[3.0, 4.0], [0.0, -2.0], [1.0, 0.0]])
MIRRORED = torch.tensor([[0.0, 2.0], [-4.0, 0.0], [4.0, 3.0]])
LABELS = torch.tensor([0, 1, 0])


def seen(mirrored: Tensor | None) -> Seen:
    return Seen(2, SimpleNamespace(features=FEATURES, labels=LABELS, mirrored=mirrored))


def means(rule: NearestClassMean, mirrored: Tensor | None) -> Tensor:
    fitted = rule.fit(seen(mirrored))
    assert fitted is not None
    return fitted["means"]


def outputs(features: Tensor, logits: Tensor | None = None) -> Outputs:
    return Outputs(features, torch.zeros(len(features), 2) if logits is None else logits, torch.zeros(2, 2))


def test_means_without_mirror() -> None:
    """Class 0: unit (0.6, 0.8) and (1, 0), mean (0.8, 0.4), unit again (2, 1)/√5. Raw: (2, 2). Class 1: (0, -1)."""
    unit = torch.tensor([[2 / math.sqrt(5), 1 / math.sqrt(5)], [0.0, -1.0]])
    torch.testing.assert_close(means(NearestClassMean(), None), unit)
    torch.testing.assert_close(means(NearestRawMean(), None), torch.tensor([[2.0, 2.0], [0.0, -2.0]]))


def test_means_with_mirror() -> None:
    """Class 0 mirrored: unit (0, 1) and (0.8, 0.6), mean (0.4, 0.8); half the sum with (0.8, 0.4) is (0.6, 0.6), unit
    (1, 1)/√2. Raw: half of (2, 2) + (2, 2.5) = (2, 2.25). Class 1: (0, -1) and (-1, 0), so -(1, 1)/√2; raw (-2, -1).
    """
    half = math.sqrt(0.5)
    torch.testing.assert_close(means(NearestClassMean(), MIRRORED), torch.tensor([[half, half], [-half, -half]]))
    torch.testing.assert_close(means(NearestRawMean(), MIRRORED), torch.tensor([[2.0, 2.25], [-2.0, -1.0]]))


def test_mean_of_each_label() -> None:
    values = torch.tensor([[1.0], [2.0], [6.0]])
    assert per_class_mean(values, torch.tensor([1, 0, 1]), 2).tolist() == [[2.0], [3.5]]


def test_nearest_mean_by_hand() -> None:
    """f = (3, 4) is (0.6, 0.8) at unit length: squared distances to (1, 0) and (0, 1) are 0.8 and 0.4.
    f = (30, 1) lies at the first. Raw means (0.5, 0.5) and (4, 4) tell length too: (0.6, 0.8) is at 0.1 and 21.8."""
    features = torch.tensor([[3.0, 4.0], [30.0, 1.0]])
    unit = {"means": torch.tensor([[1.0, 0.0], [0.0, 1.0]])}
    scores = NearestClassMean().scores(outputs(features), unit)
    torch.testing.assert_close(scores[0], torch.tensor([-0.8, -0.4]))
    assert scores.argmax(1).tolist() == [1, 0]
    raw = torch.tensor([[0.5, 0.5], [4.0, 4.0]])
    assert squared_distances_to(features, raw)[0].tolist() == pytest.approx([0.1, 21.8])
    assert NearestRawMean().scores(outputs(features), {"means": raw}).argmax(1).tolist() == [0, 0]


def test_the_head_answers_with_its_logits() -> None:
    logits = torch.tensor([[0.5, 2.0], [1.0, -1.0]])
    rule = LargestLogit()
    assert rule.fit(seen(None)) == {}
    assert rule.scores(outputs(FEATURES[:2], logits), {}) is logits


def test_a_forgotten_class_leaves_the_others_to_the_bit() -> None:
    fitted = {"means": torch.rand(4, 3)}
    left = NearestClassMean().forget(fitted, 1)
    assert torch.equal(left["means"], fitted["means"][[0, 2, 3]])


def test_without_exemplars_there_are_no_means() -> None:
    assert NearestClassMean().fit(Seen(2, None)) is None
    assert not NearestClassMean().applies(keeps_memory=False, trains=True)
    assert LargestLogit().applies(keeps_memory=False, trains=True)


def test_rules_are_values_that_say_what_they_are() -> None:
    assert NearestClassMean() == NearestClassMean() != LargestLogit()
    assert (NearestClassMean().name, LargestLogit().name) == ("nearest", "head")
    assert NearestClassMean().formula == "argmin_c ‖μ_c − f̄(x)‖"
    assert LargestLogit().formula == "argmax_c a_c(x)"


def test_the_catalogue_knows_each_by_its_name() -> None:
    assert {name: build_rule(name).name for name in RULES} == {name: name for name in RULES}
    assert [name for name in RULES if not build_rule(name).everyday] == ["raw_nearest"]
    with pytest.raises(ClassgrowError, match=r"There is no rule 'nearst'.*Did you mean 'nearest'"):
        build_rule("nearst")
