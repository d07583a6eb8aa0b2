"""`classgrow doctor`: is everything here that learning needs, and how fast is it?"""

from __future__ import annotations

import json
from typing import Annotated

import typer


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Everything as JSON, for programs.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Time no training step; that takes seconds once.")] = False,
) -> None:
    """Show versions, devices, speed, disk, extras and caches. Exits with 2 where something must be fixed."""
    from classgrow.doctor import all_looks, examine

    found = examine(all_looks(timed=not quick))
    if as_json:
        typer.echo(json.dumps(found.as_json(), indent=1))
    else:
        from classgrow.cli.printing import print_table
        from classgrow.cli.tables import Table
        from classgrow.records.words import printable

        rows = [
            (title if not place else "", fact.name, fact.value)
            for title, group in found.groups
            for place, fact in enumerate(group.facts)
        ]
        print_table(Table(("area", "what", "here"), tuple(rows), words=True))
        for problem in found.problems or ("Everything that learning needs is here.",):
            typer.echo(printable(problem))
    if found.problems:
        raise typer.Exit(2)
