"""One process per run: a lock of the operating system, which a dead process lets go."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from classgrow.errors import ClassgrowError


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Hold the folder's lock inside; a ClassgrowError where another process holds it."""
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ClassgrowError(f"Another process is working on {folder}: wait until it ends, or stop it.") from error
        yield
