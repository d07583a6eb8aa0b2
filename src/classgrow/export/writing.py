"""A new file takes its place once it is complete and checked; until then an earlier one stays."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from classgrow.errors import ClassgrowError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write to; if all goes well, what is there takes the place of `path` in one move."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    if path.is_dir():
        raise ClassgrowError(f"{path} is a folder: give the name of a file to write.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield temporary
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise ClassgrowError(f"Could not write {path} ({error.strerror}): choose another place for it.") from error


def with_ending(path: Path | str, ending: str) -> Path:
    """The path, if its name ends as it should."""
    path = Path(path)
    if path.suffix.lower() != ending:
        raise ClassgrowError(f"{path} does not end in {ending}: call it {path.name or 'model'}{ending}.")
    return path
