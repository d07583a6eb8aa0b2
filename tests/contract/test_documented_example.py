"""docs/adding_a_method.md: the code on the page runs as printed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from classgrow import installed
from classgrow.learner import Learner
from classgrow.methods import catalogue

PAGE = (Path(__file__).parents[2] / "docs" / "adding_a_method.md").read_text(encoding="utf-8")


def test_it_takes_about_forty_lines() -> None:
    first = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]
    assert len(first.splitlines()) <= 45


def test_its_formula_is_the_one_on_the_page(documented: dict[str, Any]) -> None:
    assert f"`{documented['steady']().formula}`" in PAGE


def test_the_learner_on_the_page_learns_saves_and_loads(
    documented: dict[str, Any],
    unseen_images: Callable[[int], np.ndarray],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    names = {**documented, "images": unseen_images(2), "labels": [0] * 5 + [1] * 5}
    exec(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[1], names)
    assert isinstance(names["learner"], Learner) and names["learner"].classes == [0, 1]


def test_the_entry_point_on_the_page_registers_it(documented: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalogue asks for the group the page names; a point of that name gives the method to `Learner("steady")`."""
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    groups = tomllib.loads(text)["project"]["entry-points"]

    class Point:
        def __init__(self, name: str) -> None:
            self.name = name

        def load(self) -> Any:
            return documented[self.name]

    monkeypatch.setattr(installed, "entry_points", lambda group: [Point(name) for name in groups.get(group, {})])
    installed.installed_points.cache_clear()
    try:
        assert Learner("steady").method.formula == documented["steady"]().formula
        assert "steady" in catalogue.known_methods() and "steady" not in catalogue.METHODS
    finally:
        installed.installed_points.cache_clear()
