"""A folder that is followed: photos that arrive are handed out once they have stopped growing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from classgrow.errors import ClassgrowError
from classgrow.photos.predicting import expand

SECONDS = 1.0
"""Between two looks. A photo that has not changed from one to the next is complete."""

Stamp = tuple[int, int]
"""Size and time of the last change."""


class Watch:
    """Follows files and folders by looking again and again: it works on every system, and on network drives too."""

    def __init__(self, given: Sequence[Path], without: Path | None = None) -> None:
        self._given, self._without = given, without
        self._before: dict[Path, Stamp] = {}
        self._done: dict[Path, Stamp] = {}

    def arrived(self) -> list[Path]:
        """Photos not handed out yet, or changed since, that are the same as at the last look."""
        now = {file: stamp for file in self._files() if (stamp := stamp_of(file)) is not None}
        ready = [
            file
            for file, stamp in now.items()
            if stamp == self._before.get(file) and stamp != self._done.get(file) and stamp[0]
        ]
        self._before = now
        self._done = {file: stamp for file, stamp in self._done.items() if file in now}
        self._done |= {file: now[file] for file in ready}
        return ready

    def follow(self, wait: Callable[[float], None] = time.sleep) -> Iterator[list[Path]]:
        """For each look, the photos that have arrived; without end."""
        while True:
            yield self.arrived()
            wait(SECONDS)

    def _files(self) -> tuple[Path, ...]:
        try:
            return expand(self._given, self._without).files
        except (OSError, ClassgrowError):  # a folder is gone, or being changed: the next look may find it again
            return ()


def stamp_of(file: Path) -> Stamp | None:
    """None where there is no such file (any more)."""
    try:
        facts = file.stat()
    except OSError:
        return None
    return facts.st_size, facts.st_mtime_ns
