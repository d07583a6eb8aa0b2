"""`classgrow predict`: what is on these photos?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from classgrow.errors import ClassgrowError

if TYPE_CHECKING:
    from classgrow.cli.predictions import Writer
    from classgrow.photos.model import PhotoModel
    from classgrow.photos.results import Prediction
    from classgrow.photos.sources import Skipped

    Answered = Iterator[tuple[Path, Prediction | Skipped]]

NAMED = 5
"""How many unreadable files are named in the end."""


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of a model.")],
    photos: Annotated[list[Path], typer.Argument(metavar="IMAGE_OR_FOLDER...", help="Photos, and folders of them.")],
    top: Annotated[int, typer.Option(min=1, help="How many classes to name for each photo.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="A JSON object on a line for each photo.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="CSV for spreadsheets.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Answer for photos that arrive, until Ctrl-C.")] = False,
    sort_into: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Copy each photo to DIR/<class>/, or DIR/unknown/.")
    ] = None,
) -> None:
    """Name what is on photos, with probabilities and the kept photos most like them, or "none of the known classes"."""
    from classgrow.cli.predictions import writer_for
    from classgrow.photos.model import load
    from classgrow.photos.predicting import answers, expand
    from classgrow.progress import Silent

    if as_json and csv:
        raise ClassgrowError("`csv` and `as_json` are two answers: ask for one at a time.")
    loaded = load(model, progress=Silent())
    asked = expand(photos, sort_into)
    writer = writer_for(as_json, csv, watch, len(asked.files), top)
    if watch:
        follow(loaded, photos, top, sort_into, writer)
        return
    if not asked.files:
        raise ClassgrowError(f"There is no photo in {', '.join(map(str, photos))}: give photos, or a folder of them.")
    found = sorted_into(sort_into, answers(loaded, asked.files, top))
    unread = written(writer, shown_progress(found, len(asked.files)))
    if unread:
        named = "; ".join(f"{one.file}: {one.reason}" for one in unread[:NAMED])
        more = f"; and {len(unread) - NAMED} more" if len(unread) > NAMED else ""
        if len(unread) == len(asked.files):
            raise ClassgrowError(printable(f"None of {len(unread)} could be read ({named}{more}): give other photos."))
        typer.echo(printable(f"Not read: {len(unread)} of {len(asked.files)} ({named}{more})."), err=True)


def follow(model: PhotoModel, photos: list[Path], top: int, sort_into: Path | None, writer: Writer) -> None:
    """Answer for what is there and for what arrives, until Ctrl-C."""
    from classgrow.photos.predicting import answers
    from classgrow.photos.watching import Watch

    try:
        typer.echo("Watching; Ctrl-C ends it.", err=True)
        for files in Watch(photos, sort_into).follow():
            for one in written(writer, sorted_into(sort_into, answers(model, files, top))) if files else ():
                typer.echo(printable(f"Not read: {one.file} ({one.reason})."), err=True)
    except KeyboardInterrupt:
        return


def written(writer: Writer, found: Iterable[tuple[Path, Prediction | Skipped]]) -> list[Skipped]:
    """Show every answer; returns what could not be read."""
    from classgrow.photos.sources import Skipped

    unread = []
    for _, one in found:
        if isinstance(one, Skipped):
            unread.append(one)
            writer.skipped(one)
        else:
            writer.answer(one)
    writer.end()
    return unread


def sorted_into(folder: Path | None, found: Answered) -> Answered:
    """The same, each photo copied into the folder of its class on the way."""
    from classgrow.photos.sorting import copy_into
    from classgrow.photos.sources import Skipped

    for file, one in found:
        if folder is not None and not isinstance(one, Skipped):
            copy_into(folder, file, one.name)
        yield file, one


def shown_progress(found: Answered, count: int) -> Iterable[tuple[Path, Prediction | Skipped]]:
    """The same with a bar, where there are many and somebody is watching standard error."""
    import sys

    if count < 100 or not sys.stderr.isatty():
        return found
    from rich.console import Console
    from rich.progress import track

    return track(found, "looking at photos", count, console=Console(stderr=True), transient=True)


def printable(text: str) -> str:
    """Safe for a terminal (imported late)."""
    from classgrow.records.words import printable

    return printable(text)
