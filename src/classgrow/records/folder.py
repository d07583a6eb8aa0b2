"""Where records lie: one folder for each run, named by the run's identity."""

from __future__ import annotations

from pathlib import Path

from classgrow.errors import ClassgrowError
from classgrow.records.record import RECORD_FILE, Record, read_record


def run_dir(output: Path | str, identity: str) -> Path:
    """The folder of a run below `output`."""
    return Path(output) / identity


def find_records(path: Path | str) -> list[Record]:
    """The records at `path`: a record file, the folder of a run, or a folder with run folders up to two levels below.

    Sorted by path, so that the same files always give the same list. None at all is a ClassgrowError.
    """
    return [read_record(file) for file in find_record_files(path)]


def find_record_files(path: Path | str) -> list[Path]:
    """The files that `find_records` reads."""
    path = Path(path)
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise ClassgrowError(f"There is no file or folder {path}: check the path.")
    if (path / RECORD_FILE).is_file():
        return [path / RECORD_FILE]
    found = sorted([*path.glob(f"*/{RECORD_FILE}"), *path.glob(f"*/*/{RECORD_FILE}")])
    if not found:
        raise ClassgrowError(f"{path} holds no record of a run: give the folder that `classgrow run` wrote to.")
    return found
