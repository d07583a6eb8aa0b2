"""What can be done with a model of photos besides learning: inspect, forget, rename, history, rollback."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from classgrow.cli.learn import ModelFolder

if TYPE_CHECKING:
    from classgrow.cli.tables import Table
    from classgrow.photos.history import Version
    from classgrow.photos.model import PhotoModel

MOST_ROWS = 40
MOST_VERSIONS = 12
"""Versions whose accuracy `inspect` shows; `history` shows all."""
ClassName = Annotated[str, typer.Argument(metavar="CLASS", help="The name of a class.")]


def inspect(
    model: ModelFolder,
    sheet: Annotated[Path | None, typer.Option(help="Write a contact sheet of the kept photos to this PNG.")] = None,
) -> None:
    """Show what a model knows, how it was made, how large it is, and what it keeps."""
    from classgrow.checkpoint import write_atomically
    from classgrow.cli.printing import print_table
    from classgrow.photos.pictures import contact_sheet
    from classgrow.records.words import printable

    made = loaded(model)
    print_table(class_table(made))
    for line in facts(made):
        typer.echo(printable(line))
    if sheet is not None:
        write_atomically(sheet, contact_sheet(made.folder, made.exemplars, made.classes))
        typer.echo(f"Contact sheet: {sheet}")


def forget(model: ModelFolder, name: ClassName) -> None:
    """Take a class out of a model, and prove that no photo, feature, statistic or name of it is left."""
    from classgrow.cli.printing import print_table

    made = loaded(model)
    done = made.forget(name)
    print_table(accuracy_table(done.version))
    typer.echo("Looked through:")
    for line in done.checked:
        typer.echo(f"  {line}")
    if done.removed_versions:
        typer.echo(f"Removed earlier versions that knew it: {', '.join(map(str, done.removed_versions))}.")
    if made.learner.method.objectives:
        typer.echo("The network's weights were trained on its photos too, and stay.")


def rename(
    model: ModelFolder, name: ClassName, new: Annotated[str, typer.Argument(metavar="NEW", help="Its new name.")]
) -> None:
    """Call a class by another name."""
    from classgrow.records.words import printable

    version = loaded(model).rename(name, new)
    typer.echo(printable(f"Version {version.number}: {version.words}."))


def history(model: ModelFolder) -> None:
    """Show what was done to a model, version by version."""
    from classgrow.cli.printing import print_table

    print_table(history_table(loaded(model)))


def rollback(
    model: ModelFolder,
    number: Annotated[int | None, typer.Argument(metavar="N", help="The version; default: the one before.")] = None,
) -> None:
    """Make an earlier version the present one; nothing is lost, the present one becomes an earlier one."""
    from classgrow.cli.bars import shown
    from classgrow.photos.model import PhotoModel

    version = PhotoModel(model, progress=shown()).rollback(number)
    classes = len(version.classes)
    typer.echo(f"Version {version.number}: {version.words}, {classes} class{'' if classes == 1 else 'es'}.")


def loaded(folder: Path) -> PhotoModel:
    from classgrow.cli.bars import shown
    from classgrow.photos.model import load

    return load(folder, shown())


# --- tables --------------------------------------------------------------------------------------------------------


def percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


def counted(version: Version, name: str) -> str:
    """How many photos of a class were learned from; a dash for a run's model, which was not made of photos."""
    return str(version.photos.get(name, "–"))


def accuracy_table(version: Version) -> Table:
    """Every class with its photos and its accuracy before and after; of very many, the least accurate."""
    from classgrow.cli.tables import Table
    from classgrow.photos.history import mean

    names = list(version.classes)
    notes = [f"accuracy in %, {version.measured}" if version.measured != "none" else "accuracy could not be measured"]
    if len(names) > MOST_ROWS:
        names = sorted(names, key=lambda name: version.after.get(name, 2.0))[:MOST_ROWS]
        notes.append(f"the {MOST_ROWS} least accurate of {len(version.classes)} classes; all are in history.json")
    rows = [
        (
            name,
            counted(version, name),
            "new" if name in version.new else percent(version.before.get(name)),
            percent(version.after.get(name)),
        )
        for name in names
    ]
    old = {name: value for name, value in version.after.items() if name in version.before}
    footer = [("mean of all", str(sum(version.photos.values()) or "–"), "", percent(version.accuracy))]
    if version.before and len(old) < len(version.after):
        footer.insert(0, ("mean of the old classes", "", percent(mean(version.before)), percent(mean(old))))
    return Table(
        columns=("class", "photos", "before", "after"), rows=tuple(rows), footer=tuple(footer), notes=tuple(notes)
    )


def class_table(model: PhotoModel) -> Table:
    """Classes by the version that brought them."""
    from collections import Counter

    from classgrow.cli.tables import Table
    from classgrow.photos.evaluation import first_versions

    latest = model.history[-1]
    since = first_versions(model.history)
    memory = model.learner.state.memory
    kept = Counter(memory.labels.tolist())
    rows = [
        (
            name,
            str(since[name]),
            counted(latest, name),
            str(kept[place]),
            percent(latest.after.get(name)),
        )
        for place, name in enumerate(model.classes)
    ]
    columns = ("class", "since version", "photos", "kept", "accuracy %")
    return Table(columns=columns, rows=tuple(rows), title="", notes=(f"accuracy {latest.measured}",))


def facts(model: PhotoModel) -> list[str]:
    """Method, network, size and what is kept, a line each."""
    from classgrow.photos.teaching import described

    learner = model.learner
    size = sum(path.stat().st_size for path in model.folder.rglob("*") if path.is_file() and path.stat().st_nlink == 1)
    shared = {path.stat().st_ino: path.stat().st_size for path in model.folder.rglob("*") if path.stat().st_nlink > 1}
    total = size + sum(size for inode, size in shared.items() if inode)
    kept = f"{len(model.exemplars)} photos" if model.exemplars else "no photos"
    lines = [f"preset {model.settings.preset}: {described(learner)}"]
    if learner.method.objectives:
        lines.append(f"trained on {learner.method.formula}")
    lines.append(f"answers by {learner.method.rule.title}: {learner.method.rule.formula}")
    if len(model.history) > 1:
        steps = ", ".join(f"{one.number}: {percent(one.accuracy)}" for one in model.history[-MOST_VERSIONS:])
        lines.append(f"mean accuracy in % by version: {steps}")
    lines.append(f"keeps {kept}, {total / 1e6:.1f} MB on disk; earlier versions: {model.versions or 'none'}")
    return lines


def history_table(model: PhotoModel) -> Table:
    """A line for each version."""
    from classgrow.cli.tables import Table

    rows = [
        (
            str(version.number),
            version.when[:16].replace("T", " "),
            version.words,
            str(len(version.classes)),
            percent(version.accuracy),
        )
        for version in model.history
    ]
    at_hand = ", ".join(map(str, model.versions)) or "none"
    notes = (f"rollback can go back to: {at_hand}",)
    columns = ("version", "when (UTC)", "what", "classes", "accuracy %")
    return Table(columns=columns, rows=tuple(rows), notes=notes, wrapped=("what",))
