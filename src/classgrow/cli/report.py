"""`classgrow report`: the records of runs as tables, figures and a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from classgrow.cli.flags import with_flags

OUTPUT = Path("report")


def report(
    runs: Annotated[Path, typer.Argument(metavar="RUNS", help="A folder of runs.")],
    output: Annotated[Path, typer.Option(help="Where the report goes.")] = OUTPUT,
    authors: Annotated[
        bool, typer.Option("--authors", help="Also show the result files that FGP's authors published.")
    ] = False,
) -> None:
    """Make a page of all runs: the paper's tables and figures beside its own numbers, and a page for each run."""
    from classgrow.records.words import printable
    from classgrow.report.make import make_report

    made = make_report(runs, output, authors)
    for problem in made.problems:
        typer.echo(printable(with_flags(problem)), err=True)
    counts = f"Runs: {made.runs} ({made.complete} complete); tables: {made.tables}; figures: {made.figures}."
    typer.echo(f"{counts} Open {made.index}")
