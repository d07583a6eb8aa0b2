"""`classgrow evaluate`: how well a model does on photos that it has not learned from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from classgrow.cli.tables import Table
    from classgrow.photos.evaluation import Evaluated
    from classgrow.photos.model import PhotoModel

MOST_ROWS = 40
"""Classes in the table; of more only the hardest are shown."""
PAIRS = 5


def evaluate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of a model.")],
    photos: Annotated[Path, typer.Argument(metavar="FOLDER", help="Photos in a folder for each class.")],
    output: Annotated[
        Path | None, typer.Option(metavar="PAGE.html", help="Also write a page with the worst mistakes.")
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(metavar="PICTURE.png", help="Also draw each class on these photos: the version before, and now."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Everything as JSON, for programs.")] = False,
) -> None:
    """Measure a model on labelled photos. Classes it never learned should be called unknown, and are counted apart."""
    from classgrow.cli.live import LiveRun
    from classgrow.cli.printing import console
    from classgrow.photos.evaluation import evaluate_photos
    from classgrow.photos.model import load
    from classgrow.progress import Silent
    from classgrow.records.words import printable

    with LiveRun(console()) as live:
        loaded = load(model, progress=Silent() if as_json else live)
        found = evaluate_photos(loaded, photos, pictures=output is not None, before=picture is not None)
    if output is not None:
        from classgrow.photos.evaluation_page import evaluation_page
        from classgrow.photos.pages import write_page

        write_page(output, evaluation_page(found, loaded.folder.name, photos.resolve().name))
    if picture is not None:
        write_picture(picture, loaded, found)
    if as_json:
        typer.echo(json.dumps(found.as_json(), indent=1))
    else:
        print_evaluation(found, output)
        if picture is not None:
            typer.echo(f"Picture: {printable(str(picture))}")


def write_picture(path: Path, model: PhotoModel, found: Evaluated) -> None:
    """The picture that `learn` draws, with accuracies on these photos."""
    from dataclasses import replace

    from classgrow.checkpoint import write_atomically
    from classgrow.photos.pictures import accuracy_picture

    after = {one.name: one.accuracy for one in found.classes}
    version = replace(model.history[-1], before=found.before, after=after, measured="tested")
    write_atomically(path, accuracy_picture(version))


def print_evaluation(found: Evaluated, output: Path | None) -> None:
    """The table of classes, and what is to be said below it."""
    from classgrow.cli.printing import print_table
    from classgrow.records.words import printable

    if found.classes:
        print_table(class_table(found))
    for sentence in sentences(found):
        typer.echo(printable(sentence))
    if found.skipped:
        named = "; ".join(f"{one.file}: {one.reason}" for one in found.skipped[:PAIRS])
        typer.echo(printable(f"Skipped: {len(found.skipped)} ({named})."), err=True)
    if output is not None:
        typer.echo(f"Look at the mistakes: {printable(str(output))}")


def class_table(found: Evaluated) -> Table:
    """A row for each class, then for the classes of each version, then for all."""
    from classgrow.cli.tables import Table, percent

    classes = found.classes
    if len(classes) > MOST_ROWS:
        classes = tuple(sorted(classes, key=lambda one: (one.accuracy, one.name))[:MOST_ROWS])
    rows = [
        (one.name, str(one.version), str(one.photos), percent(one.accuracy), percent(one.unknown / one.photos))
        for one in classes
    ]
    versions = [
        (f"learned in version {version}", "", "", percent(accuracy), "") for version, accuracy in found.versions.items()
    ]
    total = ("all", "", str(found.photos), percent(found.accuracy), percent(found.unknown))
    left_out = len(found.classes) - len(classes)
    return Table(
        ("class", "version", "photos", "right %", "called unknown %"),
        tuple(rows),
        footer=(*(versions if len(versions) > 1 else []), total),
        notes=(f"The {len(classes)} hardest classes; --json has the other {left_out}.",) if left_out else (),
    )


def sentences(found: Evaluated) -> list[str]:
    """Unknown things, confusions and calibration in words."""
    from classgrow.cli.tables import percent

    told = []
    if found.strangers:
        photos = sum(found.strangers.values())
        several = "1 class that was" if len(found.strangers) == 1 else f"{len(found.strangers)} classes that were"
        told.append(f"Of {photos} photos of {several} never learned, {percent(found.rejected)} % are called unknown.")
    if found.confusions:
        pairs = [f"{truth} for {answer} ({photos})" for truth, answer, photos in found.confusions[:PAIRS]]
        told.append(f"Taken for another class: {', '.join(pairs)}.")
    if found.calibration is not None:
        told.append(f"Probabilities are off by {percent(found.calibration)} points on average.")
    return told
