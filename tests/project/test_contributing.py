"""CONTRIBUTING.md: ten changes, and every file it names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
CHANGES = (
    "data set",
    "loss term",
    "method with a new step",
    "rule",
    "network",
    "command",
    "metric",
    "checkpoint field",
    "export",
    "service route",
)
PATHS = sorted(set(re.findall(r"`([\w./-]+(?:/|\.(?:py|md|toml|cff)))`", PAGE)))


def place(name: str) -> Path:
    """Paths of the package begin at src/classgrow."""
    return next((path for path in (ROOT / name, ROOT / "src" / "classgrow" / name) if path.exists()), ROOT / name)


def test_the_ten_changes_are_there_in_order() -> None:
    table = PAGE.split("## Ten changes")[1].split("\n## ")[0]
    rows = [line.split("|")[1].strip() for line in table.splitlines() if line.startswith("|")]
    assert tuple(rows[2:]) == CHANGES


@pytest.mark.parametrize("name", PATHS)
def test_what_it_names_exists(name: str) -> None:
    if name != "results/" or (ROOT / ".git").exists():  # a source distribution leaves them out
        assert place(name).exists()


def test_it_names_many_files_and_examples() -> None:
    assert len(PATHS) > 30


@pytest.mark.parametrize(("symbol", "name"), re.findall(r"`(\w+)` in `([\w./]+\.py)`", PAGE))
def test_the_examples_are_in_their_files(symbol: str, name: str) -> None:
    assert re.search(rf"\b{symbol}\b", place(name).read_text(encoding="utf-8"))
