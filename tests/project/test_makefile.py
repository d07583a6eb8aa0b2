"""`make` alone explains itself."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def make(*words: str) -> str:
    if shutil.which("make") is None:
        pytest.skip("needs make")
    alone = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}  # pytest's own make
    return subprocess.run(["make", *words], cwd=ROOT, env=alone, capture_output=True, text=True, check=True).stdout


def test_help_is_the_default_and_names_every_target() -> None:
    (phony,) = re.findall(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    lines = make("help").splitlines()
    assert [line.split()[1] for line in lines] == phony.split()
    assert all(len(line.split()) > 3 for line in lines)  # make, target, some words
    assert make() == make("help")


def test_documentation_is_built_strictly() -> None:
    (command,) = [line for line in make("--dry-run", "docs").splitlines() if "mkdocs build" in line]
    assert command.endswith("mkdocs build --strict")  # --quiet would hide the warnings that make it fail


def test_what_is_made_is_ignored_by_git() -> None:
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert {"/site/", "/report/", "dist/", ".venv/"} <= set(ignored)


def test_the_workflow_and_ci_call_known_targets() -> None:
    (phony,) = re.findall(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for name in (".github/workflows/ci.yml", ".ci/run"):
        used = re.findall(r"\bmake ([a-z]+)", (ROOT / name).read_text())
        assert {"lint", "docs", "test"} <= set(used) <= set(phony.split()), name
