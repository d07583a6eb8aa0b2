"""Carries out runs for a grid: a process that reads jobs line by line, reports events, and ends with its driver."""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TextIO

from classgrow.checkpoint import write_atomically
from classgrow.engine.runtime import PrecisionWish, decide
from classgrow.errors import ClassgrowError
from classgrow.experiments.lock import BusyError, only_one
from classgrow.experiments.run import Outcome, Run, run_spec
from classgrow.experiments.start import now
from classgrow.experiments.tensorboard import tensorboard_log
from classgrow.progress import Silent
from classgrow.records.folder import FAILURE_FILE, run_dir
from classgrow.records.record import RECORD_FILE, Record, read_record, write_record
from classgrow.specs.spec import Spec, command

JOURNAL_FILE = "grid.jsonl"
"""Below the output folder: a line whenever a run begins, is finished or fails."""
TELL_EVERY = 1.0
"""Seconds between two reports of the images done."""

Kind = Literal["began", "images", "phase", "finished", "found", "busy", "failed", "died"]


@dataclass(frozen=True)
class Event:
    """What happened to a run. `phases` done so far, `images` done within the present one; `text` for people."""

    run: str
    kind: Kind
    phases: int = 0
    images: int = 0
    text: str = ""

    def line(self) -> str:
        return json.dumps(self.__dict__)


@dataclass(frozen=True)
class Job:
    """A run to carry out, and where."""

    spec: Spec
    run: str
    output: Path
    data_dir: Path | None = None
    device: str = "auto"
    threads: int | None = None
    tensorboard: bool = False
    precision: PrecisionWish = "auto"

    @property
    def folder(self) -> Path:
        return run_dir(self.output, self.run)

    def line(self) -> str:
        values: dict[str, object] = {**self.__dict__, "spec": self.spec.to_json(), "output": str(self.output)}
        values["data_dir"] = None if self.data_dir is None else str(self.data_dir)
        return json.dumps(values)

    @classmethod
    def from_line(cls, line: str) -> Job:
        values = json.loads(line)
        data_dir = values.pop("data_dir")
        spec, output = Spec.from_options(values.pop("spec")), Path(values.pop("output"))
        return cls(spec, output=output, data_dir=None if data_dir is None else Path(data_dir), **values)


Tell = Callable[[Event], None]


class Reporter(Silent):
    """Turns what a run reports while it goes into events. It is the run's `Progress`."""

    def __init__(self, job: Job, tell: Tell) -> None:
        self.job, self.tell = job, tell
        self.phases, self.images, self._told = 0, 0, 0.0

    def ready(self, run: Run, record: Record) -> None:
        (run.folder / FAILURE_FILE).unlink(missing_ok=True)
        self.phases = len(record.phases)
        journal(self.job, "began", phases=self.phases)
        self.tell(Event(self.job.run, "began", self.phases))

    def after_phase(self, record: Record) -> None:
        self.phases, self.images = len(record.phases), 0
        self.tell(Event(self.job.run, "phase", self.phases))

    def begin(self, text: str, total: int, done: int = 0) -> None:
        self.images += done

    def advance(self, images: int) -> None:
        self.images += images
        if time.monotonic() - self._told > TELL_EVERY:
            self._told = time.monotonic()
            self.tell(Event(self.job.run, "images", self.phases, self.images))


def work(job: Job, tell: Tell) -> Event:
    """Run it, or go on with it; returns how it ended (finished, found, busy or failed). An error is recorded."""
    reporter = Reporter(job, tell)
    try:
        with tensorboard_log(job.output if job.tensorboard else None) as log:

            def after_phase(record: Record) -> None:
                reporter.after_phase(record)
                log(record)

            outcome: Outcome = run_spec(
                job.spec,
                job.output,
                job.data_dir,
                resume=True,
                execution=decide(job.device, job.threads),
                precision=job.precision,
                share_first_phase=True,
                progress=reporter,
                ready=reporter.ready,
                after_phase=after_phase,
            )
    except BusyError as busy:
        return Event(job.run, "busy", text=str(busy))
    except Exception as error:  # whatever it is, the other runs go on
        text = sentence(error)
        record_failure(job, text, traceback.format_exc())
        return Event(job.run, "failed", text=text)
    phases = len(outcome.record.phases)
    if outcome.already_finished:
        return Event(job.run, "found", phases)
    journal(job, "finished", phases=phases)
    return Event(job.run, "finished", phases)


def sentence(error: BaseException) -> str:
    """An error as one line: what a user can fix speaks for itself, anything else says what it is."""
    first = (str(error).strip().splitlines() or ["no message"])[0]
    return first if isinstance(error, ClassgrowError) else f"{type(error).__name__}: {first}"


def record_failure(job: Job, text: str, detail: str) -> None:
    """Keep the error beside the run, and in its record where there is one; another process's run is left alone."""
    failure = {
        "run": job.run,
        "command": command(job.spec),
        "error": text,
        "detail": detail,
        "failed": now(),
    }
    journal(job, "failed", error=text)
    with suppress(OSError, ClassgrowError):  # where even this cannot be written, the grid still says it
        job.folder.mkdir(parents=True, exist_ok=True)
        with only_one(job.folder):
            write_atomically(job.folder / FAILURE_FILE, json.dumps(failure, indent=1).encode())
            path = job.folder / RECORD_FILE
            if path.is_file():
                record = read_record(path)
                if record.status != "finished":
                    write_record(record.model_copy(update={"status": "failed", "error": text}), path)


def journal(job: Job, event: str, **more: object) -> None:
    """One line more in the grid's journal; short lines appended by several processes stay whole."""
    line = json.dumps({"time": now(), "process": os.getpid(), "run": job.run, "event": event, **more})
    with suppress(OSError), (job.output / JOURNAL_FILE).open("a", encoding="utf-8") as file:
        file.write(line + "\n")


# --- the process -----------------------------------------------------------------------------------------------------


def listen(lines: TextIO, jobs: queue.SimpleQueue[Job]) -> None:
    """Pass jobs on. The pipe ends when the driver stops, also by kill -9: then this process ends at once, and its
    run waits at its last checkpoint."""
    for line in lines:
        jobs.put(Job.from_line(line))
    os._exit(0)


def main() -> None:
    """Jobs come by standard input; events go to standard output, and what libraries print there to standard error."""
    events = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def tell(event: Event) -> None:
        try:
            events.write(event.line() + "\n")
            events.flush()
        except OSError:  # the driver is gone
            os._exit(0)

    jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
    threading.Thread(target=listen, args=(sys.stdin, jobs), daemon=True).start()
    while True:
        tell(work(jobs.get(), tell))


if __name__ == "__main__":
    main()
