"""`classgrow check`: a folder of photos looked through before it is learned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from classgrow.photos.checking import Checked, Finding

NAMED = 3
"""How many findings of a kind the terminal shows, and files of each."""


def check(
    photos: Annotated[Path, typer.Argument(metavar="PHOTOS", help="A folder with one for each class, or an archive.")],
    output: Annotated[
        Path | None, typer.Option(metavar="PAGE.html", help="Also write a page with the photos in question.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Everything as JSON, for programs.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Do not look for wrong labels, which takes longest.")] = False,
) -> None:
    """Look for broken, doubled, blank and wrongly labelled photos before learning. Nothing is changed."""
    from classgrow.cli.live import LiveRun
    from classgrow.cli.printing import console
    from classgrow.photos import checking
    from classgrow.photos.suspects import suspects

    with LiveRun(console()) as live:
        found = checking.check(
            photos, suspect=None if quick else suspects, thumbnails=output is not None, progress=live
        )
    if output is not None:
        from classgrow.photos.check_page import check_page
        from classgrow.photos.pages import write_page

        write_page(output, check_page(found, photos.name or str(photos)))
    if as_json:
        typer.echo(json.dumps(found.as_json(), indent=1))
    else:
        print_summary(found, output)


def print_summary(found: Checked, output: Path | None) -> None:
    """What was found, kind by kind, with the first few."""
    from classgrow.photos.checking import KINDS, photo_count
    from classgrow.records.words import printable

    classes = f"{len(found.classes)} class{'' if len(found.classes) == 1 else 'es'}"
    typer.echo(f"{photo_count(found.photos)} in {classes}.")
    for kind in KINDS:
        findings = found.of(kind)
        if findings:
            typer.echo(f"\n{kind.title}: {len(findings)}. {kind.advice}")
            for one in findings[:NAMED]:
                typer.echo(f"  {printable(line(one))}")
            if len(findings) > NAMED:
                typer.echo(f"  and {len(findings) - NAMED} more")
    typer.echo("" if found.findings else "Nothing to fix was found.")
    for note in found.notes:
        typer.echo(printable(note))
    if output is not None:
        typer.echo(f"Look at them: {printable(str(output))}")
    elif found.findings:
        typer.echo("See the photos: add --output check.html")


def line(one: Finding) -> str:
    """A finding in one line."""
    if not one.photos:
        return one.words
    files = ", ".join(photo.file for photo in one.photos[:NAMED])
    more = f" and {len(one.photos) - NAMED} more" if len(one.photos) > NAMED else ""
    return f"{files}{more}: {one.words}"
