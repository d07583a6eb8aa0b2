"""Copies go where they should and nowhere else, whatever a class is called."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classgrow.errors import ClassgrowError
from classgrow.photos.sorting import LONGEST, UNKNOWN, copy_into, safe_folder

DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("cat", "cat"),
        ("house cat", "house cat"),
        ("Käse 🧀", "Käse 🧀"),
        ("..", "%2E%2E"),
        (".", "%2E"),
        ("", "%"),
        ("../../etc/passwd", "%2E.%2F..%2Fetc%2Fpasswd"),
        ("/absolute", "%2Fabsolute"),
        ("C:\\Windows", "C%3A%5CWindows"),
        ("a\nb\x1b[31m", "a%0Ab%1B[31m"),
        ("a\x00b", "a%00b"),
        ("con", "%63on"),
        ("NUL.txt", "%4EUL.txt"),
        ("COM1", "%43OM1"),
        ("console", "console"),
        ("dots...", "dots..%2E"),
        ("blank ", "blank%20"),
        (".hidden", "%2Ehidden"),
        ("unknown", "%75nknown"),
        ("UNKNOWN", "%55NKNOWN"),
        ("50%2F", "50%252F"),
        ("\u202egpj", "%E2%80%AEgpj"),
        ("\udcff", "%ED%B3%BF"),
    ],
)
def test_names_of_classes_as_names_of_folders(name: str, folder: str) -> None:
    assert safe_folder(name) == folder


@given(st.text(st.characters(codec=None), max_size=300))
def test_every_name_is_one_safe_folder(name: str) -> None:
    folder = safe_folder(name)
    assert folder not in ("", ".", "..") and not set(folder) & set('<>:"/\\|?*\0\n\r\t\x1b')
    assert folder == folder.strip(" ") and not folder.startswith(".") and not folder.endswith(".")
    assert len(folder.encode()) <= LONGEST  # and can be encoded at all
    assert not DEVICE.fullmatch(folder) and folder.casefold() != UNKNOWN
    assert PurePosixPath("/a", folder).parent == PurePosixPath("/a")
    assert PureWindowsPath("C:/a", folder).parent == PureWindowsPath("C:/a")


TRICKY = st.text(st.sampled_from("a.% /\\:2F5eéCON\n"), max_size=6)


@given(TRICKY, TRICKY)
def test_different_classes_have_different_folders(one: str, other: str) -> None:
    assert (safe_folder(one) == safe_folder(other)) == (one == other)


def test_long_names_stay_apart() -> None:
    long = "ä" * 150
    first, second = safe_folder(long + "1"), safe_folder(long + "2")
    assert first != second and max(len(first.encode()), len(second.encode())) <= LONGEST
    assert first.startswith("ää")


def test_copies_never_overwrite(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    for folder, content in (("a", b"one"), ("b", b"two")):
        (tmp_path / folder / "x.jpg").write_bytes(content)
    output = tmp_path / "sorted"
    first = copy_into(output, tmp_path / "a" / "x.jpg", "cat")
    second = copy_into(output, tmp_path / "b" / "x.jpg", "cat")
    again = copy_into(output, tmp_path / "a" / "x.jpg", "cat")
    other = copy_into(output, tmp_path / "a" / "x.jpg", None)
    assert (first, second, again) == (output / "cat/x.jpg", output / "cat/x (2).jpg", first)
    assert other == output / "unknown/x.jpg"
    assert (first.read_bytes(), second.read_bytes(), other.read_bytes()) == (b"one", b"two", b"one")
    assert (tmp_path / "a" / "x.jpg").read_bytes() == b"one"  # copied, not moved
    assert first.stat().st_mtime == pytest.approx((tmp_path / "a" / "x.jpg").stat().st_mtime, abs=1)


def test_a_link_in_the_way_is_not_written_through(tmp_path: Path) -> None:
    """Somebody put a link where the copy would go: what it points to stays as it is."""
    victim, photo = tmp_path / "victim.txt", tmp_path / "x.jpg"
    photo.write_bytes(b"photo")
    (tmp_path / "sorted/cat").mkdir(parents=True)
    (tmp_path / "sorted/cat/x.jpg").symlink_to(victim)
    assert copy_into(tmp_path / "sorted", photo, "cat").name == "x (2).jpg"
    assert not victim.exists()


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "x.jpg").write_bytes(b"photo")
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(ClassgrowError, match=r"could not be copied.*`sort_into`"):
        copy_into(tmp_path / "file", tmp_path / "x.jpg", "cat")
    with pytest.raises(ClassgrowError, match="could not be copied"):
        copy_into(tmp_path / "sorted", tmp_path / "gone.jpg", "cat")
    assert list((tmp_path / "sorted/cat").iterdir()) == []
