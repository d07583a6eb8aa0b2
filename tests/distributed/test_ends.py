"""`classgrow run --processes 2` in real processes: killed, starved of disk, taken up again by another number."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from classgrow import checkpoint
from classgrow.experiments.lock import is_locked
from classgrow.experiments.run import CHECKPOINT_FILE
from classgrow.records.record import RECORD_FILE, read_record

SETTINGS = ("run", "--dataset", "digits", "--classes", "4", "--epochs", "6", "--threads", "1")
PATIENCE = 1200
"""Seconds: the machine may be busy with something else."""
TEST_IMAGES = 178
"""Of the first four digits."""


def words(output: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "classgrow", *SETTINGS, "--output", str(output), *more]


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("CLASSGROW_DATA", "FORCE_COLOR")}
    return kept | {"OMP_NUM_THREADS": "1", "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "200"}


def begin(command: list[str], **settings: Any) -> subprocess.Popen[str]:
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment()}
    return subprocess.Popen(command, **pipes, **settings)


def children(parent: int) -> list[int]:
    """Its processes, in the order they were started."""
    return [int(word) for word in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def until(happened: Callable[[], bool], process: subprocess.Popen[str] | None = None) -> None:
    limit = time.monotonic() + PATIENCE
    while not happened():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < limit
        time.sleep(0.02)


def newer_checkpoint(output: Path, than: float = 0.0) -> Callable[[], bool]:
    return lambda: any(path.stat().st_mtime > than for path in output.glob(f"*/{CHECKPOINT_FILE}"))


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")


@needs_proc
def test_killed_twice_and_finished_by_one_process(tmp_path: Path) -> None:
    # The one that started them is killed: they end as well, and let go of the folder.
    parent = begin(words(tmp_path, "--processes", "2"))
    until(newer_checkpoint(tmp_path), parent)
    pair = children(parent.pid)
    assert len(pair) == 2
    parent.kill()
    parent.communicate()
    until(lambda: not any(map(is_alive, pair)))
    (folder,) = tmp_path.iterdir()
    assert not is_locked(folder)

    # Taken up by two again, and the second is killed: one sentence with the way on.
    before = (folder / CHECKPOINT_FILE).stat().st_mtime
    parent = begin(words(tmp_path, "--processes", "2", "--resume"))
    until(newer_checkpoint(tmp_path, before), parent)
    pair = children(parent.pid)
    os.kill(pair[1], signal.SIGKILL)
    _, said = parent.communicate(timeout=PATIENCE)
    assert parent.returncode == 1
    assert said.startswith("Process 2 of 2 was ended by SIGKILL") and len(said.strip().splitlines()) == 1
    assert said.strip().endswith(f"--output {tmp_path} --processes 2 --resume")
    assert not any(map(is_alive, pair))

    # One process goes on and says so in the record.
    done = subprocess.run(
        words(tmp_path, "--resume"), capture_output=True, text=True, env=environment(), timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    record = read_record(folder / RECORD_FILE)
    assert (record.status, len(record.phases), record.execution.processes) == ("finished", 2, 1)
    assert record.phases[1].test_counts and sum(record.phases[1].test_counts) == TEST_IMAGES
    assert record.phases[1].processes == 1


def test_a_full_disk_is_reported_once_and_fixed_by_another_number(tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk: a checkpoint with teacher and momentum is too large for it."""
    limit = 200_000
    full = begin(
        words(tmp_path, "--processes", "2"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    shown, said = full.communicate(timeout=PATIENCE)
    assert full.returncode == 2, (shown, said)
    (line,) = said.strip().splitlines()
    assert line.startswith("Error: Could not write") and "--resume" in line
    (folder,) = tmp_path.iterdir()
    kept = {path.name for path in folder.iterdir()} - {"checkpoint.earlier.safetensors"}  # there where it came that far
    assert kept == {RECORD_FILE, CHECKPOINT_FILE, "lock"}
    _, saved = checkpoint.read(folder / CHECKPOINT_FILE)
    assert (saved["phase"], len(read_record(folder / RECORD_FILE).phases)) == (2, 1)

    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [*torchrun, "-m", "classgrow", *SETTINGS, "--output", str(tmp_path), "--resume"],
        capture_output=True, text=True, env=environment() | {"GLOO_SOCKET_IFNAME": "lo"}, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("resuming after 1 of 2 phases") == 1
    record = read_record(folder / RECORD_FILE)
    assert (record.status, record.execution.processes, record.execution.threads) == ("finished", 2, 1)
    assert record.confusion is not None and sum(map(sum, record.confusion)) == TEST_IMAGES
    assert [phase.processes for phase in record.phases] == [2, 2]
    nearest = record.phases[1].rules["nearest"]
    assert nearest is not None and nearest.accuracy is not None and nearest.accuracy > 0.8


@needs_proc
def test_torchrun_starts_a_killed_process_again_and_the_run_goes_on(tmp_path: Path) -> None:
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [*torchrun, "--max-restarts", "1", "-m", "classgrow", *SETTINGS, "--epochs", "40", "--resume"]
    parent = begin([*command, "--output", str(tmp_path)])
    until(newer_checkpoint(tmp_path), parent)
    os.kill(children(parent.pid)[-1], signal.SIGKILL)
    shown, said = parent.communicate(timeout=PATIENCE)
    assert parent.returncode == 0, said
    assert shown.count("2 processes with 1 thread each") == 2 and shown.count("phase 1/2") == 1
    (record,) = (read_record(path) for path in tmp_path.glob(f"*/{RECORD_FILE}"))
    assert (record.status, len(record.phases)) == ("finished", 2)


@needs_proc
def test_a_run_that_is_told_to_end_says_how_to_go_on(tmp_path: Path) -> None:
    parent = begin(words(tmp_path, "--processes", "2", "--epochs", "400"))
    until(newer_checkpoint(tmp_path), parent)
    pair = children(parent.pid)
    parent.terminate()
    _, said = parent.communicate(timeout=PATIENCE)
    assert parent.returncode == 130
    assert said.startswith("Stopped. Go on with: classgrow run --dataset digits") and said.endswith("--resume\n")
    assert not any(is_alive(process) for process in pair)


def test_an_error_is_said_once(tmp_path: Path) -> None:
    done = subprocess.run(
        words(tmp_path, "--processes", "2", "--memory", "3"),
        capture_output=True,
        text=True,
        env=environment(),
        timeout=PATIENCE,
    )
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.strip() == "Error: 3 exemplars cannot cover 4 classes: raise --memory to at least 4."
