"""A class that had another name before is forgotten with that name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from classgrow.photos.forgetting import former_names
from classgrow.photos.history import Action, Version
from classgrow.photos.model import PhotoModel


def version(number: int, *classes: str, action: Action = "learn") -> Version:
    return Version(number, "", action, "", classes, dict.fromkeys(classes, 1))


def test_a_class_is_followed_through_its_names() -> None:
    history = [
        version(1, "red", "green"),
        version(2, "scarlet", "green", action="rename"),
        version(3, "crimson", "green", action="rename"),
    ]
    assert former_names(history, "crimson") == ("red", "scarlet")
    assert former_names(history, "green") == ()
    undone = [*history, version(4, "red", "green", action="rollback")]
    assert former_names(undone, "red") == ("crimson", "scarlet")
    taken = [*history, version(4, "crimson", "green", "red")]
    assert former_names(taken, "crimson") == ("scarlet",), "another class has the first name now"


def test_a_name_that_was_undone_is_forgotten_as_well(
    tmp_path: Path, paint: Callable[..., Path], new_model: Callable[..., PhotoModel]
) -> None:
    model = new_model(tmp_path / "model")
    model.learn(paint(tmp_path / "photos", {"vermilion": 3, "green": 3}))
    model.rename("vermilion", "scarlet")
    model.rollback(1)
    assert model.forget("vermilion").removed_versions == (1, 2, 3)
    kept = [path for path in (tmp_path / "model").rglob("*") if path.is_file()]
    for name in (b"vermilion", b"scarlet"):
        assert not [path.name for path in kept if name in path.read_bytes()]
