"""One run in several processes on this machine: starts them, watches them, and ends with them. Needs no torch."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, NoReturn

from classgrow.engine.place import Place, cores
from classgrow.errors import ClassgrowError, LostProcessError

LAUNCHED = "CLASSGROW_LAUNCHED"
"""Set for processes that end when their standard input does."""
LOOK_SECONDS = 0.05
GRACE_SECONDS = 3.0
"""How long the others may take to end by themselves, once one has ended badly and it is clear why."""
PATIENCE_SECONDS = 60.0
"""The same while none has said why: a process that only lost another may be quicker than the one that is the cause."""
KEPT_CHARACTERS = 4000
"""Characters of a process's error output that are kept."""


@dataclass(frozen=True)
class Ending:
    """How the processes ended: the exit code of all, what was said on standard error, and what happened, if it must
    be reported ("Process 2 of 2 was ended by SIGKILL"). `cause`: whether that is why, or only what came of it."""

    code: int
    said: str = ""
    happened: str = ""
    cause: bool = True


@dataclass(frozen=True)
class Started:
    """A process and its error output."""

    rank: int
    process: subprocess.Popen[bytes]
    errors: IO[bytes]

    def said(self) -> str:
        self.errors.seek(max(0, self.errors.seek(0, os.SEEK_END) - KEPT_CHARACTERS))
        return self.errors.read().decode(errors="replace").strip()


def launch(words: Sequence[str], processes: int, threads: int | None = None) -> Ending:
    """Run `classgrow` with these words in so many processes. The first one has the terminal.

    They end with this process, however it ends: each reads a pipe that only this process holds open.
    """
    port = free_port()
    share = threads or max(1, cores() // processes)
    reading, writing = os.pipe()
    started = [start(words, Place(rank, processes, rank, processes), port, share, reading) for rank in range(processes)]
    os.close(reading)
    try:
        return watch(started)
    except KeyboardInterrupt:
        started[0].process.send_signal(signal.SIGINT)  # it puts the terminal in order
        wait(started[:1], GRACE_SECONDS)
        raise
    finally:
        os.close(writing)
        end(started)


def start(words: Sequence[str], place: Place, port: int, threads: int, stdin: int) -> Started:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TORCHELASTIC_")}
    environment = {  # without those of a torchrun around this process: these meet on a port of their own
        **inherited,
        **place.as_environment("127.0.0.1", port),
        "OMP_NUM_THREADS": str(threads),
        LAUNCHED: "1",
    }
    if sys.platform == "linux":
        environment.setdefault("GLOO_SOCKET_IFNAME", "lo")  # a machine's name may lead nowhere
    errors = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the process)
    process = subprocess.Popen(
        [sys.executable, "-m", "classgrow", *words],
        stdin=stdin,
        stdout=None if place.rank == 0 else subprocess.DEVNULL,
        stderr=errors,
        env=environment,
        start_new_session=True,  # Ctrl-C is for the one that started them
    )
    return Started(place.rank, process, errors)


def watch(started: Sequence[Started]) -> Ending:
    """Wait until all have ended well, or one badly; then a moment more, so that the others can say what they know."""
    while any(one.process.poll() is None for one in started):
        if any(one.process.poll() for one in started):
            wait(started, PATIENCE_SECONDS, is_clear)
            wait(started, GRACE_SECONDS)
            break
        time.sleep(LOOK_SECONDS)
    return ending(started)


def is_clear(started: Sequence[Started]) -> bool:
    """Whether one of them ended in a way that tells the cause."""
    return ending(started).cause


def wait(
    started: Sequence[Started], seconds: float, enough: Callable[[Sequence[Started]], bool] = lambda started: False
) -> None:
    """Until all have ended, or it is enough, or the time is over."""
    limit = time.monotonic() + seconds
    while any(one.process.poll() is None for one in started) and not enough(started) and time.monotonic() < limit:
        time.sleep(LOOK_SECONDS)


def end(started: Sequence[Started]) -> None:
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
        one.process.wait()
        one.errors.close()


def ending(started: Sequence[Started]) -> Ending:
    """What went wrong: an error that a user can fix, else a process that was killed, else one that broke."""
    codes = {one: one.process.poll() for one in started}
    bad = {one: code for one, code in codes.items() if code}
    if not bad:
        return Ending(0, started[0].said())
    for one, code in bad.items():
        if code == ClassgrowError.exit_code and one.said():
            return Ending(code, one.said())
    for one, code in bad.items():
        if code < 0:
            name = signal.Signals(-code).name
            why = " (the system does so where memory runs out)" if name == "SIGKILL" else ""
            how = f"was ended by {name}{why}"
            return Ending(1, happened=f"Process {one.rank + 1} of {len(started)} {how}; the others were stopped.")
    for one, code in bad.items():
        if code not in (LostProcessError.exit_code, ClassgrowError.exit_code):
            how = f"broke (exit code {code})"
            said = "\n".join((one.said(), f"Process {one.rank + 1} of {len(started)} {how}; the others were stopped."))
            return Ending(1, happened=said.strip())
    lost = [one.said() for one in bad if one.said()]
    return Ending(1, happened=lost[0] if lost else "The processes ended.", cause=False)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def end_at_once(code: int) -> NoReturn:
    """End this process without Python's own clearing up, which other threads may disturb or hold up."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def end_with_parent() -> None:
    """For a launched process: end at once when the one that started it does, also by kill -9. The run then waits at
    its last checkpoint."""
    if os.environ.get(LAUNCHED):
        threading.Thread(target=_end_after_input, daemon=True).start()


def _end_after_input() -> None:
    with suppress(OSError):
        while os.read(0, 1024):
            pass
    os._exit(1)
