"""`classgrow report`: the records of runs as tables, figures and a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

OUTPUT = Path("report")


def report(
    runs: Annotated[Path, typer.Argument(metavar="RUNS", help="A folder of runs.")],
    output: Annotated[Path, typer.Option(help="Where the report goes.")] = OUTPUT,
) -> None:
    """Make a page of all runs: the paper's tables and figures beside its own numbers, and a page for each run."""
    from classgrow.report.make import make_report

    made = make_report(runs, output)
    for problem in made.problems:
        typer.echo(problem, err=True)
    typer.echo(
        f"{made.runs} runs ({made.complete} complete), {made.tables} tables, {made.figures} figures: open {made.index}"
    )
