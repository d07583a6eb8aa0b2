"""Stop anywhere, go on, and nobody can tell: records and checkpoints equal those of the run that never stopped."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from classgrow import checkpoint
from classgrow.data.labelled import Dataset
from classgrow.engine.compiled import Compile, CompiledBackbones, compiler_found
from classgrow.engine.runtime import Execution, PrecisionWish
from classgrow.experiments import run
from classgrow.methods import build_method
from classgrow.progress import Progress, Silent
from classgrow.records.record import without_times
from classgrow.specs.spec import Spec

ONE_THREAD = Execution(threads=1)


class Stopped(BaseException):
    """As hard as Ctrl-C: nothing between here and the test may catch it for good."""


class Stopping(Silent):
    """Stops the run once in the middle of every bar: every training, every optimisation of exemplars."""

    def __init__(self) -> None:
        self.stopped = False
        self.texts: list[str] = []

    def begin(self, text: str, total: int, done: int = 0) -> None:
        self.text, self.total, self.done = text, total, done

    def advance(self, images: int) -> None:
        self.done += images
        if not self.stopped and 2 * self.done > self.total:
            self.stopped = True
            self.texts.append(self.text)
            raise Stopped

    def end(self) -> None:
        self.stopped = False


@pytest.fixture
def small_runs(few_digits: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs on a few digits, with a checkpoint after every epoch."""
    monkeypatch.setattr(run, "load", lambda *_: few_digits)
    monkeypatch.setattr(run, "CheckpointFile", partial(checkpoint.CheckpointFile, every_epochs=1))


def finish(
    spec: Spec,
    folder: Path,
    progress: Progress | None = None,
    compile: Compile = "auto",
    precision: PrecisionWish = "auto",
) -> tuple[Any, Any]:
    """The record without times and the tensors of the last checkpoint."""
    outcome = run.run_spec(
        spec, folder, resume=True, execution=ONE_THREAD, compile=compile, precision=precision, progress=progress
    )
    tensors, _ = checkpoint.read(outcome.folder / run.CHECKPOINT_FILE)
    return without_times(outcome.record), tensors


def stop_and_go_on(attempt: Callable[[], tuple[Any, Any]]) -> tuple[Any, Any, int]:
    """Try until it is done; how often it was stopped comes last."""
    for stops in range(100):
        try:
            return *attempt(), stops
        except Stopped:
            continue
    raise AssertionError("the run never came further")


def assert_same(one: tuple[Any, Any], other: tuple[Any, Any]) -> None:
    assert one[0] == other[0]
    assert one[1].keys() == other[1].keys()
    assert [name for name, value in one[1].items() if not torch.equal(value, other[1][name])] == []


@pytest.mark.usefixtures("small_runs")
def test_a_run_stopped_in_the_middle_of_every_training(name: str, tmp_path: Path) -> None:
    """From the second phase on that is within distillation, EEIL's second stage, Mnemonics' optimisation."""
    spec = Spec(dataset="digits", method=name, memory=12, classes=4, first=2, step=1, epochs=2)
    whole = finish(spec, tmp_path / "whole")
    assert len(whole[0]["phases"]) == 3 and whole[0]["status"] == "finished"

    stopping = Stopping()
    *parts, stops = stop_and_go_on(lambda: finish(spec, tmp_path / "bars", stopping))
    assert_same(whole, (parts[0], parts[1]))
    bars = {"eeil": 5, "mnemonics": 6}.get(name, 3)
    assert stops == len(stopping.texts) == bars
    assert {"phase 1", "phase 2", "phase 3"} <= set(stopping.texts)
    assert stopping.texts.count("exemplars") == (3 if name == "mnemonics" else 0)


@pytest.mark.parametrize("method", ["fgp", "eeil", "lucir"])
@pytest.mark.usefixtures("small_runs")
def test_a_fast_run_stopped_in_the_middle_of_its_schedules(method: str, tmp_path: Path) -> None:
    """Every update has its own rate: a run that goes on must know which one comes next."""
    spec = Spec(dataset="digits", method=method, profile="fast", memory=12, classes=4, first=2, step=1, epochs=10)
    whole = finish(spec, tmp_path / "whole")
    later = whole[0]["resolved"]["recipe"]["later"]
    assert (later["shape"], later["warm_up"], later["epochs"] > 1) == ("linear", 0.1, method != "eeil")
    stopping = Stopping()
    *parts, stops = stop_and_go_on(lambda: finish(spec, tmp_path / "stopped", stopping))
    assert_same(whole, (parts[0], parts[1]))
    assert stops == (5 if method == "eeil" else 3)


@pytest.mark.usefixtures("small_runs", "bfloat16")
def test_a_run_in_bfloat16_stopped_in_the_middle_of_every_training(name: str, tmp_path: Path) -> None:
    """It is stored with the run: going on needs no word of it, and makes the same bits."""
    spec = Spec(dataset="digits", method=name, memory=12, classes=4, first=2, step=2, epochs=2)
    whole = finish(spec, tmp_path / "whole", precision="bfloat16")
    assert (whole[0]["status"], whole[0]["execution"]["precision"]) == ("finished", "bfloat16")
    assert_same(whole, finish(spec, tmp_path / "again", precision="bfloat16"))
    learned = [value for place, value in whole[1].items() if not place.startswith("fitted.")]
    assert {value.dtype for value in learned if value.is_floating_point()} == {torch.float32}

    stopping = Stopping()
    with pytest.raises(Stopped):
        finish(spec, tmp_path / "bars", stopping, precision="bfloat16")
    *parts, stops = stop_and_go_on(lambda: finish(spec, tmp_path / "bars", stopping))
    assert_same(whole, (parts[0], parts[1]))
    assert stops + 1 == len(stopping.texts) == {"eeil": 3, "mnemonics": 4}.get(name, 2)
    exact = finish(spec, tmp_path / "exact")
    differs = any(not torch.equal(value, exact[1][part]) for part, value in whole[1].items())
    assert differs == bool(build_method(name).objectives)  # only training computes in it


@pytest.mark.skipif(not compiler_found(), reason="compiled steps need a C++ compiler")
@pytest.mark.usefixtures("small_runs")
def test_a_compiled_run_stopped_in_the_middle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole batches go through the compiled backbone, the last one of an epoch does not."""
    compiled: list[int] = []
    call = CompiledBackbones.__call__

    def watched(self: CompiledBackbones, backbone: Any) -> Any:
        run_it = call(self, backbone)
        return lambda images: (compiled.append(len(images)), run_it(images))[1]

    monkeypatch.setattr(CompiledBackbones, "__call__", watched)
    spec = Spec(dataset="digits", method="fgp", memory=12, classes=4, first=2, step=2, epochs=2)
    whole = finish(spec, tmp_path / "whole", compile="on")
    assert compiled and set(compiled) == {32} and whole[0]["execution"]["compiled"]
    stopping = Stopping()
    *parts, stops = stop_and_go_on(lambda: finish(spec, tmp_path / "stopped", stopping, compile="on"))
    assert stops == 2
    assert_same(whole, (parts[0], parts[1]))


@pytest.mark.usefixtures("small_runs")
def test_a_run_stopped_after_every_checkpoint(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between all steps and between all epochs."""
    spec = Spec(dataset="digits", method=name, memory=12, classes=3, first=2, step=1, epochs=2)
    whole = finish(spec, tmp_path / "whole")
    written: list[tuple[int, int]] = []

    class Fragile(checkpoint.CheckpointFile):
        def write(self, tensors: Any, plain: Any) -> None:
            super().write(tensors, plain)
            written.append((plain["phase"], plain["step"]))
            raise Stopped

    monkeypatch.setattr(run, "CheckpointFile", partial(Fragile, every_epochs=1))
    *parts, stops = stop_and_go_on(lambda: finish(spec, tmp_path / "fragile"))
    assert_same(whole, (parts[0], parts[1]))
    steps = len(whole[0]["method"]["steps"])
    assert stops == len(written) and written == sorted(written)
    assert {step for phase, step in written if phase == 2} >= set(range(1, steps + 1))
