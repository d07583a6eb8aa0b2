"""Fill an image cache: decode in threads, write in order, and go on after an interruption where it stopped."""

from __future__ import annotations

import errno
import json
import os
import shutil
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from classgrow.data.cache import (
    PIXELS,
    RECORD,
    SHORT_SIDE,
    Cache,
    Source,
    cache_folder,
    key_of,
    only_builder,
    opened,
    write_manifest,
)
from classgrow.data.crops import size_with_short_side
from classgrow.data.decode import BrokenImageError, decode, decoder_name
from classgrow.data.opening import LARGEST_FILE, image_bytes, open_image
from classgrow.data.threads import ahead, shared_pool, thread_count
from classgrow.disk import check_regular
from classgrow.errors import ClassgrowError
from classgrow.progress import Progress

CHUNK = 256
"""Images after which an interrupted build can go on."""
SAMPLE = 200
JOURNAL = "journal.jsonl"


def cached(sources: Sequence[Source], title: str, progress: Progress) -> Cache:
    """The images of `sources` from their cache, which is built first where it is missing or damaged."""
    if not sources:
        raise ClassgrowError(f"{title} holds no image files: check the folder.")
    folder = cache_folder() / key_of(sources)
    found = opened(folder, progress)
    if found is not None:
        return found
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with only_builder(folder, progress):
            folder.mkdir(exist_ok=True)  # the process that held the lock may have removed it
            found = opened(folder, progress)
            if found is None:
                folder.mkdir(exist_ok=True)
                Build(folder, sources, title, progress).run()
                found = opened(folder, progress)
    except OSError as problem:
        raise _no_room(folder, problem) from problem
    if found is None:
        raise ClassgrowError(f"The image cache {folder} is damaged as soon as it is written: check that disk.")
    return found


def estimated_bytes(sources: Sequence[Source]) -> int:
    """About how many bytes a cache of these files will take, from the sizes of up to 200 of them."""
    step = max(1, -(-len(sources) // SAMPLE))
    sizes = [size for source in sources[::step] if (size := _kept_bytes(source)) is not None]
    return round(sum(sizes) / len(sizes) * len(sources)) if sizes else 0


def _kept_bytes(source: Source) -> int | None:
    try:
        check_regular(source.path, LARGEST_FILE)
        with open_image(source.path) as image:
            height, width = image.height, image.width
    except Exception:  # a broken file takes no room
        return None
    if min(height, width) > SHORT_SIDE:
        height, width = size_with_short_side(height, width, SHORT_SIDE)
    return 3 * height * width


@dataclass(frozen=True)
class Prepared:
    """One file, ready to be written: its pixels and note, or the reason why there are none."""

    source: int
    pixels: np.ndarray | None
    checksum: int = 0
    note: str = ""


class Kept(NamedTuple):
    """An image in the cache, as a line of the journal lists it."""

    source: int
    height: int
    width: int
    checksum: int
    note: str


class Skipped(NamedTuple):
    """A file that is no image."""

    source: int
    reason: str


Lines = tuple[list[Kept], list[Skipped]]


@dataclass
class Journal:
    """What has been written so far."""

    images: list[Kept] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    done: int = 0
    bytes: int = 0

    def add(self, images: list[Kept], skipped: list[Skipped]) -> None:
        self.images += images
        self.skipped += skipped
        self.done += len(images) + len(skipped)
        self.bytes += sum(3 * image.height * image.width for image in images)


@dataclass(frozen=True)
class Build:
    """The work of one process on one cache."""

    folder: Path
    sources: Sequence[Source]
    title: str
    progress: Progress

    def run(self) -> None:
        """Decode what is still missing, then make the cache complete."""
        part = self.folder / f"{PIXELS}.part"
        if (self.folder / PIXELS).exists():  # stopped between the last image and the manifest
            (self.folder / PIXELS).replace(part)
        journal = self._resumed(part)
        if not journal.bytes:  # a new file: another process may still be reading from the old one
            part.unlink(missing_ok=True)
        self._announce(journal)
        with part.open("r+b" if part.exists() else "w+b") as file:
            file.truncate(journal.bytes)
            file.seek(journal.bytes)
            self._write_rest(file, journal)
            os.fsync(file.fileno())
        part.replace(self.folder / PIXELS)
        self._complete(journal)

    def _announce(self, journal: Journal) -> None:
        """Say what is about to happen, and refuse where the disk is too small for it."""
        rest = self.sources[journal.done :]
        needed, free = estimated_bytes(rest) if rest else 0, shutil.disk_usage(self.folder).free
        if needed > free:
            raise ClassgrowError(
                f"The images of {self.title} need about {gigabytes(needed)} in {self.folder} and {gigabytes(free)} "
                "are free: free some space (see classgrow data), or name another folder with CLASSGROW_CACHE."
            )
        already = f" ({journal.done} are there already)" if journal.done else ""
        self.progress.say(
            f"Reading {len(self.sources)} images of {self.title} once{already}; "
            f"they are kept in {self.folder}, about {gigabytes(needed + journal.bytes)}."
        )

    def _write_rest(self, file: BinaryIO, journal: Journal) -> None:
        self.progress.begin(f"reading {self.title}", len(self.sources), journal.done)
        numbers = range(journal.done, len(self.sources))
        prepared = ahead(shared_pool(), self._prepare, numbers, 8 * thread_count())
        with (self.folder / JOURNAL).open("a", encoding="ascii") as lines:
            for chunk in _chunks(prepared, CHUNK):
                images: list[Kept] = []
                skipped: list[Skipped] = []
                for one in chunk:
                    if one.pixels is None:
                        skipped.append(Skipped(one.source, one.note))
                    else:
                        file.write(one.pixels.data)
                        height, width = one.pixels.shape[:2]
                        images.append(Kept(one.source, height, width, one.checksum, one.note))
                file.flush()
                lines.write(json.dumps([images, skipped]) + "\n")
                lines.flush()
                journal.add(images, skipped)
                self.progress.advance(len(chunk))
        self.progress.end()

    def _prepare(self, number: int) -> Prepared:
        try:
            decoded = decode(image_bytes(self.sources[number].path), SHORT_SIDE)
        except BrokenImageError as problem:
            return Prepared(number, None, note=str(problem))
        except OSError as problem:
            return Prepared(number, None, note=problem.strerror or "cannot be read")
        pixels = np.ascontiguousarray(decoded.pixels)
        return Prepared(number, pixels, zlib.crc32(pixels.data), decoded.note)

    def _resumed(self, part: Path) -> Journal:
        """What an earlier build wrote, as far as the pixels are there and as they should be."""
        journal = Journal()
        path = self.folder / JOURNAL
        good = 0
        if path.is_file() and part.is_file():
            with part.open("rb") as pixels, path.open("rb") as lines:
                for line in lines:
                    chunk = _intact(line, pixels, journal.done)
                    if chunk is None:
                        break
                    journal.add(*chunk)
                    good += len(line)
        with path.open("ab") as lines:
            lines.truncate(good)
        return journal

    def _complete(self, journal: Journal) -> None:
        if not journal.images:
            raise ClassgrowError(
                f"None of the {len(self.sources)} files of {self.title} is an image "
                f"({self.sources[0].name}: {journal.skipped[0].reason}): check the folder."
            )
        index = np.zeros(len(journal.images), RECORD)
        for column in ("source", "height", "width", "checksum"):
            index[column] = [getattr(image, column) for image in journal.images]
        sizes = 3 * index["height"].astype(np.int64) * index["width"]
        index["offset"] = np.cumsum(sizes) - sizes
        facts = {
            "title": self.title,
            "count": len(index),
            "bytes": int(sizes.sum()),
            "short_side": SHORT_SIDE,
            "decoder": decoder_name(),
            "skipped": [[self.sources[number].name, reason] for number, reason in journal.skipped],
            "notes": [[self.sources[image.source].name, image.note] for image in journal.images if image.note],
        }
        write_manifest(self.folder, index, facts)
        (self.folder / JOURNAL).unlink()


def _intact(line: bytes, pixels: BinaryIO, first: int) -> Lines | None:
    """A line of the journal, if it is whole, comes next and its pixels have their checksums."""
    try:
        kept, left_out = json.loads(line)
        images, skipped = [Kept(*entry) for entry in kept], [Skipped(*entry) for entry in left_out]
        numbers = sorted([image.source for image in images] + [one.source for one in skipped])
        if not line.endswith(b"\n") or numbers != list(range(first, first + len(numbers))):
            return None
        for image in images:
            size = 3 * image.height * image.width
            content = pixels.read(size)
            if len(content) != size or zlib.crc32(content) != image.checksum:
                return None
    except (ValueError, TypeError, IndexError):
        return None
    return images, skipped


def _chunks(items: Iterator[Prepared], size: int) -> Iterator[list[Prepared]]:
    chunk: list[Prepared] = []
    for item in items:
        chunk.append(item)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _no_room(folder: Path, problem: OSError) -> ClassgrowError:
    what = "there is no space left" if problem.errno == errno.ENOSPC else problem.strerror or str(problem)
    way = "free some space (see classgrow data), or " if problem.errno in (errno.ENOSPC, errno.EDQUOT) else ""
    return ClassgrowError(
        f"The image cache {folder} cannot be written ({what}): {way}name another folder with CLASSGROW_CACHE; what is "
        "done is kept."
    )


def gigabytes(count: int) -> str:
    """Bytes for people: "34.2 GB", "0.8 MB"."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"
