"""How long learning takes: said by a preview, and kept within a budget also where nothing is trained."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from classgrow.errors import ClassgrowError
from classgrow.photos import learning
from classgrow.photos.budget import Pace

SECONDS_A_PHOTO = 0.5


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A computer that looks at a photo for half a second, and trains on a thousand images a second."""
    monkeypatch.setattr(learning, "looking_seconds", lambda learner, data: SECONDS_A_PHOTO)
    monkeypatch.setattr(learning, "measure", lambda learner, data, kept: Pace(0.001, 2.0 + 0.01 * kept))


@pytest.mark.usefixtures("slow")
def test_a_preview_says_how_long_it_takes(tmp_path: Path, paint, new_model) -> None:  # type: ignore[no-untyped-def]
    """Frozen: 16 photos of 0.5 s, each written in 0.02 s. Trained: 16 images, 200 epochs, then 2 s and 0.16 s."""
    photos = paint(tmp_path / "photos", {"red": 8, "green": 8})
    frozen, trained = new_model(tmp_path / "frozen"), new_model(tmp_path / "trained", preset="best")
    assert frozen.preview(photos).seconds == pytest.approx(16 * 0.52)
    assert trained.preview(photos).seconds == pytest.approx(16 * 200 * 0.001 + 2.16)
    assert trained.preview(photos, epochs=10).seconds == pytest.approx(16 * 10 * 0.001 + 2.16)
    assert trained.preview(photos, time_budget=3).seconds == pytest.approx(3, abs=0.5)
    assert not (tmp_path / "frozen").exists() and not (tmp_path / "trained").exists()


def test_a_preview_of_more_photos_changes_nothing(tmp_path: Path, paint, new_model) -> None:  # type: ignore[no-untyped-def]
    model = new_model(tmp_path / "model", preset="best")
    model.learn(paint(tmp_path / "one", {"red": 6, "green": 6}), epochs=1)
    before = {path: path.read_bytes() for path in model.folder.rglob("*") if path.is_file()}
    preview = model.preview(paint(tmp_path / "two", {"blue": 6, "red": 3}, seed=1), epochs=2)
    assert (preview.new, preview.known) == ({"blue": 6}, {"red": 3}) and preview.seconds > 0
    assert {path: path.read_bytes() for path in model.folder.rglob("*") if path.is_file()} == before


@pytest.mark.usefixtures("slow")
def test_what_cannot_be_looked_at_in_time_is_refused(tmp_path: Path, paint, new_model) -> None:  # type: ignore[no-untyped-def]
    """16 photos take 8.3 s: not within 5, and within 9."""
    photos = paint(tmp_path / "photos", {"red": 8, "green": 8})
    model = new_model(tmp_path / "model")
    with pytest.raises(ClassgrowError, match=r"This takes about \d+ s: give a `time_budget` of as much") as refused:
        model.learn(photos, time_budget="5s")
    said = re.search(r"about (\d+) s", str(refused.value))
    assert said is not None and 8 <= int(said[1]) <= 12
    assert not (tmp_path / "model").exists()
    assert model.learn(photos, time_budget=9).new == {"green": 8, "red": 8}
