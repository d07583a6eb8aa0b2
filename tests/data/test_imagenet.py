"""ImageNet-100 by the published rule, from every layout its validation images come in; mini-ImageNet; any folder."""

from __future__ import annotations

import csv
import os
import shutil
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from classgrow.data.catalogue import load
from classgrow.data.folder import load_folder
from classgrow.data.imagenet import class_names, imagenet_names, load_imagenet100, load_mini_imagenet, published_subset
from classgrow.data.report import inspect
from classgrow.data.validation_list import read_list
from classgrow.errors import ClassgrowError
from classgrow.recipes import inputs_for

MakeFolder = Callable[..., Path]
EXTRA = "n01440764"  # tench: one of the 1,000, not of the 100


@pytest.fixture
def make_folder(tmp_path: Path, picture: Callable[..., Image.Image], jpeg: Callable[..., bytes]) -> MakeFolder:
    """A folder with one train and one val image per class; the same file everywhere, to be quick."""
    content = jpeg(picture(1))

    def make(classes: tuple[str, ...], name: str = "data", flat: bool = False) -> Path:
        for split in ("train", "val"):
            for number, wnid in enumerate(classes):
                folder = tmp_path / name / split
                folder = folder if flat and split == "val" else folder / wnid
                folder.mkdir(parents=True, exist_ok=True)
                (folder / f"ILSVRC2012_{split}_{number:08}.JPEG").write_bytes(content)
        return tmp_path / name

    return make


# --- the subset ------------------------------------------------------------------------------------------------------


def test_the_rule_gives_the_published_100() -> None:
    text = files("classgrow.specs").joinpath("data/imagenet100_wnids.csv").read_text(encoding="utf-8")
    published = list(csv.DictReader(text.splitlines()))
    assert [int(row["label"]) for row in published] == list(range(100))
    assert published_subset() == tuple(row["wnid"] for row in published)
    assert list(class_names(published_subset()).values()) == [row["name"] for row in published]


def test_the_1000_names_are_sorted_and_unique() -> None:
    wnids = list(imagenet_names())
    assert len(wnids) == 1000 and wnids == sorted(set(wnids))
    assert imagenet_names()[EXTRA] == "tench" and EXTRA not in published_subset()


def test_two_cranes_keep_their_wnids() -> None:
    cranes = [wnid for wnid, name in imagenet_names().items() if name == "crane"]
    assert cranes == ["n02012849", "n03126707"]
    assert class_names(cranes) == {wnid: f"crane ({wnid})" for wnid in cranes}
    assert class_names([EXTRA, "n99999999"]) == {EXTRA: "tench", "n99999999": "n99999999"}


# --- loading ---------------------------------------------------------------------------------------------------------


def test_the_100_are_chosen_from_more(make_folder: MakeFolder) -> None:
    root = make_folder((EXTRA, *reversed(published_subset())))
    dataset = load("imagenet100", root)
    assert dataset.name == "imagenet100"
    assert dataset.train.shape == (256, 256, 3)
    assert (len(dataset.train), len(dataset.test)) == (100, 100)
    assert [(label.id, label.name) for label in dataset.classes[:2]] == [(0, "cock"), (1, "goldfinch")]
    assert dataset.train.labels.tolist() == list(range(100))
    assert inputs_for("imagenet100", dataset.train.shape).size == 224


def test_a_missing_class_is_named(make_folder: MakeFolder) -> None:
    root = make_folder(published_subset()[:-2])
    with pytest.raises(ClassgrowError, match=rf"lacks 2 of the 100 .* train \({published_subset()[-2]}, "):
        load_imagenet100(root)


def test_mini_imagenet_is_never_taken_for_imagenet100(data_dir: Path) -> None:
    if not (data_dir / "mini-imagenet").is_dir():
        pytest.skip("needs mini-imagenet in CLASSGROW_DATA")
    with pytest.raises(ClassgrowError, match=r"lacks \d+ of the 100 classes of ImageNet-100.*mini-imagenet"):
        load_imagenet100(data_dir / "mini-imagenet")


def test_the_real_mini_imagenet(data_dir: Path) -> None:
    if not (data_dir / "mini-imagenet").is_dir():
        pytest.skip("needs mini-imagenet in CLASSGROW_DATA")
    dataset = load("mini-imagenet", data_dir)
    assert dataset.name == "mini-imagenet"
    assert dataset.train.counts().tolist() == [10] * 100 and dataset.test.counts().tolist() == [4] * 100
    assert dataset.classes[0].name == "house_finch"
    first = sorted((data_dir / "mini-imagenet" / "train" / "n01532829").iterdir())[0]
    expected = np.asarray(Image.open(first).convert("RGB"))
    assert expected.shape == (84, 84, 3)
    assert np.array_equal(dataset.train.read(torch.tensor([0]))[0].numpy(), expected)
    inputs = inputs_for("mini-imagenet", dataset.train.shape)
    assert (inputs.size, inputs.crop, inputs.mean[0]) == (84, "resized", 0.485)


def test_mini_imagenet_has_100_classes(make_folder: MakeFolder) -> None:
    with pytest.raises(ClassgrowError, match=r"has 100 classes and .* holds 3"):
        load_mini_imagenet(make_folder(("a", "b", "c")))


@pytest.mark.parametrize("name", ["imagenet100", "mini-imagenet", "folder"])
def test_without_a_folder_they_ask_for_one(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CLASSGROW_DATA", raising=False)
    with pytest.raises(ClassgrowError, match="--data"):
        load(name, None)
    with pytest.raises(ClassgrowError, match="does not hold"):
        load(name, tmp_path)


# --- flat validation folders -----------------------------------------------------------------------------------------


def test_a_flat_folder_with_kaggles_list(make_folder: MakeFolder) -> None:
    """The list is shuffled against the files and names a class of no interest."""
    wnids = (*published_subset(), EXTRA)
    root = make_folder(wnids, flat=True)
    rows = [f"ILSVRC2012_val_{number:08},{wnid} 85 1 499 272 " for number, wnid in enumerate(wnids)]
    (root / "LOC_val_solution.csv").write_text("\n".join(["ImageId,PredictionString", *reversed(rows)]))
    dataset = load_imagenet100(root)
    assert dataset.test.labels.tolist() == list(range(100))


def test_a_flat_folder_without_a_list(make_folder: MakeFolder) -> None:
    with pytest.raises(ClassgrowError, match=r"no list of their classes: put one of LOC_val_solution.csv"):
        load_imagenet100(make_folder(published_subset(), flat=True))


STEMS = ["ILSVRC2012_val_00000001", "ILSVRC2012_val_00000002"]
ALPHABET = ["n00000010", "n00000011", "n00000012"]


@pytest.mark.parametrize(
    ("name", "content", "beside", "expected"),
    [
        ("val_labels.csv", "file,wnid\n{0}.JPEG,n00000011\n{1}.JPEG,n00000010\n", "", [1, 0]),
        ("val.txt", "{0}.JPEG 2\n{1}.JPEG 0\n", "", [2, 0]),
        ("imagenet_2012_validation_synset_labels.txt", "n00000012\nn00000011\n", "", [2, 1]),
        (
            "ILSVRC2012_validation_ground_truth.txt",
            "1\n3\n",
            "n00000012 1 kit_fox\nn00000010 2 x\nn00000011 3 y\n",
            [2, 1],
        ),
    ],
    ids=["file and wnid", "file and alphabetical number", "wnids in order", "development kit numbers"],
)
def test_lists(name: str, content: str, beside: str, expected: list[int], tmp_path: Path) -> None:
    (tmp_path / name).write_text(content.format(*STEMS))
    if beside:
        (tmp_path / "map_clsloc.txt").write_text(beside)
    found = read_list(tmp_path / name, STEMS, ALPHABET)
    assert found == {stem: ALPHABET[rank] for stem, rank in zip(STEMS, expected, strict=True)}


def test_the_development_kits_own_file(tmp_path: Path) -> None:
    """meta.mat as the kit has it: a row per synset, of which inner ones (with children) are no classes."""
    scipy_io = pytest.importorskip("scipy.io", reason="needs scipy")
    kinds = [("ILSVRC2012_ID", "i4"), ("WNID", "O"), ("num_children", "i4")]
    rows = np.array([[(1, "n00000012", 0)], [(2, "n00000010", 0)], [(3, "n00000099", 4)]], dtype=kinds)
    scipy_io.savemat(tmp_path / "meta.mat", {"synsets": rows})
    path = tmp_path / "ILSVRC2012_validation_ground_truth.txt"
    path.write_text("2\n1\n")
    assert list(read_list(path, STEMS, ALPHABET).values()) == ["n00000010", "n00000012"]
    path.write_text("2\n3\n")
    with pytest.raises(ClassgrowError, match="class number 3 is not explained"):
        read_list(path, STEMS, ALPHABET)


@pytest.mark.parametrize(
    ("content", "message"),
    [("1\n2\n", "mean nothing without meta.mat or map_clsloc"), ("1\n", "lists 1 images and there are 2")],
)
def test_numbers_alone_are_not_guessed(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "ILSVRC2012_validation_ground_truth.txt"
    path.write_text(content)
    with pytest.raises(ClassgrowError, match=message):
        read_list(path, STEMS, ALPHABET)


def test_an_unreadable_list(tmp_path: Path) -> None:
    (tmp_path / "val.txt").write_text("a.JPEG dog\n")
    with pytest.raises(ClassgrowError, match="'dog' is neither a wnid nor a number"):
        read_list(tmp_path / "val.txt", STEMS, ALPHABET)


def test_a_list_that_is_no_text_and_numbers_beyond_the_last(tmp_path: Path) -> None:
    (tmp_path / "val.txt").write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(ClassgrowError, match=r"val.txt is no text: replace or remove it"):
        read_list(tmp_path / "val.txt", STEMS, ALPHABET)
    (tmp_path / "val.txt").write_text("a.JPEG 1000\n")
    with pytest.raises(ClassgrowError, match="class number 1000 is none of 0 to"):
        read_list(tmp_path / "val.txt", STEMS, ALPHABET)


def test_a_stray_folder_beside_flat_images_sorts_nothing(make_folder: MakeFolder) -> None:
    """A notebook's folder in val/ is no class folder: the list is looked for, and its absence told."""
    root = make_folder(published_subset())
    shutil.rmtree(root / "val")
    (root / "val" / ".ipynb_checkpoints").mkdir(parents=True)
    with pytest.raises(ClassgrowError, match="there is no list of their classes"):
        inspect(root, thorough=False)


# --- any folder ------------------------------------------------------------------------------------------------------


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
    strangers = "train/dog/._cat.jpg, train/dog/Thumbs.db, train/readme.txt"
    assert f"skipped 3 files that are no images of a class: {strangers}" in said


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
    with pytest.raises(ClassgrowError, match=r"holds 3 files that have no place in it: train/dog/._cat.jpg"):
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
    assert len(report.train.strangers) == 3 and heard.advanced == 11
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
    with pytest.raises(ClassgrowError, match=r"There is no folder .*check the path after --from"):
        inspect(tmp_path / "nowhere", "folder")


def test_names_that_are_no_utf8_and_links_that_lead_back(make_folder: MakeFolder, heard: Any) -> None:
    root = make_folder(("cat", "dog"))
    image = next((root / "train" / "cat").iterdir())
    (root / "train" / "cat" / os.fsdecode(b"caf\xe9.jpg")).write_bytes(image.read_bytes())
    (root / "train" / "cat" / os.fsdecode(b"caf\xe9.txt")).write_text("not a picture")
    (root / "train" / "dog" / "again").symlink_to(root / "train" / "dog")
    (root / "train" / "dog" / "all").symlink_to(root / "train")
    assert load_folder(root, progress=heard).train.counts().tolist() == [2, 1]
    (said,) = [text for text in heard.said if "no images of a class" in text]
    assert said.encode().decode() == said and r"train/cat/caf\udce9.txt" in said
