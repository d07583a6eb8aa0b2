"""Herding and the other rankings."""

from __future__ import annotations

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor

from classgrow.parts import selection
from classgrow.parts.selection import closest_to_mean, herding, herding_without_repeats, random_choice

NO_DRAW = torch.Generator()
SIZES = st.lists(st.integers(1, 12), min_size=1, max_size=4)


def random_features(sizes: list[int], dimensions: int, seed: int) -> list[Tensor]:
    """Features of several classes, in double precision so that ties are ties."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(size, dimensions, generator=generator, dtype=torch.float64) + 0.5 for size in sizes]


def slowly_herded(features: Tensor, count: int, cap: int = 1000) -> tuple[list[int], float]:
    """Herding as in iCaRL on one class, filled among the unchosen after `cap` draws; and how narrow the narrowest
    decision on the way was."""
    rows = [[value / (sum(v * v for v in row) ** 0.5 + 1e-8) for value in row] for row in features.tolist()]
    mean = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    direction, narrowest = list(mean), float("inf")
    chosen: list[int] = []
    draws = 0
    while len(chosen) < min(count, len(rows)):
        allowed = [place for place in range(len(rows)) if draws < cap or place not in chosen]
        scores = {place: sum(w * x for w, x in zip(direction, rows[place], strict=True)) for place in allowed}
        best = max(allowed, key=scores.__getitem__)
        narrowest = min([narrowest, *(scores[best] - scores[place] for place in allowed if place != best)])
        draws += 1
        if best not in chosen:
            chosen.append(best)
        direction = [w + m - x for w, m, x in zip(direction, mean, rows[best], strict=True)]
    return chosen, narrowest


def test_three_points_by_hand() -> None:
    """x = (1, 0), (-0.6, 0.8), (0.6, 0.8); mean (1/3, 1.6/3).

    w = (.333, .533): scores .333, .227, .627: image 2. w = 2·mean - x_2 = (.067, .267): .067, .173, .253: 2 again,
    not noted twice. w = (-.2, 0): -.2, .12, -.12: image 1. w = (.733, -.267): .733, -.653, .227: image 0.
    """
    points = torch.tensor([[1.0, 0.0], [-0.6, 0.8], [0.6, 0.8]])
    stretched = points * torch.tensor([[5.0], [0.1], [2.0]])  # only directions count
    for features in (points, stretched):
        assert herding([features], 3, NO_DRAW)[0].tolist() == [2, 1, 0]
        assert herding([features], 2, NO_DRAW)[0].tolist() == [2, 1]
    assert herding_without_repeats([points], 3, NO_DRAW)[0].tolist() == [2, 1, 0]


@settings(max_examples=60, deadline=None)
@given(SIZES, st.integers(2, 6), st.integers(1, 14), st.integers(0, 10**6), st.sampled_from([1000, 5]))
def test_herding_equals_the_slow_loop(sizes: list[int], dimensions: int, count: int, seed: int, cap: int) -> None:
    features = random_features(sizes, dimensions, seed)
    expected = [slowly_herded(one, count, cap) for one in features]
    assume(all(narrowest > 1e-9 for _, narrowest in expected))  # a tie may fall either way
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selection, "ITERATIONS", cap)
        found = herding(features, count, NO_DRAW)
    assert [one.tolist() for one in found] == [chosen for chosen, _ in expected]


def test_the_cap_is_that_of_icarls_code() -> None:
    assert selection.ITERATIONS == 1000


@settings(max_examples=40, deadline=None)
@given(SIZES, st.integers(1, 14), st.integers(0, 5), st.integers(0, 10**6))
def test_fewer_exemplars_are_a_prefix_of_more(sizes: list[int], fewer: int, extra: int, seed: int) -> None:
    features = random_features(sizes, 5, seed)
    for select in (herding, herding_without_repeats, closest_to_mean):
        short = select(features, fewer, NO_DRAW)
        long = select(features, fewer + extra, NO_DRAW)
        assert [one.tolist() for one in short] == [one[:fewer].tolist() for one in long]


@pytest.mark.parametrize("count", [400, 500, 600])
def test_counts_are_exact_beyond_the_cap_of_iterations(count: int) -> None:
    """Random features repeat so often that 1,000 draws find about 435 of 500 images: the rest is filled."""
    features = random_features([500, 30], 64, seed=3)
    many, few = herding(features, count, NO_DRAW)
    assert len(many) == len(set(many.tolist())) == min(count, 500)
    assert len(few) == len(set(few.tolist())) == 30


def test_without_repeats_is_the_greedy_mean() -> None:
    """Each exemplar brings the running mean of unit features as close to the class mean as any unchosen one could."""
    (features,) = random_features([9], 4, seed=1)
    images = features / features.norm(dim=1, keepdim=True)
    chosen: list[int] = []
    for _ in range(9):
        gaps = {
            one: float((images.mean(0) - images[[*chosen, one]].mean(0)).norm())
            for one in range(9)
            if one not in chosen
        }
        chosen.append(min(gaps, key=gaps.__getitem__))
    assert herding_without_repeats([features], 9, NO_DRAW)[0].tolist() == chosen


def test_random_choice_follows_its_seed() -> None:
    features = random_features([20, 5], 2, seed=0)
    first, again, other = (
        [one.tolist() for one in random_choice(features, 8, torch.Generator().manual_seed(seed))] for seed in (1, 1, 2)
    )
    assert first == again != other
    assert [len(one) for one in first] == [8, 5]
    assert sorted(first[1]) == [0, 1, 2, 3, 4]


def test_closest_to_mean_by_hand() -> None:
    """Unit features (1, 0), (0, 1), (0.6, 0.8) after their lengths 2, 1, 5 are taken off; mean (1.6/3, 1.8/3).
    Squared distances .578, .444, .044: images 2, 1, 0."""
    features = torch.tensor([[2.0, 0.0], [0.0, 1.0], [3.0, 4.0]])
    assert closest_to_mean([features], 2, NO_DRAW)[0].tolist() == [2, 1]
    assert closest_to_mean([features], 9, NO_DRAW)[0].tolist() == [2, 1, 0]
