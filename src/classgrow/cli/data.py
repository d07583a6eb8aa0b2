"""`classgrow data`: look through a folder of images, and free the space of the image cache."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def data(
    dataset: Annotated[str | None, typer.Argument(help="imagenet100, mini-imagenet or folder.")] = None,
    folder: Annotated[Path | None, typer.Option("--from", help="The folder to look through.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Refuse a folder with files that must be skipped.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Count files without opening them.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Name every file in question, not only the first few.")] = False,
    clear: Annotated[bool, typer.Option("--clear", help="Delete the image cache.")] = False,
) -> None:
    """Check and report what a folder of images holds and what is missing; or delete the image cache."""
    from classgrow.errors import ClassgrowError

    if clear:
        if dataset is not None or folder is not None:
            raise ClassgrowError("--clear deletes the whole image cache: give it alone.")
        from classgrow.data.cache import clear_cache

        typer.echo(f"Freed {clear_cache() / 1e6:,.0f} MB of cached images.")
        return
    if dataset is None or folder is None:
        raise ClassgrowError("Say which data set and where: classgrow data imagenet100 --from DIR (or --clear).")
    from classgrow.cli.live import LiveRun
    from classgrow.cli.printing import console
    from classgrow.data.report import inspect
    from classgrow.records.words import printable

    with LiveRun(console()) as live:
        report = inspect(folder, dataset, thorough=not quick, progress=live)
    for line in report.lines(sys.maxsize) if every else report.lines():
        typer.echo(printable(line))
    if not report.complete or (strict and not report.clean):
        raise ClassgrowError(f"{folder} cannot be used as it is: see the lines above for what to add or remove.")
