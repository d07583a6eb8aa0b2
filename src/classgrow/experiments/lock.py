"""One process per run: a lock of the operating system, which a dead process lets go."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from classgrow.errors import ClassgrowError
from classgrow.file_lock import lock, lock_file

LOCK_FILE = "lock"
TRIES, PAUSE = 4, 0.05
"""`is_locked` holds the lock for a moment, so taking it is tried several times, so many seconds apart."""


class BusyError(ClassgrowError):
    """Another process is working on it."""


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Hold the folder's lock inside; `BusyError` where another process holds it."""
    with ExitStack() as held:
        try:
            file = held.enter_context(lock_file(folder / LOCK_FILE))
        except OSError as error:
            raise ClassgrowError(
                f"The lock {folder / LOCK_FILE} cannot be opened ({error.strerror}): move what is there away, or "
                "choose another `output`."
            ) from error
        for attempt in range(1, TRIES + 1):
            if lock(file):
                break
            if attempt == TRIES:
                raise BusyError(f"Another process is working on {folder}: wait until it ends, or stop it.")
            time.sleep(PAUSE)
        yield


def is_locked(folder: Path) -> bool:
    """Whether a living process works in the folder."""
    try:
        with lock_file(folder / LOCK_FILE, create=False) as file:
            return not lock(file, shared=True)
    except OSError:  # no lock, or nothing that anybody could hold
        return False
