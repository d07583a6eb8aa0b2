"""Files and folders answered for, and a folder that is followed."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

import pytest

from classgrow.errors import ClassgrowError
from classgrow.photos.predicting import answers, expand
from classgrow.photos.results import Prediction
from classgrow.photos.sources import Skipped
from classgrow.photos.watching import Watch
from tests.photos.painted import painted, small_model


def test_folders_are_expanded_and_copies_left_out(tmp_path: Path) -> None:
    painted(tmp_path, {"a": 2, "sorted": 1})
    (tmp_path / "a" / "notes.txt").write_text("x")
    asked = expand([tmp_path / "a" / "0-1.png", tmp_path, tmp_path / "gone.png"], without=tmp_path / "sorted")
    assert asked.files == (tmp_path / "a/0-1.png", tmp_path / "a/0-0.png", tmp_path / "gone.png")
    assert [one.file for one in asked.skipped] == [str(tmp_path / "a/notes.txt")]
    (tmp_path / "a.zip").write_bytes(b"PK")
    with pytest.raises(ClassgrowError, match="is an archive: unpack it"):
        expand([tmp_path / "a.zip"])


def test_unreadable_files_are_named_and_the_others_answered(tmp_path: Path) -> None:
    model = small_model(tmp_path)
    red, broken, gone = tmp_path / "first/red/0-3.png", tmp_path / "x.png", tmp_path / "gone.png"
    broken.write_text("no")
    found = list(answers(model, [broken, red, gone], top=2))
    assert [file for file, _ in found] == [broken, red, gone]
    (_, first), (_, second), (_, third) = found
    assert isinstance(first, Skipped) and isinstance(third, Skipped) and third.reason == "there is no such file"
    assert isinstance(second, Prediction) and second.ranking[0][0] == "red" and len(second.ranking) == 2
    assert second.nearest[0].source == "red/0-3.png" and second.nearest[0].similarity == pytest.approx(1, abs=1e-4)


def test_only_files_that_stopped_growing_are_handed_out(tmp_path: Path) -> None:
    """Looked at twice with the same size and time, and once only; changed files again."""
    photo, watch = tmp_path / "a.jpg", Watch([tmp_path])
    assert watch.arrived() == []
    photo.write_bytes(b"half")
    assert watch.arrived() == []  # seen for the first time
    photo.write_bytes(b"half and more")
    assert watch.arrived() == []  # it grew
    assert watch.arrived() == [photo]
    assert watch.arrived() == []  # once only
    photo.write_bytes(b"another photo")
    os.utime(photo, ns=(1, 1))
    assert [watch.arrived(), watch.arrived()] == [[], [photo]]
    photo.unlink()
    assert [watch.arrived(), watch.arrived()] == [[], []]
    photo.write_bytes(b"back")
    assert [watch.arrived(), watch.arrived()] == [[], [photo]]


def test_empty_files_and_others_are_waited_for(tmp_path: Path) -> None:
    watch = Watch([tmp_path])
    (tmp_path / "empty.jpg").touch()
    (tmp_path / "text.txt").write_text("x")
    assert list(islice(watch.follow(wait=lambda seconds: None), 3)) == [[], [], []]


def test_a_folder_may_come_later_and_go(tmp_path: Path) -> None:
    watch = Watch([tmp_path / "later"])
    assert watch.arrived() == []
    (tmp_path / "later").mkdir()
    (tmp_path / "later" / "a.jpg").write_bytes(b"x")
    assert [watch.arrived(), watch.arrived()] == [[], [tmp_path / "later" / "a.jpg"]]
