"""Image files in folders, one folder per class: `train/<class>/...` and `val/<class>/...` (or `test`)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from classgrow.data.cache import SHORT_SIDE, Cache, Source
from classgrow.data.facts import DatasetFacts
from classgrow.data.place import needed_folder
from classgrow.errors import ClassgrowError
from classgrow.progress import Progress, Silent

if TYPE_CHECKING:
    from classgrow.data.labelled import ClassLabel, Dataset, LabelledImages

SUFFIXES = frozenset((".jpg", ".jpeg", ".png", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm"))
TRAIN, TESTS = "train", ("val", "test", "validation")
NAMED = 3
"""How many file names an error message lists."""


@dataclass(frozen=True)
class Listing:
    """The image files of a split with the class of each, and `unrecognised`: files that do not look like images."""

    sources: tuple[Source, ...]
    classes: tuple[str, ...]
    unrecognised: tuple[str, ...] = ()

    def counts(self) -> dict[str, int]:
        """Image files per class."""
        counts: dict[str, int] = {}
        for name in self.classes:
            counts[name] = counts.get(name, 0) + 1
        return counts

    def of(self, wanted: Sequence[str]) -> Listing:
        """Only the files of these classes; unrecognised files stay."""
        chosen = set(wanted)
        kept = [place for place, name in enumerate(self.classes) if name in chosen]
        return Listing(
            tuple(self.sources[place] for place in kept),
            tuple(self.classes[place] for place in kept),
            self.unrecognised,
        )


@dataclass(frozen=True)
class Splits:
    """Both halves of a data set, as files."""

    train: Listing
    test: Listing


def load_folder(
    root: Path,
    name: str | None = None,
    *,
    side: int | None = None,
    strict: bool = False,
    progress: Progress | None = None,
) -> Dataset:
    """Every class folder of `root`, which holds train/ and val/ (or test/); labels are alphabetical ranks.

    Images come as squares of `side` pixels: left out, the median short side of the train images, 256 at most. Files
    that are not usable images are skipped and reported to `progress`; with `strict` they are refused.
    """
    root = Path(root)
    splits = list_splits(root)
    classes = sorted(splits.train.counts())
    return dataset_from(
        as_utf_8(name or Path(os.path.realpath(root)).name), splits, classes, {}, side, strict, progress or Silent()
    )


def split_folders(root: Path) -> tuple[Path, Path]:
    """The folders of training and test images."""
    test = next((root / name for name in TESTS if (root / name).is_dir()), None)
    if not (root / TRAIN).is_dir() or test is None:
        raise ClassgrowError(
            f"{root} does not hold the folders train and val (or test), with a folder for every class in each: "
            "name the folder that does."
        )
    return root / TRAIN, test


def list_splits(root: Path, classes: Sequence[str] | None = None) -> Splits:
    """The files of both splits; `classes` limits which class folders are looked into."""
    train, test = split_folders(root)
    return Splits(list_split(train, root, classes), list_split(test, root, classes))


def list_split(folder: Path, root: Path, classes: Sequence[str] | None = None) -> Listing:
    """The files in each class folder of `folder`, at any depth, in alphabetical order."""
    sources: list[Source] = []
    labels: list[str] = []
    unrecognised: list[str] = []
    above = (os.path.realpath(root), os.path.realpath(folder))
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if not is_folder(entry):
            unrecognised.append(Path(entry.path).relative_to(root).as_posix())
        elif (classes is None or entry.name in classes) and not entry.name.startswith("."):
            for file in files_under(entry.path, above):
                name = Path(file.path).relative_to(root).as_posix()
                if looks_like_image(file.name):
                    sources.append(source_of(file, name))
                    labels.append(entry.name)
                else:
                    unrecognised.append(name)
    return Listing(tuple(sources), tuple(labels), tuple(unrecognised))


def files_under(folder: str, above: tuple[str, ...]) -> Iterator[os.DirEntry[str]]:
    """Every file below `folder`, alphabetically. A link back to one of the folders `above` is not followed."""
    here = os.path.realpath(folder)
    if here in above:
        return
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if is_folder(entry):
            yield from files_under(entry.path, (*above, here))
        else:
            yield entry


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Also asked of a link to itself, which is none."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def looks_like_image(name: str) -> bool:
    """By its name: a known suffix, and not hidden."""
    return not name.startswith(".") and Path(name).suffix.lower() in SUFFIXES


def source_of(file: os.DirEntry[str], name: str) -> Source:
    try:
        facts = file.stat()
    except OSError:  # a broken link: reading it will fail, and is counted then
        return Source(Path(file.path), name, 0, 0)
    return Source(Path(file.path), name, facts.st_size, facts.st_mtime_ns)


def dataset_from(
    name: str,
    splits: Splits,
    classes: Sequence[str],
    readable: Mapping[str, str],
    side: int | None,
    strict: bool,
    progress: Progress,
) -> Dataset:
    """A data set of these classes (label k is `classes[k]`), through the image cache. `readable` renames classes."""
    from classgrow.data.cache_build import cached
    from classgrow.data.labelled import ClassLabel, Dataset

    for title, listing in (("train", splits.train), ("test", splits.test)):
        if strict and listing.unrecognised:
            raise ClassgrowError(
                f"{name} ({title}) holds {len(listing.unrecognised)} files that are not images of a class: "
                f"{listed(listing.unrecognised)}: remove them, or leave out `strict`."
            )
    train_cache = cached(splits.train.sources, f"{name} (train)", progress)
    test_cache = cached(splits.test.sources, f"{name} (test)", progress)
    if side is None:
        shorter = np.minimum(train_cache.index["height"], train_cache.index["width"])
        side = min(SHORT_SIDE, int(np.median(shorter)))
    labels = tuple(ClassLabel(rank, as_utf_8(readable.get(known, known))) for rank, known in enumerate(classes))
    place = {known: rank for rank, known in enumerate(classes)}
    views = []
    for title, listing, cache in (("train", splits.train, train_cache), ("test", splits.test, test_cache)):
        tell_skipped(f"{name} ({title})", listing, cache, strict, progress)
        views.append(_view(f"{name} ({title})", listing, cache, side, place, labels))
    train, test = views
    return Dataset(name, train, test, fingerprint(splits))


def fingerprint(splits: Splits) -> str:
    """Tells these images from others: a digest of every file's class, name and size, wherever the folder lies."""
    total = hashlib.blake2b(digest_size=8)
    for listing in (splits.train, splits.test):
        for source, label in zip(listing.sources, listing.classes, strict=True):
            total.update(f"{label}/{source.name}/{source.bytes}\n".encode("utf-8", "surrogateescape"))
    return total.hexdigest()


def _view(
    title: str, listing: Listing, cache: Cache, side: int, place: Mapping[str, int], labels: tuple[ClassLabel, ...]
) -> LabelledImages:
    import torch

    from classgrow.data.labelled import LabelledImages
    from classgrow.data.stored import StoredImages

    strange = next((known for known in listing.classes if known not in place), None)
    if strange is not None:
        raise ClassgrowError(
            f"{title} holds the class {strange!r}, which the train images lack: remove it or add some."
        )
    numbers = torch.tensor([place[listing.classes[source]] for source in cache.index["source"].tolist()])
    view = LabelledImages(StoredImages(cache, side), torch.arange(len(numbers)), numbers, labels)
    empty = torch.nonzero(view.counts() == 0)[:, 0].tolist()
    if empty:
        names = listed([labels[label].name for label in empty])
        raise ClassgrowError(f"{title} has no usable image of {len(empty)} classes ({names}): add some.")
    return view


def tell_skipped(title: str, listing: Listing, cache: Cache, strict: bool, progress: Progress) -> None:
    """Name and count what was left out; with `strict`, refuse it."""
    broken = [f"{name} ({reason})" for name, reason in cache.skipped]
    if broken and strict:
        raise ClassgrowError(
            f"{title} holds {len(broken)} files that cannot be read: {listed(broken)}: replace or remove them."
        )
    if broken:
        progress.say(f"{title}: skipped {len(broken)} files that cannot be read: {listed(broken)}.")
    if listing.unrecognised:
        count = len(listing.unrecognised)
        progress.say(f"{title}: skipped {count} files that are not images of a class: {listed(listing.unrecognised)}.")
    if len(broken) > NAMED or len(listing.unrecognised) > NAMED:
        progress.say("The command classgrow data lists all of them.")


def listed(names: Sequence[str], most: int = NAMED) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(as_utf_8, names[:most])) + more


def as_utf_8(name: str) -> str:
    """A file's name with what is no UTF-8 in it as \\udcff would be written: records and terminals take no other."""
    return name.encode("utf-8", "backslashreplace").decode()


def _load(data_dir: Path | None, progress: Progress, strict: bool) -> Dataset:
    root = needed_folder(data_dir, "The data set folder", "train and val, a folder for every class in each,")
    return load_folder(root, FOLDER.name, strict=strict, progress=progress)


FOLDER = DatasetFacts("folder", _load)
