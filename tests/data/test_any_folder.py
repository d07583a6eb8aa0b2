"""Any folder of images: odd files, missing classes, what a look beforehand tells."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from classgrow.data.folder import load_folder
from classgrow.data.imagenet import published_subset
from classgrow.data.report import inspect
from classgrow.errors import ClassgrowError

MakeFolder = Callable[..., Path]


@pytest.fixture
def odd_folder(make_folder: MakeFolder, oddities: dict[str, bytes]) -> Path:
    """Two classes; the train images of the second with every oddity beside them, one in a folder of its own."""
    root = make_folder(("cat", "dog"), "pets")
    for name, content in oddities.items():
        place = root / "train" / "dog" / ("deeper" if name == "grey.jpg" else "")
        place.mkdir(exist_ok=True)
        (place / name).write_bytes(content)
    (root / "train" / "dog" / "Thumbs.db").write_bytes(b"x")
    (root / "train" / "dog" / "._cat.jpg").write_bytes(b"x")
    (root / "train" / "readme.txt").write_text("hello")
    return root


def test_odd_files_are_counted_named_and_skipped(odd_folder: Path, heard: Any) -> None:
    dataset = load_folder(odd_folder, progress=heard)
    assert dataset.name == "pets"
    assert [label.name for label in dataset.classes] == ["cat", "dog"]
    assert dataset.train.counts().tolist() == [1, 5]  # CMYK, grey, turned and PNG are used
    assert dataset.train.shape == (30, 30, 3)
    said = " ".join(heard.said)
    assert "skipped 3 files that cannot be read" in said and "train/dog/truncated.jpg (" in said
    unrecognised = "train/dog/._cat.jpg, train/dog/Thumbs.db, train/readme.txt"
    assert f"skipped 3 files that are not images of a class: {unrecognised}" in said


def test_a_link_to_nowhere_is_a_file_that_cannot_be_read(make_folder: MakeFolder, heard: Any) -> None:
    root = make_folder(("cat", "dog"), "pets")
    (root / "train" / "dog" / "gone.jpg").symlink_to(root / "nowhere.jpg")
    assert load_folder(root, progress=heard).train.counts().tolist() == [1, 1]
    assert "cannot be read" in " ".join(heard.said) and "train/dog/gone.jpg (" in " ".join(heard.said)
    report = inspect(root, "folder", progress=heard)
    assert report.complete and not report.clean
    with pytest.raises(ClassgrowError, match=r"cannot be read: train/dog/gone.jpg"):
        load_folder(root, strict=True)


def test_strict_refuses_them(odd_folder: Path) -> None:
    with pytest.raises(ClassgrowError, match=r"holds 3 files that are not images of a class: train/dog/._cat.jpg"):
        load_folder(odd_folder, strict=True)
    for name in ("train/dog/Thumbs.db", "train/dog/._cat.jpg", "train/readme.txt"):
        (odd_folder / name).unlink()
    with pytest.raises(ClassgrowError, match=r"3 files that cannot be read: train/dog/empty.jpg \(not an image\)"):
        load_folder(odd_folder, strict=True)


def test_inspect_tells_the_same_beforehand(odd_folder: Path, heard: Any) -> None:
    report = inspect(odd_folder, "folder", progress=heard)
    assert report.complete and not report.clean
    assert report.train.counts == {"cat": 1, "dog": 8} and report.test.counts == {"cat": 1, "dog": 1}
    assert [name for name, _ in report.train.broken] == [
        "train/dog/empty.jpg",
        "train/dog/text.jpg",
        "train/dog/truncated.jpg",
    ]
    assert dict(report.train.converted) == {
        "train/dog/cmyk.jpg": "CMYK",
        "train/dog/deeper/grey.jpg": "greyscale",
        "train/dog/really_png.jpg": "not a JPEG",
        "train/dog/turned.jpg": "turned upright (EXIF)",
    }
    assert len(report.train.unrecognised) == 3 and heard.advanced == 11
    text = "\n".join(report.lines())
    assert "2 classes, complete, but some files will be skipped" in text
    assert "train: 3 files cannot be read and will be skipped: train/dog/empty.jpg (not an image)" in text


def test_inspect_names_missing_classes(make_folder: MakeFolder) -> None:
    report = inspect(make_folder(published_subset()[1:]), thorough=False)
    assert not report.complete and report.train.missing == report.test.missing == published_subset()[:1]
    assert report.train.images == 99 and report.cache_bytes == 2 * 99 * 3 * 40 * 30
    assert any("1 classes have no usable image: n01514668" in line for line in report.lines())


def test_a_class_without_test_images(make_folder: MakeFolder) -> None:
    root = make_folder(("cat", "dog"))
    next((root / "val" / "dog").iterdir()).unlink()
    with pytest.raises(ClassgrowError, match=r"\(test\) has no usable image of 1 classes \(dog\)"):
        load_folder(root)


def test_a_class_only_in_the_test_images(make_folder: MakeFolder) -> None:
    root = make_folder(("cat", "dog"))
    next((root / "train" / "dog").iterdir()).unlink()
    with pytest.raises(ClassgrowError, match=r"holds the class 'dog', which the train images lack"):
        load_folder(root)


def test_a_folder_is_told_from_another_by_its_files(make_folder: MakeFolder) -> None:
    folder = make_folder(["cat", "dog"])
    first = load_folder(folder).fingerprint
    assert first and load_folder(folder).fingerprint == first
    extra = next((folder / "train" / "cat").iterdir())
    extra.with_name("another" + extra.suffix).write_bytes(extra.read_bytes())
    assert load_folder(folder).fingerprint != first


def test_a_class_of_broken_files_alone_is_not_complete(make_folder: MakeFolder) -> None:
    """What loading refuses, looking through names beforehand; a folder without any file is no class for either."""
    root = make_folder(("cat", "dog"))
    for split in ("train", "val"):
        (root / split / "owl").mkdir()
    assert inspect(root, "folder").complete and load_folder(root).train.counts().tolist() == [1, 1]
    next((root / "train" / "dog").iterdir()).write_bytes(b"broken")
    report = inspect(root, "folder")
    assert not report.complete and (report.train.missing, report.test.missing) == (("dog",), ())
    with pytest.raises(ClassgrowError, match=r"no usable image of 1 classes \(dog\)"):
        load_folder(root)


def test_folders_without_any_image(tmp_path: Path) -> None:
    for split in ("train", "val"):
        (tmp_path / split).mkdir()
    report = inspect(tmp_path, "folder")
    assert not report.complete and report.cache_bytes == 0
    assert "not complete (there is no image of any class)" in report.lines()[0]


def test_inspect_knows_that_mini_imagenet_has_100_classes(make_folder: MakeFolder) -> None:
    report = inspect(make_folder([f"n{number:08}" for number in range(99)]), "mini-imagenet", thorough=False)
    assert not report.complete and "99 classes, not complete (mini-imagenet has 100 classes)" in report.lines()[0]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ClassgrowError, match=r"There is no folder .*check `folder`"):
        inspect(tmp_path / "nowhere", "folder")


def test_names_that_are_no_utf8_and_links_that_lead_back(make_folder: MakeFolder, heard: Any) -> None:
    root = make_folder(("cat", "dog"))
    image = next((root / "train" / "cat").iterdir())
    (root / "train" / "cat" / os.fsdecode(b"caf\xe9.jpg")).write_bytes(image.read_bytes())
    (root / "train" / "cat" / os.fsdecode(b"caf\xe9.txt")).write_text("not a picture")
    (root / "train" / "dog" / "again").symlink_to(root / "train" / "dog")
    (root / "train" / "dog" / "all").symlink_to(root / "train")
    assert load_folder(root, progress=heard).train.counts().tolist() == [2, 1]
    (said,) = [text for text in heard.said if "not images of a class" in text]
    assert said.encode().decode() == said and r"train/cat/caf\udce9.txt" in said
