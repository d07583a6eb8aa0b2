"""Where records lie: one folder for each run, named by the run's identity."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable
from pathlib import Path

from classgrow.disk import make_folder, read_regular
from classgrow.errors import ClassgrowError
from classgrow.records.record import RECORD_FILE, Record, read_record
from classgrow.records.words import printable

FAILURE_FILE = "failure.json"
"""Beside the record, or in its place where a run failed before it had one: the error and the command."""
LARGEST_FAILURE = 2**20


def run_dir(output: Path | str, identity: str) -> Path:
    """The folder of a run below `output`."""
    return Path(output) / identity


def make_writable(folder: Path) -> None:
    """Make the folder if need be; one that cannot be written to is refused before any work is lost on it."""
    try:
        make_folder(folder)
        probe = folder / ".writable"
        probe.touch()
        probe.unlink(missing_ok=True)  # another process may try the same at the same moment
    except OSError as error:
        raise ClassgrowError(f"Cannot write to {folder} ({error.strerror}): choose another `output`.") from error


def find_records(path: Path | str) -> list[Record]:
    """The records at `path`: a record file, the folder of a run, or a folder with run folders up to two levels below.

    Sorted by path, so that the same files always give the same list. A record that cannot be read is a warning and
    left out; none at all is a ClassgrowError.
    """
    found, problems = read_records(find_record_files(path))
    for problem in problems:
        warnings.warn(problem, stacklevel=2)
    return [record for _, record in found]


def read_records(files: Iterable[Path]) -> tuple[list[tuple[Path, Record]], list[str]]:
    """The records that can be read, each with its file, and a sentence for each of the others. If none can be read,
    the first such sentence is a ClassgrowError."""
    found, problems = [], []
    for file in files:
        try:
            found.append((file, read_record(file)))
        except ClassgrowError as error:
            problems.append(str(error))
    if problems and not found:
        raise ClassgrowError(problems[0])
    return found, problems


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
        failures = find_failures(path)
        if failures:
            raise ClassgrowError(failures[0])
        raise ClassgrowError(f"{path} holds no record of a run: give the folder that `classgrow run` wrote to.")
    return found


def find_failures(path: Path | str) -> list[str]:
    """A sentence for each run at `path` that failed before it had a record."""
    path = Path(path)
    files = sorted([*path.glob(f"*/{FAILURE_FILE}"), *path.glob(f"*/*/{FAILURE_FILE}")]) if path.is_dir() else []
    return [_failure(file) for file in files if not (file.parent / RECORD_FILE).exists()]


def _failure(file: Path) -> str:
    try:
        content = json.loads(read_regular(file, LARGEST_FAILURE))
        message = f"failed before its first result: {content['error']} ({content['command']})"
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        message = f"failed before its first result, and {file} cannot be read: run it again."
    return printable(f"The run {file.parent.name} {message}")
