"""Whose fault it was when several processes end: processes that end as told, and no training."""

from __future__ import annotations

import subprocess
import sys
import tempfile

import pytest

from classgrow.engine.place import Place
from classgrow.experiments.launch import Started, ending, start, watch

PROGRAM = """
import os, signal, sys, time
time.sleep(float(sys.argv[3]))
print(sys.argv[2], file=sys.stderr, end="", flush=True)
code = int(sys.argv[1])
os.kill(os.getpid(), -code) if code < 0 else sys.exit(code)
"""
LOST = (3, "Error: Another process stopped answering.", 0.0)
QUIET = (2, "", 0.0)


def begun(*ways: tuple[int, str, float]) -> list[Started]:
    """Processes that end with a code (negative: by a signal) and a word, after so many seconds."""
    started = []
    for rank, (code, word, seconds) in enumerate(ways):
        errors = tempfile.TemporaryFile()  # noqa: SIM115
        command = [sys.executable, "-S", "-c", PROGRAM, str(code), word, str(seconds)]
        started.append(Started(rank, subprocess.Popen(command, stderr=errors), errors))
    return started


@pytest.mark.parametrize(
    ("ways", "code", "said", "happened"),
    [
        ([(0, "", 0.0), (0, "", 0.0)], 0, "", ""),
        ([LOST, (-9, "", 0.0)], 1, "", "Process 2 of 2 was ended by SIGKILL"),
        ([(2, "Error: raise --memory.", 0.0), QUIET], 2, "Error: raise --memory.", ""),
        ([LOST, (2, "Error: no data here.", 0.5)], 2, "Error: no data here.", ""),
        ([LOST, (1, "Traceback: KeyError", 0.5)], 1, "", "Traceback: KeyError\nProcess 2 of 2 broke (exit code 1)"),
        ([LOST, LOST], 1, "", "Error: Another process stopped answering."),
    ],
    ids=["well", "killed", "fixable", "the cause comes later", "broken", "unknown"],
)
def test_the_cause_is_told(ways: list[tuple[int, str, float]], code: int, said: str, happened: str) -> None:
    found = watch(begun(*ways))
    assert (found.code, found.said) == (code, said)
    assert found.happened.startswith(happened) and bool(found.happened) == bool(happened)


def test_what_is_only_a_consequence_is_no_cause() -> None:
    started = begun(QUIET, LOST)
    for one in started:
        one.process.wait()
    assert not ending(started).cause


def test_what_a_torchrun_around_us_said_is_not_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its word for "I keep the meeting place" the processes would wait for each other without end."""
    given: dict[str, str] = {}
    monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", "True")
    monkeypatch.setenv("KEPT", "yes")
    monkeypatch.setattr(subprocess, "Popen", lambda words, **options: given.update(options["env"]))
    start(["run"], Place(0, 2, 0, 2), 1234, 1, 0).errors.close()
    assert "TORCHELASTIC_USE_AGENT_STORE" not in given
    assert (given["KEPT"], given["WORLD_SIZE"], given["MASTER_PORT"]) == ("yes", "2", "1234")
