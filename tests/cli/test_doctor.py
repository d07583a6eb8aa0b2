"""`classgrow doctor` in a process of its own."""

from __future__ import annotations

import json
from pathlib import Path

import torch

from tests.cli.conftest import Command


def test_doctor_shows_a_table(classgrow: Command) -> None:
    done = classgrow("doctor", "--quick")
    assert done.returncode == 0, done.stdout + done.stderr
    assert torch.__version__ in done.stdout and "Everything that learning needs is here." in done.stdout


def test_problems_are_sentences_and_exit_code_2(classgrow: Command, tmp_path: Path) -> None:
    gone = str(tmp_path / "gone\x1b[31m")
    done = classgrow("doctor", "--quick", "--json", CLASSGROW_DATA=gone)
    assert done.returncode == 2 and done.stderr == ""
    content = json.loads(done.stdout)
    assert content["ok"] is False and content["facts"]["versions"]["torch"] == torch.__version__
    assert content["problems"] == [
        f"CLASSGROW_DATA names {gone}, which is not a folder: create it, or name another one."
    ]
    shown = classgrow("doctor", "--quick", CLASSGROW_DATA=gone)
    assert shown.returncode == 2 and "\x1b" not in shown.stdout and r"gone\x1b[31m, which is not" in shown.stdout
