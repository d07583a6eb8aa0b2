"""Look through a folder of images before anything is trained: what is there, what is missing, what is broken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from classgrow.data.cache import Source
from classgrow.data.cache_build import estimated_bytes, gigabytes
from classgrow.data.decode import BrokenImageError, decode
from classgrow.data.folder import NAMED, Listing, Splits, list_splits, listed
from classgrow.data.imagenet import (
    IMAGENET100,
    MINI_CLASSES,
    MINI_IMAGENET,
    find_imagenet,
    imagenet_splits,
    published_subset,
)
from classgrow.data.opening import image_bytes
from classgrow.data.threads import ahead, shared_pool, thread_count
from classgrow.errors import ClassgrowError
from classgrow.progress import Progress, Silent

MINI = MINI_IMAGENET.name
INSPECTED = (IMAGENET100.name, MINI, "folder")
GLANCE = 32
"""Short side in pixels for a check alone: JPEGs are then decoded at 1/8 of their size, all of their bytes read."""


@dataclass(frozen=True)
class SplitReport:
    """One split: image files per class, what stands in the way, and what is put right when reading.

    `broken` and `converted` hold (name, reason); converted are greyscale, CMYK, turned and other-format files, which
    are used. `unrecognised` files do not look like images. These and broken ones are skipped.
    """

    counts: dict[str, int]
    bytes: int
    missing: tuple[str, ...]
    unrecognised: tuple[str, ...]
    broken: tuple[tuple[str, str], ...]
    converted: tuple[tuple[str, str], ...]

    @property
    def images(self) -> int:
        """Image files, broken ones included."""
        return sum(self.counts.values())


@dataclass(frozen=True)
class DataReport:
    """What `inspect` found; `cache_bytes` estimates what the image cache will take."""

    dataset: str
    folder: Path
    classes: tuple[str, ...]
    train: SplitReport
    test: SplitReport
    cache_bytes: int

    @property
    def complete(self) -> bool:
        """Every class has images in both splits: the data set can be loaded."""
        return not self.train.missing and not self.test.missing and not self.wrong_count

    @property
    def wrong_count(self) -> str:
        """What is wrong with the number of classes, if anything."""
        if self.dataset == MINI and len(self.classes) != MINI_CLASSES:
            return f"{MINI} has {MINI_CLASSES} classes"
        return "" if self.classes else "there is no image of any class"

    @property
    def clean(self) -> bool:
        """Complete, and nothing would have to be skipped: `strict` loading works."""
        return self.complete and not any(part.broken or part.unrecognised for part in (self.train, self.test))

    def lines(self, named: int = NAMED) -> list[str]:
        """The report in sentences, most important first; `named`: how many files a sentence names."""
        lines = [f"{self.dataset} in {self.folder}: {len(self.classes)} classes, {self._verdict()}."]
        for title, part in (("train", self.train), ("test", self.test)):
            fewest, most = min(part.counts.values(), default=0), max(part.counts.values(), default=0)
            lines.append(
                f"{title}: {part.images} images in {len(part.counts)} classes ({fewest} to {most} each), "
                f"{gigabytes(part.bytes)}"
            )
            lines += [f"{title}: {sentence}" for sentence in _details(part, named)]
        lines.append(f"The image cache will take about {gigabytes(self.cache_bytes)}.")
        return lines

    def _verdict(self) -> str:
        if not self.complete:
            return f"not complete ({self.wrong_count})" if self.wrong_count else "not complete"
        return "complete" if self.clean else "complete, but some files will be skipped"


def inspect(
    folder: Path, dataset: str = IMAGENET100.name, *, thorough: bool = True, progress: Progress | None = None
) -> DataReport:
    """Look through `folder` as `dataset` ("imagenet100", "mini-imagenet" or "folder") would be loaded from it.

    `thorough` decodes every file (at 1/8 of its size, in threads) to find broken ones; without it only names and
    sizes are looked at.
    """
    if dataset not in INSPECTED:
        raise ClassgrowError(
            f"{dataset} is not a folder of images to look through: choose one of {', '.join(INSPECTED)} "
            "(other data sets are checked when they are read)."
        )
    progress = progress or Silent()
    folder = Path(folder)
    if not folder.is_dir():
        raise ClassgrowError(f"There is no folder {folder}: check `folder`.")
    root, splits, classes = _listing(folder, dataset)
    train, test = (
        _split_report(listing, classes, _problems(listing.sources, title, progress) if thorough else [])
        for title, listing in (("train", splits.train), ("test", splits.test))
    )
    needed = estimated_bytes(splits.train.sources) + estimated_bytes(splits.test.sources)
    return DataReport(dataset, root, classes, train, test, needed)


def _listing(folder: Path, dataset: str) -> tuple[Path, Splits, tuple[str, ...]]:
    if dataset == IMAGENET100.name:
        root = find_imagenet(folder)
        return root, imagenet_splits(root, published_subset()), published_subset()
    root = folder / MINI if dataset == MINI and (folder / MINI).is_dir() else folder
    splits = list_splits(root)
    return root, splits, tuple(sorted({*splits.train.counts(), *splits.test.counts()}))


def _problems(sources: Sequence[Source], title: str, progress: Progress) -> list[tuple[str, str, bool]]:
    """Name, what is the matter and whether the file can be used, for every file that is not a plain RGB JPEG."""
    progress.begin(f"checking {title}", len(sources))
    found = []
    for source, (note, usable) in zip(sources, ahead(shared_pool(), _check, sources, 8 * thread_count()), strict=True):
        progress.advance(1)
        if note:
            found.append((source.name, note, usable))
    progress.end()
    return found


def _check(source: Source) -> tuple[str, bool]:
    try:
        return decode(image_bytes(source.path), GLANCE).note, True
    except BrokenImageError as problem:
        return str(problem), False
    except OSError as problem:
        return problem.strerror or "cannot be read", False


def _split_report(listing: Listing, classes: Sequence[str], found: list[tuple[str, str, bool]]) -> SplitReport:
    counts = listing.counts()
    broken = {name for name, _, works in found if not works}
    pairs = zip(listing.sources, listing.classes, strict=True)
    usable = {label for source, label in pairs if source.name not in broken}
    return SplitReport(
        counts=counts,
        bytes=sum(source.bytes for source in listing.sources),
        missing=tuple(name for name in classes if name not in usable),
        unrecognised=listing.unrecognised,
        broken=tuple((name, note) for name, note, works in found if not works),
        converted=tuple((name, note) for name, note, works in found if works),
    )


def _details(part: SplitReport, named: int) -> list[str]:
    lines = []
    if part.missing:
        lines.append(f"{len(part.missing)} classes have no usable image: {listed(part.missing, named)}")
    if part.broken:
        names = [f"{name} ({reason})" for name, reason in part.broken]
        lines.append(f"{len(names)} files cannot be read and will be skipped: {listed(names, named)}")
    if part.unrecognised:
        lines.append(
            f"{len(part.unrecognised)} files are not images of a class and will be skipped: "
            f"{listed(part.unrecognised, named)}"
        )
    for note in sorted({note for _, note in part.converted}):
        names = [name for name, reason in part.converted if reason == note]
        lines.append(f"{len(names)} files are converted when read, {note}: {listed(names, named)}")
    return lines
