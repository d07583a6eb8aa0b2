"""A class that was taken back by an undo is still told of in the histories of the versions in between."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from classgrow.photos.model import PhotoModel
from classgrow.photos.presets import Wish
from classgrow.progress import Silent


def test_a_class_can_be_forgotten_after_it_was_undone_and_brought_back(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    photos = [np.clip(random.normal(level, 20, (32, 32, 3)), 0, 255).astype(np.uint8) for level in (40, 200) * 4]
    model = PhotoModel(tmp_path / "model", Wish(method="frozen", network="small"), Silent())
    model.learn(photos, ["dark", "light"] * 4)
    model.learn(photos[:3], ["blue"] * 3)
    model.rollback(1)
    model.rollback(2)
    assert model.classes == ["dark", "light", "blue"]
    forgotten = model.forget("blue")
    assert model.classes == ["dark", "light"]
    assert forgotten.removed_versions == (2, 3, 4)  # 3 does not know it, but its history tells of it
    assert model.versions == [1]
    assert b"blue" not in (tmp_path / "model" / "history.json").read_bytes()
