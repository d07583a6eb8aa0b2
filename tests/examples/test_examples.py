"""Every example runs as it stands and says what it promises."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name: str) -> str:
    done = subprocess.run(
        [sys.executable, EXAMPLES / name],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_own_photos() -> None:
    lines = run("own_photos.py").splitlines()
    assert lines[0] == "knows: apple, lime, plum, lemon"
    assert len([line for line in lines if " looks like: " in line]) == 4
    assert int(lines[-1].removeprefix("accuracy: ").removesuffix("%")) >= 75


def test_photo_model() -> None:
    lines = run("photo_model.py").splitlines()
    assert lines[0] == "knows: apple, lime, plum, lemon"
    table = dict(line.split(": ") for line in lines[1:5])
    assert list(table) == ["apple", "lime", "plum", "lemon"]
    accuracies = [int(value.split(" -> ")[1].removesuffix("%")) for value in table.values()]
    assert table["lemon"].startswith("new -> ") and sum(accuracies) / 4 >= 75
    assert lines[5].startswith("a lemon is called lemon (") and lines[5].endswith("most like lemon/0.png")
    assert lines[6] == "after forgetting: apple, lime, lemon in version 3"
