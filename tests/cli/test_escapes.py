"""What a folder or a file is called is shown, and never obeyed by a terminal."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from classgrow import cli
from classgrow.cli.live import LiveRun
from classgrow.learner.terminal import Lines

ESCAPE = "\x1b[2J"
SHOWN = r"\x1b[2J"


def test_what_a_run_says(capsys: pytest.CaptureFixture[str]) -> None:
    stream = io.StringIO()
    LiveRun(Console(file=stream, width=120)).say(f"skipped {ESCAPE}[red]:smile:")
    assert stream.getvalue() == f"skipped {SHOWN}[red]:smile:\n"
    Lines().say(ESCAPE)
    assert capsys.readouterr().out == f"{SHOWN}\n"


def test_a_class_folder_with_an_escape_in_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CLASSGROW_CACHE", str(tmp_path / "cache"))
    for part in ("train", "val"):
        for name in ("good", f"bad{ESCAPE}"):
            (tmp_path / "data" / part / name).mkdir(parents=True)
            Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(tmp_path / "data" / part / name / "a.png")
    (tmp_path / "data" / "train" / f"bad{ESCAPE}" / "b.png").write_bytes(b"no image")
    monkeypatch.setattr(sys, "argv", ["classgrow", "data", "folder", "--from", str(tmp_path / "data"), "--strict"])
    with pytest.raises(SystemExit):
        cli.main()
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err and SHOWN in said.out
