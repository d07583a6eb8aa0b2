"""A report that is killed while it is put in place: every part is there, of the old report or of the new one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from classgrow.errors import ClassgrowError
from classgrow.report.make import PARTS, _replace, clear_up


@pytest.fixture
def parts(tmp_path: Path) -> tuple[Path, Path]:
    """A draft and an older report, with a note of a person's own."""
    for name in ("draft", "report"):
        for part in PARTS:
            if "." in part:
                (tmp_path / name).mkdir(exist_ok=True)
                (tmp_path / name / part).write_text(name)
            else:
                (tmp_path / name / part).mkdir(parents=True)
                (tmp_path / name / part / "file").write_text(name)
    (tmp_path / "report" / "notes.txt").write_text("mine")
    return tmp_path / "draft", tmp_path / "report"


def content(report: Path) -> set[str]:
    return {((report / part) if "." in part else report / part / "file").read_text() for part in PARTS}


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("step", range(12))
def test_killed_at_any_step_no_part_is_missing(
    parts: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, step: int, at_once: bool
) -> None:
    draft, report = parts
    left = step

    def counted(do: Callable[..., Any], *paths: Any, **more: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        do(*paths, **more)

    with monkeypatch.context() as patch:
        for verb in ("rename", "replace", "rmdir", "unlink"):
            patch.setattr(os, verb, partial(counted, getattr(os, verb)))
        if not at_once:
            patch.setattr("classgrow.exchange.exchange_at_once", lambda one, other: False)
        try:
            _replace(draft, report)
            whole = True
        except KeyboardInterrupt:
            whole = False
    monkeypatch.setattr("classgrow.exchange.is_abandoned", lambda path: True)
    clear_up(report)
    assert content(report) <= {"draft", "report"} and (not whole or content(report) == {"draft"})
    assert (report / "notes.txt").read_text() == "mine"


def test_a_full_disk_is_one_sentence_and_the_old_report_stays(
    make: Any, write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from classgrow.report import make as making

    runs = write([make("fgp")], tmp_path / "runs")
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / making.MARKER).write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(making, "write_content", full)
    with pytest.raises(ClassgrowError, match=r"No space left on device\): free some space"):
        making.make_report(runs, tmp_path / "report")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report", "runs"]
    assert (tmp_path / "report" / making.MARKER).read_text() == "old"
    shutil.rmtree(tmp_path / "report")
