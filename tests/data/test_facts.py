"""What is said of each data set is true of its images, and needs no torch to be read."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from classgrow.data.catalogue import DATASETS, dataset_title, load
from classgrow.data.facts import DatasetFacts, protocol_for
from classgrow.presets import preset_for


def ours() -> list[DatasetFacts]:
    return [DATASETS[name] for name in ("digits", "cifar100", "mnist", "imagenet100", "mini-imagenet", "folder")]


@pytest.mark.parametrize("name", ["digits", "cifar100", "mnist"])
def test_the_facts_are_those_of_the_images(name: str, data_dir: Path) -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'classgrow[demo]'")
    facts, data = DATASETS[name], load(name, data_dir)
    assert (data.name, data.train.shape, data.fingerprint) == (facts.name, facts.shape, "")
    assert tuple(data.train.counts().tolist()) == facts.images_per_class
    assert len(data.test) == facts.test_images
    assert facts.image_bytes == data.train.read(torch.tensor([0])).numel()
    assert facts.statistics is not None
    pixels = data.train.read(torch.arange(len(data.train))).double() / 255
    assert pixels.mean((0, 1, 2)).tolist() == pytest.approx(facts.statistics[0], abs=0.001)
    assert pixels.std((0, 1, 2)).tolist() == pytest.approx(facts.statistics[1], abs=0.001)


def test_facts_agree_with_each_other() -> None:
    for facts in ours():
        if facts.shape is not None:
            assert facts.preset == preset_for(min(facts.shape[:2]))
            assert facts.statistics is not None and len(facts.statistics[0]) == facts.shape[2]
    assert [facts.name for facts in ours() if facts.published] == ["digits", "cifar100", "mnist", "imagenet100"]
    assert DATASETS["mnist"].stored_bytes == 70_000 * 784
    assert DATASETS["folder"].stored_bytes is None


def test_titles() -> None:
    assert [dataset_title(name) for name in ("cifar100", "folder", "my photos")] == ["CIFAR-100", "folder", "my photos"]


def test_protocols_are_the_papers_and_own_data_keep_their_proportions() -> None:
    assert DATASETS["cifar100"].protocol == DATASETS["imagenet100"].protocol
    paper = protocol_for(DATASETS["cifar100"], 100)
    assert (paper.memory, paper.first, paper.order) == (2000, 10, "0")
    for facts in (None, DATASETS["folder"]):
        own = protocol_for(facts, 25)
        assert (own.memory, own.first, own.step, own.order) == (500, 3, 3, "natural")
