"""Where photos may come from: folders, archives, lists, arrays. Each photo is found here, and opened later.

No path in an archive is ever used to open or write a file: its members are read into memory, one at a time.
"""

from __future__ import annotations

import os
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

from classgrow.data.folder import files_under, looks_like_image
from classgrow.data.opening import MOST_BYTES, UnreadableFileError, read_photo
from classgrow.errors import ClassgrowError
from classgrow.photos.names import UnusableNameError, class_name, is_ignored, shown

ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz")
MOST_MEMBERS = 1_000_000
NO_IMAGE = "not an image file by its name"
OUTSIDE = "it lies outside the class folders"
HIDDEN = "hidden file"


@dataclass(frozen=True)
class Skipped:
    """A file or folder that was not used, and why."""

    file: str
    reason: str


@dataclass(frozen=True)
class Photo:
    """A photo that was found: its name for messages, its class ("" where nobody asks), and its bytes on demand."""

    source: str
    name: str
    read: Callable[[], bytes]


@dataclass
class Found:
    """How many photos there may be, the photos themselves in a fixed order, and what was passed over."""

    count: int
    photos: Iterable[Photo]
    skipped: list[Skipped] = field(default_factory=list)


def is_archive(path: Path) -> bool:
    return path.name.lower().endswith(ARCHIVES)


def in_class_folders(root: Path) -> Found:
    """The photos in `root`/<class>/, at any depth."""
    skipped: list[Skipped] = []
    photos: list[Photo] = []
    for entry in _entries(root):
        if is_ignored(entry.name):
            continue
        if not entry.is_dir():
            skipped.append(Skipped(shown(entry.name), OUTSIDE))
            continue
        try:
            name = class_name(entry.name)
        except UnusableNameError as problem:
            skipped.append(Skipped(shown(entry.name) + "/", str(problem)))
            continue
        mine = list(_photos_under(Path(entry.path), root, name, skipped))
        if not mine:
            skipped.append(Skipped(shown(entry.name) + "/", "no photos in it"))
        photos += mine
    return Found(len(photos), photos, skipped)


def in_one_folder(folder: Path, name: str = "") -> Found:
    """All photos below a folder, as one class."""
    skipped: list[Skipped] = []
    photos = list(_photos_under(folder, folder, name, skipped))
    return Found(len(photos), photos, skipped)


def of_file(path: Path, name: str = "", source: str | None = None) -> Photo:
    return Photo(shown(source or str(path)), name, lambda: read_photo(path))


def in_archive(path: Path, labelled: bool) -> Found:
    """The photos in an archive, by the folders inside; a folder around them that is called as the archive is none."""
    try:
        if path.name.lower().endswith(".zip"):
            return _in_zip(path, labelled)
        return _in_tar(path, labelled)
    except (zipfile.BadZipFile, tarfile.TarError, OSError, EOFError) as error:
        raise ClassgrowError(
            f"{path} cannot be read as an archive ({error}): make it again, or give a folder."
        ) from error


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        return sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise ClassgrowError(f"The folder {folder} cannot be read ({error.strerror}): check the path.") from error


def _photos_under(folder: Path, root: Path, name: str, skipped: list[Skipped]) -> Iterator[Photo]:
    try:
        files = list(files_under(str(folder), (os.path.realpath(root),) if folder != root else ()))
    except OSError as error:
        skipped.append(Skipped(shown(str(folder.relative_to(root))) + "/", (error.strerror or "unreadable").lower()))
        return
    for file in files:
        path = Path(file.path)
        source = shown(path.relative_to(root).as_posix())
        if is_ignored(file.name):
            continue
        if any(part.startswith(".") for part in path.relative_to(folder).parts):
            skipped.append(Skipped(source, HIDDEN))
        elif not looks_like_image(file.name):
            skipped.append(Skipped(source, NO_IMAGE))
        else:
            yield of_file(path, name, source)


@dataclass(frozen=True)
class _Member:
    """A file inside an archive: its path there, cleaned, and how large it says it is."""

    parts: tuple[str, ...]
    place: int
    size: int


def _in_zip(path: Path, labelled: bool) -> Found:
    archive = zipfile.ZipFile(path)
    infos = [info for info in archive.infolist() if not info.is_dir()]
    skipped: list[Skipped] = []
    members = []
    for place, info in enumerate(_limited(infos, path)):
        if info.flag_bits & 1:
            skipped.append(Skipped(shown(info.filename), "encrypted"))
        else:
            members.append(_Member(_parts(info.filename), place, info.file_size))

    def read(member: _Member) -> Callable[[], bytes]:
        def content() -> bytes:
            try:
                with archive.open(infos[member.place]) as file:
                    return _bounded(file)
            except (zipfile.BadZipFile, NotImplementedError, OSError, EOFError, ValueError) as error:
                raise UnreadableFileError(f"damaged in the archive ({error})") from error
            except Exception as error:  # zlib and others have errors of their own
                raise UnreadableFileError("damaged in the archive") from error

        return content

    chosen = list(_chosen(members, path, labelled, skipped))
    photos = [Photo("/".join(member.parts), name, read(member)) for member, name in chosen]
    return Found(len(photos), sorted(photos, key=lambda photo: photo.source), skipped)


def _in_tar(path: Path, labelled: bool) -> Found:
    skipped: list[Skipped] = []
    members = []
    with tarfile.open(path) as archive:
        for place, info in enumerate(archive):
            if place >= MOST_MEMBERS:
                raise _too_many(path)
            if info.isdir():
                continue
            if info.isfile():
                members.append(_Member(_parts(info.name), place, info.size))
            else:
                skipped.append(Skipped(shown(info.name), "not a regular file"))
    chosen = {member.place: (member, name) for member, name in _chosen(members, path, labelled, skipped)}

    def photos() -> Iterator[Photo]:
        with tarfile.open(path) as archive:
            for place, info in enumerate(archive):
                if place in chosen and (file := archive.extractfile(info)) is not None:
                    member, name = chosen[place]
                    content = file.read(MOST_BYTES)
                    yield Photo("/".join(member.parts), name, partial(bytes, content))

    return Found(len(chosen), photos(), skipped)


def _limited(infos: Sequence[zipfile.ZipInfo], path: Path) -> Sequence[zipfile.ZipInfo]:
    if len(infos) > MOST_MEMBERS:
        raise _too_many(path)
    return infos


def _too_many(path: Path) -> ClassgrowError:
    return ClassgrowError(f"{path} holds more than {MOST_MEMBERS:,} files: split it.")


def _parts(name: str) -> tuple[str, ...]:
    """The path of a member, either kind of slash; "." and what stands for the root is left out."""
    return tuple(part for part in PurePosixPath(shown(name).replace("\\", "/")).parts if part not in ("/", "."))


def _bounded(file: IO[bytes]) -> bytes:
    """All of a member, but never more than a photo can have, whatever the archive says of its size."""
    content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise UnreadableFileError(f"larger than {MOST_BYTES >> 20} MB")
    return content


def _chosen(
    members: Sequence[_Member], path: Path, labelled: bool, skipped: list[Skipped]
) -> Iterator[tuple[_Member, str]]:
    """Members that may be photos, with their classes."""
    members = [member for member in members if not any(is_ignored(part) for part in member.parts)]
    wrapped = {member.parts[0] for member in members if member.parts} == {path.name.split(".")[0]}
    for member in members:
        source = "/".join(member.parts)
        inside = member.parts[1:] if wrapped else member.parts
        if not inside or ".." in member.parts:
            skipped.append(Skipped(source, "its path leads out of the archive"))
        elif member.size > MOST_BYTES:
            skipped.append(Skipped(source, f"larger than {MOST_BYTES >> 20} MB"))
        elif labelled and len(inside) < 2:
            skipped.append(Skipped(source, OUTSIDE))
        elif any(part.startswith(".") for part in inside):
            skipped.append(Skipped(source, HIDDEN))
        elif not looks_like_image(inside[-1]):
            skipped.append(Skipped(source, NO_IMAGE))
        else:
            try:
                yield member, class_name(inside[0]) if labelled else ""
            except UnusableNameError as problem:
                skipped.append(Skipped(source, str(problem)))
