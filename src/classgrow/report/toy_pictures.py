"""The toys and drawings on the report's page, from the numbers that `classgrow toy` left beside the runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from classgrow.disk import read_regular
from classgrow.report.drawings import graph_figure, overview_figure
from classgrow.report.reduced import number
from classgrow.report.toys import collapse_figure, mnist_figure, save, simulation_figure
from classgrow.specs.paper import ITEMS, TOYS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = "toy"
"""Below the folder of runs."""
Content = Any
"""What a file says: each toy draws its own kind (`records.toys`), and a file that anyone may have written is tried."""


@dataclass(frozen=True)
class Picture:
    """A figure that needs no runs: files `name`.svg and .png, `size` pixels large, as wide as so many `columns`."""

    name: str
    title: str
    words: str
    size: tuple[int, int]
    caption: tuple[str, ...] = ()
    columns: int = 4


@dataclass(frozen=True)
class Toy:
    """What `classgrow toy` of this name leaves (`file`), and the figures drawn from it, by their file names."""

    file: str
    figures: Mapping[str, Callable[[Content], Figure]]
    words: Callable[[Content], str]


TOY_FIGURES: dict[str, Toy] = {
    "drawings": Toy(
        "graph.json",
        {"figure1": lambda _: overview_figure(), "figure2": graph_figure},
        lambda content: (
            f"Figure 2 is computed from a small {content['method']} model of digits; figure 1 is a drawing."
        ),
    ),
    "mnist": Toy(
        "mnist.json",
        {"figure3": mnist_figure, "figure3_unit": lambda content: mnist_figure(content, "unit")},
        lambda content: (
            f"{content['epochs']} epochs on {content['training_images']:,} images, seed {content['seed']}; "
            f"t-SNE of {len(content['labels']):,} test images."
        ),
    ),
    "simulation": Toy(
        "simulation.json",
        {"figureA1": simulation_figure, "simulation_collapse": collapse_figure},
        lambda content: f"{content['cases'][0]['seeds']} starts of {content['iterations']:,} steps each.",
    ),
}
TITLES = {
    "figure3_unit": "Figure 3 with features of unit length",
    "simulation_collapse": "Figure A1 in numbers: how often two classes fall together",
}


def write_toys(runs: Path, figures: Path) -> tuple[list[Picture], list[str]]:
    """Draws what lies below `runs` into the folder `figures`: the pictures, and a sentence for each broken file."""
    pictures, problems = [], []
    for name, toy in TOY_FIGURES.items():
        path = runs / FOLDER / toy.file
        if not path.is_file():
            continue
        try:
            content = json.loads(read_regular(path, 2**28))
            drawn = [(stem, draw(content), toy.words(content)) for stem, draw in toy.figures.items()]
        except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
            problems.append(f"{path} cannot be read: draw it again (classgrow toy {name}, `output` = {path.parent}).")
            continue
        for stem, figure, words in drawn:
            save(figure, figures / stem)
            width, height = figure.get_size_inches()
            pictures.append(Picture(stem, _title(stem), words, (round(100 * width), round(100 * height))))
    return pictures, problems


def _title(stem: str) -> str:
    return TITLES.get(stem) or f"Figure {number(stem)}. {ITEMS[stem].title}"


def not_drawn(pictures: Iterable[Picture]) -> list[tuple[str, list[str]]]:
    """The commands that would draw what is missing (beside runs in the usual place), each with the figures it gives."""
    there = {picture.name for picture in pictures}
    missing: dict[str, list[str]] = {}
    for figure, toy in TOYS.items():
        if figure not in there:
            missing.setdefault(f"classgrow toy {toy}", []).append(figure)
    return list(missing.items())
