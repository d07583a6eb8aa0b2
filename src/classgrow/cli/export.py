"""`classgrow export`: a saved model as a file for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from classgrow.errors import ClassgrowError

if TYPE_CHECKING:
    from classgrow.export import Exported
    from classgrow.learner import Learner


def export(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of a saved model.")],
    output: Annotated[Path, typer.Argument(metavar="OUT", help="OUT.onnx; OUT.pt2 with --torch; else a folder.")],
    torch: Annotated[bool, typer.Option("--torch", help="For torch.export instead of ONNX.")] = False,
    transformers: Annotated[
        bool, typer.Option("--transformers", help="A folder for transformers.js, with ONNX in it.")
    ] = False,
) -> None:
    """Write a model as one file that predicts elsewhere, checked against the model itself. It holds no photo."""
    if torch and transformers:
        raise ClassgrowError("`torch` and `transformers` are two formats: ask for one at a time.")
    from classgrow.export import write_onnx, write_torch, write_transformers

    write = write_torch if torch else write_transformers if transformers else write_onnx
    for line in lines(write(opened(model), output)):
        typer.echo(line)


def opened(folder: Path) -> Learner:
    """The learner in a folder that `classgrow learn` or `Learner.save` made, with its photos to check a file by."""
    from classgrow import bundle
    from classgrow.photos.saved import read_current

    if (folder / bundle.WEIGHTS_FILE).is_file():
        return bundle.load(folder)
    return read_current(folder.expanduser().resolve(), with_photos=True).learner


def lines(done: Exported) -> list[str]:
    """What was written, and what was checked, for people."""
    from classgrow.records.words import printable

    checked, size = done.checked, f"{done.size / 1e6:.1f} MB"
    counts = ((checked.photos, "of its own photos"), (checked.generated, "generated images"))
    images = " and ".join(f"{count} {words}" for count, words in counts if count)
    differences = ", ".join(f"{name} {value:.0e}" for name, value in checked.differences.items())
    return [
        printable(f"Written: {done.path} ({size}, {len(done.classes)} classes). It holds no photo and cannot learn."),
        f"Checked with {done.checked_by} on {images}: the model's own labels; differences at most: {differences}.",
    ]
