"""Whatever a person calls photos: taken in at one size, and every file that is passed over named with its reason."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from classgrow.data.decode import square_pixels
from classgrow.errors import ClassgrowError
from classgrow.photos.intake import Wanted, take_in, take_unlabelled
from classgrow.photos.names import UnusableNameError, class_name
from classgrow.photos.sources import Skipped

SMALL = Wanted(8)


def save(path: Path, colour: tuple[int, int, int] = (200, 10, 10), size: tuple[int, int] = (9, 7)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path)
    return path


def png(colour: tuple[int, int, int] = (1, 2, 3)) -> bytes:
    content = io.BytesIO()
    Image.new("RGB", (5, 5), colour).save(content, "PNG")
    return content.getvalue()


def test_folders_are_classes_at_any_depth_and_the_rest_is_named(tmp_path: Path) -> None:
    for name in ("cat/a.png", "cat/deep/er/b.jpg", "house cat/c.webp", "🐈/d.bmp", "Cat/e.gif", "x.tiff/f.tiff"):
        save(tmp_path / name)
    save(tmp_path / ".hidden" / "g.png")
    save(tmp_path / "cat" / ".thumb.png")
    save(tmp_path / "top.png")
    (tmp_path / "empty").mkdir()
    (tmp_path / "cat" / ".DS_Store").write_bytes(b"x")
    (tmp_path / "cat" / "note.txt").write_text("x")
    (tmp_path / "cat" / "text.jpg").write_text("not an image")
    (tmp_path / "cat" / "nothing.jpg").write_bytes(b"")
    (tmp_path / "cat" / "torn.png").write_bytes((tmp_path / "cat" / "a.png").read_bytes()[:40])
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "x.jpg").write_text("no")
    taken = take_in(tmp_path, None, SMALL)
    assert taken.counts == {"Cat": 1, "cat": 2, "house cat": 1, "x.tiff": 1, "🐈": 1}
    assert taken.pixels.shape == (6, 8, 8, 3)
    reasons = {one.file: one.reason for one in taken.skipped}
    torn = reasons.pop("cat/torn.png")
    assert torn
    assert reasons == {
        ".hidden/": "it is hidden: rename the folder without the dot in front",
        "cat/.thumb.png": "hidden file",
        "top.png": "it lies outside the class folders",
        "empty/": "no photos in it",
        "cat/note.txt": "not an image file by its name",
        "cat/text.jpg": "not an image",
        "cat/nothing.jpg": "empty file",
        "broken/x.jpg": "not an image",
        "broken/": "none of its photos can be used",
    }
    assert taken.notes == ("The classes 'Cat' and 'cat' differ in large and small letters only: they are kept apart.",)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes and devices as files are Unix's")
def test_pipes_devices_and_loops_of_links_are_not_waited_for(tmp_path: Path) -> None:
    save(tmp_path / "cat" / "a.png")
    os.mkfifo(tmp_path / "cat" / "pipe.jpg")
    (tmp_path / "cat" / "zero.jpg").symlink_to("/dev/zero")
    (tmp_path / "cat" / "gone.jpg").symlink_to("/nowhere/at/all.jpg")
    (tmp_path / "cat" / "loop").symlink_to(tmp_path)
    taken = take_in(tmp_path, None, SMALL)
    assert taken.sources == ("cat/a.png",)
    assert {one.file: one.reason for one in taken.skipped} == {
        "cat/pipe.jpg": "not a regular file",
        "cat/zero.jpg": "not a regular file",
        "cat/gone.jpg": "there is no such file",
    }


def test_a_folder_whose_name_is_not_utf_8_is_named(tmp_path: Path) -> None:
    save(tmp_path / "cat" / "a.png")
    try:
        strange = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
        save(strange / "b.png")
    except (OSError, UnicodeError):
        pytest.skip("this disk has no names that are not UTF-8")
    taken = take_in(tmp_path, None, SMALL)
    assert taken.counts == {"cat": 1}
    assert taken.skipped == (Skipped("�/", "its name is not UTF-8: rename the folder"),)


@pytest.mark.parametrize(
    ("given", "name"), [("cat", "cat"), (" house  cat ", "house  cat"), ("e\u0301", "\u00e9"), ("a/b", "a/b")]
)
def test_names_are_made_comparable(given: str, name: str) -> None:
    assert class_name(given) == name


@pytest.mark.parametrize("given", ["", "  ", ".git", "a\nb", "a\x1b[31m", "x" * 201, "\udcff"])
def test_names_that_cannot_be_a_class(given: str) -> None:
    with pytest.raises(UnusableNameError):
        class_name(given)


def test_strict_refuses_and_names_what_it_found(tmp_path: Path) -> None:
    save(tmp_path / "cat" / "a.png")
    (tmp_path / "cat" / "text.jpg").write_text("not an image")
    with pytest.raises(ClassgrowError, match=r"cat/text\.jpg: not an image\. .*`strict`"):
        take_in(tmp_path, None, Wanted(8, strict=True))


def test_no_photo_at_all_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cat").mkdir()
    with pytest.raises(ClassgrowError, match=r"There is no photo to learn from .*cat/: no photos in it"):
        take_in(tmp_path, None, SMALL)
    with pytest.raises(ClassgrowError, match="There is no folder"):
        take_in(tmp_path / "gone", None, SMALL)
    with pytest.raises(ClassgrowError, match="is not a folder of photos"):
        take_in(save(tmp_path / "one.png"), None, SMALL)


def test_an_archive_is_read_in_memory_and_no_path_in_it_leads_anywhere(tmp_path: Path) -> None:
    path = tmp_path / "photos.zip"
    members = ("photos/cat/a.png", "photos\\dog\\b.png", "/photos/dog/c.png", "photos/../../evil/d.png", "photos/e.png")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in members:
            archive.writestr(name, png())
        archive.writestr("photos/dog/text.txt", "x")
        archive.writestr("__MACOSX/photos/cat/._a.png", "x")
    before = sorted(tmp_path.rglob("*"))
    taken = take_in(path, None, SMALL)
    assert sorted(tmp_path.rglob("*")) == before
    assert ("photos/../../evil/d.png", "its path leads out of the archive") in [
        (one.file, one.reason) for one in taken.skipped
    ]
    assert taken.counts == {"cat": 1, "dog": 2}


def test_a_tar_is_read_from_front_to_back(tmp_path: Path) -> None:
    for name in ("cat/a.png", "dog/b.png"):
        save(tmp_path / "in" / name)
    with tarfile.open(tmp_path / "set.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "in" / "dog", "dog")
        archive.add(tmp_path / "in" / "cat", "cat")
        link = tarfile.TarInfo("cat/link.png")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    taken = take_in(tmp_path / "set.tar.gz", None, SMALL)
    assert (taken.names, taken.sources) == (("dog", "cat"), ("dog/b.png", "cat/a.png"))
    assert taken.skipped == (Skipped("cat/link.png", "not a regular file"),)
    (tmp_path / "no.zip").write_bytes(b"PK not really")
    with pytest.raises(ClassgrowError, match="cannot be read as an archive"):
        take_in(tmp_path / "no.zip", None, SMALL)


def test_lists_arrays_generators_and_columns_give_the_same(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    array = np.full((2, 8, 8, 3), 40, np.uint8)
    files = [save(tmp_path / f"{k}.png", (40, 40, 40), (8, 8)) for k in range(2)]
    names = ["a", "b"]
    forms = (
        files,
        [str(file) for file in files],
        (file for file in files),
        pandas.Series([str(file) for file in files]),
        [Image.open(file) for file in files],
        array,
        list(array),
        (Image.fromarray(one) for one in array),
        [array[0], files[1]],
    )
    for form in forms:
        taken = take_in(form, pandas.Series(names), SMALL)
        assert taken.names == ("a", "b") and taken.pixels.unique().tolist() == [40]


def test_a_list_of_folders_names_its_classes(tmp_path: Path) -> None:
    save(tmp_path / "one" / "cat" / "a.png")
    save(tmp_path / "two" / "dog" / "b.png")
    folders = [tmp_path / "one" / "cat", tmp_path / "two" / "dog"]
    assert take_in(folders, None, SMALL).counts == {"cat": 1, "dog": 1}
    assert take_in(folders, ["x", "x"], SMALL).counts == {"x": 2}
    with pytest.raises(ClassgrowError, match="need `labels`"):
        take_in([tmp_path / "one" / "cat" / "a.png"], None, SMALL)
    with pytest.raises(ClassgrowError, match="2 images came with 1 labels"):
        take_in(folders, ["x"], SMALL)


def test_kinds_of_pixels_come_out_as_they_look(tmp_path: Path) -> None:
    """Alpha lies on white, 16 bits keep the upper 8, CMYK red is red, EXIF turns: a left half black ends on top."""
    Image.new("RGBA", (8, 8), (0, 0, 0, 0)).save(tmp_path / "clear.png")
    Image.fromarray(np.full((8, 8), 256 * 77, np.uint16)).save(tmp_path / "deep.png")
    Image.new("CMYK", (8, 8), (0, 255, 255, 0)).save(tmp_path / "ink.tiff")
    halves = Image.new("RGB", (8, 8), "white")
    halves.paste((0, 0, 0), (0, 0, 4, 8))
    exif = Image.Exif()
    exif[0x0112] = 6
    halves.save(tmp_path / "turned.png", exif=exif)
    files = [tmp_path / name for name in ("clear.png", "deep.png", "ink.tiff", "turned.png")]
    clear, deep, ink, turned = take_unlabelled(files, SMALL).pixels
    assert clear.unique().tolist() == [255] and deep.unique().tolist() == [77]
    assert ink[0, 0].tolist() == [255, 0, 0]
    assert turned[:4].unique().tolist() == [0] and turned[4:].unique().tolist() == [255]


def test_a_grey_model_gets_greys(tmp_path: Path) -> None:
    """The luma of pure red is 0.299 · 255 = 76."""
    taken = take_unlabelled(save(tmp_path / "red.png", (255, 0, 0)), Wanted(4, channels=1))
    assert taken.pixels.shape == (1, 4, 4, 1) and taken.pixels.unique().tolist() == [76]


@pytest.mark.parametrize("form", ["JPEG", "PNG"])
def test_ten_thousand_pixels_square_are_fine(form: str) -> None:
    content = io.BytesIO()
    Image.new("L", (10_000, 10_000), 90).save(content, form)
    assert np.unique(square_pixels(content.getvalue(), 16)).tolist() == [90]


def test_a_line_of_pixels_does_not_blow_up() -> None:
    """The middle of 9,000 x 1 pixels is one of them, not 2 million."""
    line = np.zeros((1, 9_001, 3), np.uint8)
    line[0, 4_500] = 250
    content = io.BytesIO()
    Image.fromarray(line).save(content, "PNG")
    assert np.unique(square_pixels(content.getvalue(), 16)).tolist() == [250]


def test_many_pixels_lie_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("classgrow.photos.intake.IN_MEMORY", 100)
    for number in range(3):
        save(tmp_path / "cat" / f"{number}.png", (number, 0, 0))
    taken = take_in(tmp_path, None, SMALL)
    assert taken.pixels[:, 0, 0, 0].tolist() == [0, 1, 2] and isinstance(taken.pixels.numpy(), np.ndarray)


def test_the_digest_tells_photos_and_classes_apart(tmp_path: Path) -> None:
    make: Callable[[str], str] = lambda name: take_in([save(tmp_path / "a.png")], [name], SMALL).digest  # noqa: E731
    assert make("x") == make("x") != make("y")
