"""Records by somebody who means harm: each test is a hole that was there once."""

from __future__ import annotations

import csv
import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from classgrow.errors import ClassgrowError
from classgrow.records.export import rows, to_csv
from classgrow.records.folder import FAILURE_FILE, find_failures, find_records, read_records
from classgrow.records.record import RECORD_FILE, Record, read_record
from classgrow.records.words import is_word, printable

PUBLISHED = Path(__file__).parents[2] / "results" / "digits" / "52acf0657120" / RECORD_FILE
ESCAPE = "\x1b[2J\x1b]0;mine\x07"


def changed(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """The published record with a change, in a file below `path`."""
    content = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    change(content)
    path.mkdir(parents=True, exist_ok=True)
    (path / RECORD_FILE).write_text(json.dumps(content))
    return path / RECORD_FILE


def test_texts_of_a_record_hold_nothing_that_a_terminal_obeys(tmp_path: Path) -> None:
    def rename(content: dict[str, Any]) -> None:
        content["class_names"][0] = f"cat{ESCAPE}"
        content["method"]["name"] = f"fgp{ESCAPE}"
        content["hardware"]["cpu"] = f"{ESCAPE}\ud800"
        content["error"] = "two\nlines"
        content["phases"][0]["notes"] = ["\u202eevil"]

    record = read_record(changed(tmp_path, rename))
    assert record.class_names[0] == r"cat\x1b[2J\x1b]0;mine\x07"
    assert record.method.name == r"fgp\x1b[2J\x1b]0;mine\x07"
    assert record.hardware.cpu == r"\x1b[2J\x1b]0;mine\x07\ud800"
    assert record.error == "two lines" and record.phases[0].notes == [r"\u202eevil"]


def test_printable_leaves_ordinary_texts_alone() -> None:
    for text in ("argmin_c ‖μ_c − f̄(x)‖", "Große Katze", "日本", "a b", ""):
        assert printable(text) == text
    assert printable(printable(ESCAPE)) == printable(ESCAPE)


def test_a_word_is_no_path() -> None:
    assert is_word("nearest") and is_word("norm-icarl") and is_word("resnet1.5")
    assert not any(map(is_word, ("", ".", "..", "../x", "a/b", "a\\b", "a b", "-x", "x\n", "x" * 65)))


def test_a_message_about_a_record_is_safe_too(tmp_path: Path) -> None:
    path = changed(tmp_path / f"run{ESCAPE}", lambda content: content["resolved"].update(dataset=ESCAPE))
    with pytest.raises(ClassgrowError) as caught:
        read_record(path)
    assert "\x1b" not in str(caught.value)


def test_a_pipe_in_place_of_a_record_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / RECORD_FILE)
    with pytest.raises(ClassgrowError, match="not a regular file"):
        read_record(tmp_path / RECORD_FILE)


def test_a_file_beyond_all_bounds_is_refused_before_it_is_read(tmp_path: Path) -> None:
    with (tmp_path / RECORD_FILE).open("wb") as file:
        file.truncate(2**40)  # takes no room on the disk
    with pytest.raises(ClassgrowError, match="more than 256 MB"):
        read_record(tmp_path / RECORD_FILE)


def test_an_unreadable_file_is_kept(tmp_path: Path) -> None:
    (tmp_path / RECORD_FILE).mkdir()
    with pytest.raises(ClassgrowError, match=r"not a regular file\)\. The file is kept as it is") as caught:
        read_record(tmp_path / RECORD_FILE)
    assert "delete" not in str(caught.value) and "broken" not in str(caught.value)


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """One good record among a deep one, an empty one and one whose options are a list."""
    changed(tmp_path / "runs" / "good", lambda content: None)
    changed(tmp_path / "runs" / "options", lambda content: content["resolved"].update(options=[]))
    for name, text in (("deep", "[" * 10**6), ("empty", "")):
        (tmp_path / "runs" / name).mkdir()
        (tmp_path / "runs" / name / RECORD_FILE).write_text(text)
    return tmp_path / "runs"


def test_one_unreadable_record_does_not_hide_the_others(mixed: Path, tmp_path: Path) -> None:
    found, problems = read_records(sorted(mixed.glob(f"*/{RECORD_FILE}")))
    assert [file.parent.name for file, _ in found] == ["good"]
    assert [name in problem for name, problem in zip(("deep", "empty", "options"), problems, strict=True)] == [True] * 3
    with pytest.warns(UserWarning, match="cannot be read"):
        assert len(find_records(mixed)) == 1
    with pytest.warns(UserWarning, match="cannot be read"):
        to_csv(mixed, tmp_path / "runs.csv")
    assert len((tmp_path / "runs.csv").read_text().splitlines()) == 1 + 5 * 3


def test_if_none_can_be_read_that_is_an_error(mixed: Path) -> None:
    with pytest.raises(ClassgrowError, match="lists within lists"), warnings.catch_warnings():
        warnings.simplefilter("error")
        find_records(mixed / "deep")


def test_a_deep_note_of_a_failure_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / FAILURE_FILE).write_text("[" * 10**6)
    assert "cannot be read: run it again" in find_failures(tmp_path)[0]


def test_a_formula_stays_a_text_in_a_spreadsheet(tmp_path: Path) -> None:
    def rename(content: dict[str, Any]) -> None:
        content["hardware"]["cpu"] = '=HYPERLINK("http://x")'
        content["code"]["commit"] = "@SUM(1)"
        content["spec"]["order"] = "-2+3"

    record = read_record(changed(tmp_path, rename))
    with to_csv([record], tmp_path / "runs.csv").open(newline="", encoding="utf-8") as file:
        first = next(csv.DictReader(file))
    assert (first["cpu"], first["commit"], first["order"]) == ('\'=HYPERLINK("http://x")', "'@SUM(1)", "'-2+3")
    assert next(iter(rows([record])))["cpu"] == '=HYPERLINK("http://x")'


def test_settings_of_a_later_version_are_set_aside_and_the_results_read(tmp_path: Path) -> None:
    record: Record = read_record(changed(tmp_path, lambda content: content["spec"].update(mood="good")))
    assert record.spec is None and json.loads(record.unread_spec or "")["mood"] == "good"
    assert record.phases == read_record(PUBLISHED).phases
