"""Photos that a model keeps already are not learned twice."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

from classgrow.errors import ClassgrowError
from classgrow.photos.exemplars import Exemplar, photo_digest
from classgrow.photos.intake import Intake
from classgrow.photos.repeated import relabelled, without_repeated
from classgrow.photos.sources import Skipped

PIXELS = torch.arange(3, dtype=torch.uint8).view(3, 1, 1, 1).expand(3, 2, 2, 3).contiguous()


def kept(pixels: torch.Tensor, label: str) -> Exemplar:
    return Exemplar(f"{photo_digest(pixels)}.png", label, "", False)


def test_of_three_photos_one_is_new_one_known_and_one_was_called_otherwise() -> None:
    intake = Intake(PIXELS, ("cat", "cat", "dog"), ("cat/0", "cat/1", "dog/2"), notes=("first",))
    found = without_repeated(intake, [kept(PIXELS[0], "cat"), kept(PIXELS[2], "fox")])
    assert found.names == ("cat", "dog") and found.sources == ("cat/1", "dog/2")
    assert found.pixels[:, 0, 0, 0].tolist() == [1, 2]
    assert found.skipped == (Skipped("cat/0", "learned before"),)
    assert found.notes == ("first", "Learned before under another class: dog/2 (kept as fox).")
    assert without_repeated(intake, []) is intake


def test_many_are_counted() -> None:
    said = relabelled([(f"{place}.jpg", ["cat"]) for place in range(5)])
    assert said == [
        "Learned before under another class: 0.jpg (kept as cat); 1.jpg (kept as cat); 2.jpg (kept as cat) and 2 more."
    ]


def test_a_folder_that_grew_is_learned_again(tmp_path: Path, paint, new_model) -> None:  # type: ignore[no-untyped-def]
    """The same folder with a class more: the model is that of the old photos and the new ones, each once."""
    photos = paint(tmp_path / "photos", {"red": 6, "green": 6})
    model, apart = new_model(tmp_path / "model"), new_model(tmp_path / "apart")
    for one in (model, apart):
        one.learn(photos)
    with pytest.raises(ClassgrowError, match="Every photo here was learned before"):
        model.learn(photos)
    assert [version.number for version in model.history] == [1]
    shutil.copytree(paint(tmp_path / "new", {"blue": 6}), photos, dirs_exist_ok=True)
    learned = model.learn(photos)
    apart.learn(tmp_path / "new")
    assert (learned.new, learned.known, len(learned.skipped)) == ({"blue": 6}, {}, 12)
    assert model.history[-1].photos == {"green": 6, "red": 6, "blue": 6}
    for name, value in apart.learner.state.fitted["discriminant"].items():
        assert torch.equal(model.learner.state.fitted["discriminant"][name], value), name
