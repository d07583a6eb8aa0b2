"""`classgrow learn`: photos in folders become a model, or make one know more."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from classgrow.errors import ClassgrowError

if TYPE_CHECKING:
    from classgrow.photos.model import Learned, PhotoModel, Preview
    from classgrow.photos.sources import Skipped

ModelFolder = Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of the model.")]
NAMED = 3
"""How many files are named of each reason to skip them."""


def learn(
    model: ModelFolder,
    photos: Annotated[
        Path, typer.Argument(metavar="PHOTOS", help="A folder with a folder of photos for each class, or a .zip/.tar.")
    ],
    preset: Annotated[
        str | None, typer.Option(help="fast (default with the extra photos), balanced or best (trains).")
    ] = None,
    method: Annotated[str | None, typer.Option(help="A method of `classgrow methods` instead of the preset's.")] = None,
    network: Annotated[str | None, typer.Option(help="efficientnet-lite0|1|2, resnet18, resnet32, small, ...")] = None,
    weights: Annotated[Path | None, typer.Option(help="A file of weights that the network starts from.")] = None,
    memory: Annotated[int | None, typer.Option(help="Photos kept in all; default 2000.")] = None,
    epochs: Annotated[int | None, typer.Option(help="How often training goes over the photos.")] = None,
    seed: Annotated[int | None, typer.Option(help="Decides every random draw; default 1.")] = None,
    time_budget: Annotated[str | None, typer.Option(help="How long it may take, as 90s, 10m or 1h.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read the photos, say what would be done.")] = False,
    no_photos: Annotated[bool, typer.Option("--no-photos", help="Keep features instead of photos.")] = False,
    keep: Annotated[int | None, typer.Option(min=0, help="Earlier versions to keep; default 5.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Refuse photos of which some must be skipped.")] = False,
) -> None:
    """Learn classes from folders of photos. The first call makes MODEL; later ones add classes or more photos."""
    from classgrow.cli.bars import shown
    from classgrow.photos.model import PhotoModel
    from classgrow.photos.presets import Wish

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what ends a job early is as good as Ctrl-C
    given = {"preset": preset, "method": method, "network": network, "weights": weights, "memory": memory, "seed": seed}
    made = PhotoModel(model, progress=shown())
    if made.exists:
        check_decided(made, {**given, "no_photos": no_photos or None})
    made.wish = Wish(
        preset=preset, method=method, network=network, weights=weights, memory=memory,
        seed=1 if seed is None else seed, keep_photos=not no_photos, keep=keep,
    )  # fmt: skip
    try:
        if dry_run:
            show_preview(made, made.preview(photos, strict=strict, epochs=epochs, time_budget=time_budget))
            return
        show_learned(made, made.learn(photos, strict=strict, epochs=epochs, time_budget=time_budget))
    except KeyboardInterrupt:
        again = shlex.join(["classgrow", *sys.argv[1:]])
        typer.echo(f"Stopped. The model is as it was. Go on with: {again}", err=True)
        raise typer.Exit(130) from None


def check_decided(made: PhotoModel, given: Mapping[str, object]) -> None:
    """What a model was made with may be said again, and cannot change."""
    decided = made.decided
    for name, value in given.items():
        if value is not None and value != decided.get(name):
            known = f" ({decided[name]})" if name in decided else ""
            raise ClassgrowError(
                f"`{name}` was decided when {made.folder} was made{known}: leave it out, or make a new model."
            )


def show_learned(model: PhotoModel, learned: Learned) -> None:
    """What was skipped, the table, and where everything is."""
    from classgrow.cli.models import accuracy_table
    from classgrow.cli.printing import print_table

    show_skipped(learned.skipped)
    print_table(accuracy_table(learned.version))
    version = learned.version
    new, more = len(learned.new), len(learned.known)
    done = ", ".join(
        words
        for count, words in (
            (new, f"{new} new class{'es' if new != 1 else ''}"),
            (more, f"more photos of {more} known class{'es' if more != 1 else ''}"),
        )
        if count
    )
    typer.echo(f"Version {version.number} of {model.folder}: {done}, in {learned.seconds:.1f} s.")
    if (model.folder / "accuracy.png").is_file():
        typer.echo(f"Picture: {model.folder / 'accuracy.png'}")


def show_preview(model: PhotoModel, preview: Preview) -> None:
    """What would be learned, and how."""
    from classgrow.cli.grid_view import duration
    from classgrow.cli.printing import print_table
    from classgrow.cli.tables import Table

    for note in preview.notes:
        model.progress.say(note)
    show_skipped(preview.skipped)
    rows = [(name, str(count), "new") for name, count in preview.new.items()]
    rows += [(name, str(count), "known") for name, count in preview.known.items()]
    print_table(Table(columns=("class", "photos", ""), rows=tuple(rows), title="What would be learned", notes=()))
    typer.echo(f"{preview.words}: about {duration(preview.seconds)} on this computer. Nothing was learned.")


def show_skipped(skipped: tuple[Skipped, ...]) -> None:
    """The files that were passed over, by reason, the first few by name."""
    from classgrow.photos.intake import by_reason
    from classgrow.records.words import printable

    for reason, files in by_reason(skipped).items():
        more = f" and {len(files) - NAMED} more" if len(files) > NAMED else ""
        typer.echo(printable(f"Skipped {len(files)} ({reason}): {', '.join(files[:NAMED])}{more}"), err=True)
