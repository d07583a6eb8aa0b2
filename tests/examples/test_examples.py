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
    assert set(lines[0].removeprefix("knows: ").split(", ")) == {"apple", "lime", "plum", "lemon"}
    looks = [line.split(" looks like: ") for line in lines if " looks like: " in line]
    assert [name for name, _ in looks] == ["apple", "lime", "plum", "lemon"]
    (right,) = [line.removeprefix("right: ").split(" of ") for line in lines if line.startswith("right: ")]
    assert int(right[0]) >= 15 and right[1] == "20"
    assert lines[-4:] == [
        "after forgetting lime: apple, lemon, plum",
        "after a new name: apple, lemon, damson",
        "after going back: apple, lemon, plum",
        "versions: 1 learn, 2 learn, 3 forget, 4 rename, 5 rollback",
    ]
