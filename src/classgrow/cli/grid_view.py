"""A grid as it goes, and the list of what the paper needs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table as RichTable
from rich.text import Text

from classgrow.cli.flags import with_flags
from classgrow.cli.live import clock_text
from classgrow.cli.tables import DASH, Table
from classgrow.errors import ClassgrowError
from classgrow.experiments.grid import GridStatus
from classgrow.experiments.outline import Outline, outline, record_of
from classgrow.specs.paper import TOYS, Item, specs_of, words_for
from classgrow.specs.reduction import Reduction
from classgrow.specs.spec import Spec

SHOWN = 12
"""Running runs that have a line of their own."""


class GridView:
    """Runs done, running, failed, and the time left: one view that stays in place; a pipe gets the lines only."""

    def __init__(self, console: Console, heading: str = "") -> None:
        self.console, self._heading = console, heading
        self._live = Live(console=console, transient=True, auto_refresh=False) if console.is_terminal else None

    def __enter__(self) -> GridView:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def update(self, status: GridStatus) -> None:
        if self._heading:  # the grid has started
            self.say(self._heading)
            self._heading = ""
        if self._live:
            self._live.update(draw(status), refresh=True)

    def say(self, text: str) -> None:
        self.console.print(with_flags(text), markup=False, soft_wrap=True)


def headline(status: GridStatus) -> str:
    """3 of 8 runs, 2 running, 1 failed, 12:30 left."""
    parts = [f"{status.done + status.skipped} of {status.total} runs done", f"{len(status.running)} running"]
    if status.elsewhere:
        parts.append(f"{status.elsewhere} running elsewhere")
    parts.append(f"{status.failed} failed")
    parts.append(f"{clock_text(status.seconds_left)} left" if status.seconds_left is not None else "time left unknown")
    return ", ".join(parts)


def draw(status: GridStatus) -> Group:
    """The headline, a bar for everything, a bar for each run in progress."""
    bars = RichTable.grid(padding=(0, 2))
    bars.add_row(Text("all", style="bold"), "", ProgressBar(100.0, 100 * status.share, 30), f"{status.share:.0%}")
    for run in status.running[:SHOWN]:
        place = f"phase {run.phase}/{run.phases}"
        bars.add_row(Text(run.label), place, ProgressBar(100.0, 100 * run.share, 30), f"{run.share:.0%}")
    return Group(Text(headline(status)), bars)


def items_table(items: Sequence[Item], reduction: Reduction, output: Path) -> Table:
    """Every item: how many runs, how many are done, and the training that is left, in time on this machine."""
    from classgrow.experiments.estimate import speeds, training_seconds

    by_item = {item.name: [outline(spec) for spec in _specs(item, reduction)] for item in items}
    every = {run.identity: run for runs in by_item.values() for run in runs}
    done = {name: _phases_done(run, output) for name, run in every.items()}
    speed = speeds([run.preset for run in every.values()], output)

    def cells(runs: Sequence[Outline]) -> tuple[str, ...]:
        finished = sum(done[run.identity] >= run.phases for run in runs)
        whole = sum(training_seconds(run, speed) for run in runs)
        left = sum(training_seconds(run, speed, done[run.identity]) for run in runs)
        return str(len(runs)), str(finished), duration(whole), duration(left)

    rows = []
    for item in items:
        runs = by_item[item.name]
        way = f"classgrow toy {TOYS[item.name]}" if item.name in TOYS else "not with these settings"
        rows.append((f"{item.name:<9} {item.title}", *(cells(runs) if runs else (DASH, DASH, DASH, way))))
    measured = ", ".join(f"{kind} {1 / seconds:,.0f} images/s" for kind, seconds in speed.items())
    return Table(
        columns=("item", "runs", "done", "training", "left"),
        rows=tuple(rows),
        footer=(("together, shared runs counted once", *cells(list(every.values()))),) if every else (),
        title=f"The paper, {words_for(items, reduction)}",
        notes=(
            f"Times are estimates for this machine ({measured}), from runs recorded here, else from a few training "
            "steps: training only, without choosing exemplars and testing.",
        )
        if speed
        else (),
    )


def _specs(item: Item, reduction: Reduction) -> tuple[Spec, ...]:
    try:
        return specs_of(item, reduction)
    except ClassgrowError:
        return ()


def _phases_done(run: Outline, output: Path) -> int:
    try:
        record = record_of(run, output)
    except ClassgrowError:  # a broken record counts as nothing done
        return 0
    return 0 if record is None else min(run.phases, len(record.phases))


def duration(seconds: float) -> str:
    """About how long: 40 s, 25 min, 7.5 h, 12 days."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.0f} days"
