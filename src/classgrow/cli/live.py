"""A run as it goes: a bar with images/s and the time left, and a line after each phase."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from classgrow.cli.flags import with_flags
from classgrow.cli.tables import DASH, accuracy_by, number
from classgrow.records.record import Record
from classgrow.records.words import printable

if TYPE_CHECKING:
    from classgrow.experiments.run import Run

LAG = 1.0
"""Seconds before a speed is shown."""


class Meter:
    """Images done, how fast, and how long the rest will take; work done before it started counts as done, not fast."""

    def __init__(self, total: int, done: int = 0, clock: Callable[[], float] = time.perf_counter) -> None:
        self.total, self.done = total, done
        self._before, self._clock, self._started = done, clock, clock()

    @property
    def rate(self) -> float | None:
        """Images per second; None before there is enough to tell."""
        seconds = self._clock() - self._started
        return (self.done - self._before) / seconds if seconds >= LAG and self.done > self._before else None

    @property
    def seconds_left(self) -> float | None:
        rate = self.rate
        return None if rate is None else max(0, self.total - self.done) / rate


def clock_text(seconds: float | None) -> str:
    """75 seconds as 1:15."""
    if seconds is None:
        return DASH
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class LiveRun:
    """Shows one run after another. It is the `Progress` the rooms below report to; a pipe gets the lines only."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.name = ""
        self.phases = 0
        self.plan: Sequence[int] = ()
        self.stage, self.whole = Meter(0), Meter(0)
        self._planned = True  # whether the present stage is part of the plan: training is
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TaskProgressColumn(),
            TextColumn("{task.fields[speed]}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._place = self._bar.add_task("", total=None, visible=False, speed="")

    def __enter__(self) -> LiveRun:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._bar.stop()

    # --- what a run tells --------------------------------------------------------------------------------------------

    def ready(self, run: Run, record: Record) -> None:
        """A run starts or resumes."""
        from classgrow.experiments.plan import network_of, planned_images

        done, execution = len(record.phases), record.execution
        self.name, self.phases, self.plan = record.method.name, run.phases, planned_images(run)
        self.whole = Meter(sum(self.plan), sum(self.plan[:done]))
        how = f"{execution.device}, {execution.threads} thread{'s' if execution.threads != 1 else ''}"
        if execution.processes > 1:
            how = how.replace(", ", f", {execution.processes} processes with ") + " each"
        if execution.precision != "float32":
            how += f", {execution.precision}"
        resumed = f", resuming after {done} of {run.phases} phases" if done else ""
        how = f"preset {run.resolved.kind} ({network_of(run.resolved).name}), {how}"
        self.say(f"{self.name} on {run.spec.dataset}, seed {run.spec.seed}, {how}{resumed}: {record.method.formula}")

    def after_phase(self, record: Record) -> None:
        """A phase is recorded."""
        phase = record.phases[-1]
        self.whole.done = sum(self.plan[: phase.phase])
        accuracies = ", ".join(f"{rule.title} {accuracy_by(phase, rule.name)}" for rule in record.everyday_rules)
        speed = number(phase.images_per_second)
        self.say(
            f"phase {phase.phase}/{self.phases}: {phase.classes_seen} classes, {accuracies} "
            f"({phase.seconds.total:.1f} s, {speed} images/s)"
        )

    # --- Progress ----------------------------------------------------------------------------------------------------

    def begin(self, text: str, total: int, done: int = 0) -> None:
        self._planned = False
        self._show(text, total, done)

    def begin_training(self, phase: int, total: int, done: int = 0) -> None:
        self._planned = True
        self._show(f"phase {phase}/{self.phases}" if self.phases else f"phase {phase}", total, done)

    def _show(self, text: str, total: int, done: int) -> None:
        self.stage = Meter(total, done)
        if done:  # the part of this phase that an earlier start did
            self.whole = Meter(self.whole.total, self.whole.done + done)
        self._bar.reset(
            self._place,
            total=total,
            completed=done,
            visible=True,
            description=f"{self.name} {text}".strip(),
            speed="",
        )

    def advance(self, images: int) -> None:
        self.stage.done += images
        if self._planned:
            self.whole.done += images
        self._bar.update(self._place, completed=self.stage.done, speed=self._speed())

    def end(self) -> None:
        self._bar.update(self._place, visible=False)

    def say(self, text: str) -> None:
        self.console.print(printable(with_flags(text)), markup=False, emoji=False, soft_wrap=True)

    def _speed(self) -> str:
        rate = self.stage.rate
        if rate is None:
            return ""
        left = f"{clock_text(self.stage.seconds_left)} left, run {clock_text(self.whole.seconds_left)}"
        return f"{number(rate)} images/s  {left}"
