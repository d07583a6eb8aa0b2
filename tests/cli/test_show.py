"""`classgrow show`: what a run recorded, for people and for programs."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

from classgrow.records.record import RECORD_FILE, read_record, to_json


def test_a_run_for_people(classgrow, finished: tuple[Path, str]) -> None:  # type: ignore[no-untyped-def]
    folder = finished[0]
    record = read_record(folder / RECORD_FILE)
    done = classgrow("show", folder)
    assert done.returncode == 0, done.stderr
    facts = dict(line.split(":", 1) for line in done.stdout.splitlines()[:13])
    assert facts["seal"].strip() == "the digest fits the content"
    assert facts["objective"].strip() == record.method.formula
    assert "finished, 2 of 2 phases" in facts["run"]
    assert facts["data"].strip() == "digits, classes per phase 3 x 2, class order natural, seed 1"
    assert facts["network"].strip() == "small (preset digits)"
    assert facts["memory"].strip() == "50 exemplars in total, by herding"
    assert record.hardware.cpu in facts["hardware"] and "1 thread" in facts["hardware"]
    assert facts["repeat"].strip() == (
        "classgrow run --dataset digits --method fgp --memory 50 --first 2 --step 2 --seed 1 --epochs 4 --classes 6 "
        "--phases 2 --threads 1 --device cpu --compile off --precision float32"
    )
    assert "nearest class mean*" in done.stdout and "unnormalised" not in done.stdout and "images/s" in done.stdout


def test_a_run_for_programs(classgrow, finished: tuple[Path, str]) -> None:  # type: ignore[no-untyped-def]
    folder = finished[0]
    done = classgrow("show", folder, "--json")
    content = json.loads(done.stdout)
    record = read_record(folder / RECORD_FILE)
    assert done.stderr == ""
    assert content["record"] == to_json(record)
    assert content["summary"] == content["rules"]["nearest"]
    last = record.phases[-1].rules["head"]
    assert last is not None
    assert abs(content["rules"]["head"]["final"] - last.accuracy) < 1e-12


def test_a_folder_of_runs(classgrow, finished: tuple[Path, str]) -> None:  # type: ignore[no-untyped-def]
    folder = finished[0]
    people = classgrow("show", folder.parent)
    assert people.returncode == 0, people.stderr
    (row,) = [line.split() for line in people.stdout.splitlines() if folder.name in line]
    assert row[:6] == [folder.name, "digits", "fgp", "50", "1", "2/2"]
    programs = json.loads(classgrow("show", folder.parent, "--json").stdout)
    assert [run["record"]["identity"] for run in programs] == [folder.name]


def test_runs_as_csv(classgrow, finished: tuple[Path, str], tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """A row for each of two phases and two rules; the accuracies are the record's."""
    folder, record = finished[0], read_record(finished[0] / RECORD_FILE)
    done = classgrow("show", folder, "--csv", tmp_path / "runs.csv")
    assert done.returncode == 0, done.stderr
    with (tmp_path / "runs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4
    for row in rows:
        result = record.phases[int(row["phase"]) - 1].rules[row["rule"]]  # type: ignore[index]
        assert result is not None and result.accuracy is not None
        assert abs(float(row["accuracy"]) - result.accuracy) < 1e-12


def test_csv_that_cannot_be_written(classgrow, finished: tuple[Path, str], tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    done = classgrow("show", finished[0], "--csv", tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"Error: Cannot write {tmp_path} (Is a directory): choose another file.\n"


def test_a_broken_record_hides_no_other(classgrow, check_refused, finished: tuple[Path, str], tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    shutil.copytree(finished[0], tmp_path / finished[0].name)
    for name, text in (("cut", "{"), ("empty", "{}"), ("list", "[]")):
        (tmp_path / name).mkdir()
        (tmp_path / name / RECORD_FILE).write_text(text)
    done = classgrow("show", tmp_path)
    assert done.returncode == 0 and "Traceback" not in done.stderr
    assert finished[0].name in done.stdout
    lines = done.stderr.splitlines()
    assert [str(tmp_path / name) in line for name, line in zip(("cut", "empty", "list"), lines, strict=True)] == [
        True
    ] * 3
    assert all(line.startswith("Left out: The record ") for line in lines)
    as_json = classgrow("show", tmp_path, "--json")
    assert [run["folder"] for run in json.loads(as_json.stdout)] == [str(tmp_path / finished[0].name)]
    assert (as_json.returncode, as_json.stderr) == (0, done.stderr)
    check_refused(classgrow("show", tmp_path / "cut"), "cannot be read")
    shutil.rmtree(tmp_path / finished[0].name)
    check_refused(classgrow("show", tmp_path), str(tmp_path / "cut"), "cannot be read")
