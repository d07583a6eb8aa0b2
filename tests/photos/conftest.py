"""Photos that are easy to tell apart: each class has a square of its own colour on a noisy ground."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import classgrow
from classgrow.photos.model import PhotoModel
from classgrow.progress import Silent

COLOURS = {
    "red": (220, 40, 40),
    "green": (40, 220, 40),
    "blue": (40, 40, 220),
    "white": (225, 225, 225),
    "yellow": (220, 220, 40),
}
Paint = Callable[..., Path]


def picture(colour: tuple[int, int, int], seed: int, size: tuple[int, int] = (24, 30)) -> Image.Image:
    draws = np.random.default_rng([seed, *colour])
    pixels = draws.integers(0, 70, (*size, 3))
    top, left = draws.integers(2, 8, 2)
    pixels[top : top + 12, left : left + 14] = np.array(colour) + draws.integers(-20, 20, 3)
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


@pytest.fixture(scope="session")
def paint() -> Paint:
    """`paint(folder, {"red": 5, "blue": 3}, seed=0)`: a folder with a folder of PNG files for each class."""

    def make(folder: Path, counts: Mapping[str, int], seed: int = 0) -> Path:
        for name, count in counts.items():
            (folder / name).mkdir(parents=True, exist_ok=True)
            for number in range(count):
                colour = COLOURS.get(name, tuple(np.random.default_rng(list(name.encode())).integers(30, 230, 3)))
                picture(colour, 1000 * seed + number).save(folder / name / f"{seed}-{number}.png")
        return folder

    return make


@pytest.fixture(scope="session")
def new_model() -> Callable[..., PhotoModel]:
    """A model on a tiny network that is not trained: its features of chance tell colours apart."""

    def make(folder: Path, **wishes: object) -> PhotoModel:
        settings = {"preset": "fast", "network": "small", "progress": Silent(), **wishes}
        return classgrow.create(folder, **settings)  # type: ignore[arg-type] # of several types

    return make
