"""What the demonstration leaves to try: a model of the digits, and pictures of digits that it has not seen."""

from __future__ import annotations

import io
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from PIL import Image

from classgrow.checkpoint import write_atomically
from classgrow.data.digits import load_digits
from classgrow.engine.runtime import Execution, PrecisionWish
from classgrow.errors import ClassgrowError
from classgrow.experiments.run import run_spec
from classgrow.learner import Learner
from classgrow.photos.importing import import_run
from classgrow.photos.saved import read_current
from classgrow.progress import Progress
from classgrow.records.record import Record
from classgrow.specs.spec import Spec

PICTURES = 12
"""Test images of each digit that are written, spread evenly over them: neighbours are by the same hand."""


@dataclass(frozen=True)
class ToTry:
    """A model, and a folder with a folder of pictures for each of its classes."""

    model: Path
    photos: Path


def leave_to_try(
    output: Path, spec: Spec, run: str, execution: Execution, precision: PrecisionWish, progress: Progress
) -> ToTry:
    """The learner of a finished run as a model below `output`, with pictures for it; both may be there already.

    A model of this run, or one that was changed since, stays as it is. Anything else in its place is set aside.
    """
    left = ToTry(output / "model", output / "photos")
    write_pictures(left.photos)
    if not stays(left.model, run):
        learner, record = finished(spec, output, execution, precision, progress)
        if left.model.exists():
            progress.say(f"{left.model} is not of this run: it is now {set_aside(left.model)}.")
        import_run(left.model, learner, record)
    return left


def stays(model: Path, run: str) -> bool:
    """Whether there is a readable model, of this run or with changes of its own."""
    try:
        history = read_current(model).history
    except ClassgrowError:
        return False
    return len(history) > 1 or run in history[0].words


def finished(
    spec: Spec, output: Path, execution: Execution, precision: PrecisionWish, progress: Progress
) -> tuple[Learner, Record]:
    """The learner of a finished run; where its checkpoint is gone or damaged, the run is done again."""
    found: list[tuple[Learner, Record]] = []

    def take(learner: Learner, record: Record) -> None:
        found.append((learner, record))

    try:
        run_spec(spec, output, resume=True, execution=execution, precision=precision, progress=progress, after_run=take)
    except ClassgrowError as error:
        progress.say(str(error))
        run_spec(spec, output, again=True, execution=execution, precision=precision, progress=progress, after_run=take)
    return found[0]


def set_aside(path: Path) -> Path:
    """Give it the first free name: model-1, model-2, ..."""
    names = (path.with_name(f"{path.name}-{number}") for number in count(1))
    return path.rename(next(name for name in names if not name.exists()))


def write_pictures(folder: Path) -> None:
    """`folder`/<digit>/01.png and on, as large as the network sees them: enlarged ones would be blurred on the way."""
    test = load_digits().test
    for number, label in enumerate(test.classes):
        places = (test.labels == number).nonzero().squeeze(1)
        pixels = test.read(places[:: len(places) // PICTURES][:PICTURES]).numpy()
        for place, image in enumerate(pixels, start=1):
            written = io.BytesIO()
            Image.fromarray(image[..., 0]).save(written, "PNG")
            file = folder / str(label.name) / f"{place:02}.png"
            if not file.is_file() or file.read_bytes() != written.getvalue():
                write_atomically(file, written.getvalue())
