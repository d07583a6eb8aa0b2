"""Exemplars within a budget."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from classgrow.data.labelled import ClassLabel
from classgrow.errors import ClassgrowError
from classgrow.memory import EVERYTHING, HELD_OUT, TRAIN, Budget, Memory


def numbered(label: int, count: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Images of one class: the red pixel is the class, the green one the rank."""
    images = torch.zeros(count, 1, 1, 3, dtype=torch.uint8)
    images[:, 0, 0, 0], images[:, 0, 0, 1] = label, torch.arange(count)
    return images, torch.full((count,), label), torch.arange(count)


@pytest.mark.parametrize(
    ("total", "first", "expected"),
    [
        (1000, 10, [100, 50, 33, 25, 20, 16, 14, 12, 11, 10]),
        (2000, 10, [200, 100, 66, 50, 40, 33, 28, 25, 22, 20]),
        (1000, 50, [20, 16, 14, 12, 11, 10]),
        (2000, 50, [40, 33, 28, 25, 22, 20]),
    ],
)
def test_quotas_of_the_paper(total: int, first: int, expected: list[int]) -> None:
    assert [Budget(total=total).quota(classes) for classes in range(first, 101, 10)] == expected


@given(st.integers(1, 5000), st.integers(1, 300))
def test_the_quota_is_the_largest_that_keeps_the_budget(total: int, classes: int) -> None:
    budget = Budget(total=total)
    if total < classes:
        with pytest.raises(ClassgrowError, match=f"raise `memory` to at least {classes}"):
            budget.quota(classes)
        return
    quota = budget.quota(classes)
    assert quota >= 1 and quota * classes <= total < (quota + 1) * classes


def test_held_out_share_of_the_quota() -> None:
    """BiC: ⌊0.1·M/n⌋, at least one; with m per class max(1, round(m/10))."""
    budget = Budget(total=1000)
    assert [budget.held_out_quota(classes, 0.1) for classes in range(10, 100, 10)] == [10, 5, 3, 2, 2, 1, 1, 1, 1]
    assert [Budget(per_class=m).held_out_quota(50, 0.1) for m in (2, 20, 26, 100)] == [1, 2, 3, 10]
    with pytest.raises(ClassgrowError, match="raise the memory to at least 100 images"):
        Budget(total=60).held_out_quota(50, 0.1)


@pytest.mark.parametrize("number", [0, -1])
def test_no_image_per_class_is_no_memory(number: int) -> None:
    with pytest.raises(ClassgrowError, match="give `memory_per_class` of 1 or more"):
        Budget(per_class=number).quota(2)


def test_one_image_per_class_cannot_be_shared() -> None:
    with pytest.raises(ClassgrowError, match="at least 2 images per class"):
        Budget(per_class=1).held_out_quota(5, 0.1)
    with pytest.raises(ClassgrowError, match="at least 10 images"):
        Budget(total=9).held_out_quota(5, 0.1)


def test_other_budgets() -> None:
    assert Budget(per_class=20).quota(1000) == 20
    assert Budget(unlimited=True).quota(10) == EVERYTHING
    with pytest.raises(ClassgrowError, match="keeps no memory"):
        Budget().quota(1)


@given(st.lists(st.lists(st.integers(1, 30), min_size=1, max_size=3), min_size=1, max_size=4), st.integers(12, 60))
def test_the_budget_holds_and_every_class_keeps_a_prefix(phases: list[list[int]], total: int) -> None:
    """Phases bring classes with some images each; as in `Remember`, old classes shrink before new ones come in."""
    memory, available = Memory(Budget(total=total)), list[int]()
    for sizes in phases:
        start = len(available)
        available += sizes
        quota = memory.budget.quota(len(available))
        memory.shrink(quota)
        for label, size in enumerate(sizes, start):
            memory.add(*numbered(label, min(size, quota)))
        assert len(memory) <= total
        assert memory.images is not None
        for label, size in enumerate(available):
            mine = memory.labels == label
            assert memory.ranks[mine].tolist() == list(range(min(size, quota)))
            assert memory.images[mine][:, 0, 0, :2].tolist() == [[label, rank] for rank in range(min(size, quota))]


def test_roles_shrink_apart() -> None:
    memory = Memory(Budget(total=100))
    memory.add(*numbered(0, 5))
    memory.add(*numbered(0, 4), role=HELD_OUT)
    memory.shrink(2, HELD_OUT)
    assert (memory.count(TRAIN), memory.count(HELD_OUT)) == (5, 2)
    memory.shrink(3)
    assert (memory.count(TRAIN), memory.count(HELD_OUT), len(memory)) == (3, 2, 5)
    classes = (ClassLabel(7, "seven"),)
    held_out = memory.view(classes, HELD_OUT)
    assert held_out is not None and held_out.read(torch.arange(2))[:, 0, 0, 1].tolist() == [0, 1]
    memory.clear()
    assert len(memory) == 0 and memory.view(classes) is None


def test_the_memory_owns_its_pixels() -> None:
    images, labels, ranks = numbered(1, 3)
    memory = Memory(Budget(total=3))
    memory.add(images, labels, ranks)
    images.fill_(99)
    assert memory.images is not None and memory.images[:, 0, 0, 0].tolist() == [1, 1, 1]


def test_restore() -> None:
    memory, other = Memory(Budget(total=9)), Memory(Budget(total=9))
    assert "images" not in memory.tensors() and memory.view(()) is None
    memory.add(*numbered(2, 3))
    memory.add(*numbered(4, 2), role=HELD_OUT)
    other.restore(memory.tensors())
    assert all(torch.equal(other.tensors()[name], value) for name, value in memory.tensors().items())
    other.restore(Memory(Budget()).tensors())
    assert other.images is None and len(other) == 0


def test_features_stay_with_their_images() -> None:
    """Each image's feature is its class and rank; those of dropped images go, and an image without any leaves none."""
    memory = Memory(Budget(total=9))
    for label in (0, 1):
        images, labels, ranks = numbered(label, 3)
        memory.add(images, labels, ranks, features=torch.stack((labels, ranks), 1).double())
    memory.shrink(2)
    memory.forget(0)
    assert memory.features is not None and memory.features.dtype == torch.float32
    assert memory.features.tolist() == [[1, 0], [1, 1]]
    other = Memory(Budget(total=9))
    other.restore(memory.tensors())
    assert other.features is not None and torch.equal(other.features, memory.features)
    memory.add(*numbered(1, 1))
    assert memory.features is None and "features" not in memory.tensors() and len(memory) == 3


def test_without_photos_there_must_be_features() -> None:
    memory = Memory(Budget(total=9), keep_photos=False)
    images, labels, ranks = numbered(0, 2)
    memory.add(images, labels, ranks, features=torch.ones(2, 4))
    assert memory.images is None and memory.tensors().keys() == {"labels", "ranks", "roles", "features"}
    with pytest.raises(ClassgrowError, match="need features: leave out `keep_photos=False`"):
        memory.add(images, labels, ranks)
