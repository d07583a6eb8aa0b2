"""`classgrow paper`: the list, what is refused, and a tiny part of the paper on real data."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from classgrow.cli.flags import FlagCommand
from classgrow.cli.grid_view import draw, duration, headline, items_table
from classgrow.cli.paper import choose, finish, paper, read_reduction
from classgrow.errors import ClassgrowError
from classgrow.experiments import estimate
from classgrow.experiments.grid import GridOutcome, GridStatus, RunStatus
from classgrow.experiments.outline import Outline
from classgrow.experiments.run import run_spec
from classgrow.records.record import RECORD_FILE, PhaseRecord, write_record
from classgrow.specs.paper import ITEMS
from classgrow.specs.reduction import Reduction
from classgrow.specs.spec import Spec

Command = Callable[..., subprocess.CompletedProcess[str]]
TINY = ("--dataset", "cifar100", "--orders", "0", "--epochs", "1", "--classes", "4", "--first", "2", "--step", "2",
        "--memory", "8")  # fmt: skip


@pytest.fixture
def fixed_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that trains an image of each kind in a thousandth of a second."""
    monkeypatch.setattr(estimate, "step_seconds", lambda kind: 0.001)


def test_list_counts_runs_and_time(fixed_speed: None, tmp_path: Path) -> None:
    """Table 1 of the paper: 240 runs. With one order of CIFAR-100: 24, and FGP's first of them trains on
    70 epochs of 5,000 images, then of 5,000 and the memory."""
    whole = items_table(list(ITEMS.values()), Reduction(), tmp_path)
    assert whole.rows[0][:3] == ("table1    Final incremental accuracy, 10 new classes per phase", "240", "0")
    assert whole.footer[0][:2] == ("together, shared runs counted once", "645")
    by_name = {row[0].split()[0]: row for row in whole.rows}
    assert by_name["figure3"][-1] == "classgrow toy mnist" and by_name["figureA1"][-1] == "classgrow toy simulation"
    part = items_table(choose(["table1"], "fgp"), Reduction(("cifar100",), ("0",)), tmp_path)
    assert part.rows[0][1] == "4"
    assert "estimates for this machine" in part.notes[0]
    assert "1 of 5 class orders" in part.title


def test_the_estimate_is_images_times_speed() -> None:
    run = Outline(Spec(), "x", "cifar", 2, (400, 1000))
    assert estimate.training_seconds(run, {"cifar": 0.01}) == pytest.approx(0.01 * (0.75 * 400 + 1000))
    assert estimate.training_seconds(run, {"cifar": 0.01}, phases_done=1) == pytest.approx(10.0)
    assert estimate.training_seconds(run, {"cifar": 0.01}, phases_done=2) == 0


def test_speed_is_measured_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = estimate.speeds(["digits"], tmp_path)
    assert first["digits"] > 0
    monkeypatch.setattr(estimate, "step_seconds", lambda kind: pytest.fail("measured again"))
    assert estimate.speeds(["digits"], tmp_path) == first
    content = json.loads((tmp_path / estimate.SPEED_FILE).read_text())
    content["machine"]["cpu"] = "another"
    (tmp_path / estimate.SPEED_FILE).write_text(json.dumps(content))
    monkeypatch.setattr(estimate, "step_seconds", lambda kind: 0.5)
    assert estimate.speeds(["digits"], tmp_path) == {"digits": 0.5}
    assert not (tmp_path / "none").exists() and estimate.speeds(["digits"], tmp_path / "none") == {"digits": 0.5}
    assert not (tmp_path / "none").exists()  # a list makes no folder


def test_recorded_runs_tell_the_speed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The median over phases from the second on; other machines, other threads and broken records do not count."""
    monkeypatch.setattr(estimate, "step_seconds", lambda kind: 0.5)
    record = run_spec(Spec(dataset="digits", classes=6, memory=20, epochs=1), tmp_path).record
    for name, rates, cpu in (("a", [900, 100, 300], None), ("b", [900, 500], None), ("c", [900, 7], "another")):
        phases = [replace_rate(phase, rate) for phase, rate in zip(record.phases, rates, strict=False)]
        hardware = record.hardware.model_copy(update={"cpu": cpu} if cpu else {})
        (tmp_path / "runs" / name).mkdir(parents=True)
        changed = record.model_copy(update={"phases": phases, "confusion": None, "hardware": hardware})
        write_record(changed, tmp_path / "runs" / name / RECORD_FILE)
    others = record.execution.model_copy(update={"threads": record.execution.threads + 1})
    write_record(record.model_copy(update={"execution": others}), tmp_path / "runs" / "e" / RECORD_FILE)
    (tmp_path / "runs" / "d").mkdir()
    (tmp_path / "runs" / "d" / RECORD_FILE).write_text("{")
    assert estimate.speeds(["digits"], tmp_path / "runs") == {"digits": 1 / 300}


def replace_rate(phase: PhaseRecord, rate: float) -> PhaseRecord:
    return phase.model_copy(update={"images_per_second": float(rate)})


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("table7",), "table1"),
        (("table1", "--dataset", "digits"), "cifar100"),
        (("table1", "--methods", "fpg"), "fgp"),
        (("figure6", "--methods", "bic"), "--list"),
        (("table1", "--classes", "20", "--dataset", "cifar100", "--memory", "5"), "--memory"),
        (("table1", "--profile", "mine"), "matched"),
        (("table1", "--orders", "0,9", "--dataset", "cifar100"), "9"),
        (("table1", "--data", "no/such/folder"), "no/such/folder"),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(arguments: tuple[str, ...], word: str, tmp_path: Path) -> None:
    app = typer.Typer()
    app.command(cls=FlagCommand)(paper)
    done = CliRunner().invoke(app, [*arguments, "--output", str(tmp_path / "runs")])
    assert isinstance(done.exception, ClassgrowError) and word in str(done.exception)
    assert not (tmp_path / "runs").exists()


def test_reduction_and_items_from_flags() -> None:
    reduction = read_reduction("cifar100", "0, 1,2", 7, 20, 4, 4, 200, "matched")
    assert reduction == Reduction(("cifar100",), ("0", "1", "2"), 7, 20, 4, 4, 200, "matched")
    assert read_reduction(None, None, None, None, None, None, None, "fast") == Reduction(profile="fast")
    assert [item.name for item in choose(["figure6", "table1", "figure6"], None)] == ["figure6", "table1"]
    assert {method for item in choose([], "norm-icarl") for method in item.methods} == {"norm-icarl"}


def test_headline_and_view() -> None:
    status = GridStatus(8, 2, 1, 1, (RunStatus("fgp on cifar100", 2, 10, 0.25),), 1, 0.5, 90.0)
    assert headline(status) == "3 of 8 runs done, 1 running, 1 running elsewhere, 1 failed, 1:30 left"
    assert len(draw(status).renderables) == 2
    assert [duration(value) for value in (40, 1500, 27000, 1e6)] == ["40 s", "25 min", "7.5 h", "12 days"]


def test_a_tiny_part_of_the_paper_on_real_data(
    classgrow: Command, data_dir: Path, tmp_path: Path, fixed_speed: None
) -> None:
    """FGP of table 1 in two phases of two classes. Figure 9 shares that run. A list shows it as done."""
    words = ("paper", "table1", "figure9", *TINY, "--methods", "fgp", "--output", tmp_path / "runs", "--data", data_dir)
    done = classgrow(*words, "--threads", "1")
    assert done.returncode == 0, done.stderr
    assert "Runs for table1, figure9: 1; CIFAR-100 only; 1 of 5 class orders; 1 of 70 epochs" in done.stdout
    assert "Runs: 1 done, 0 there already, 0 failed." in done.stdout
    again = classgrow(*words)
    assert "Runs: 0 done, 1 there already, 0 failed." in again.stdout
    listed = items_table(
        choose(["table1"], "fgp"), read_reduction("cifar100", "0", 1, 4, 2, 2, 8, "official"), tmp_path / "runs"
    )
    assert listed.rows[0][1:3] == ("1", "1") and listed.rows[0][-1] == "0 s"


def test_failures_are_listed_and_the_exit_code_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    finish(GridOutcome(done=("a",)), tmp_path)
    with pytest.raises(typer.Exit) as leaving:
        finish(GridOutcome(("a",), {"b": "No data: fetch them.", "d": "No data: fetch them."}, ("c",)), tmp_path)
    shown = capsys.readouterr()
    assert leaving.value.exit_code == 1
    assert "Runs: 1 done, 1 there already, 2 failed." in shown.out
    assert f"  No data: fetch them.\n    {tmp_path / 'b'}, {tmp_path / 'd'}\n" in shown.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["figure6", "--dataset", "imagenet100"], "figure6 has no run on imagenet100"),
        (["figure6", "--orders", ","], "names nothing"),
        (["figure3"], "classgrow toy mnist"),
    ],
)
def test_items_without_runs_are_told_from_settings_without_runs(
    classgrow: Command, arguments: list[str], sentence: str
) -> None:
    answer = classgrow("paper", *arguments)
    assert answer.returncode == 2 and "Traceback" not in answer.stderr
    assert sentence in " ".join(answer.stderr.split())
