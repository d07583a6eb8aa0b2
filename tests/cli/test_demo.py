"""`classgrow demo`: two methods side by side, a table, a picture; a second call reuses what is there."""

from __future__ import annotations

import json
import struct
from pathlib import Path

from classgrow.records.folder import find_records
from classgrow.records.summary import summary


def test_demo_and_demo_again(classgrow, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    output = tmp_path / "demo"
    first = classgrow("demo", "--epochs", "1", "--threads", "1", "--output", output)
    assert first.returncode == 0, first.stderr
    records = {record.method.name: record for record in find_records(output)}
    assert sorted(records) == ["fgp", "finetune"]
    for name, record in records.items():
        numbers = summary(record)
        (row,) = [line.split() for line in first.stdout.splitlines() if line.startswith(f"  {name} ")]
        expected = [*numbers.curve, numbers.average, numbers.forgetting, numbers.mad]
        assert row[1:] == [f"{100 * value:.1f}" for value in expected if value is not None]
    assert "2 classes, head " in first.stdout  # fine-tuning keeps no memory: by nearest means it has no answer
    assert "2 classes, nearest class mean " in first.stdout and "unnormalised" not in first.stdout

    picture = (output / "curves.png").read_bytes()
    width, height = struct.unpack(">II", picture[16:24])
    assert picture.startswith(b"\x89PNG") and (width, height) == (1216, 672)
    assert (output / "curves.svg").read_text().startswith("<?xml")

    model, photos = output / "model", output / "photos"
    assert f"Model: {model}. Ask it: classgrow predict {model} {photos}" in first.stdout
    asked = classgrow("predict", model, photos, "--json")
    assert asked.returncode == 0, asked.stderr
    answers = [json.loads(line) for line in asked.stdout.splitlines()]
    assert len(answers) == 30 and {one["ranking"][0]["class"] for one in answers} <= set("0123456789")
    written = {path: path.stat().st_mtime_ns for path in model.rglob("*")}

    again = classgrow("demo", "--epochs", "1", "--threads", "1", "--output", output)
    assert again.returncode == 0, again.stderr
    assert "2 of 2 runs were finished before" in again.stdout
    assert "phase 1/5" not in again.stdout
    assert [line for line in again.stdout.splitlines() if "  fgp " in line] == [
        line for line in first.stdout.splitlines() if line.startswith("  fgp ")
    ]
    assert (output / "curves.png").read_bytes() == picture
    assert {path: path.stat().st_mtime_ns for path in model.rglob("*")} == written
