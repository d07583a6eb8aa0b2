"""A bar for those who learn from Python: where there is a terminal or a notebook, and nowhere else."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from rich.console import Console
from rich.progress import BarColumn, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress

from classgrow.progress import Progress, Silent
from classgrow.records.words import printable


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
        self.console.print(printable(text), markup=False, emoji=False, soft_wrap=True)


class Lines(Silent):
    """A line at every quarter of the work: for notebooks that cannot show a bar."""

    def __init__(self) -> None:
        self._text, self._total, self._done = "", 1, 0

    def begin(self, text: str, total: int, done: int = 0) -> None:
        self._text, self._total, self._done = text, max(1, total), done

    def advance(self, images: int) -> None:
        before = 4 * self._done // self._total
        self._done += images
        if 4 * self._done // self._total > before:
            self.say(f"{self._text}: {min(100, 100 * self._done // self._total)} %")

    def say(self, text: str) -> None:
        print(printable(text))


def default_progress() -> Progress:
    """A bar on standard error for a person who is watching; silence for a pipe."""
    console = Console(stderr=True)
    if console.is_jupyter:
        return Bar(console) if find_spec("ipywidgets") else Lines()
    return Bar(console) if sys.stderr is not None and console.is_terminal else Silent()
