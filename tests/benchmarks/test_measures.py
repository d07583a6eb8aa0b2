"""The benchmarks measure what they say; how fast anything is, no test asserts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from benchmarks import between, growth, step
from benchmarks.__main__ import NAMES
from benchmarks.situation import images_of, learner_at, training_of
from benchmarks.timing import Timing, take_turns, time_and_peak
from classgrow.data.labelled import ArrayStore, LabelledImages

ROOT = Path(__file__).parents[2]


def test_a_timing_by_hand() -> None:
    """Rounds of 1, 2, 9 seconds against 2, 2, 3: ratios 0.5, 1 and 3."""
    one, other = Timing((1.0, 2.0, 9.0)), Timing((2.0, 2.0, 3.0))
    assert (one.median, one.low, one.high) == (2.0, 1.0, 9.0)
    assert (one.over(other), other.over(one)) == (1.0, 1.0)
    assert Timing((4.0,)).low == Timing((4.0,)).high == 4.0


def test_everything_has_its_turn_in_every_round() -> None:
    calls: list[str] = []
    timings = take_turns({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, rounds=2, warm_up=1)
    assert calls == ["a", "b"] * 3
    assert [len(timing.seconds) for timing in timings.values()] == [2, 2]


def test_peak_memory_of_a_process() -> None:
    """A list of 200 MB is in it; a program that fails is not measured."""
    assert 0.2 < time_and_peak(["-c", "x = bytearray(200 * 2**20)"])[1] < 0.4
    with pytest.raises(SystemExit, match="ended with 3"):
        time_and_peak(["-c", "raise SystemExit(3)"])


def test_operations_of_a_step() -> None:
    """ResNet-32 forwards 69.1 million multiplications an image; a step of a method with a teacher forwards twice and
    goes back once (twice a forward pass, without the gradient of the image itself)."""
    with_teacher, without = (
        step.step_flops(step.trained(name, 128, compiled=False)) / 128 for name in ("fgp", "replay")
    )
    forward = with_teacher - without
    assert forward == pytest.approx(2 * 69.1e6, rel=0.01)
    assert without == pytest.approx(3 * forward, rel=0.01)


@pytest.mark.parametrize("method", step.METHODS)
def test_the_situation_is_that_of_the_method(method: str) -> None:
    """Teacher, exemplars and classes are there as in a real second phase."""
    learner, data = learner_at(method, old=4, new=2, per_class=5, memory=20)
    training = training_of(learner, data)
    assert (training.teacher is not None) == ("*" in str(training.objective))
    assert len(training.data) == 10 + (20 if learner.method.keeps_memory else 0)
    assert torch.unique(training.data.labels).tolist() == (list(range(6)) if learner.method.keeps_memory else [4, 5])


def test_what_follows_a_phase_is_really_done() -> None:
    learner, data = learner_at("fgp", old=4, new=2, per_class=12, memory=24)
    before = learner.state.memory.tensors()
    between.after_phase(learner, data, before)
    assert torch.bincount(learner.state.memory.labels).tolist() == [4] * 6
    assert learner.state.fitted["nearest"]["means"].shape == (6, 64)


def test_what_it_is_measured_against_sees_the_same_images() -> None:
    """Mirrored twice is as it was; unlike ours in no value, only in the way there."""
    data = images_of(0, 1, 6)
    torch.manual_seed(0)
    plain = between.plain_features(data, mirrored=False)
    torch.manual_seed(0)
    pixels = ArrayStore(data.read(torch.arange(6)).flip(2))
    turned = between.plain_features(LabelledImages(pixels, data.indices, data.labels, data.classes), mirrored=True)
    assert plain.shape == (6, 64) and torch.allclose(plain, turned, atol=1e-5)


def test_growth_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"PHASES": 4, "STEP": 1, "PER_CLASS": 3, "MEMORY": 8}.items():
        monkeypatch.setattr(growth, name, value)
    found = growth.measure(tmp_path / "growth.png")
    assert [row["classes"] for row in found["rows"]] == [1, 2, 3, 4]
    assert [row["exemplars"] for row in found["rows"]] == [3, 6, 6, 8]
    assert (tmp_path / "growth.png").stat().st_size > 5000


def test_the_command_writes_what_it_prints(tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    command = [sys.executable, "-m", "benchmarks", "startup", "--output", str(file), "--threads", "1"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found = json.loads(file.read_text())["startup"]
    assert "classgrow --help" in [row["command"] for row in found["rows"]]
    assert found["threads"] == 1 and found["hardware"]["cores"] >= 1
    assert "classgrow --help" in answer.stdout
    assert set(NAMES) >= {"step", "between", "growth", "startup", "memory"}
