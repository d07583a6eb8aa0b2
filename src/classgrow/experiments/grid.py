"""Many runs: what is missing is done, side by side; what fails is recorded; nothing is done twice."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from classgrow.engine.runtime import PrecisionWish, is_there, unknown_device
from classgrow.errors import ClassgrowError
from classgrow.experiments.crew import Crew, LocalCrew
from classgrow.experiments.lock import is_locked
from classgrow.experiments.outline import Outline, is_finished, outline
from classgrow.experiments.tensorboard import summary_writer
from classgrow.experiments.worker import Event, Job, record_failure
from classgrow.records.folder import make_writable
from classgrow.specs.spec import Spec

LOOK_SECONDS = 1.0
"""How long the grid waits for news before it looks again at runs that other processes hold."""
LAG_SECONDS = 2.0
"""No speed is shown before that."""


@dataclass(frozen=True)
class GridOutcome:
    """How each run ended, by identity: finished by this call, failed with its error, or finished already (before, or
    meanwhile by another process)."""

    done: tuple[str, ...] = ()
    failed: dict[str, str] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunStatus:
    """A run in progress."""

    label: str
    phase: int
    phases: int
    share: float
    """Of all its training, from 0 to 1."""


@dataclass(frozen=True)
class GridStatus:
    """Where the whole grid stands. `elsewhere`: runs another process is working on."""

    total: int
    done: int
    skipped: int
    failed: int
    running: tuple[RunStatus, ...]
    elsewhere: int
    share: float
    seconds_left: float | None

    @property
    def settled(self) -> int:
        return self.done + self.skipped + self.failed


class GridProgress(Protocol):
    """What shows it."""

    def update(self, status: GridStatus) -> None: ...

    def say(self, text: str) -> None: ...


class SilentGrid:
    def update(self, status: GridStatus) -> None:
        pass

    def say(self, text: str) -> None:
        pass


class Ledger:
    """The state of every run of the grid, kept up to date by events."""

    def __init__(self, runs: dict[str, Outline]) -> None:
        self.runs = runs
        self.waiting = dict.fromkeys(runs)  # an ordered set
        self.held: set[str] = set()  # those of the waiting that another process holds
        self.running: dict[str, float] = {}  # the work left in each
        self.done: list[str] = []
        self.skipped: list[str] = []
        self.failed: dict[str, str] = {}
        self.deaths: dict[str, int] = {}
        self.phases: dict[str, int] = {}
        self.progressed = 0.0
        self._started: float | None = None  # when the first run began: before that, workers only start up

    @property
    def is_settled(self) -> bool:
        return not self.waiting and not self.running

    def begin(self, run: str) -> None:
        self._remove(run)
        self.running[run] = self.runs[run].work()
        self.phases[run] = 0

    def skip(self, run: str) -> None:
        self._remove(run)
        self.skipped.append(run)

    def fail(self, run: str, text: str) -> None:
        self._remove(run)
        self.failed[run] = text

    def requeue(self, run: str) -> None:
        """Back to those that wait: first among them if its worker died, last if another process holds it."""
        self._remove(run)
        self.waiting = {run: None, **self.waiting} if run in self.deaths else {**self.waiting, run: None}

    def finish(self, run: str) -> None:
        self.progressed += self.running.get(run, 0.0)
        self._remove(run)
        self.done.append(run)

    def advance(self, event: Event) -> None:
        """A run says how far it has come."""
        self._started = self._started or time.monotonic()
        plan = self.runs[event.run]
        phases = min(event.phases, plan.phases)
        within = plan.images[phases] if phases < plan.phases else 0
        share = min(1.0, event.images / within) if within else 0.0
        left = plan.work(phases) - share * (plan.work(phases) - plan.work(phases + 1))
        if event.kind != "began":  # what an earlier start did does not count towards this one's speed
            self.progressed += max(0.0, self.running[event.run] - left)
        self.running[event.run], self.phases[event.run] = left, phases

    def _remove(self, run: str) -> None:
        self.waiting.pop(run, None)
        self.running.pop(run, None)
        self.held.discard(run)

    def outcome(self) -> GridOutcome:
        return GridOutcome(tuple(self.done), dict(self.failed), tuple(self.skipped))

    def status(self) -> GridStatus:
        left = sum(self.running.values()) + sum(self.runs[run].work() for run in self.waiting)
        total = sum(run.work() for run in self.runs.values()) or 1.0
        seconds = time.monotonic() - self._started if self._started else 0.0
        known = self.progressed > 0 and seconds > LAG_SECONDS
        return GridStatus(
            total=len(self.runs),
            done=len(self.done),
            skipped=len(self.skipped),
            failed=len(self.failed),
            running=tuple(self._run_status(run) for run in self.running),
            elsewhere=len(self.held),
            share=1 - left / total,
            seconds_left=left * seconds / self.progressed if known else None,
        )

    def _run_status(self, run: str) -> RunStatus:
        plan = self.runs[run]
        return RunStatus(
            label=plan.label,
            phase=min(self.phases[run] + 1, plan.phases),
            phases=plan.phases,
            share=1 - self.running[run] / (plan.work() or 1.0),
        )


def run_grid(
    specs: Iterable[Spec],
    output: Path,
    data_dir: Path | None = None,
    *,
    workers: int = 1,
    ray: str | None = None,
    threads: int | None = None,
    device: str = "auto",
    tensorboard: bool = False,
    precision: PrecisionWish = "auto",
    progress: GridProgress | None = None,
) -> GridOutcome:
    """Do what is missing of `specs` below `output`, on `workers` processes here or on a Ray cluster (`ray`: "auto" or
    an address). `threads`: of each run; unless given, the cores are divided among the workers. `tensorboard`: runs also
    write their scalars for it. `precision`: of each run, "auto" to measure which is faster.

    A run that another process holds is left to it, looked at again later, and taken over if that process dies.
    """
    # What is wrong for all runs is said once, before any.
    if tensorboard:
        summary_writer()
    runs = {run.identity: run for run in (outline(spec, data_dir) for spec in specs)}
    if ray is None and not is_there(device):
        raise unknown_device(device)
    make_writable(output)
    crew: Crew = LocalCrew(workers, threads) if ray is None else _ray_crew(ray, threads)
    if isinstance(crew, LocalCrew):
        threads = crew.threads
    jobs = {
        name: Job(run.spec, name, output, data_dir, device, threads, tensorboard, precision)
        for name, run in runs.items()
    }
    return Grid(jobs, Ledger(runs), crew, progress or SilentGrid()).carry_out()


def _ray_crew(address: str, threads: int | None) -> Crew:
    from classgrow.experiments.ray_grid import RayCrew

    return RayCrew(address, threads or 1)


@dataclass
class Grid:
    """Gives the runs to the crew and records how they end."""

    jobs: dict[str, Job]
    ledger: Ledger
    crew: Crew
    progress: GridProgress

    def carry_out(self) -> GridOutcome:
        for run in list(self.ledger.waiting):
            self.is_startable(run)
        with self.crew:
            while not self.ledger.is_settled:
                self.start_waiting()
                for event in self.crew.events(LOOK_SECONDS):
                    self.handle(event)
                self.progress.update(self.ledger.status())
        self.progress.update(self.ledger.status())
        return self.ledger.outcome()

    def start_waiting(self) -> None:
        """Give free workers the first runs that no other process holds."""
        for run in list(self.ledger.waiting):
            if self.crew.free() < 1:
                return
            if self.is_startable(run):
                self.ledger.begin(run)
                self.crew.start(self.jobs[run])

    def is_startable(self, run: str) -> bool:
        """Whether there is something to do for a waiting run; one that is finished, broken or held is noted so."""
        plan, output = self.ledger.runs[run], self.jobs[run].output
        try:
            if is_finished(plan, output):
                self.ledger.skip(run)
                return False
        except ClassgrowError as error:  # a broken record
            self.fail(run, str(error), str(error))
            return False
        if is_locked(plan.folder(output)):
            self.ledger.held.add(run)
            return False
        self.ledger.held.discard(run)
        return True

    def handle(self, event: Event) -> None:
        """Note what happened to a run."""
        ledger, label = self.ledger, self.ledger.runs[event.run].label
        match event.kind:
            case "began" | "images" | "phase":
                if event.run in ledger.running:
                    ledger.advance(event)
            case "finished":
                ledger.finish(event.run)
                self.progress.say(f"finished: {label} ({event.run})")
            case "found":
                ledger.skip(event.run)
            case "busy":
                ledger.requeue(event.run)
                ledger.held.add(event.run)
            case "failed":
                ledger.fail(event.run, event.text)
                self.progress.say(f"failed: {label} ({event.run}): {event.text}")
            case "died":
                self.retry_or_fail(event)

    def retry_or_fail(self, event: Event) -> None:
        """A worker died: its run is tried again from its checkpoint, up to the crew's limit."""
        deaths = self.ledger.deaths[event.run] = self.ledger.deaths.get(event.run, 0) + 1
        label = self.ledger.runs[event.run].label
        if deaths <= self.crew.retries:
            self.ledger.requeue(event.run)
            self.progress.say(f"a worker died, {label} resumes from its checkpoint: {event.text.splitlines()[0]}")
            return
        times = f"The worker died {deaths} times" if deaths > 1 else "The worker died"
        self.fail(event.run, f"{times}: {event.text.splitlines()[0]}", event.text)

    def fail(self, run: str, text: str, detail: str) -> None:
        record_failure(self.jobs[run], text, detail)
        self.ledger.fail(run, text)
        self.progress.say(f"failed: {self.ledger.runs[run].label} ({run}): {text}")
