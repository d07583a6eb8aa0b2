"""The edge: tables and lines onto the terminal."""

from __future__ import annotations

import shlex
import shutil
import sys
from functools import cache
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from classgrow.cli.tables import Table
from classgrow.records.words import printable


@cache
def console() -> Console:
    """Plain text where output is not a terminal, and then wide enough for every table."""
    plain = Console(highlight=False)
    return plain if plain.is_terminal else Console(highlight=False, width=160)


def print_table(table: Table) -> None:
    """A title, the table, its notes."""
    title = Text(printable(table.title), "bold") if table.title else None  # as text: a name in it may look like markup
    shown = RichTable(title=title, title_justify="left", box=box.SIMPLE_HEAD, title_style="bold")
    for place, name in enumerate(table.columns):
        words = place == 0 or table.words
        shown.add_column(Text(printable(name)), justify="left" if words else "right", no_wrap=not table.words)
    for row in table.rows:
        shown.add_row(*(Text(printable(cell)) for cell in row))
    if table.footer:
        shown.add_section()
    for row in table.footer:
        shown.add_row(*(Text(printable(cell)) for cell in row))
    console().print(shown)
    for note in table.notes:
        console().print(note, style="dim", markup=False, emoji=False)


def program() -> str:
    """What to type to call this program again: its name where the shell finds it, else as it was called."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m classgrow"
    found = shutil.which("classgrow")
    elsewhere = found is None or Path(found).resolve().with_suffix("") != called.resolve().with_suffix("")
    return shlex.quote(sys.argv[0]) if called.stem == "classgrow" and elsewhere else "classgrow"
