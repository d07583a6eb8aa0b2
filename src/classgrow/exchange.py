"""Put a new folder in the place of an old one, so that a crash at any moment leaves one of them there."""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
import time
from pathlib import Path

from classgrow.disk import is_abandoned, sync_folder, unfinished_name

BEFORE = ".before"
"""How the name of a folder ends that stepped aside."""
MOST_SECONDS_ASIDE = 2.0
"""How long a folder that another process is exchanging right now is waited for."""


def exchange_folders(new: Path, old: Path) -> None:
    """`old` gets the content of `new`; what stood in `old` is then in `new`, for the caller to remove. Raises OSError.

    Both lie on one file system, best side by side. Linux exchanges them in one step where the file system can;
    elsewhere `old` steps aside first, and `restore_set_aside` brings it back after a crash in between.
    """
    sync_folder(new)
    if not old.exists():
        new.rename(old)
    elif not exchange_at_once(new, old):
        _exchange_by_steps(new, old)
    for folder in {old.parent, new.parent}:
        sync_folder(folder)
    for earlier in _set_aside(old):  # of an exchange that a crash ended after its last important step
        if is_abandoned(earlier):
            shutil.rmtree(earlier, ignore_errors=True)


def restore_set_aside(folder: Path) -> bool:
    """Bring `folder` back where a crash left it set aside; whether that was so. Call it before reading the folder.

    One that another process has set aside this very moment is waited for. Raises OSError.
    """
    patience = time.monotonic() + MOST_SECONDS_ASIDE
    while not os.path.lexists(folder) and (found := _set_aside(folder)):
        newest = max(found, key=lambda path: path.stat().st_mtime_ns)
        if not is_abandoned(newest) and time.monotonic() < patience:
            time.sleep(0.01)
            continue
        newest.rename(folder)
        sync_folder(folder.parent)
        return True
    return False


def exchange_at_once(one: Path, other: Path) -> bool:
    """Swap the names of two folders in one step; False where system or file system cannot."""
    if sys.platform != "linux":
        return False
    at_working_folder, exchange = -100, 2  # AT_FDCWD and RENAME_EXCHANGE
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    names = os.fsencode(one), os.fsencode(other)
    return bool(rename(at_working_folder, names[0], at_working_folder, names[1], exchange) == 0)


def _exchange_by_steps(new: Path, old: Path) -> None:
    aside = unfinished_name(old).with_suffix(BEFORE)
    old.rename(aside)
    try:
        new.rename(old)
    except OSError:
        aside.rename(old)
        raise
    aside.rename(new)


def _set_aside(folder: Path) -> list[Path]:
    start = f".{folder.name}."
    if not folder.parent.is_dir():
        return []
    return [path for path in folder.parent.iterdir() if path.name.startswith(start) and path.suffix == BEFORE]
