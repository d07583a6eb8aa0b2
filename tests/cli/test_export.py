"""`classgrow export` as a user types it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from classgrow import create, load
from classgrow.engine.runtime import Execution
from classgrow.export import write_onnx
from classgrow.learner import Learner
from classgrow.photos.model import PhotoModel
from classgrow.progress import Silent

Patches = Callable[..., tuple[np.ndarray, np.ndarray]]


@pytest.fixture
def saved(patches: Patches, tmp_path: Path) -> Path:
    learner = Learner("fgp", memory=4, epochs=1, execution=Execution(threads=1)).learn(*patches([0, 1], per_class=4))
    learner.save(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def photo_model(tmp_path: Path) -> PhotoModel:
    """Two classes of three photos each, by a network without training."""
    for name, colour in (("red", (200, 40, 40)), ("blue", (40, 40, 200))):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for number in range(3):
            shades = tuple(value + 9 * number for value in colour)
            Image.new("RGB", (40, 36 + number), shades).save(tmp_path / "photos" / name / f"{number}.png")
    model = create(tmp_path / "model of photos", "fast", network="small", progress=Silent())
    model.learn(tmp_path / "photos")
    return model


def test_a_model_becomes_a_file(classgrow, saved: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    done = classgrow("export", saved, tmp_path / "out.onnx")
    assert (done.returncode, done.stderr) == (0, "")
    first, second = done.stdout.splitlines()
    size = (tmp_path / "out.onnx").stat().st_size
    assert first == (
        f"Written: {tmp_path / 'out.onnx'} ({size / 1e6:.1f} MB, 2 classes). It holds no photo and cannot learn."
    )
    assert second.startswith("Checked with onnxruntime ")
    assert " on 4 of its own photos and 16 generated images: the model's own labels; " in second


def test_a_folder_for_browsers_and_a_program_for_torch(classgrow, saved: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    assert classgrow("export", saved, tmp_path / "web", "--transformers").returncode == 0
    assert (tmp_path / "web" / "onnx" / "model.onnx").is_file()
    done = classgrow("export", saved, tmp_path / "out.pt2", "--torch")
    assert done.returncode == 0 and "Checked with torch " in done.stdout


def test_a_model_of_photos(classgrow, photo_model: PhotoModel, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    done = classgrow("export", photo_model.folder, tmp_path / "out.onnx")
    assert done.returncode == 0, done.stderr
    assert "2 classes" in done.stdout and " on 6 of its own photos and 16 generated images: " in done.stdout
    exported = write_onnx(load(photo_model.folder), tmp_path / "same.onnx")
    assert (exported.classes, exported.checked.photos) == (["blue", "red"], 0)
    assert (tmp_path / "same.onnx").read_bytes() == (tmp_path / "out.onnx").read_bytes()


def test_what_is_refused(classgrow, check_refused, saved: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    check_refused(classgrow("export", tmp_path, tmp_path / "out.onnx"), "is not a model (config.json is missing)")
    check_refused(classgrow("export", saved, tmp_path / "out"), "does not end in .onnx: call it out.onnx")
    check_refused(
        classgrow("export", saved, tmp_path / "out", "--torch", "--transformers"),
        "--torch and --transformers are two formats: ask for one at a time.",
    )
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
