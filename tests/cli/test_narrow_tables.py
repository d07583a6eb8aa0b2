"""Tables on a terminal that is too narrow for them: texts take several lines, and no number is lost."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from classgrow.cli import printing
from classgrow.cli.tables import Table


def test_a_long_name_or_text_leaves_the_numbers_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(printing, "console", lambda: Console(file=shown, width=80, highlight=False))
    long = "a" * 200
    what = "24 photos: 2 new classes (forest, rocket); more of apple, cattle, bicycle and others"
    row = (long, "2026-11-18 21:47", what, "12345", "100.0")
    printing.print_table(Table(("class", "when", "what", "photos", "accuracy %"), (row,), wrapped=("what",)))
    text = shown.getvalue()
    assert all(cell in text for cell in ("2026-11-18 21:47", "12345", "100.0", "accuracy %"))
    assert text.count("a") - "".join((what, "what accuracy class")).count("a") == 200 and "…" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_every_cell_is_there_however_narrow_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(printing, "console", lambda: Console(file=shown, width=30, highlight=False))
    row = ("bicycle", "1", "20", "12", "91.7")
    printing.print_table(Table(("class", "since version", "photos", "kept", "accuracy %"), (row,)))
    text = shown.getvalue()
    assert all(cell in text for cell in ("since version", "accuracy %", *row))
