from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from classgrow.data.labelled import Dataset, LabelledImages
from classgrow.data.scenario import Scenario
from classgrow.errors import ClassgrowError


def letters(count: int) -> Dataset:
    """Two train images and one test image of each class; a pixel is its class's original id."""
    ids = torch.arange(count, dtype=torch.uint8)
    train, test = ids.repeat(2).view(-1, 1, 1, 1), ids.view(-1, 1, 1, 1)
    names = [chr(ord("a") + k) for k in range(count)]
    return Dataset(
        "letters",
        LabelledImages.from_arrays(train, train.flatten().long(), names),
        LabelledImages.from_arrays(test, test.flatten().long(), names),
    )


def test_phases_of_a_small_scenario() -> None:
    """Five classes, 2 first and then 2 at a time: the last phase has the one that is left."""
    scenario = Scenario.make([4, 2, 0, 1, 3], first=2, step=2)
    assert scenario.sizes == (2, 2, 1)
    assert scenario.phases == 3
    assert [scenario.seen(phase) for phase in (0, 1, 2, 3)] == [0, 2, 4, 5]
    assert [list(scenario.new_labels(phase)) for phase in (1, 2, 3)] == [[0, 1], [2, 3], [4]]


def test_train_holds_new_classes_and_test_all_seen_ones() -> None:
    dataset, scenario = letters(5), Scenario.make([4, 2, 0, 1, 3], first=2, step=2)
    train, test = scenario.train(dataset, 2), scenario.test(dataset, 2)
    assert "".join(label.name for label in train.classes) == "ecabd"
    assert train.classes == test.classes
    assert train.counts().tolist() == [0, 0, 2, 2, 0]
    assert test.counts().tolist() == [1, 1, 1, 1, 0]
    ids = [train.classes[label].id for label in train.labels.tolist()]
    assert train.read(torch.arange(len(train))).flatten().tolist() == ids == [0, 1, 0, 1]


def test_the_paper_s_scenarios() -> None:
    assert Scenario.make(range(100), 10, 10).sizes == (10,) * 10
    assert Scenario.make(range(100), 50, 10).sizes == (50, 10, 10, 10, 10, 10)


def test_an_order_may_leave_classes_out() -> None:
    scenario = Scenario.make([3, 1], first=1, step=1)
    assert [label.id for label in scenario.train(letters(5), 2).classes] == [3, 1]


@given(count=st.integers(1, 20), data=st.data())
def test_every_class_arrives_exactly_once(count: int, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(count)))
    first, step = data.draw(st.integers(1, count)), data.draw(st.integers(1, count + 2))
    scenario, dataset = Scenario.make(order, first, step), letters(count)
    assert scenario.sizes[0] == first
    assert all(size == step for size in scenario.sizes[1:-1])
    assert 1 <= scenario.sizes[-1] <= max(first, step)
    arrived: list[int] = []
    for phase in range(1, scenario.phases + 1):
        train, test = scenario.train(dataset, phase), scenario.test(dataset, phase)
        assert train.labels.unique().tolist() == list(scenario.new_labels(phase))
        assert test.labels.unique().tolist() == list(range(scenario.seen(phase)))
        arrived += [train.classes[label].id for label in train.labels.unique().tolist()]
    assert arrived == list(order)


@pytest.mark.parametrize(("first", "step"), [(0, 1), (1, 0), (-1, 2), (4, 1)])
def test_impossible_phases_are_refused(first: int, step: int) -> None:
    with pytest.raises(ClassgrowError, match=r"at (least|most)"):
        Scenario.make([0, 1, 2], first, step)


@pytest.mark.parametrize(
    ("order", "sizes", "says"),
    [
        ((), (), "not empty"),
        ((0, 0), (2,), "twice"),
        ((0, -1), (2,), "numbered from 0"),
        ((0, 1), (1,), "do not cover"),
        ((0, 1), (2, 0), "do not cover"),
    ],
)
def test_inconsistent_scenarios_are_refused(order: tuple[int, ...], sizes: tuple[int, ...], says: str) -> None:
    with pytest.raises(ClassgrowError, match=says):
        Scenario(order, sizes)


def test_there_is_no_phase_beyond_the_ends() -> None:
    scenario = Scenario.make([0, 1], 1, 1)
    for phase in (0, 3):
        with pytest.raises(ClassgrowError, match=f"no phase {phase}"):
            scenario.new_labels(phase)


def test_an_order_beyond_the_data_set_is_refused() -> None:
    with pytest.raises(ClassgrowError, match="no class 7"):
        Scenario.make([0, 7], 1, 1).train(letters(3), 1)
