"""Where records lie, and runs that failed before they had one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from classgrow.errors import ClassgrowError
from classgrow.records.export import to_csv
from classgrow.records.folder import FAILURE_FILE, find_failures, find_record_files, find_records
from classgrow.records.official import official_records
from classgrow.records.record import RECORD_FILE, write_record

FAILURE = {"run": "abc", "command": "classgrow run --seed 3", "error": "The disk is full: free some space."}


def failed(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / FAILURE_FILE).write_text(json.dumps(FAILURE))


def test_a_folder_in_place_of_its_records(tmp_path: Path) -> None:
    record = official_records()[0]
    write_record(record, tmp_path / "runs" / record.identity / RECORD_FILE)
    assert [one.identity for one in find_records(tmp_path / "runs")] == [record.identity]
    whole = to_csv([record], tmp_path / "one.csv").read_text()
    assert to_csv(str(tmp_path / "runs"), tmp_path / "other.csv").read_text() == whole != ""


def test_runs_that_failed_before_their_first_result_are_named(tmp_path: Path) -> None:
    failed(tmp_path / "abc")
    sentence = "The run abc failed before its first result: The disk is full: free some space. (classgrow run --seed 3)"
    assert find_failures(tmp_path) == [sentence]
    with pytest.raises(ClassgrowError, match="The run abc failed"):
        find_record_files(tmp_path)
    record = official_records()[0]
    write_record(record, tmp_path / "good" / RECORD_FILE)
    assert len(find_record_files(tmp_path)) == 1 and find_failures(tmp_path) == [sentence]
    write_record(record, tmp_path / "abc" / RECORD_FILE)
    assert find_failures(tmp_path) == []


def test_a_broken_note_of_a_failure_is_no_second_failure(tmp_path: Path) -> None:
    failed(tmp_path / "abc")
    (tmp_path / "abc" / FAILURE_FILE).write_text("{")
    assert find_failures(tmp_path)[0].endswith("cannot be read: run it again.")
