"""Learn classes from folders of photos, two at a time, and ask what a new photo shows.

    python examples/own_photos.py

Here the "photos" are drawn, so that the script runs anywhere; with your own, one folder per class is all it takes.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

from classgrow import Learner

COLOURS = {"apple": (200, 30, 40), "lime": (90, 190, 60), "plum": (110, 50, 140), "lemon": (240, 220, 70)}


def draw_photos(folder: Path, count: int, seed: int) -> None:
    """A folder for each fruit, with photos of a coloured disc somewhere on a noisy background."""
    draws = np.random.default_rng(seed)
    rows, columns = np.mgrid[:16, :16]
    for name, colour in COLOURS.items():
        (folder / name).mkdir(parents=True)
        for number in range(count):
            photo = draws.integers(90, 160, (16, 16, 3)).astype(np.uint8)
            row, column, radius = draws.integers(5, 11), draws.integers(5, 11), draws.integers(3, 6)
            photo[(rows - row) ** 2 + (columns - column) ** 2 < radius**2] = colour
            Image.fromarray(photo).save(folder / name / f"{number}.png")


def photos_of(folder: Path, *names: str) -> tuple[list[Path], list[str]]:
    """Paths and class names."""
    paths = [path for name in names for path in sorted((folder / name).glob("*.png"))]
    return paths, [path.parent.name for path in paths]


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        train, test = Path(home) / "train", Path(home) / "test"
        draw_photos(train, 40, seed=1)
        draw_photos(test, 5, seed=2)

        learner = Learner("fgp", memory=40, epochs=10, seed=1)
        learner.learn(*photos_of(train, "apple", "lime"))
        learner.learn(*photos_of(train, "plum", "lemon"))  # apples and limes: only the 40 exemplars are left

        print("knows:", ", ".join(str(name) for name in learner.classes))
        for name in COLOURS:
            print(f"{name} looks like: {learner.predict([test / name / '0.png'])[0]}")
        print(f"accuracy: {learner.evaluate(*photos_of(test, *COLOURS)).accuracy:.0%}")


if __name__ == "__main__":
    main()
