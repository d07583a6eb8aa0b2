"""`classgrow run --again`: a fresh run where one is recorded."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from classgrow.experiments.lock import only_one
from classgrow.records.record import RECORD_FILE, read_record, without_times, write_record

SMALL = ("--dataset", "digits", "--classes", "6", "--phases", "2", "--epochs", "4", "--threads", "1")


@pytest.fixture
def folder(finished: tuple[Path, str], tmp_path: Path) -> Path:
    """A finished run that a test may spoil."""
    return Path(shutil.copytree(finished[0], tmp_path / "runs" / finished[0].name))


def test_a_finished_run_starts_afresh(classgrow, folder: Path) -> None:  # type: ignore[no-untyped-def]
    path = folder / RECORD_FILE
    before = read_record(path)
    write_record(before.model_copy(update={"started": "2020-01-01T00:00:00+00:00"}), path)
    untouched = classgrow("run", *SMALL, "--output", folder.parent)
    assert "already finished (2 phases)" in untouched.stdout and "--again" in untouched.stdout
    assert read_record(path).started.startswith("2020")

    done = classgrow("run", *SMALL, "--output", folder.parent, "--again")
    assert done.returncode == 0, done.stderr
    removed = f"Removed record.json and checkpoint.safetensors in {folder}: the run starts afresh."
    assert removed in done.stdout + done.stderr
    assert f"Recorded in {folder}" in done.stdout
    after = read_record(path)
    assert not after.started.startswith("2020")
    assert without_times(after) == without_times(before)


def test_nothing_is_removed_before_the_settings_are_found_good(classgrow, check_refused, folder: Path) -> None:  # type: ignore[no-untyped-def]
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    words = ("run", *SMALL, "--output", folder.parent, "--again")
    check_refused(classgrow(*words, "--phases", "9"), "There are only 3 phases")
    check_refused(classgrow(*words, "--compile", "maybe"), "--compile")
    check_refused(classgrow(*words, "--resume"), "resume", "again", "give one of them")
    with only_one(folder):
        busy = classgrow(*words)
    assert busy.returncode == 2 and "Another process is working on" in busy.stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_it_is_a_way_out_of_a_broken_record(classgrow, folder: Path) -> None:  # type: ignore[no-untyped-def]
    (folder / RECORD_FILE).write_text("{")
    refused = classgrow("run", *SMALL, "--output", folder.parent)
    assert refused.returncode == 2 and "cannot be read" in refused.stderr
    done = classgrow("run", *SMALL, "--output", folder.parent, "--again")
    assert done.returncode == 0, done.stderr
    assert read_record(folder / RECORD_FILE).status == "finished"


def test_where_nothing_is_recorded_it_changes_nothing(classgrow, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    done = classgrow("run", *SMALL, "--phases", "1", "--output", tmp_path, "--again")
    assert done.returncode == 0, done.stderr
    assert "Removed" not in done.stdout + done.stderr and "Recorded in" in done.stdout
