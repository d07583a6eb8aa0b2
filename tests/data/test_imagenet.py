"""ImageNet-100 by the published rule, and mini-ImageNet."""

from __future__ import annotations

import csv
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from classgrow.data.catalogue import DATASETS, load
from classgrow.data.imagenet import class_names, imagenet_names, load_imagenet100, load_mini_imagenet, published_subset
from classgrow.errors import ClassgrowError
from classgrow.specs.training import inputs_of

MakeFolder = Callable[..., Path]
EXTRA = "n01440764"  # tench: one of the 1,000, not of the 100


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
    assert inputs_of(DATASETS["imagenet100"], dataset.train.shape).size == 224


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
    inputs = inputs_of(DATASETS["mini-imagenet"], dataset.train.shape)
    assert (inputs.size, inputs.crop, inputs.mean[0]) == (84, "resized", 0.485)


def test_mini_imagenet_has_100_classes(make_folder: MakeFolder) -> None:
    with pytest.raises(ClassgrowError, match=r"has 100 classes and .* holds 3"):
        load_mini_imagenet(make_folder(("a", "b", "c")))


@pytest.mark.parametrize("name", ["imagenet100", "mini-imagenet", "folder"])
def test_without_a_folder_they_ask_for_one(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CLASSGROW_DATA", raising=False)
    with pytest.raises(ClassgrowError, match="`data_dir`"):
        load(name, None)
    with pytest.raises(ClassgrowError, match="does not hold"):
        load(name, tmp_path)
