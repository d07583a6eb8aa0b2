"""A model's folder on disk: a change takes place in one step, one writer at a time, and readers never wait.

A new version is built beside the folder, brought to disk, and takes its place: by an exchange of the two where the
system has one (Linux), else by moving the old one aside; a folder that was left aside is put back when it is opened.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from classgrow.disk import sync_folder
from classgrow.errors import ClassgrowError
from classgrow.exchange import exchange_at_once
from classgrow.file_lock import lock

CONFIG, CARD, HISTORY, PREPROCESSOR = "config.json", "README.md", "history.json", "preprocessor_config.json"
WEIGHTS, STATISTICS = "model.safetensors", "statistics.safetensors"
EXEMPLARS, INDEX = "exemplars", "exemplars/index.json"
EARLIER = "versions"
"""Where earlier versions lie, each in a folder called by its number."""
LEARNING = ".learning"
"""What an interrupted `learn` left, to go on from."""
_PATIENCE = 5.0
"""Seconds that a reader waits for a folder that a writer is just putting in place."""


def beside(folder: Path, what: str) -> Path:
    """A hidden neighbour of the folder: on the same disk, so that moving is one step."""
    return folder.with_name(f".{folder.name}.{what}")


@contextmanager
def one_writer(folder: Path) -> Iterator[None]:
    """Inside, no other process changes the model."""
    path = beside(folder, "lock")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+", encoding="utf-8")
    except OSError as error:
        raise ClassgrowError(
            f"The model {folder} cannot be changed ({error.strerror}): choose another folder."
        ) from error
    with file:
        if not lock(file) or not _is_current(path, file.fileno()):
            raise ClassgrowError(f"The model {folder} is being changed by another process: wait until it has ended.")
        put_back(folder)
        shutil.rmtree(beside(folder, "new"), ignore_errors=True)
        try:
            yield
        finally:
            if sys.platform != "win32":
                path.unlink(missing_ok=True)


def _is_current(path: Path, opened: int) -> bool:
    """Whether the file that was opened is still the one of this name: the last writer removes it."""
    try:
        return sys.platform == "win32" or os.path.samestat(path.stat(), os.fstat(opened))
    except FileNotFoundError:
        return False


def put_back(folder: Path) -> None:
    """Undo an exchange that was cut off half-way; what was replaced but not removed goes."""
    aside = beside(folder, "before")
    if not aside.is_dir():
        return
    if folder.exists():
        shutil.rmtree(aside, ignore_errors=True)
    else:
        aside.rename(folder)


def existing(folder: Path) -> bool:
    """Whether there is a folder; one left aside is put back, unless a writer is at work, who is given time."""
    limit = time.monotonic() + _PATIENCE
    while not folder.exists() and beside(folder, "before").is_dir() and time.monotonic() < limit:
        with suppress(ClassgrowError), one_writer(folder):
            pass
        time.sleep(0.02)
    return folder.is_dir()


def put_in_place(new: Path, folder: Path) -> None:
    """The folder `new`, brought to disk, takes the place of `folder` (if there is one) in one step."""
    sync(new)
    if not folder.exists():
        new.rename(folder)
        sync_folder(folder.parent)
        return
    if exchange_at_once(new, folder):
        sync_folder(folder.parent)
        shutil.rmtree(new, ignore_errors=True)
        return
    aside = beside(folder, "before")
    folder.rename(aside)
    try:
        new.rename(folder)
    except OSError:
        aside.rename(folder)
        raise
    sync_folder(folder.parent)
    shutil.rmtree(aside, ignore_errors=True)


def sync(folder: Path) -> None:
    """Bring all files below, and the folders themselves, to disk."""
    for place, _, files in os.walk(folder):
        for name in files:
            with (Path(place) / name).open("rb+") as file:
                os.fsync(file.fileno())
        sync_folder(Path(place))


def link(source: Path, target: Path) -> None:
    """The same file under another name; a copy where the disk has no such links."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def link_tree(source: Path, target: Path) -> None:
    """Every file of a version under another folder; earlier versions inside and hidden files are left out."""
    for path in sorted(source.iterdir()):
        if path.name == EARLIER or path.name.startswith("."):
            continue
        if path.is_dir():
            for file in path.iterdir():
                link(file, target / path.name / file.name)
        else:
            link(path, target / path.name)


def earlier_versions(folder: Path) -> dict[int, Path]:
    """The earlier versions at hand, by number."""
    place = folder / EARLIER
    found = [path for path in place.iterdir() if path.name.isdecimal()] if place.is_dir() else []
    return {int(path.name): path for path in sorted(found, key=lambda path: int(path.name))}


def refuse_other_content(folder: Path) -> None:
    """Only a new or empty folder, a model, or what an interrupted `learn` left may be written to."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ClassgrowError(f"{folder} is not a folder: choose another place for the model.")
    others = sorted(path.name for path in folder.iterdir() if path.name != LEARNING)
    if others and not (folder / CONFIG).is_file():
        raise ClassgrowError(f"{folder} holds something else ({others[0]}): choose an empty or a new folder.")


def refuse_inside(folder: Path, photos: object) -> None:
    """A model among the photos would be taken for a class of them the next time."""
    if isinstance(photos, str | Path) and folder.is_relative_to(Path(photos).expanduser().resolve()):
        raise ClassgrowError(
            f"The model {folder} would lie among the photos in {photos}, and be taken for one of their classes: "
            "choose a folder elsewhere."
        )
