"""Time budgets: words, epochs by the measured pace, and a second look after every epoch."""

from __future__ import annotations

import time
from contextlib import nullcontext
from pathlib import Path

import pytest

from classgrow.errors import ClassgrowError
from classgrow.photos.budget import OutOfTimeError, Pace, TimeBudget, TimedCheckpoint, seconds_of, with_epochs
from classgrow.recipes import RECIPES


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("10m", 600), ("1h30m", 5400), (" 0.5H ", 1800), (12.5, 12.5)]
)
def test_times_in_words(text: str | float, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "10 m", "-5s", "0", "5x", "nan", float("inf"), True])
def test_what_is_no_time(text: str | float) -> None:
    with pytest.raises(ClassgrowError, match=r"`time_budget` = .* is no time"):
        seconds_of(text)


@pytest.mark.parametrize(("afterwards", "epochs"), [(0.0, 47), (50.0, 22), (500.0, 1)])
def test_epochs_that_fit(afterwards: float, epochs: int) -> None:
    """100.9 seconds of which 95 % are planned for, 2 s an epoch: 47 epochs, fewer where something comes after."""
    assert Pace(0.01, afterwards).epochs(TimeBudget(100.9), 200) == epochs


def test_an_epoch_that_takes_longer_than_measured_shortens_the_rest(tmp_path: Path) -> None:
    """10 of 20 epochs are done and the last took 4 s; 12 s are left and 2 s come after: 2 more fit."""
    file = TimedCheckpoint(tmp_path / "c", budget=TimeBudget(100.0), pace=Pace(0.1, 2.0), epochs=20)
    file.budget = TimeBudget(100.0, time.monotonic() - 88.0)
    file._epoch_ended = time.monotonic() - 4.0
    with pytest.raises(OutOfTimeError):
        file.write({}, {"point": {"epoch": 10}})
    assert file.epochs == 12 and file.path.is_file()
    file.budget = TimeBudget(1000.0)
    file.write({}, {"point": {"epoch": 11}})  # there is time
    assert file.epochs == 12


@pytest.mark.parametrize(("left", "shortened"), [(41.5, True), (60.0, False)])
def test_the_rest_is_shortened_where_it_would_not_fit(tmp_path: Path, left: float, shortened: bool) -> None:
    """10 epochs of 4 s are to come, and 2 s come after: 42 s, to which no part of the budget is added."""
    file = TimedCheckpoint(tmp_path / "c", budget=TimeBudget(100.0), pace=Pace(0.1, 2.0), epochs=20)
    file.budget = TimeBudget(100.0, time.monotonic() - 100.0 + left)
    file._epoch_ended = time.monotonic() - 4.0
    with pytest.raises(OutOfTimeError) if shortened else nullcontext():
        file.write({}, {"point": {"epoch": 10}})
    assert (file.epochs < 20) is shortened


def test_a_recipe_of_other_length_keeps_its_rates() -> None:
    recipe = RECIPES["eeil"]["cifar"]
    shorter = with_epochs(recipe, 10)
    assert (shorter.first.epochs, shorter.later.epochs, shorter.first.lr) == (10, 10, recipe.first.lr)
    assert shorter.fine_tune is not None and shorter.fine_tune.epochs == 5
