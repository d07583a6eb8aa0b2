"""A lock on an open file, held until the file is closed; the operating system frees it when a process dies."""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

POLL_SECONDS = 0.2
"""How often a waiting process asks again where the system cannot wake it (Windows)."""


@contextmanager
def lock_file(path: Path, *, create: bool = True) -> Iterator[IO[str]]:
    """A regular file to lock, opened without waiting for anybody: a pipe or a device there is an OSError."""
    flags = os.O_RDWR | os.O_CREAT if create else os.O_RDONLY
    with os.fdopen(os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o644), "r+" if create else "r") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        yield file


def lock(file: IO[str], *, shared: bool = False, wait: bool = False) -> bool:
    """Lock `file` against all others (`shared`: against those who want it alone); whether it was free.

    `wait`: do not return before it is. Windows knows no shared lock here and takes the file alone.
    """
    while not _locked(file, shared, wait):
        if not wait:
            return False
        time.sleep(POLL_SECONDS)
    return True


if sys.platform == "win32":

    def _locked(file: IO[str], shared: bool, wait: bool) -> bool:
        file.seek(0)  # the lock is on the byte here, which need not exist
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:

    def _locked(file: IO[str], shared: bool, wait: bool) -> bool:
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            fcntl.flock(file, kind if wait else kind | fcntl.LOCK_NB)
        except OSError:
            if wait:
                raise
            return False
        return True
