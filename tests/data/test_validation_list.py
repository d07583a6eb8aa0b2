"""Flat folders of validation images, and every list that says which class each belongs to."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from classgrow.data.imagenet import load_imagenet100, published_subset
from classgrow.data.report import inspect
from classgrow.data.validation_list import read_list
from classgrow.errors import ClassgrowError

MakeFolder = Callable[..., Path]
EXTRA = "n01440764"  # tench: one of the 1,000, not of the 100


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
    with pytest.raises(ClassgrowError, match=r"val.txt is not text: replace or remove it"):
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
