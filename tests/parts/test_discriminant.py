"""The linear discriminant: by hand, against scikit-learn, and in any order of classes."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from classgrow.parts.discriminant import LinearDiscriminant, shrunk, sums_of
from classgrow.parts.rules import Seen, Tensors
from classgrow.views import Outputs

RULE = LinearDiscriminant()


def sample(features: Tensor, labels: Tensor) -> SimpleNamespace:
    return SimpleNamespace(features=features, labels=labels, mirrored=None)


def fitted_at_once(features: Tensor, labels: Tensor, classes: int) -> Tensors:
    found = RULE.fit(Seen(classes, None, sample(features, labels), moved=False))
    assert found is not None
    return found


def scores(features: Tensor, fitted: Tensors) -> Tensor:
    return RULE.scores(Outputs(features, features, features), fitted)


def test_by_hand() -> None:
    """Unit features (1, 0), (0.6, 0.8) of class 0 and (0, 1), (-0.6, 0.8) of class 1.

    Means (0.8, 0.4) and (-0.3, 0.9). Deviations ±(0.2, -0.4) and ±(0.3, 0.1): S = ½ [[0.13, -0.05], [-0.05, 0.17]]
    (a sum of 2 · 0.04 + 2 · 0.09 = 0.26 over four images, and so on), so S = [[0.065, -0.025], [-0.025, 0.085]].
    m = 0.075; the mean of squares is (0.065² + 2 · 0.025² + 0.085²)/4 = 0.003175;
    rho = (0.003175 + 0.005625) / (5 · (0.003175 - 0.0028125)) = 0.0088 / 0.0018125 > 1, so it is 1:
    Σ = 0.075 I, weight = mean / 0.075, bias = -½ |mean|² / 0.075 = -16/3 and -6.
    """
    features = torch.tensor([[2.0, 0.0], [0.6, 0.8], [0.0, 3.0], [-0.6, 0.8]])
    fitted = fitted_at_once(features, torch.tensor([0, 0, 1, 1]), 2)
    assert fitted["count"].tolist() == [2, 2]
    torch.testing.assert_close(fitted["total"], torch.tensor([[1.6, 0.8], [-0.6, 1.8]]).double())
    torch.testing.assert_close(fitted["weight"], torch.tensor([[0.8, 0.4], [-0.3, 0.9]]).double() / 0.075)
    torch.testing.assert_close(fitted["bias"], torch.tensor([-16 / 3, -6.0]).double())
    torch.testing.assert_close(scores(features[:1], fitted), torch.tensor([[0.8 / 0.075 - 16 / 3, -0.3 / 0.075 - 6]]))


def test_shrinkage_by_hand() -> None:
    """S = diag(3, 1), n = 9: m = 2, mean of squares 10/4 = 2.5, rho = (2.5 + 4) / (10 · (2.5 - 2)) = 1.3, so 1.
    n = 99: rho = 6.5 / (100 · 0.5) = 0.13: 0.87 · 3 + 0.26 = 2.87 and 0.87 + 0.26 = 1.13."""
    spread = torch.tensor([[3.0, 0.0], [0.0, 1.0]]).double()
    torch.testing.assert_close(shrunk(spread, 9), 2 * torch.eye(2).double())
    torch.testing.assert_close(shrunk(spread, 99), torch.tensor([[2.87, 0.0], [0.0, 1.13]]).double())
    assert torch.equal(shrunk(torch.zeros(3, 3).double(), 5), torch.eye(3).double())


def test_against_scikit_learn() -> None:
    """scikit-learn's OAS on deviations from the class means, and its discriminant with that covariance."""
    covariance = pytest.importorskip("sklearn.covariance", reason="scikit-learn is not installed")
    draws = np.random.default_rng(3)
    labels = np.repeat([0, 1, 2], [30, 20, 10])
    raw = draws.normal(size=(60, 5)) + np.eye(5)[labels] * 2
    unit = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    means = np.stack([unit[labels == label].mean(0) for label in range(3)])
    model = covariance.OAS(assume_centered=True).fit(unit - means[labels])
    expected = unit @ np.linalg.solve(model.covariance_, means.T)
    expected -= 0.5 * np.sum(means * np.linalg.solve(model.covariance_, means.T).T, axis=1)
    fitted = fitted_at_once(torch.from_numpy(raw), torch.from_numpy(labels), 3)
    np.testing.assert_allclose(scores(torch.from_numpy(raw), fitted).numpy(), expected, rtol=1e-9, atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    classes=st.integers(1, 6),
    order=st.randoms(use_true_random=False),
    size=st.integers(1, 4),
)
def test_any_order_and_any_portions_give_what_all_at_once_gives(seed: int, classes: int, order, size: int) -> None:
    """Classes arrive one by one, some twice, in any order: scores equal those of one fit, columns permuted."""
    draws = torch.Generator().manual_seed(seed)
    dimension = 3  # fewer than the images of some classes, so that rows are compressed
    features = torch.randn(classes * 2 * size, dimension, generator=draws)
    labels = torch.arange(classes).repeat_interleave(2 * size)
    portions = [(label, half) for label in range(classes) for half in range(2)]
    order.shuffle(portions)
    place: dict[int, int] = {}
    fitted: Tensors | None = None
    for label, half in portions:
        place.setdefault(label, len(place))
        mine = features[labels == label][half * size : (half + 1) * size]
        images = sample(mine, torch.full((size,), place[label]))
        fitted = RULE.fit(Seen(len(place), None, images, fitted, moved=False))
    assert fitted is not None
    once = scores(features, fitted_at_once(features, labels, classes))
    torch.testing.assert_close(
        scores(features, fitted)[:, [place[label] for label in range(classes)]], once, atol=1e-3, rtol=1e-4
    )


def test_a_forgotten_class_leaves_what_the_others_alone_would_give() -> None:
    draws = torch.Generator().manual_seed(1)
    features, labels = torch.randn(60, 4, generator=draws), torch.arange(60) % 3
    left = RULE.forget(fitted_at_once(features, labels, 3), 1)
    others = labels != 1
    alone = fitted_at_once(features[others], labels[others] // 2, 2)
    for name in ("count", "total", "weight", "bias"):
        torch.testing.assert_close(left[name], alone[name])
    assert torch.equal(left["owner"], alone["owner"])


def test_a_class_never_takes_more_rows_than_there_are_features() -> None:
    draws = torch.Generator().manual_seed(2)
    features, labels = torch.randn(50, 4, generator=draws), torch.tensor([0] * 47 + [1] * 3)
    sums = sums_of(sample(features, labels), 2)
    assert torch.bincount(sums["owner"]).tolist() == [4, 3]
    unit = functional.normalize(features[:47]).double()
    torch.testing.assert_close(sums["rows"][:4].T @ sums["rows"][:4], unit.T @ unit)


def test_features_that_moved_are_measured_again_on_the_exemplars() -> None:
    old = fitted_at_once(torch.eye(2), torch.tensor([0, 1]), 2)
    turned = sample(torch.eye(2)[[1, 0]], torch.tensor([0, 1]))
    moved = RULE.fit(Seen(2, turned, turned, old, moved=True))
    assert moved is not None
    torch.testing.assert_close(moved["total"], torch.tensor([[0.0, 1.0], [1.0, 0.0]]).double())
    assert RULE.fit(Seen(2, None, turned, old, moved=True)) is None


def test_fitted_again_without_new_images_it_keeps_the_sums_of_all() -> None:
    """The exemplars are a part of what was seen: they must not replace the whole."""
    draws = torch.Generator().manual_seed(4)
    features, labels = torch.randn(40, 3, generator=draws), torch.arange(40) % 2
    whole = fitted_at_once(features, labels, 2)
    assert RULE.fit(Seen(2, sample(features[:4], labels[:4]), None, whole, moved=False)) is whole


def test_one_image_of_each_class_is_nearest_mean() -> None:
    """Without any spread the covariance is the identity: the larger cosine wins."""
    fitted = fitted_at_once(torch.tensor([[1.0, 0.0], [0.0, 5.0]]), torch.tensor([0, 1]), 2)
    half = math.sqrt(0.5)
    torch.testing.assert_close(
        scores(torch.tensor([[2.0, 2.0]]), fitted), torch.tensor([[half - 0.5, half - 0.5]]), atol=1e-6, rtol=0
    )
