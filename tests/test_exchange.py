"""Exchanging folders: a crash at any moment leaves the old one or the new one, never neither."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from classgrow import exchange
from classgrow.disk import remove_unfinished, unfinished_name
from classgrow.exchange import exchange_folders, restore_set_aside


class PowerCut(BaseException):
    """The process ends here."""


def folder_with(path: Path, content: str) -> Path:
    path.mkdir()
    (path / "file").write_text(content)
    return path


def name_of_a_dead_process(path: Path, ending: str) -> Path:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    return path.with_name(path.name.replace(f"-{os.getpid()}-", f"-{gone.pid}-")).with_suffix(ending)


@pytest.mark.parametrize("at_once", [True, False])
def test_the_old_content_is_in_the_new_folder_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    if not at_once:
        monkeypatch.setattr(exchange, "exchange_at_once", lambda one, other: False)
    new, old = folder_with(tmp_path / "new", "new"), folder_with(tmp_path / "old", "old")
    exchange_folders(new, old)
    assert [(old / "file").read_text(), (new / "file").read_text()] == ["new", "old"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "old"]


def test_where_nothing_stood_the_folder_is_moved(tmp_path: Path) -> None:
    exchange_folders(folder_with(tmp_path / "new", "new"), tmp_path / "old")
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("survived", range(4))
def test_a_crash_between_any_two_steps_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, survived: int, at_once: bool
) -> None:
    """After so many renames the process is gone; `restore_set_aside` then finds a whole folder."""
    new, old = folder_with(tmp_path / "new", "new"), folder_with(tmp_path / "old", "old")
    done, rename = 0, os.rename

    def crashing(source: Path, target: Path) -> None:
        nonlocal done
        if done == survived:
            raise PowerCut
        done += 1
        rename(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", crashing)
        if not at_once:
            patch.setattr(exchange, "exchange_at_once", lambda one, other: False)
        try:
            exchange_folders(new, old)
        except PowerCut:
            assert not at_once
    with monkeypatch.context() as patch:
        patch.setattr(exchange, "is_abandoned", lambda path: True)
        assert restore_set_aside(old) is (not at_once and survived == 1)
    assert (old / "file").read_text() == ("new" if at_once or survived >= 2 else "old")


def test_a_folder_of_a_dead_process_is_restored_at_once(tmp_path: Path) -> None:
    old = tmp_path / "old"
    folder_with(name_of_a_dead_process(unfinished_name(old), ".before"), "kept")
    assert restore_set_aside(old)
    assert (old / "file").read_text() == "kept"
    assert not restore_set_aside(old)


def test_a_failed_rename_brings_the_old_folder_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, rename = folder_with(tmp_path / "old", "old"), os.rename

    def failing(source: Path, target: Path) -> None:
        if Path(source).name == "new":
            raise PermissionError(13, "no")
        rename(source, target)

    new = folder_with(tmp_path / "new", "new")
    monkeypatch.setattr(exchange, "exchange_at_once", lambda one, other: False)
    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(PermissionError):
        exchange_folders(new, old)
    assert (old / "file").read_text() == "old"


def test_only_what_dead_processes_left_unfinished_is_removed(tmp_path: Path) -> None:
    mine, dead = unfinished_name(tmp_path / "a"), name_of_a_dead_process(unfinished_name(tmp_path / "b"), ".part")
    others = tmp_path / ".notes.part"
    for path in (mine, dead, others):
        path.write_text("x")
    folder = folder_with(name_of_a_dead_process(unfinished_name(tmp_path / "c"), ".part"), "x")
    assert set(remove_unfinished(tmp_path)) == {dead, folder}
    assert set(tmp_path.iterdir()) == {mine, others}
