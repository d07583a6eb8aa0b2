"""How a command on photos shows where it stands: a bar where somebody watches, lines where nobody does."""

from __future__ import annotations

import typer
from rich.console import Console

from classgrow.cli.flags import with_flags
from classgrow.learner.terminal import Bar
from classgrow.progress import Progress, Silent
from classgrow.records.words import printable


class Told(Silent):
    """What is to be read goes to standard error; no bar."""

    def say(self, text: str) -> None:
        typer.echo(printable(with_flags(text)), err=True)


class Shown(Bar):
    """A bar on standard error, and what is to be read above it."""

    def say(self, text: str) -> None:
        self.console.print(printable(with_flags(text)), markup=False, soft_wrap=True, highlight=False)


def shown() -> Progress:
    """For the terminal that is there, or for none."""
    console = Console(stderr=True)
    return Shown(console) if console.is_terminal else Told()
