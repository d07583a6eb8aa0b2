"""Numbers worked by hand, and a small model measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import classgrow
from classgrow.photos.evaluation import (
    Bin,
    ClassResult,
    calibration_bins,
    calibration_error,
    confusions,
    count,
    evaluate_photos,
    first_versions,
)
from classgrow.photos.history import Version
from classgrow.photos.results import Prediction
from classgrow.progress import Silent
from tests.photos.painted import painted, small_model


def answer(name: str, probability: float, unknown: bool = False) -> Prediction:
    return Prediction("x", None if unknown else name, probability, ((name, probability),), 1.0, unknown, ())


def test_every_number_by_hand() -> None:
    """Three cats (two right, one of these called unknown), one dog taken for a cat, two birds, one of them caught."""
    truth = ["cat", "cat", "cat", "dog", "bird", "bird"]
    predictions = [
        answer("cat", 0.9),
        answer("cat", 0.5, unknown=True),
        answer("dog", 0.6),
        answer("cat", 0.8),
        answer("dog", 0.7),
        answer("cat", 0.3, unknown=True),
    ]
    found = count(predictions, truth, {"dog": 1, "cat": 2, "horse": 2})
    assert found.numbers.classes == (ClassResult("dog", 1, 1, 0, 0), ClassResult("cat", 2, 3, 2, 1))
    assert (found.numbers.accuracy, found.numbers.unknown, found.numbers.rejected) == (0.5, 0.25, 0.5)
    assert found.numbers.strangers == {"bird": 2}
    assert found.numbers.versions == {1: 0.0, 2: 2 / 3}
    assert found.numbers.confusions == (("cat", "dog", 1), ("dog", "cat", 1))
    assert (found.wrong, found.missed, found.doubted) == ((3, 2), (4,), (1,))


def test_calibration_by_hand() -> None:
    """0.05 and 0.15 are off by 0.05 and 0.85; the two at 0.95 and 1 are both right, and off by 0.025: 0.95 / 4."""
    bins = calibration_bins([0.05, 0.15, 0.95, 1.0], [False, True, True, True])
    assert bins == (Bin(1, 0.05, 0.0), Bin(1, 0.15, 1.0), Bin(2, 0.975, 1.0))
    assert calibration_error(bins) == pytest.approx((0.05 + 0.85 + 2 * 0.025) / 4)
    assert calibration_error(()) is None


def test_confusions_count_and_sort() -> None:
    pairs = [("b", "a"), ("a", "c"), ("b", "a"), ("a", "b")]
    assert confusions(pairs) == (("b", "a", 2), ("a", "b", 1), ("a", "c", 1))


def test_without_known_photos_there_is_no_accuracy() -> None:
    numbers = count([answer("cat", 0.5)], ["bird"], {"cat": 1}).numbers
    assert (numbers.accuracy, numbers.unknown, numbers.calibration, numbers.rejected) == (None, None, None, 0.0)


def test_versions_are_those_that_knew_a_class_first() -> None:
    """A class that was forgotten is not known any more."""

    def version(number: int, *classes: str) -> Version:
        return Version(number, "", "learn", "", classes, {})

    history = [version(1, "a"), version(2, "a", "b"), version(3, "a", "b", "c"), version(4, "b", "c")]
    assert first_versions(history) == {"b": 2, "c": 3}
    assert first_versions([]) == {}


def test_a_class_of_another_name_was_learned_when_it_was() -> None:
    learned = Version(1, "", "learn", "", ("a", "b"), {})
    renamed = Version(2, "", "rename", "", ("a", "c"), {})
    assert first_versions([learned, renamed]) == {"a": 1, "c": 1}
    forgotten = Version(3, "", "forget", "", ("a",), {})
    assert first_versions([learned, renamed.without("c"), forgotten]) == {"a": 1}


def test_a_model_measured(tmp_path: Path) -> None:
    model = small_model(tmp_path)
    folder = painted(tmp_path / "new", {"red": 3, "green": 3, "blue": 3, "stranger": 2}, seed=7)
    (folder / "red" / "broken.png").write_text("no")
    found = evaluate_photos(model, folder, pictures=True)
    assert {one.name: (one.version, one.photos) for one in found.classes} == {
        "red": (1, 3),
        "green": (1, 3),
        "blue": (2, 3),
    }
    assert found.accuracy == 1.0 and found.strangers == {"stranger": 2} and found.wrong == ()
    assert [one.file for one in found.skipped] == ["red/broken.png"]
    assert found.before == {}
    looked_at = [*found.missed, *found.doubted]
    assert all(one.picture.startswith(b"\xff\xd8") and one.like_picture.startswith(b"\xff\xd8") for one in looked_at)
    content = json.loads(json.dumps(found.as_json()))
    assert content["accuracy"] == 1.0 and content["versions"] == {"1": 1.0, "2": 1.0} and content["photos"] == 9


def test_the_version_before_on_the_same_photos(tmp_path: Path) -> None:
    """It took red for green and green for red, which many more photos have put right."""
    model = classgrow.create(tmp_path / "model", "fast", network="small", progress=Silent())
    photos = painted(tmp_path / "photos", {"red": 8, "green": 8})
    (photos / "red").rename(tmp_path / "aside")
    (photos / "green").rename(photos / "red")
    (tmp_path / "aside").rename(photos / "green")
    model.learn(photos)
    test = painted(tmp_path / "test", {"red": 3, "green": 3, "blue": 2}, seed=7)
    assert evaluate_photos(model, test, before=True).before == {}
    model.learn(painted(tmp_path / "second", {"red": 40, "green": 40, "blue": 8}, seed=1))
    found = evaluate_photos(model, test, before=True)
    assert found.before == {"green": 0.0, "red": 0.0}
    assert {one.name: one.accuracy for one in found.classes} == {"green": 1.0, "red": 1.0, "blue": 1.0}
