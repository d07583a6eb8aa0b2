"""Photos by the brush: each class has its own colour, so that a tiny network which learned nothing tells them apart."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from PIL import Image

import classgrow
from classgrow.photos.model import PhotoModel
from classgrow.progress import Silent

COLOURS = {"red": (220, 40, 40), "green": (40, 220, 40), "blue": (40, 40, 220), "yellow": (220, 220, 40)}


def painted(folder: Path, counts: Mapping[str, int], seed: int = 0) -> Path:
    """`folder`/<class>/<seed>-<number>.png; a class without a colour of its own is yellow."""
    for name, count in counts.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number in range(count):
            draws = np.random.default_rng([seed, number, *COLOURS.get(name, (9, 9, 9))])
            pixels = draws.integers(0, 70, (30, 30, 3))
            top, left = draws.integers(2, 8, 2)
            pixels[top : top + 14, left : left + 14] = np.array(COLOURS.get(name, COLOURS["yellow"]))
            Image.fromarray(pixels.astype(np.uint8)).save(folder / name / f"{seed}-{number}.png")
    return folder


def small_model(folder: Path) -> PhotoModel:
    """A model of red and green, then of blue, on a network that is not trained."""
    model = classgrow.create(folder / "model", "fast", network="small", progress=Silent())
    model.learn(painted(folder / "first", {"red": 8, "green": 8}))
    model.learn(painted(folder / "second", {"blue": 8}))
    return model
