"""Real processes: what a user types, what comes back."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., subprocess.CompletedProcess[str]]
SCRIPT = (sys.executable, "-c", "from classgrow.cli import main; main()")  # what the console script holds
SMALL = ("--dataset", "digits", "--classes", "6", "--phases", "2", "--epochs", "4", "--threads", "1")


def environment(**changes: str) -> dict[str, str]:
    """One thread, a plain terminal, and no data folder unless the test names one."""
    kept = {name: value for name, value in os.environ.items() if name not in ("CLASSGROW_DATA", "FORCE_COLOR")}
    return kept | {"OMP_NUM_THREADS": "1", "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "200"} | changes


@pytest.fixture(scope="session")
def classgrow() -> Command:
    """Runs `classgrow ...` and returns the finished process."""

    def run(*arguments: str | Path, **changes: str) -> subprocess.CompletedProcess[str]:
        words = [*SCRIPT, *map(str, arguments)]
        return subprocess.run(words, capture_output=True, text=True, timeout=3000, env=environment(**changes))

    return run


@pytest.fixture(scope="session")
def start() -> Callable[..., subprocess.Popen[str]]:
    """Starts `classgrow ...` and returns the running process, with Ctrl-C as in a terminal."""
    import signal

    def run(*arguments: str | Path) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*SCRIPT, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
            # A shell's background jobs ignore Ctrl-C and their children inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL) and None,
        )

    return run


@pytest.fixture(scope="session")
def finished(classgrow: Command, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A finished run of two phases on the digits: its folder, and what was printed."""
    output = tmp_path_factory.mktemp("finished") / "runs"
    done = classgrow("run", *SMALL, "--output", output)
    assert done.returncode == 0, done.stderr
    (folder,) = output.iterdir()
    return folder, done.stdout


def assert_refused(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """Exit 2, one sentence on stderr with these words in it, no traceback, nothing on stdout."""
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("Error: "), done.stderr
    for word in words:
        assert word in lines[0]


@pytest.fixture(scope="session")
def check_refused() -> Callable[..., None]:
    return assert_refused
