"""The benchmarks measure what they say; how fast anything is, no test asserts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from benchmarks import accuracy, between, growth, step, timing
from benchmarks.__main__ import NAMES
from benchmarks.situation import images_of, learner_at, training_of
from benchmarks.timing import Timing, Turn, take_turns, time_and_peak
from classgrow.data.labelled import ArrayStore, LabelledImages
from classgrow.specs.spec import Spec

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


def test_every_turn_is_told_with_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """`a` takes 2 s and `b` 4: of three rounds of 6 s, 16 s are left after the first `a`, if `b` takes as long, 14."""
    clock = [0.0]
    monkeypatch.setattr(timing.time, "perf_counter", lambda: clock[0])

    def lasts(seconds: float) -> None:
        clock[0] += seconds

    turns: list[Turn] = []
    work = {"a": lambda: lasts(2.0), "b": lambda: lasts(4.0)}
    take_turns(work, rounds=2, warm_up=1, heard=turns.append)
    assert [(turn.name, turn.round, turn.seconds) for turn in turns[:3]] == [
        ("a", 0, 2.0),
        ("b", 0, 4.0),
        ("a", 1, 2.0),
    ]
    assert [turn.left for turn in turns] == [10.0, 12.0, 10.0, 6.0, 4.0, 0.0]
    assert turns[2].line(512) == "round 1 of 2: a, 256 images/s; 0:10 left"
    assert turns[0].line(0) == "warm-up: a, 2.0 s; 0:10 left"


def test_no_round_begins_that_would_end_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds of 6 s: three end within 20 s; one is timed however little time there is."""
    clock = [0.0]
    monkeypatch.setattr(timing.time, "perf_counter", lambda: clock[0])

    def job() -> None:
        clock[0] += 6.0

    assert len(take_turns({"a": job}, rounds=9, warm_up=1, limit=20.0)["a"].seconds) == 2
    assert len(take_turns({"a": job}, rounds=9, warm_up=1, limit=1.0)["a"].seconds) == 1


def test_a_few_methods_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the plain loop they are measured against, and a line for each as it is timed."""
    for name, value in {"BATCHES": 1, "SIZES": (32,)}.items():
        monkeypatch.setattr(step, name, value)
    said: list[str] = []
    found = step.measure(rounds=1, only=["replay"], say=said.append)
    assert [row["loop"] for row in found["rows"]] == ["reference, no teacher", "replay, eager"]
    assert found["rows"][0]["x reference"] == 1.0 and found["rounds"] == 1
    assert [line.partition(",")[0] for line in said[3:]] == [
        "round 1 of 1: reference", "round 1 of 1: replay", "round 1 of 1: matrix product",
    ]  # fmt: skip


def phase(number: int, reached: float, images: int, seconds: float, reference: int) -> accuracy.Phase:
    return accuracy.Phase(number, accuracy.AUTHORS[number - 1], reached, images, seconds, reference)


def test_the_seconds_to_the_authors_accuracy_by_hand() -> None:
    """350,000 images at 100 a second and 490,000 at 50 are 13,300 s; ours took 100 and 90."""
    phases = [phase(1, 0.84, 250_000, 100.0, 350_000), phase(2, 0.738, 147_000, 90.0, 490_000)]
    found = accuracy.outcome(phases, {1: 100.0, 2: 50.0})
    assert (found["our_seconds"], found["reference_seconds"], found["ratio"]) == (190.0, 13_300.0, 70.0)
    assert [row["within a point"] for row in found["rows"]] == ["yes", "yes"]
    missed = accuracy.outcome([phases[0], phase(2, 0.7375, 147_000, 90.0, 490_000)], {1: 100.0, 2: 50.0})
    assert missed["ratio"] is None and missed["rows"][1]["within a point"] == "no"


def test_a_finished_record_is_taken(tmp_path: Path) -> None:
    """A kept one: 5,000 images for 50 epochs, then 7,000 for 21; theirs for 70."""
    said: list[str] = []
    folder = Path(__file__).with_name("records")
    found = accuracy.measure(record=folder, rates={1: 175.0, 2: 70.0}, say=said.append)
    assert [row["our images"] for row in found["rows"]] == [250_000, 147_000]
    assert [row["reference images"] for row in found["rows"]] == [350_000, 490_000]
    assert found["reference_seconds"] == 2000.0 + 7000.0
    assert found["ratio"] == pytest.approx(9000 / (478.31 + 402.37), rel=1e-4)
    assert "profile fast, trained on AMD EPYC" in said[0]
    with pytest.raises(SystemExit, match="nothing"):
        accuracy.measure(record=tmp_path / "nothing", rates={1: 1.0, 2: 1.0}, say=said.append)


def test_without_a_record_it_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(accuracy, "IMAGES", 8)
    spec = Spec(dataset="digits", classes=4, first=2, step=2, phases=2, epochs=1, profile="fast")
    said: list[str] = []
    found = accuracy.measure(rounds=1, spec=spec, say=said.append)
    assert [row["phase"] for row in found["rows"]] == [1, 2] and found["our_seconds"] > 0
    assert any(line.startswith("phase 2: ") for line in said) and "round 1 of 1: reference, phase 2" in said[-1]
    assert found["rows"][0]["reference images/s"] > 0
    again = accuracy.measure(spec=spec, rates={1: 1.0, 2: 1.0}, say=said.append)  # what is there is not trained again
    assert again["our_seconds"] == found["our_seconds"]


@pytest.mark.parametrize("words", [("startup", "--rounds", "3"), ("step", "--only", "nobody")])
def test_an_option_for_another_benchmark_is_refused(words: tuple[str, ...]) -> None:
    answer = subprocess.run([sys.executable, "-m", "benchmarks", *words], cwd=ROOT, capture_output=True, text=True)
    assert answer.returncode == 2 and ("is not for startup" in answer.stderr or "choose among" in answer.stderr)


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
