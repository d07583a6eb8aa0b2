"""Distances to known classes: by hand, against fitting again without a fold, and where nothing can be told."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from classgrow.parts.discriminant import LinearDiscriminant, sums_of
from classgrow.parts.folds import folds_of
from classgrow.parts.rules import Seen, Tensors
from classgrow.parts.unknown import Unknown, cross_fitted_distances, distances, measure, photos_behind

UNKNOWN = Unknown()


def sums(features: Tensor, labels: Tensor) -> Tensors:
    return sums_of(SimpleNamespace(features=features, labels=labels, mirrored=None), int(labels.max()) + 1)


def drawn(classes: int, per_class: int, seed: int = 0, features: int = 24) -> tuple[Tensor, Tensor]:
    """The centres are always the same; the seed draws the photos around them."""
    labels = torch.arange(classes).repeat_interleave(per_class)
    centres = 2 * torch.randn(classes, features, generator=torch.Generator().manual_seed(7))
    return centres[labels] + torch.randn(len(labels), features, generator=torch.Generator().manual_seed(seed)), labels


def test_by_hand() -> None:
    """The photos of the discriminant's own test: means (0.8, 0.4) and (-0.3, 0.9), Σ = 0.075 I.

    (1, 0): 0.2² + 0.4² = 0.2 from the first, 1.3² + 0.9² = 2.5 from the second: 0.2 / 0.075 = 8/3. (0, 2) is the unit
    (0, 1): 0.64 + 0.36 = 1 and 0.09 + 0.01 = 0.1: 4/3. (0, -1): 0.64 + 1.96 = 2.6 and 0.09 + 3.61: 104/3."""
    features = torch.tensor([[2.0, 0.0], [0.6, 0.8], [0.0, 3.0], [-0.6, 0.8]])
    fitted = measure(sums(features, torch.tensor([0, 0, 1, 1])))
    found = distances(torch.tensor([[1.0, 0.0], [0.0, 2.0], [0.0, -1.0]]), fitted)
    torch.testing.assert_close(found, torch.tensor([8 / 3, 4 / 3, 104 / 3]).double())


def test_it_measures_as_the_discriminant_does() -> None:
    """Differences of squared distances are twice those of the discriminant's scores, the other way round."""
    features, labels = drawn(2, 12)
    fitted = LinearDiscriminant().fit(Seen(2, None, SimpleNamespace(features=features, labels=labels), moved=False))
    assert fitted is not None
    whitened = measure(fitted)
    centres = [{**whitened, "centres": whitened["centres"][[one]]} for one in (0, 1)]
    first, second = (distances(features, one) for one in centres)
    scores = functional.normalize(features).double() @ fitted["weight"].T + fitted["bias"]
    torch.testing.assert_close(second - first, 2 * (scores[:, 0] - scores[:, 1]), rtol=1e-5, atol=1e-5)


def test_a_fold_is_left_out_as_if_it_had_never_been() -> None:
    """11 and 6 photos and a single one, which is never left out."""
    features, labels = drawn(3, 11)
    some = torch.cat((torch.arange(17), torch.tensor([22])))
    features, labels = features[some], labels[some]
    known = sums(features, labels)
    found, expected = cross_fitted_distances(known, photos_behind(known)), []
    for fold in range(4):
        out = folds_of(labels) == fold
        expected.append(distances(features[out], measure(sums(features[~out], labels[~out]))))
    assert len(found) == 17
    torch.testing.assert_close(found, torch.cat(expected), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("count", "place"), [(1, 1), (18, 18), (19, 19), (39, 38), (99, 95)])
def test_the_threshold_by_hand(count: int, place: int) -> None:
    """The ⌈0.95 (n + 1)⌉-th smallest of n distances, at most the last: 0.95 · 40 = 38, 0.95 · 100 = 95."""
    known = sums(*drawn(2, 4))
    assert UNKNOWN.threshold(torch.arange(count, 0, -1).double(), known) == place


def test_held_out_photos_decide_where_there_are_any() -> None:
    features, labels = drawn(2, 12)
    others, names = drawn(2, 12, seed=4)
    fitted = UNKNOWN.fit(sums(features, labels), held_out=(others, names))
    assert float(fitted["threshold"]) == pytest.approx(float(distances(others, measure(sums(features, labels))).max()))


def test_most_known_photos_stay_and_far_ones_go() -> None:
    """600 photos the rule never saw: 95 % within four standard errors; photos of other classes mostly beyond."""
    features, labels = drawn(3, 400)
    train = torch.arange(len(labels)) % 2 == 0
    known = sums(features[train], labels[train])
    fitted = UNKNOWN.fit(known, (features[train], labels[train]))
    kept = (distances(features[~train], fitted) <= fitted["threshold"]).double().mean()
    assert abs(float(kept) - 0.95) < 4 * math.sqrt(0.05 * 0.95 / 600) + 0.01
    assert bool((distances(-features[~train], fitted) > fitted["threshold"]).double().mean() > 0.5)


@pytest.mark.parametrize(
    ("features", "labels"),
    [
        (torch.eye(3), torch.tensor([0, 1, 2])),
        (torch.ones(1, 3), torch.tensor([0])),
        (torch.eye(3)[[0, 0, 0, 1, 1]], torch.tensor([0, 0, 0, 1, 1])),
        (torch.zeros(4, 3), torch.tensor([0, 0, 1, 1])),
    ],
    ids=["one photo a class", "one photo", "no spread", "nothing but zeros"],
)
def test_what_cannot_be_told(features: Tensor, labels: Tensor) -> None:
    fitted = UNKNOWN.fit(sums(features, labels))
    assert math.isinf(float(fitted["threshold"]))
    assert bool(distances(torch.randn(5, 3), fitted).isfinite().all())


def test_one_class_is_enough() -> None:
    features, labels = drawn(1, 20)
    fitted = UNKNOWN.fit(sums(features, labels))
    assert 0 < float(fitted["threshold"]) < math.inf
    assert float(distances(-features, fitted).median()) > float(fitted["threshold"])


def test_exemplars_stand_in_for_a_class_of_more_photos_than_features() -> None:
    """Of seven photos with five features five rows are left, which are no photos: three of them are given again."""
    features, labels = drawn(2, 7, features=5)
    some = torch.cat((torch.arange(7), torch.tensor([7, 8, 9])))
    known = sums(features[some], labels[some])
    assert photos_behind(known)[1].tolist() == [1, 1, 1]
    seen_as, names = photos_behind(known, (features[[0, 4, 8]], labels[[0, 4, 8]]))
    assert names.tolist() == [1, 1, 1, 0, 0]
    torch.testing.assert_close(seen_as, functional.normalize(features[[7, 8, 9, 0, 4]]).double())
    others = [torch.tensor([one for one in some.tolist() if one not in out]) for out in ((7, 0), (8, 4), (9,))]
    expected = [
        distances(features[list(out)], measure(sums(features[rest], labels[rest])))
        for out, rest in zip(((7, 0), (8, 4), (9,)), others, strict=True)
    ]
    found = cross_fitted_distances(known, (seen_as, names))
    torch.testing.assert_close(found, torch.cat(expected), rtol=1e-6, atol=1e-6)
