"""Stopped at any moment, a run goes on and ends with the same bits."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from classgrow.records.record import RECORD_FILE, read_record, without_times

SETTINGS = ("--dataset", "digits", "--classes", "4", "--epochs", "10", "--threads", "1")


def checkpoint_words(path: Path) -> dict[str, Any]:
    """The plain part of a checkpoint: a safetensors file begins with the length of its JSON header."""
    content = path.read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    words: dict[str, Any] = json.loads(header["__metadata__"]["plain"])
    return words


def wait_for(process: subprocess.Popen[str], happened: Callable[[], bool]) -> None:
    """Until it happened, while the process runs."""
    limit = time.monotonic() + 90
    while not happened():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < limit
        time.sleep(0.02)


def within_second_phase(output: Path) -> bool:
    """A checkpoint was made in the middle of the second phase's training."""
    for path in output.glob("*/checkpoint.safetensors"):
        words = checkpoint_words(path)
        return words["phase"] == 2 and words["point"] is not None
    return False


def test_killed_and_resumed_equals_uninterrupted(classgrow, start, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    whole = classgrow("run", *SETTINGS, "--output", tmp_path / "whole")
    assert whole.returncode == 0, whole.stderr

    broken = tmp_path / "broken"
    process = start("run", *SETTINGS, "--output", broken)
    wait_for(process, lambda: within_second_phase(broken))
    process.kill()
    process.communicate()
    (folder,) = broken.iterdir()
    assert process.returncode == -signal.SIGKILL
    assert len(read_record(folder / RECORD_FILE).phases) == 1

    unasked = classgrow("run", *SETTINGS, "--output", broken)
    assert unasked.returncode == 2
    assert "1 of 2 phases" in unasked.stderr and "--resume" in unasked.stderr

    resumed = classgrow("run", *SETTINGS, "--output", broken, "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert "resuming after 1 of 2 phases" in resumed.stdout
    uninterrupted = read_record(tmp_path / "whole" / folder.name / RECORD_FILE)
    assert without_times(read_record(folder / RECORD_FILE)) == without_times(uninterrupted)


def test_ctrl_c_says_how_to_go_on(start, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    output = tmp_path / "my runs"
    process = start("run", "--dataset", "digits", "--epochs", "3000", "--threads", "1", "--output", output)
    wait_for(process, lambda: any(output.glob("*/checkpoint.safetensors")))
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 130
    assert said.strip() == (
        "Stopped. Go on with: classgrow run --dataset digits --method fgp --seed 1 --epochs 3000 "
        f"--output '{output}' --resume"
    )
