"""Files that survive a crash: written beside their place, synced with their folder, and cleaned up after the dead."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import socket
import stat
import sys
import zlib
from pathlib import Path

PART = ".part"
"""How the names of unfinished files and folders end."""
_numbers = itertools.count()


def unfinished_name(path: Path) -> Path:
    """A name beside `path` for what is not finished yet; it says which process of which machine writes it."""
    return path.with_name(f".{path.name}.{_machine()}-{os.getpid()}-{next(_numbers)}{PART}")


def write_atomically(path: Path, content: bytes) -> None:
    """Either the old file or the new one is there at any moment, also after a power cut. Raises OSError."""
    make_folder(path.parent)
    unfinished = unfinished_name(path)
    try:
        write_synced(unfinished, content)
        unfinished.replace(path)
        sync_folder(path.parent)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def make_folder(folder: Path) -> None:
    """The folder and those above it, each synced into the one that holds it. Raises OSError."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def make_private(folder: Path) -> None:
    """A folder that nobody else may write to; where that cannot be, an OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if sys.platform == "win32":
        return  # the user's own folders are private there
    about = folder.lstat()
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, "it belongs to somebody else", str(folder))
    if about.st_mode & 0o022:
        folder.chmod(0o700)


def write_synced(path: Path, content: bytes) -> None:
    """Write a new file and wait until the disk has it. Raises OSError."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o644)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(handle, rest[: 2**30]) :]
        os.fsync(handle)
    finally:
        os.close(handle)


def read_regular(path: Path, most: int) -> bytes:
    """The content of a file; a pipe, a device or a file of more than `most` bytes is refused before it is read.

    Raises OSError.
    """
    check_regular(path, most)
    return path.read_bytes()


def check_regular(path: Path, most: int) -> None:
    """Raises OSError where `path` is not a regular file, or has more than `most` bytes."""
    about = path.stat()
    if not stat.S_ISREG(about.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
    if about.st_size > most:
        raise OSError(errno.EFBIG, f"it has more than {most // 2**20} MB")


def sync_folder(folder: Path) -> None:
    """Wait until the disk has the names in `folder`; Windows does so by itself."""
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise  # what remains: some network file systems cannot sync a folder
    finally:
        os.close(handle)


def remove_unfinished(folder: Path) -> list[Path]:
    """Remove what processes of this machine that are gone left unfinished in `folder`; what was removed."""
    found = [path for path in folder.glob(f".*{PART}") if is_abandoned(path)] if folder.is_dir() else []
    for path in found:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return found


def is_abandoned(path: Path) -> bool:
    """Whether the process that its name speaks of ran on this machine and is gone."""
    machine, _, process = path.name.removesuffix(path.suffix).rpartition(".")[2].partition("-")
    number = process.partition("-")[0]
    return machine == _machine() and number.isdecimal() and not is_alive(int(number))


def is_alive(process: int) -> bool:
    """Whether a process of that number runs here."""
    if process == os.getpid():
        return True
    if sys.platform == "win32":
        return True  # asking would end it there: nothing is removed
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def _machine() -> str:
    """Tells machines that share a folder apart; containers, too, have names of their own."""
    return f"{zlib.crc32(socket.gethostname().encode()):08x}"
