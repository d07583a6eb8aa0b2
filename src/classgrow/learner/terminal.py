"""A bar for those who learn from Python: where there is a terminal or a notebook, and nowhere else."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.progress import BarColumn, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from classgrow.progress import Progress, Silent


class Bar(Silent):
    """One bar at a time, with the time left; it goes when its work is done."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._bar: RichProgress | None = None
        self._task = TaskID(0)

    def begin(self, text: str, total: int, done: int = 0) -> None:
        self.end()
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        self._bar = RichProgress(*columns, console=self.console, transient=True)
        self._task = self._bar.add_task(text, total=total, completed=done)
        self._bar.start()

    def advance(self, images: int) -> None:
        if self._bar is not None:
            self._bar.advance(self._task, images)

    def end(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def say(self, text: str) -> None:
        self.console.print(text, markup=False, soft_wrap=True)


def default_progress() -> Progress:
    """A bar on standard error for a person who is watching; silence for a pipe."""
    console = Console(stderr=True)
    watched = sys.stderr is not None and (console.is_terminal or console.is_jupyter)
    return Bar(console) if watched else Silent()
