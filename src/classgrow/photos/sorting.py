"""Photos copied into a folder for each class. Nothing is moved or overwritten, and no name leads outside."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import unicodedata
from itertools import count
from pathlib import Path

from classgrow.errors import ClassgrowError
from classgrow.records.words import printable

UNKNOWN = "unknown"
"""The folder of photos that show none of the known classes. A class of that name gets another one."""
LONGEST = 200
"""Bytes of a folder's name; file systems take 255 and some of them fewer."""

_FORBIDDEN = frozenset('<>:"/\\|?*%')
_DEVICE = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³])(\..*)?", re.IGNORECASE)
"""Names that Windows takes for a device, with any suffix."""


def safe_folder(name: str) -> str:
    """The name of a class as the name of one folder, on any system; different classes get different folders.

    What cannot stand in a name there becomes % and the two digits of each of its bytes, as in web addresses.

    >>> safe_folder("house cat"), safe_folder("either/or"), safe_folder("..")
    ('house cat', 'either%2For', '%2E%2E')
    """
    name = unicodedata.normalize("NFC", name)
    text = "".join(_coded(letter) if _is_unsafe(letter) else letter for letter in name)
    if text[:1] in (" ", ".") or _DEVICE.fullmatch(text) or text.casefold() == UNKNOWN:
        text = _coded(text[0]) + text[1:]
    if text[-1:] in (" ", "."):  # Windows drops them
        text = text[:-1] + _coded(text[-1])
    if len(text.encode()) > LONGEST:
        mark = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
        text = f"{text.encode()[: LONGEST - 14].decode(errors='ignore').rstrip(' .')}%~{mark}"
    return text or "%"


def _is_unsafe(letter: str) -> bool:
    return letter in _FORBIDDEN or (letter != " " and printable(letter) != letter)


def _coded(letter: str) -> str:
    return "".join(f"%{byte:02X}" for byte in letter.encode("utf-8", "surrogatepass"))


def copy_into(folder: Path, photo: Path, name: str | None) -> Path:
    """Copy a photo to `folder/<class>/`, or to `folder/unknown/` for None; returns the copy.

    Where a file of that name is there already, the copy gets a number, unless it holds the same bytes.
    """
    room = folder / (UNKNOWN if name is None else safe_folder(name))
    try:
        room.mkdir(parents=True, exist_ok=True)
        for number in count(1):
            place = room / (photo.name if number == 1 else f"{photo.stem} ({number}){photo.suffix}")
            if _copied(photo, place) or _same_bytes(photo, place):
                return place
    except OSError as error:
        raise ClassgrowError(
            f"{printable(str(photo))} could not be copied to {printable(str(room))} ({error.strerror}): "
            "give another folder for `sort_into`."
        ) from error
    raise AssertionError("numbers do not end")


def _copied(photo: Path, place: Path) -> bool:
    """Copy unless something is there; a copy that fails half-way leaves nothing."""
    try:
        handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    except FileExistsError:
        return False
    try:
        with os.fdopen(handle, "wb") as copy, photo.open("rb") as original:
            shutil.copyfileobj(original, copy, 1 << 20)
        shutil.copystat(photo, place)
    except OSError as error:
        if error.errno == errno.EPERM and place.stat().st_size == photo.stat().st_size:
            return True  # times could not be set: the photo itself is there
        place.unlink(missing_ok=True)
        raise
    return True


def _same_bytes(photo: Path, place: Path) -> bool:
    if not place.is_file() or place.stat().st_size != photo.stat().st_size:
        return False
    with photo.open("rb") as first, place.open("rb") as second:
        return all(part == second.read(1 << 20) for part in iter(lambda: first.read(1 << 20), b""))
