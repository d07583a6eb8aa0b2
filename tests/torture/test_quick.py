"""A little of every part of the torture; `make torture` does the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from torture.parts import PARTS
from torture.tally import Limits, Tally

# Kills of real processes take seconds each: tests/contract and tests/cli have their own.
TRIES = {"mutations": 120, "crashes": 10, "disks": 10, "power": 80}


@pytest.mark.parametrize("name", TRIES)
def test_nothing_breaks(name: str, tmp_path: Path) -> None:
    tally = PARTS[name][0](Limits(60.0, tmp_path / name, seed=2, most=TRIES[name]))
    assert tally.problems == []
    assert sum(tally.counts.values()) >= 5


def test_a_traceback_is_a_problem_and_a_sentence_is_none() -> None:
    from classgrow.errors import ClassgrowError

    tally = Tally()
    with tally.trying("one"):
        raise ClassgrowError("a sentence")
    with tally.trying("one"):
        raise KeyError("a traceback")
    with tally.trying("one", KeyError):
        raise KeyError("allowed")
    assert tally.counts["one"] == 3 and len(tally.problems) == 1 and "KeyError" in tally.problems[0]


def test_a_power_cut_shows_a_missing_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the sync of folders, what was promised is gone: the simulation sees it."""
    monkeypatch.setattr("classgrow.disk.sync_folder", lambda folder: None)
    tally = PARTS["power"][0](Limits(60.0, tmp_path / "power", seed=2, most=60))
    assert any("good state is lost" in problem or "is left" in problem for problem in tally.problems)
