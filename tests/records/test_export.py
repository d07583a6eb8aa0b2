"""Records for other tools."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest

from classgrow.errors import ClassgrowError
from classgrow.records.export import COLUMNS, rows, to_csv, to_dataframe
from classgrow.records.official import official_records
from classgrow.records.record import Record


@pytest.fixture(scope="module")
def records() -> list[Record]:
    return official_records()[:2]


def test_one_row_for_each_run_phase_and_rule(records: list[Record]) -> None:
    """Order 0 of CIFAR-100, 1K from scratch: 85.0 after ten classes, 45.0 after a hundred, average 60.29."""
    found = list(rows(records))
    assert len(found) == 2 * 10 * 2
    assert all(set(row) == set(COLUMNS) for row in found)
    nearest = [row for row in found if row["rule"] == "nearest" and row["identity"] == records[0].identity]
    assert (nearest[0]["accuracy"], nearest[-1]["accuracy"]) == pytest.approx((0.85, 0.45))
    assert nearest[-1]["average_so_far"] == pytest.approx(0.6029, abs=5e-5)
    assert nearest[0]["forgetting"] is None
    assert nearest[0]["phase_accuracy_mad"] == 0
    assert (nearest[-1]["phase"], nearest[-1]["classes_seen"], nearest[-1]["is_headline"]) == (10, 100, True)
    assert (nearest[0]["method"], nearest[0]["memory"], nearest[0]["first"], nearest[0]["step"]) == (
        "fgp",
        1000,
        10,
        10,
    )


def test_csv_keeps_every_digit_and_leaves_missing_empty(records: list[Record], tmp_path: Path) -> None:
    with to_csv(records, tmp_path / "new" / "runs.csv").open(encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file))
    assert len(read) == 40
    for row, original in zip(read, rows(records), strict=True):
        assert float(row["accuracy"]) == original["accuracy"]
        assert (row["forgetting"] == "") == (original["forgetting"] is None)


def test_dataframe(records: list[Record]) -> None:
    pandas = pytest.importorskip("pandas")
    frame = to_dataframe(records)
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == list(COLUMNS)
    last = frame[(frame["phase"] == 10) & frame["is_headline"]]
    assert list(last["accuracy"]) == pytest.approx([0.450, 0.443])


def test_without_pandas_the_way_out_is_told(records: list[Record], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ClassgrowError, match=r"classgrow\[pandas\]"):
        to_dataframe(records)
