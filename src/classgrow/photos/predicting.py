"""Many photos answered for one after another: files and folders expanded, read in batches, unreadable ones named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from classgrow.errors import ClassgrowError
from classgrow.photos.names import shown
from classgrow.photos.sources import Skipped, in_one_folder, is_archive

if TYPE_CHECKING:
    from classgrow.photos.model import PhotoModel
    from classgrow.photos.results import Prediction

BATCH = 32
"""Photos that are read and answered together."""


@dataclass(frozen=True)
class Asked:
    """Photo files to answer for, and what was passed over in their folders."""

    files: tuple[Path, ...]
    skipped: tuple[Skipped, ...] = ()


def expand(given: Sequence[Path], without: Path | None = None) -> Asked:
    """The photo files that are meant: files as they are, folders with all below them but what lies in `without`."""
    files: list[Path] = []
    skipped: list[Skipped] = []
    left_out = None if without is None else without.resolve()
    for path in given:
        if path.is_dir():
            found = in_one_folder(path)
            inside = [photo.path for photo in found.photos if photo.path is not None]
            files += [file for file in inside if left_out is None or left_out not in file.resolve().parents]
            skipped += [replace(one, file=str(path / one.file)) for one in found.skipped]
        elif is_archive(path) and path.is_file():
            raise ClassgrowError(f"{path} is an archive: unpack it, and give the folder.")
        else:
            files.append(path)
    return Asked(tuple(dict.fromkeys(files)), tuple(skipped))


def answers(model: PhotoModel, files: Sequence[Path], top: int) -> Iterator[tuple[Path, Prediction | Skipped]]:
    """Each file with its answer, or with the reason why there is none, in order."""
    for some in batches(files, BATCH):
        intake = model.read(some)
        reasons = {one.file: one for one in intake.skipped}
        found = {one.source: one for one in model.predictions(intake, top)}
        for file in some:
            source = shown(str(file))
            answer = found.get(source) or reasons.get(source) or Skipped(source, "it is no photo")
            yield file, answer


def batches(files: Sequence[Path], size: int) -> Iterator[list[Path]]:
    """Consecutive parts; the first is a single file, so that an answer comes at once."""
    yield from ([file] for file in files[:1])
    for start in range(1, len(files), size):
        yield list(files[start : start + size])
