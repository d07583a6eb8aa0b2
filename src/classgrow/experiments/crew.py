"""Workers on this machine: separate processes, each with its share of the cores."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from types import TracebackType
from typing import IO, Protocol, Self

from classgrow.engine.place import cores
from classgrow.experiments.worker import Event, Job

STOP_SECONDS = 5.0
KEPT_CHARACTERS = 2000
"""Characters of a dead worker's error output that are kept."""


class Crew(Protocol):
    """The workers of a grid. Used in a `with`, whose end stops them all."""

    retries: int
    """How often a run whose worker died is tried again; 0 where the crew does so itself."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def free(self) -> int:
        """How many more runs it takes now."""
        ...

    def start(self, job: Job) -> None: ...

    def events(self, seconds: float) -> list[Event]:
        """What happened; waits so long for something to happen."""
        ...


class LocalWorker:
    """One process. A thread passes on its events; `None` is its end."""

    def __init__(self, threads: int, mailbox: queue.SimpleQueue[tuple[LocalWorker, Event | None]]) -> None:
        self.run: str | None = None
        self.errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the worker)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "classgrow.experiments.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": str(threads)},
            start_new_session=True,  # Ctrl-C is for the driver, which then stops its workers
        )
        threading.Thread(target=self._read, args=(mailbox,), daemon=True).start()

    def _read(self, mailbox: queue.SimpleQueue[tuple[LocalWorker, Event | None]]) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            mailbox.put((self, Event(**json.loads(line))))
        mailbox.put((self, None))

    def start(self, job: Job) -> None:
        assert self.process.stdin is not None
        self.run = job.run
        with suppress(OSError):  # if it died a moment ago, its end is on the way to the mailbox
            self.process.stdin.write(job.line() + "\n")
            self.process.stdin.flush()

    def end(self) -> str:
        """Wait for a process that has closed its output; says how it ended."""
        code = self.process.wait()
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return f"its process ended ({how}). {self.error_output()}".strip()

    def error_output(self) -> str:
        self.errors.seek(max(0, self.errors.seek(0, os.SEEK_END) - KEPT_CHARACTERS))
        return self.errors.read().decode(errors="replace").strip()

    def stop(self) -> None:
        """Closing its input ends it; what does not end is killed."""
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.errors.close()


class LocalCrew:
    """`size` workers; one that dies is replaced when there is work for it."""

    def __init__(self, size: int, threads: int | None = None, retries: int = 3) -> None:
        self.size, self.retries = size, retries
        self.threads = threads or max(1, cores() // size)
        self.workers: list[LocalWorker] = []
        self._mailbox: queue.SimpleQueue[tuple[LocalWorker, Event | None]] = queue.SimpleQueue()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self.workers:
            worker.stop()

    def free(self) -> int:
        return self.size - sum(worker.run is not None for worker in self.workers)

    def start(self, job: Job) -> None:
        idle = [worker for worker in self.workers if worker.run is None]
        if not idle:
            idle = [LocalWorker(self.threads, self._mailbox)]
            self.workers += idle
        idle[0].start(job)

    def events(self, seconds: float) -> list[Event]:
        heard: list[Event] = []
        try:
            message = self._mailbox.get(timeout=seconds)
            while True:
                heard += self._events_from(*message)
                message = self._mailbox.get_nowait()
        except queue.Empty:
            return heard

    def _events_from(self, worker: LocalWorker, event: Event | None) -> list[Event]:
        if event is None:
            self.workers.remove(worker)
            run, how = worker.run, worker.end()
            worker.stop()
            return [] if run is None else [Event(run, "died", text=how)]
        if event.kind in ("finished", "found", "busy", "failed"):
            worker.run = None
        return [event]
