"""Shapes over progress: hand-worked rates, and drops by completed epochs as they always were."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from classgrow.presets import PRESETS
from classgrow.recipes import RECIPES, Recipe, recipe_for
from classgrow.schedules import SHAPES, Schedule
from classgrow.specs.typed import as_json, typed


def by_completed_epochs(schedule: Schedule, epoch: int) -> float:
    """The rate of an epoch as versions with one rate an epoch computed it."""
    return schedule.lr * schedule.factor ** sum(drop <= epoch for drop in schedule.drops)


def schedules_of(recipe: Recipe) -> list[Schedule]:
    return [one for one in (recipe.first, recipe.later, recipe.fine_tune) if one is not None]


@given(
    name=st.sampled_from(sorted(RECIPES)),
    preset=st.sampled_from(sorted(PRESETS)),
    profile=st.sampled_from(["official", "matched"]),
    epochs=st.none() | st.integers(1, 300),
    batches=st.integers(1, 1200),
)
def test_every_update_has_the_rate_its_epoch_had(
    name: str, preset: Any, profile: Any, epochs: int | None, batches: int
) -> None:
    """The first and the last update of every epoch: between them the rate of steps cannot change twice."""
    for schedule in schedules_of(recipe_for(name, preset, profile, epochs)):
        updates = schedule.epochs * batches
        for epoch in range(schedule.epochs):
            wanted = by_completed_epochs(schedule, epoch)
            assert schedule.rate_of(epoch * batches, updates) == wanted
            assert schedule.rate_of(epoch * batches + batches - 1, updates) == wanted
            assert schedule.lr_at(epoch) == wanted


def test_linear_rises_over_the_warm_up_and_falls_to_zero() -> None:
    """Peak 0.5 after a fifth: half of it at 0.1 and at 0.6, the middle of what is left."""
    schedule = Schedule(10, 0.5, (), 1.0, "linear", warm_up=0.2)
    rates = [schedule.rate(progress) for progress in (0.0, 0.1, 0.2, 0.6, 1.0)]
    assert rates == pytest.approx([0.0, 0.25, 0.5, 0.25, 0.0])


def test_cosine_is_half_way_down_in_the_middle() -> None:
    schedule = Schedule(10, 2.0, (), 1.0, "cosine")
    assert [schedule.rate(progress) for progress in (0.0, 0.5, 1.0)] == pytest.approx([2.0, 1.0, 0.0])
    assert schedule.rate(0.25) == pytest.approx(1 + math.cos(math.pi / 4))


def test_steps_warm_up_too() -> None:
    schedule = Schedule(10, 2.0, (5,), 0.1, warm_up=0.1)
    assert [schedule.rate(progress) for progress in (0.05, 0.1, 0.49, 0.5)] == pytest.approx([1.0, 2.0, 2.0, 0.2])


def test_one_cycle_is_that_of_torch() -> None:
    """Torch puts its rates on the ends of 1000 - 1 stretches and the peak on update 300 - 1."""
    schedule = Schedule(10, 0.8, (), 1.0, "one-cycle", warm_up=0.3)
    optimiser = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    theirs = torch.optim.lr_scheduler.OneCycleLR(optimiser, 0.8, total_steps=1000, pct_start=0.3)
    rates = []
    for _ in range(1000):
        rates.append(theirs.get_last_lr()[0])
        optimiser.step()
        theirs.step() if len(rates) < 1000 else None
    ours = [schedule.rate(n / 299 * 0.3 if n < 299 else 0.3 + (n - 299) / 700 * 0.7) for n in range(1000)]
    assert ours == pytest.approx(rates, rel=1e-9)


@given(shape=st.sampled_from(sorted(SHAPES)), warm_up=st.floats(0, 0.9), updates=st.integers(1, 500))
def test_rates_are_positive_and_never_above_the_peak(shape: Any, warm_up: float, updates: int) -> None:
    schedule = Schedule(5, 1.5, (3,), 0.1, shape, warm_up)
    rates = [schedule.rate_of(update, updates) for update in range(updates)]
    assert all(0 < rate <= 1.5 + 1e-12 for rate in rates)


def test_json_of_steps_is_what_it_was_and_other_shapes_are_said() -> None:
    steps = Schedule(70, 2.0, (50, 64), 0.2)
    assert as_json(steps) == {"epochs": 70, "lr": 2.0, "drops": [50, 64], "factor": 0.2}
    linear = Schedule(20, 1.0, (), 1.0, "linear", 0.1)
    assert as_json(linear) == {
        **{"epochs": 20, "lr": 1.0, "drops": [], "factor": 1.0},
        **{"shape": "linear", "warm_up": 0.1},
    }
    assert [typed(Schedule, as_json(one)) for one in (steps, linear)] == [steps, linear]


def test_a_schedule_grows_until_it_makes_enough_updates() -> None:
    """500 updates at 3 an epoch take 167 epochs; drops after a quarter and a half of 40 fall at 42 and at 84."""
    schedule = Schedule(40, 0.01, (10, 20), 0.1)
    assert schedule.at_least(500, 3) == Schedule(167, 0.01, (42, 84), 0.1)
    assert schedule.at_least(500, 13) == schedule  # 520 of its own
    assert schedule.at_least(0, 1) == schedule
    linear = Schedule(12, 0.005, (), 1.0, "linear", 0.1)
    assert linear.at_least(500, 10) == Schedule(50, 0.005, (), 1.0, "linear", 0.1)


def test_scaling_keeps_shape_and_warm_up() -> None:
    assert Schedule(20, 1.0, (), 1.0, "cosine", 0.1).scaled(5) == Schedule(5, 1.0, (), 1.0, "cosine", 0.1)
