"""A learner over images on disk: what is kept, and that it can be cropped again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from classgrow.data.catalogue import DATASETS
from classgrow.data.folder import load_folder
from classgrow.data.scenario import Scenario
from classgrow.engine.runtime import Execution
from classgrow.learner import Learner
from classgrow.specs.training import inputs_of


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four classes of 300 x 260 pixels in one colour each, three images to learn from and one to test on."""
    monkeypatch.setenv("CLASSGROW_CACHE", str(tmp_path / "cache"))
    draw = np.random.default_rng(0)
    for label, colour in enumerate(((200, 30, 30), (30, 200, 30), (30, 30, 200), (200, 200, 30))):
        for number in range(4):
            path = tmp_path / "data" / ("val" if number == 3 else "train") / f"class{label}" / f"{number}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            pixels = np.clip(np.array(colour) + draw.normal(0, 20, (260, 300, 3)), 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(path)
    return tmp_path / "data"


@pytest.mark.parametrize("method", ["fgp", "icarl"])
def test_two_phases_over_stored_images(method: str, folder: Path) -> None:
    """Exemplars are the 256-pixel squares; training crops from them and from the files alike (to 32 pixels here)."""
    dataset = load_folder(folder)
    assert dataset.train.shape == (256, 256, 3)
    inputs = inputs_of(DATASETS["folder"], dataset.train.shape)
    assert (inputs.size, inputs.crop) == (224, "resized")
    scenario = Scenario((0, 1, 2, 3), (2, 2))
    learner = Learner(
        method,
        memory=8,
        network="small",
        inputs=replace(inputs, size=32),
        epochs=2,
        execution=Execution(threads=1),
        total_classes=4,
    )
    for phase in (1, 2):
        learner.learn_phase(scenario.train(dataset, phase))
    memory = learner.state.memory
    assert memory.images is not None and memory.images.shape == (8, 256, 256, 3)
    assert torch.bincount(memory.labels).tolist() == [2, 2, 2, 2]
    originals = dataset.train.read(torch.arange(12))
    assert all(any(torch.equal(kept, image) for image in originals) for kept in memory.images)
    predicted = learner.predictions(scenario.test(dataset, 2))
    assert {rule: found.shape for rule, found in predicted.items()}["nearest"] == (4,)
