"""Decoded images on disk, shared by all runs: where they lie, how they are opened, and how they are cleared away.

A cache is a folder named by what it was made from (the files' names, sizes and times). `pixels.bin` holds the images
end to end as raw RGB; `index.npy` says where each begins, how large it is, its checksum and which file it came from;
`manifest.json` is written last, so a cache is either complete or not there.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from classgrow.errors import ClassgrowError
from classgrow.file_lock import lock
from classgrow.file_lock import lock_file as opened_lock
from classgrow.progress import Progress

FORMAT = 1
SHORT_SIDE = 256
"""Images are kept with their short side at most this long, never enlarged."""
RECORD = np.dtype([("offset", "<i8"), ("height", "<i4"), ("width", "<i4"), ("checksum", "<u4"), ("source", "<i4")])
MAP_NORESERVE = 0x4000  # Linux; the name is not in Python 3.11
PIXELS, INDEX, MANIFEST = "pixels.bin", "index.npy", "manifest.json"


@dataclass(frozen=True)
class Source:
    """An image file; `name` is its path within the data set's folder."""

    path: Path
    name: str
    bytes: int
    modified: int  # nanoseconds


@dataclass(frozen=True)
class Cache:
    """An opened cache: pixels mapped, not read. `skipped` holds (name, reason), `notes` (name, what was done)."""

    folder: Path
    pixels: np.ndarray
    index: np.ndarray
    skipped: tuple[tuple[str, str], ...]
    notes: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class CacheEntry:
    """A cache as it lies on disk."""

    folder: Path
    title: str
    images: int
    bytes: int
    complete: bool


def user_cache() -> Path:
    """Where all that can be made again lies: the folder CLASSGROW_CACHE names, else one in the user's cache folder."""
    given = os.environ.get("CLASSGROW_CACHE")
    if given:
        return Path(given)
    import pooch

    return Path(pooch.os_cache("classgrow"))


def cache_folder() -> Path:
    """Where caches of images lie."""
    return user_cache() / "images"


def key_of(sources: Sequence[Source]) -> str:
    """24 hex digits that change with the files' names, sizes and times, and with how they are kept."""
    total = hashlib.blake2b(f"{FORMAT} {SHORT_SIDE}".encode(), digest_size=12)
    for source in sources:
        total.update(f"\n{source.name}\0{source.bytes}\0{source.modified}".encode("utf-8", "surrogateescape"))
    return total.hexdigest()


def opened(folder: Path, progress: Progress) -> Cache | None:
    """The complete cache in `folder`; None where there is none, or only a damaged one, which is removed."""
    if not (folder / MANIFEST).is_file():
        return None
    try:
        return _checked(folder)
    except (FileNotFoundError, ValueError, KeyError, TypeError) as problem:
        progress.say(f"The image cache {folder} is damaged ({problem}): it is rebuilt.")
        discard(folder)
        return None
    except OSError as problem:
        raise ClassgrowError(
            f"The image cache {folder} cannot be opened ({problem.strerror}): fix that, or name another folder with "
            "CLASSGROW_CACHE."
        ) from problem


def _checked(folder: Path) -> Cache:
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    content = (folder / INDEX).read_bytes()
    if hashlib.blake2b(content, digest_size=16).hexdigest() != manifest["index_digest"]:
        raise ValueError("the index has changed")
    index = np.load(folder / INDEX, allow_pickle=False)
    if (folder / PIXELS).stat().st_size != manifest["bytes"]:
        raise ValueError("the pixels are not all there")
    return Cache(folder, _mapped(folder / PIXELS), index, _pairs(manifest["skipped"]), _pairs(manifest["notes"]))


def _mapped(path: Path) -> np.ndarray:
    """The file as memory, read as it is needed: private pages, as torch wants memory it may write to.

    No memory is set aside for them, so that a cache may be larger than all there is.
    """
    if sys.platform != "linux":
        return np.memmap(path, np.uint8, mode="c").view(np.ndarray)
    with path.open("rb") as file:
        kind = mmap.MAP_PRIVATE | MAP_NORESERVE
        return np.frombuffer(mmap.mmap(file.fileno(), 0, kind, mmap.PROT_READ | mmap.PROT_WRITE), np.uint8)


def _pairs(values: list[list[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((name, text) for name, text in values)


def write_manifest(folder: Path, index: np.ndarray, facts: dict[str, object]) -> None:
    """Make the cache complete: index first, then the manifest, each at once or not at all."""
    temporary = folder / f"{INDEX}.part"
    with temporary.open("wb") as file:
        np.save(file, index)
    content = temporary.read_bytes()
    temporary.replace(folder / INDEX)
    facts = {"format": FORMAT, **facts, "index_digest": hashlib.blake2b(content, digest_size=16).hexdigest()}
    temporary = folder / f"{MANIFEST}.part"
    temporary.write_text(json.dumps(facts, ensure_ascii=True), encoding="utf-8")
    temporary.replace(folder / MANIFEST)


def discard(folder: Path) -> None:
    """Remove a cache; the manifest goes first, so that what is left is never taken for a whole one."""
    try:
        (folder / MANIFEST).unlink(missing_ok=True)
        if folder.is_dir():
            shutil.rmtree(folder)
    except OSError as problem:
        raise ClassgrowError(
            f"The image cache {folder} cannot be removed ({problem.strerror}): fix that, or name another folder with "
            "CLASSGROW_CACHE."
        ) from problem


@contextmanager
def only_builder(folder: Path, progress: Progress) -> Iterator[None]:
    """Hold the right to build this cache; wait while another process does. A dead process lets go of it."""
    with opened_lock(lock_path(folder)) as file:
        if not lock(file):
            progress.say("Another process is reading these images: waiting for it.")
            lock(file, wait=True)
        yield


def lock_path(folder: Path) -> Path:
    return folder.with_suffix(".lock")


def cache_entries() -> list[CacheEntry]:
    """Every cache on disk, complete or not."""
    root = cache_folder()
    folders = sorted(path for path in root.iterdir() if path.is_dir()) if root.is_dir() else []
    return [_entry(folder) for folder in folders]


def _entry(folder: Path) -> CacheEntry:
    size = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        return CacheEntry(folder, str(manifest["title"]), int(manifest["count"]), size, complete=True)
    except (OSError, ValueError, KeyError):
        return CacheEntry(folder, "started, not finished", 0, size, complete=False)


def clear_cache() -> int:
    """Remove every cache and return the bytes freed. One that is being built right now is refused."""
    freed = 0
    for entry in cache_entries():
        path = lock_path(entry.folder)
        if not os.access(path.parent, os.W_OK):
            raise ClassgrowError(f"The image cache {path.parent} cannot be changed: it is read-only here.")
        with opened_lock(path) as file:
            if not lock(file):
                raise ClassgrowError(
                    f"Another process is filling the image cache {entry.folder}: wait until it ends, or stop it."
                )
            discard(entry.folder)
            freed += entry.bytes
    return freed
