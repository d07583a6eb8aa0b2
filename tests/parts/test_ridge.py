"""Ridge regression on random features: by hand, in any order, and what is left when a class goes."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from classgrow.parts.folds import folds_of, place_within_class, spread_evenly
from classgrow.parts.ridge import GRID, RandomRidge, best_strength, random_features, ridge_weights
from classgrow.parts.rules import Seen, Tensors
from classgrow.views import Outputs

RULE = RandomRidge(size=24, strength=0.1)
MIRROR = torch.tensor([[1.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""Three random features of two: h = ReLU(x, y, -x)."""


def sample(features: Tensor, labels: Tensor) -> SimpleNamespace:
    return SimpleNamespace(features=features, labels=labels, mirrored=None)


def drawn(classes: int, per_class: int, seed: int = 0, features: int = 6) -> tuple[Tensor, Tensor]:
    draws = torch.Generator().manual_seed(seed)
    labels = torch.arange(classes).repeat_interleave(per_class)
    centres = torch.randn(classes, features, generator=draws)
    return centres[labels] + 0.5 * torch.randn(len(labels), features, generator=draws), labels


def fitted(features: Tensor, labels: Tensor, classes: int, rule: RandomRidge = RULE) -> Tensors:
    found = rule.fit(Seen(classes, None, sample(features, labels), moved=False))
    assert found is not None
    return found


def scores(features: Tensor, found: Tensors, rule: RandomRidge = RULE) -> Tensor:
    return rule.scores(Outputs(features, features, features), found)


def test_by_hand() -> None:
    """Photos (1, 0) of class 0 and (-1, 0) of class 1: h = (1, 0, 0) and (0, 0, 1), G = diag(1, 0, 1), C its two
    columns. With λ = 1: (G + I)⁻¹ C has ½ in (0, 0) and (2, 1). The photo (0.6, 0.8): h = (0.6, 0.8, 0), so 0.3, 0.
    Two photos are fewer than three features; five copies of the first class's photo are not: ⅚ in place of ½."""
    rows = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
    by_photos = ridge_weights(rows, torch.tensor([0, 1]), 2, MIRROR, 1.0)
    torch.testing.assert_close(by_photos, torch.tensor([[0.5, 0.0], [0.0, 0.0], [0.0, 0.5]]).double())
    torch.testing.assert_close(
        scores(torch.tensor([[3.0, 4.0]]), {"projection": MIRROR, "weight": by_photos}), torch.tensor([[0.3, 0.0]])
    )
    more = ridge_weights(rows[[0] * 5 + [1]], torch.tensor([0] * 5 + [1]), 2, MIRROR, 1.0)
    torch.testing.assert_close(more, torch.tensor([[5 / 6, 0.0], [0.0, 0.0], [0.0, 0.5]]).double())


def test_the_strength_is_that_of_leaving_out_each_photo() -> None:
    """Against fitting once for every photo and every strength."""
    features, labels = drawn(3, 5)
    rows, projection = functional.normalize(features), RULE.projection(6)

    def error(strength: float) -> float:
        total = 0.0
        for out in range(15):
            others = torch.arange(15) != out
            weight = ridge_weights(rows[others], labels[others], 3, projection, strength)
            hidden = random_features(rows[out : out + 1], projection).double()
            total += float((hidden @ weight - functional.one_hot(labels[out], 3)).square().sum())
        return total

    assert best_strength(rows, labels, projection) == min(GRID, key=error)
    chosen = fitted(features, labels, 3, RandomRidge(size=24))["strength"]
    assert float(chosen) == min(GRID, key=error)


def test_the_strength_stays_once_it_is_chosen() -> None:
    """Also when features have moved and only exemplars are left."""
    rule = RandomRidge(size=24)
    before = fitted(*drawn(3, 5), 3, rule)
    before["strength"] = torch.tensor(0.7).double()
    more = rule.fit(Seen(4, None, sample(*drawn(4, 3, seed=2)), before, moved=False))
    moved = rule.fit(Seen(3, sample(*drawn(3, 3, seed=3)), None, before, moved=True))
    assert more is not None and moved is not None
    assert float(more["strength"]) == float(moved["strength"]) == pytest.approx(0.7)
    assert (len(more["rows"]), len(moved["rows"])) == (15 + 12, 9)


@settings(max_examples=25, deadline=None)
@given(st.permutations(range(30)), st.lists(st.integers(1, 29), max_size=3, unique=True))
def test_in_any_order_it_is_one_fit_on_all(order: list[int], cuts: list[int]) -> None:
    """30 photos for 24 random features, so both ways to solve are met: classes and photos come in any order."""
    features, labels = drawn(3, 10)
    test, _ = drawn(3, 4, seed=9)
    found: Tensors = {}
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), 30], strict=True):
        some = torch.tensor(order[start:end])
        seen = Seen(3, None, sample(features[some], labels[some]), found or None, moved=False)
        found = RULE.fit(seen) or {}
    torch.testing.assert_close(scores(test, found), scores(test, fitted(features, labels, 3)), atol=1e-5, rtol=0)


@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_forgotten_class_was_never_there(position: int) -> None:
    features, labels = drawn(3, 10)
    others = labels != position
    again = labels[others] - (labels[others] > position).long()
    forgotten, without = RULE.forget(fitted(features, labels, 3), position), fitted(features[others], again, 2)
    assert forgotten.keys() == without.keys()
    assert all(torch.equal(forgotten[name], without[name]) for name in without)


def test_it_needs_features_that_stand_still_or_exemplars() -> None:
    assert RULE.applies(keeps_memory=False, trains=False) and not RULE.applies(keeps_memory=False, trains=True)
    assert RULE.fit(Seen(2, None, sample(*drawn(2, 2)), moved=True)) is None
    before = fitted(*drawn(2, 2), 2)
    assert RULE.fit(Seen(2, sample(*drawn(2, 1)), None, before, moved=False)) is before


def test_folds_and_places_by_hand() -> None:
    """Classes 0, 2, 0, 2, 2, 1: the second photo of class 0 is at place 1, the third of class 2 at place 2."""
    labels = torch.tensor([0, 2, 0, 2, 2, 1])
    assert place_within_class(labels).tolist() == [0, 0, 1, 1, 2, 0]
    assert folds_of(labels).tolist() == [0, 0, 1, 1, 2, -1]
    assert folds_of(torch.zeros(6, dtype=torch.long)).tolist() == [0, 1, 2, 3, 0, 1]
    assert spread_evenly(labels, 4).tolist() == [0, 1, 5, 2]
    assert spread_evenly(labels[:0], 4).tolist() == folds_of(labels[:0]).tolist() == []
