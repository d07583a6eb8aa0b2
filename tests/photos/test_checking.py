"""A folder with one of everything that can be wrong."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from classgrow.errors import ClassgrowError
from classgrow.photos import checking
from classgrow.photos.checking import Checked, check
from classgrow.photos.sources import Skipped
from tests.photos.test_likeness import scenes


def save(picture: Image.Image, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.save(path, quality=90)
    return path


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """11 good photos each of cat and dog, 2 of bird, and something of every kind."""
    folder = tmp_path_factory.mktemp("photos") / "mine"
    pictures = scenes(40)
    for number in range(11):
        save(pictures[number], folder / "cat" / f"{number}.jpg")
        save(pictures[20 + number], folder / "dog" / f"{number}.jpg")
    for number in (15, 16):
        save(pictures[number], folder / "bird" / f"{number}.png")
    shutil.copy(folder / "cat" / "0.jpg", folder / "cat" / "copy.jpg")
    shutil.copy(folder / "cat" / "1.jpg", folder / "dog" / "cat.jpg")
    save(pictures[22].resize((120, 90)), folder / "dog" / "small.jpg")
    save(pictures[3].resize((200, 150)), folder / "bird" / "also a cat.jpg")
    save(Image.new("RGB", (50, 50), (240, 240, 240)), folder / "cat" / "blank.png")
    save(pictures[35].resize((20, 16)), folder / "dog" / "tiny.png")
    save(pictures[36], folder / "Cat" / "x.jpg")
    (folder / "cat" / "broken.jpg").write_bytes(b"not a photo")
    (folder / "cat" / "notes.txt").write_text("cats")
    (folder / "empty").mkdir()
    return folder


@pytest.fixture(scope="module")
def checked(photos: Path) -> Checked:
    return check(photos)


def files(found: Checked, kind: checking.Kind) -> list[list[str]]:
    return [[photo.file for photo in one.photos] for one in found.of(kind)]


def test_photos_are_counted(checked: Checked) -> None:
    assert (checked.photos, checked.classes) == (31, {"Cat": 1, "bird": 3, "cat": 13, "dog": 14})


def test_copies_within_a_class_and_across(checked: Checked) -> None:
    assert files(checked, checking.EXACT) == [["cat/0.jpg", "cat/copy.jpg"]]
    assert files(checked, checking.NEAR) == [["dog/2.jpg", "dog/small.jpg"]]
    across = files(checked, checking.TWO_LABELS)
    assert sorted(across) == [["bird/also a cat.jpg", "cat/3.jpg"], ["cat/1.jpg", "dog/cat.jpg"]]
    words = {one.words for one in checked.of(checking.TWO_LABELS)}
    assert words == {"2 files in 2 classes hold the same photo", "2 files in 2 classes show nearly the same picture"}


def test_single_photos(checked: Checked) -> None:
    assert files(checked, checking.BLANK) == [["cat/blank.png"]]
    assert files(checked, checking.SMALL) == [["dog/tiny.png"]]
    assert [one.words for one in checked.of(checking.SMALL)] == ["20 x 16 pixels"]
    assert files(checked, checking.BROKEN) == [["cat/broken.jpg"]]
    assert sorted(files(checked, checking.SKIPPED)) == [["cat/notes.txt"], ["empty/"]]


def test_classes(checked: Checked) -> None:
    assert [one.words for one in checked.of(checking.SCARCE)] == ["Cat: 1 photo", "bird: 3 photos"]
    assert [one.words for one in checked.of(checking.UNBALANCED)] == ["dog has 14 photos, Cat has 1"]
    assert [one.words for one in checked.of(checking.CASE)] == ["Cat and cat"]


def test_findings_come_in_the_order_in_which_they_matter(checked: Checked) -> None:
    kinds = [one.kind for one in checked.findings]
    assert kinds == sorted(kinds, key=checking.KINDS.index) and kinds[0] is checking.TWO_LABELS


def test_json_names_files_and_classes(checked: Checked) -> None:
    found = [one for one in checked.as_json()["findings"] if one["kind"] == "exact"]  # type: ignore[attr-defined]
    photos = [{"file": "cat/0.jpg", "class": "cat"}, {"file": "cat/copy.jpg", "class": "cat"}]
    assert found == [{"kind": "exact", "words": "2 files hold the same photo", "photos": photos}]


def test_ten_times_is_equal_enough() -> None:
    assert checking.of_classes({"a": 100, "b": 10}) == []
    assert [one.kind for one in checking.of_classes({"a": 101, "b": 10})] == [checking.UNBALANCED]


def test_suspects_are_shown_with_their_note(photos: Path) -> None:
    def suspect(given: object, progress: object) -> tuple[list[tuple[str, str]], str]:
        assert given == photos
        return [("cat/5.jpg", "looks like dog"), ("gone.jpg", "?")], "Not all was looked at."

    found = check(photos, suspect=suspect)
    assert [(one.words, one.photos[0].name) for one in found.of(checking.LABEL)] == [("looks like dog", "cat")]
    assert found.notes == ("Not all was looked at.",)


def test_nothing_wrong_and_nothing_there(tmp_path: Path) -> None:
    for number, picture in enumerate(scenes(20, seed=3)):
        save(picture, tmp_path / "good" / "ab"[number % 2] / f"{number}.jpg")
    assert check(tmp_path / "good").findings == ()
    (tmp_path / "void").mkdir()
    assert (check(tmp_path / "void").photos, check(tmp_path / "void").findings) == (0, ())
    with pytest.raises(ClassgrowError, match="There is no folder"):
        check(tmp_path / "missing")


def test_every_reason_to_skip_a_photo_is_said(photos: Path) -> None:
    seen, broken = checking._look(checking.find(photos, None).photos, 32, True, checking.Silent())
    assert broken == [Skipped("cat/broken.jpg", "not an image")]
    assert all(one.thumbnail.startswith(b"\xff\xd8") for one in seen)
    assert np.asarray(seen[0].grey).shape == (32, 32)
