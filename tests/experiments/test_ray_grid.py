"""The grid on a local Ray with two CPUs: the same records, also when a worker is killed."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from classgrow.errors import ClassgrowError
from classgrow.experiments.grid import GridStatus, run_grid
from classgrow.experiments.outline import outline
from classgrow.experiments.ray_grid import connect
from classgrow.experiments.run import run_spec
from classgrow.experiments.worker import JOURNAL_FILE
from classgrow.records.record import read_record, without_times
from classgrow.specs.spec import Spec

LONG = Spec(dataset="digits", classes=4, memory=20, epochs=30)
MISSING = Spec(dataset="mnist", epochs=1)


@pytest.fixture(scope="module")
def local_ray() -> Iterator[Any]:
    ray = pytest.importorskip("ray", reason="needs the extra 'ray'")
    with pytest.MonkeyPatch.context() as changed:  # Ray's processes get this one's environment when they start
        changed.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        for attempt in range(1, 4):
            try:
                ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
                break
            except Exception as error:  # Ray's own limit of 30 s, on a machine that is too busy
                ray.shutdown()
                if "timed out during startup" not in str(error) or attempt == 3:
                    raise
        yield ray
        ray.shutdown()


def test_ray_runs_records_failures_and_goes_on_when_a_worker_is_killed(local_ray: Any, tmp_path: Path) -> None:
    """One run fails for want of data; the other's worker is killed -9 after its first checkpoint. Ray starts it
    again, it goes on, and its numbers are those of a run in one go."""
    from classgrow.engine.runtime import decide

    output, nowhere = tmp_path / "runs", tmp_path / "no data"
    nowhere.mkdir()
    name = outline(LONG).identity
    killed: list[int] = []
    running: list[int] = []

    def journal() -> list[dict[str, Any]]:
        path = output / JOURNAL_FILE
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def kill_once() -> None:
        end = time.monotonic() + 120
        while time.monotonic() < end and not killed:
            mine = [entry for entry in journal() if entry["run"] == name and entry["event"] == "began"]
            if mine and (output / name / "checkpoint.safetensors").exists():
                os.kill(mine[0]["process"], signal.SIGKILL)
                killed.append(mine[0]["process"])
            time.sleep(0.02)

    class Watching:
        def update(self, status: GridStatus) -> None:
            running.append(len(status.running))

        def say(self, text: str) -> None:
            pass

    killer = threading.Thread(target=kill_once)
    killer.start()
    outcome = run_grid([LONG, MISSING], output, nowhere, ray="auto", progress=Watching())
    killer.join()

    assert outcome.done == (name,) and "MNIST" in outcome.failed[outline(MISSING).identity]
    assert killed and max(running) == 2
    events = [(entry["event"], entry["process"]) for entry in journal() if entry["run"] == name]
    assert [event for event, _ in events] == ["began", "began", "finished"]
    assert events[0][1] == killed[0] != events[1][1]
    alone = run_spec(LONG, tmp_path / "alone", execution=decide("cpu", 1)).record
    again, straight = without_times(read_record(output / name / "record.json")), without_times(alone)
    del again["code"], straight["code"]  # the commit may change while tests run
    assert again == straight
    assert run_grid([LONG], output, ray="auto").skipped == (name,)
    assert local_ray.is_initialized()  # a connection of others is not ours to close


def test_without_ray_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ClassgrowError, match=r"pip install 'classgrow\[ray\]'"):
        run_grid([LONG], tmp_path, ray="auto")


def test_runs_of_two_processes_inside_ray_as_documented(local_ray: Any, tmp_path: Path) -> None:
    """docs/scaling.md: the code on the page, with two runs of two processes each."""
    page = (Path(__file__).parents[2] / "docs" / "scaling.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    short = ["--dataset", "digits", "--classes", "2", "--epochs", "1", "--output", str(tmp_path)]
    names["shared_grid"]([[*short, "--seed", seed] for seed in "12"], processes=2, gpus=0)
    records = [read_record(path) for path in tmp_path.glob("*/record.json")]
    assert sorted(record.seed for record in records) == [1, 2]
    assert {(record.status, record.phases[0].processes) for record in records} == {("finished", 2)}
    once = names["shared_run"].options(num_cpus=2, retry_exceptions=False)
    with pytest.raises(local_ray.exceptions.RayTaskError, match="CalledProcessError"):
        local_ray.get(once.remote(2, *short, "--memory", "1"))


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "nowhere"])
def test_an_address_nobody_listens_at(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray", reason="needs the extra 'ray'")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(ClassgrowError, match="No Ray cluster answers"):
        connect(address)
