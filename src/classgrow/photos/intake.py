"""Photos as pixels: from folders, archives, lists, arrays, generators or pandas columns, at one size for all."""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from classgrow.data.decode import BrokenImageError, square_pixels
from classgrow.data.intake import Name, with_channels
from classgrow.data.opening import UnreadableFileError
from classgrow.data.threads import ahead, shared_pool, thread_count
from classgrow.errors import ClassgrowError
from classgrow.photos.finding import PhotosLike, find, find_unlabelled
from classgrow.photos.names import differing_in_case
from classgrow.photos.sources import Found, Photo, Skipped
from classgrow.progress import Progress, Silent

IN_MEMORY = 1 << 30
"""Bytes of pixels from which they lie in a temporary file instead of in memory."""
NAMED = 5
"""How many files a message names."""


@dataclass(frozen=True)
class Intake:
    """Photos at one size: uint8 (N, side, side, channels), the class and the file of each, and what was passed over.

    `notes` are sentences that a person should read.
    """

    pixels: Tensor
    names: tuple[str, ...]
    sources: tuple[str, ...]
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def counts(self) -> dict[str, int]:
        """Photos of each class, in alphabetical order of the classes."""
        return dict(sorted(Counter(self.names).items()))

    @property
    def digest(self) -> str:
        """Tells these photos and their classes from any others."""
        total = hashlib.sha256(repr((self.names, tuple(self.pixels.shape))).encode("utf-8", "surrogatepass"))
        for start in range(0, len(self.pixels), 256):
            total.update(self.pixels[start : start + 256].numpy().tobytes())
        return total.hexdigest()


@dataclass(frozen=True)
class Wanted:
    """How photos are read: as squares of `side` pixels, in colours or grey; `strict` refuses where some are skipped."""

    side: int
    channels: int = 3
    strict: bool = False
    progress: Progress = field(default_factory=Silent)


def take_in(photos: PhotosLike, labels: Iterable[Name] | None, wanted: Wanted) -> Intake:
    """Photos to learn from. Without `labels`, `photos` is a folder, an archive or a list of folders, one a class."""
    taken = _read(find(photos, labels), wanted)
    if not len(taken):
        raise ClassgrowError(f"There is no photo to learn from in {_shown(photos)}.{_reasons(taken.skipped)}")
    empty = _emptied(taken)
    notes = [
        f"The classes {' and '.join(map(repr, group))} differ in large and small letters only: they are kept apart."
        for group in differing_in_case(taken.names)
    ]
    return replace(taken, skipped=(*taken.skipped, *empty), notes=tuple(notes))


def take_unlabelled(photos: PhotosLike, wanted: Wanted) -> Intake:
    """Photos to answer about: a file, a folder at any depth, an archive, or a collection of them."""
    return _read(find_unlabelled(photos), wanted)


def _read(found: Found, wanted: Wanted) -> Intake:
    """Decode in threads; what cannot be used is named, and refused where `strict`."""
    skipped = found.skipped
    names: list[str] = []
    sources: list[str] = []
    if wanted.strict and skipped:
        raise _refused(skipped)
    side = wanted.side
    pixels = _room((found.count, side, side, wanted.channels))
    wanted.progress.begin("reading photos", found.count)
    try:
        for photo, square in _decoded(found.photos, wanted):
            wanted.progress.advance(1)
            if isinstance(square, str):
                skipped.append(Skipped(photo.source, square))
                if wanted.strict:
                    raise _refused(skipped)
                continue
            pixels[len(sources)] = square
            names.append(photo.name)
            sources.append(photo.source)
    finally:
        wanted.progress.end()
    return Intake(torch.from_numpy(pixels)[: len(sources)], tuple(names), tuple(sources), tuple(skipped))


def _decoded(photos: Iterable[Photo], wanted: Wanted) -> Iterator[tuple[Photo, np.ndarray | str]]:
    """Each photo with its pixels, or with the reason why it has none."""

    def work(photo: Photo) -> tuple[Photo, np.ndarray | str]:
        try:
            square = torch.from_numpy(square_pixels(photo.read(), wanted.side))
            return photo, with_channels(square[None], wanted.channels)[0].numpy()
        except (BrokenImageError, UnreadableFileError) as problem:
            return photo, str(problem)

    yield from ahead(shared_pool(), work, photos, 4 * thread_count())


def _room(shape: tuple[int, ...]) -> np.ndarray:
    """Room for pixels; much of it lies in a file that goes when the pixels do."""
    if int(np.prod(shape)) <= IN_MEMORY:
        return np.empty(shape, np.uint8)
    try:
        with tempfile.TemporaryFile() as file:
            return np.memmap(file, np.uint8, "w+", shape=shape)
    except OSError as error:
        raise ClassgrowError(
            f"There is no room for {np.prod(shape) / 1e9:.1f} GB of pixels in {tempfile.gettempdir()}: free some, or "
            "let TMPDIR name another folder."
        ) from error


def _emptied(taken: Intake) -> list[Skipped]:
    """Class folders of which no photo could be used."""
    used = {source.split("/")[0] for source in taken.sources}
    lost = dict.fromkeys(one.file.split("/")[0] for one in taken.skipped if "/" in one.file[:-1])
    said = {one.file for one in taken.skipped}
    return [Skipped(f"{top}/", "none of its photos can be used") for top in lost if top not in used | said | {".."}]


def _shown(photos: object) -> str:
    return str(photos) if isinstance(photos, str | Path) else "what was given"


def _reasons(skipped: Iterable[Skipped]) -> str:
    """The first few files with their reasons, as a sentence; "" where there are none."""
    every = list(skipped)
    if not every:
        return " Put the photos of each class into a folder of its own: PHOTOS/<class>/*.jpg."
    named = "; ".join(f"{one.file}: {one.reason}" for one in every[:NAMED])
    more = f"; and {len(every) - NAMED} more" if len(every) > NAMED else ""
    return f" Skipped: {named}{more}."


def _refused(skipped: list[Skipped]) -> ClassgrowError:
    return ClassgrowError(
        f"Not every file can be used.{_reasons(skipped)} Remove or fix them, or leave out `strict` to skip them."
    )


def by_reason(skipped: Iterable[Skipped]) -> Mapping[str, list[str]]:
    """The files that were passed over, by why."""
    found: dict[str, list[str]] = {}
    for one in skipped:
        found.setdefault(one.reason, []).append(one.file)
    return found
