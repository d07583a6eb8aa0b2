"""The grid with real processes: killed drivers, killed workers, two drivers at once, runs that fail."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from classgrow.data.catalogue import DATASETS, load
from classgrow.errors import ClassgrowError
from classgrow.experiments.grid import Grid, GridOutcome, GridStatus, Ledger, SilentGrid, run_grid
from classgrow.experiments.lock import BusyError, is_locked, only_one
from classgrow.experiments.outline import Outline, outline
from classgrow.experiments.worker import JOURNAL_FILE, Event, Job, work
from classgrow.records.folder import FAILURE_FILE
from classgrow.records.record import read_record, without_times
from classgrow.specs.spec import Spec

SPECS = [
    Spec(dataset="digits", method=method, classes=4, memory=20, epochs=6, seed=seed)
    for method, seed in (("fgp", 1), ("fgp", 2), ("icarl", 1))
]
IDENTITIES = [outline(spec).identity for spec in SPECS]
DRIVER = """
import json, sys
from pathlib import Path
from classgrow.experiments.grid import run_grid
from classgrow.specs.spec import Spec
specs = [Spec.from_options(one) for one in json.loads(sys.argv[2])]
outcome = run_grid(specs, Path(sys.argv[1]), workers=int(sys.argv[3]), threads=1)
print(json.dumps({"done": outcome.done, "failed": outcome.failed, "skipped": outcome.skipped}))
"""


def drive(output: Path, workers: int = 1) -> subprocess.Popen[str]:
    """A driver in a process of its own."""
    specs = json.dumps([spec.to_json() for spec in SPECS])
    words = [sys.executable, "-c", DRIVER, str(output), specs, str(workers)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def result(driver: subprocess.Popen[str]) -> dict[str, list[str]]:
    out, errors = driver.communicate(timeout=300)
    assert driver.returncode == 0, errors
    values: dict[str, list[str]] = json.loads(out.splitlines()[-1])
    return values


def journal(output: Path, event: str) -> list[dict[str, object]]:
    path = output / JOURNAL_FILE
    lines = path.read_text().splitlines() if path.exists() else []
    return [entry for entry in map(json.loads, lines) if entry["event"] == event]


def until(condition: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def results_of(output: Path) -> dict[str, object]:
    """Everything but times and the commit, which may change while tests run."""
    found: dict[str, object] = {}
    for name in IDENTITIES:
        content = without_times(read_record(output / name / "record.json"))
        del content["code"]
        found[name] = content
    return found


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What the grid gives when nothing goes wrong."""
    output = tmp_path_factory.mktemp("undisturbed")
    statuses: list[GridStatus] = []

    class Watching:
        def update(self, status: GridStatus) -> None:
            statuses.append(status)

        def say(self, text: str) -> None:
            pass

    outcome = run_grid([*SPECS, *SPECS], output, workers=1, threads=1, progress=Watching())
    assert sorted(outcome.done) == sorted(IDENTITIES) and not outcome.failed and not outcome.skipped
    assert statuses[-1].done == statuses[-1].total == 3 and statuses[-1].share == 1 and not statuses[-1].running
    assert max(len(status.running) for status in statuses) == 1
    assert all(early.share <= late.share + 1e-9 for early, late in pairwise(statuses))
    assert run_grid(SPECS, output, threads=1) == GridOutcome(skipped=tuple(IDENTITIES))
    return results_of(output)


def test_killed_driver_and_killed_worker_lose_nothing(undisturbed: dict[str, object], tmp_path: Path) -> None:
    """kill -9 the driver within a run: its worker ends too. Start again, kill -9 the worker within a run: it goes on.
    Every run is finished exactly once, and the numbers are those of the undisturbed grid."""
    first = drive(tmp_path)
    until(lambda: len(journal(tmp_path, "finished")) == 1 and len(journal(tmp_path, "began")) == 2)
    first.kill()
    first.communicate()
    worker = int(str(journal(tmp_path, "began")[-1]["process"]))
    until(lambda: not is_alive(worker), 30)
    finished_before = [str(entry["run"]) for entry in journal(tmp_path, "finished")]
    stamps = {name: (tmp_path / name / "record.json").stat().st_mtime_ns for name in finished_before}

    began = len(journal(tmp_path, "began"))
    second = drive(tmp_path)
    until(lambda: len(journal(tmp_path, "began")) > began)
    entry = journal(tmp_path, "began")[-1]
    checkpoint = tmp_path / str(entry["run"]) / "checkpoint.safetensors"
    until(checkpoint.exists)
    os.kill(int(str(entry["process"])), signal.SIGKILL)
    outcome = result(second)

    assert sorted(outcome["done"] + outcome["skipped"]) == sorted(IDENTITIES) and not outcome["failed"]
    assert set(finished_before) <= set(outcome["skipped"])
    assert Counter(entry["run"] for entry in journal(tmp_path, "finished")) == Counter(IDENTITIES)
    assert stamps == {name: (tmp_path / name / "record.json").stat().st_mtime_ns for name in finished_before}
    assert max(Counter(entry["run"] for entry in journal(tmp_path, "began")).values()) >= 2  # it did go on
    assert results_of(tmp_path) == undisturbed


def test_two_drivers_share_the_work(undisturbed: dict[str, object], tmp_path: Path) -> None:
    """Each run is begun and finished by one of them; both end with all results there."""
    outcomes = [result(driver) for driver in [drive(tmp_path), drive(tmp_path)]]
    done = [run for outcome in outcomes for run in outcome["done"]]
    assert sorted(done) == sorted(IDENTITIES)
    for outcome in outcomes:
        assert sorted(outcome["done"] + outcome["skipped"]) == sorted(IDENTITIES) and not outcome["failed"]
    for event in ("began", "finished"):
        assert Counter(entry["run"] for entry in journal(tmp_path, event)) == Counter(IDENTITIES)
    assert results_of(tmp_path) == undisturbed


def test_a_failed_run_is_recorded_and_the_others_finish(tmp_path: Path) -> None:
    """MNIST without its files fails before it has a record; the digits finish."""
    nowhere = tmp_path / "no data"
    nowhere.mkdir()
    missing, fine = Spec(dataset="mnist", epochs=1), Spec(dataset="digits", classes=2, memory=10, epochs=1)
    said: list[str] = []

    class Listening:
        def update(self, status: GridStatus) -> None:
            pass

        def say(self, text: str) -> None:
            said.append(text)

    runs = tmp_path / "runs"
    outcome = run_grid([missing, fine], runs, nowhere, threads=1, progress=Listening())
    name = outline(missing).identity
    assert outcome.done == (outline(fine).identity,)
    assert "does not hold the MNIST files" in outcome.failed[name]
    failure = json.loads((runs / name / FAILURE_FILE).read_text())
    assert failure["error"] == outcome.failed[name] and failure["command"].startswith("classgrow run --dataset mnist")
    assert any(text.startswith("failed: fgp on mnist") for text in said)
    assert journal(runs, "failed")[0]["error"] == failure["error"]


def test_a_failure_stands_in_the_record_until_the_run_goes_on(tmp_path: Path) -> None:
    """A run that fails in its second phase: the record says so, and going on clears it."""
    spec = Spec(dataset="digits", classes=4, memory=20, epochs=1)
    run = outline(spec)
    job = Job(spec, run.identity, tmp_path, threads=1)
    path = run.folder(tmp_path) / "record.json"

    def stumble(event: Event) -> None:
        if event.kind == "phase":
            raise RuntimeError("the roof fell in\nand more")

    assert work(job, stumble) == Event(run.identity, "failed", text="RuntimeError: the roof fell in")
    failed = read_record(path)
    assert (failed.status, failed.error, len(failed.phases)) == ("failed", "RuntimeError: the roof fell in", 1)
    failure = json.loads((path.parent / FAILURE_FILE).read_text())
    assert "stumble" in failure["detail"]  # where it happened
    with only_one(path.parent):
        assert work(job, lambda event: None).kind == "busy"
    assert work(job, lambda event: None) == Event(run.identity, "finished", phases=2)
    record = read_record(path)
    assert (record.status, record.error, len(record.phases)) == ("finished", None, 2)
    assert not (path.parent / FAILURE_FILE).exists()
    assert work(job, lambda event: None) == Event(run.identity, "found", phases=2)


class Doomed:
    """A crew whose workers always die."""

    retries = 3

    def __init__(self) -> None:
        self.starts: list[str] = []

    def __enter__(self) -> Doomed:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def free(self) -> int:
        return 1

    def start(self, job: Job) -> None:
        self.starts.append(job.run)

    def events(self, seconds: float) -> list[Event]:
        return [Event(self.starts[-1], "died", text="its process ended (SIGKILL).")]


def test_a_worker_that_always_dies_is_given_up(tmp_path: Path) -> None:
    spec = Spec(dataset="digits")
    run = outline(spec)
    crew = Doomed()
    grid = Grid({run.identity: Job(spec, run.identity, tmp_path)}, Ledger({run.identity: run}), crew, SilentGrid())
    outcome = grid.carry_out()
    assert crew.starts == [run.identity] * 4
    assert outcome.failed == {run.identity: "The worker died 4 times: its process ended (SIGKILL)."}
    assert (run.folder(tmp_path) / FAILURE_FILE).is_file()


def test_what_is_wrong_with_a_spec_is_said_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(ClassgrowError, match="cannot cover 10 classes"):
        run_grid([Spec(dataset="digits", memory=5)], tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


# --- parts -----------------------------------------------------------------------------------------------------------


def test_lock_is_seen_and_let_go(tmp_path: Path) -> None:
    assert not is_locked(tmp_path)
    with only_one(tmp_path):
        assert is_locked(tmp_path)
        with pytest.raises(BusyError, match="Another process"), only_one(tmp_path):
            pass
    assert not is_locked(tmp_path)


def test_outline_knows_what_the_data_say(tmp_path: Path) -> None:
    """The identity computed without data is the one a run computes with them."""
    from classgrow.experiments.plan import planned_images
    from classgrow.experiments.run import prepare

    train = load("digits").train
    facts = DATASETS["digits"]
    assert facts.images_per_class == tuple(train.counts().tolist()) and facts.shape == train.shape
    for method in ("fgp", "eeil", "joint", "finetune"):
        spec = Spec(dataset="digits", method=method, epochs=2)
        run, plan = prepare(spec, tmp_path), outline(spec)
        assert plan.folder(tmp_path) == run.folder
        assert (plan.phases, plan.images) == (run.phases, planned_images(run))


def test_known_facts_of_real_data(data_dir: Path) -> None:
    for name in ("cifar100", "mnist"):
        train = load(name, data_dir).train
        facts = DATASETS[name]
        assert facts.images_per_class == tuple(train.counts().tolist()) and facts.shape == train.shape


def test_job_survives_its_line(tmp_path: Path) -> None:
    job = Job(SPECS[0], "abc", tmp_path / "with space", None, "cpu", 2)
    assert Job.from_line(job.line()) == job


def plan_of(name: str, images: tuple[int, ...]) -> Outline:
    return Outline(SPECS[0], name, "digits", len(images), images)


def test_ledger_counts_work_not_runs() -> None:
    """Two runs of 100 + 300 and 400 images: half of the first one's second phase is (100 + 150) / 800 of all."""
    ledger = Ledger({"a": plan_of("a", (100, 300)), "b": plan_of("b", (400,))})
    ledger.begin("a")
    ledger.advance(Event("a", "began"))
    ledger.advance(Event("a", "images", phases=1, images=150))
    status = ledger.status()
    assert status.share == pytest.approx(250 / 800)
    assert (status.running[0].phase, status.running[0].share) == (2, pytest.approx(250 / 400))
    ledger.finish("a")
    ledger.fail("b", "why")
    assert ledger.status().share == 1 and ledger.is_settled
    assert ledger.outcome() == GridOutcome(("a",), {"b": "why"})


def test_a_run_that_goes_on_brings_no_false_speed() -> None:
    ledger = Ledger({"a": plan_of("a", (100, 300))})
    ledger.begin("a")
    ledger.advance(Event("a", "began", phases=1))
    assert ledger.progressed == 0 and ledger.status().share == pytest.approx(100 / 400)
    assert ledger.status().seconds_left is None
