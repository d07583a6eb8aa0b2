"""`classgrow show` among records that somebody tampered with."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from classgrow.cli import app
from classgrow.cli.printing import print_table
from classgrow.cli.tables import Table
from classgrow.records.record import RECORD_FILE

PUBLISHED = Path(__file__).parents[2] / "results" / "digits" / "52acf0657120" / RECORD_FILE
ESCAPE = "\x1b]0;mine\x07"
Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def place(tmp_path: Path) -> Callable[..., Path]:
    def put(name: str, change: Change = lambda content: None) -> Path:
        content = json.loads(PUBLISHED.read_text(encoding="utf-8"))
        change(content)
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / RECORD_FILE).write_text(json.dumps(content))
        return tmp_path / "runs"

    return put


def test_the_others_are_shown_and_the_unreadable_named(place: Callable[..., Path]) -> None:
    runs = place("good")
    place("bad", lambda content: content["resolved"].pop("method"))
    done = CliRunner().invoke(app, ["show", str(runs)])
    assert done.exit_code == 0
    assert "good" in done.stdout and "resolved.method is missing" in done.stderr
    programs = CliRunner().invoke(app, ["show", str(runs), "--json"])
    assert [Path(run["folder"]).name for run in json.loads(programs.stdout)] == ["good"]


def test_names_are_neither_markup_nor_commands_to_the_terminal(place: Callable[..., Path]) -> None:
    """Rich would end in a traceback at [/bold], and the terminal would change its title."""
    runs = place("one", lambda content: content["method"].update(name=f"[/bold]{ESCAPE}"))
    for path in (runs, runs / "one"):
        done = CliRunner().invoke(app, ["show", str(path)])
        assert done.exit_code == 0, done.exception
        assert r"[/bold]\x1b]0;mine\x07" in done.stdout and "\x1b" not in done.stdout


def test_a_table_shows_its_texts_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(Table(columns=("[red]", ESCAPE), rows=(("[/]", "a\nb"),), footer=(("[x", ":cat:"),), title="[/bold]"))
    shown = capsys.readouterr().out
    assert all(text in shown for text in ("[red]", r"\x1b]0;mine\x07", "[/]", "a b", "[x", ":cat:", "[/bold]"))


def test_markdown_holds_no_html() -> None:
    table = Table(columns=("a|b",), rows=(("<img src=x>",), ("A & B",)))
    assert table.markdown().splitlines() == [r"| a\|b |", "| --- |", "| &lt;img src=x> |", "| A &amp; B |"]
