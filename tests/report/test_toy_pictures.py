"""The toys in the report, from the files that `classgrow toy` leaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from classgrow.report.make import make_report
from classgrow.report.toy_pictures import not_drawn, write_toys


@pytest.fixture
def toys(simulation: Any, mnist: Any, graph: Any, tmp_path: Path) -> Path:
    """A folder of runs with all three."""
    folder = tmp_path / "runs" / "toy"
    folder.mkdir(parents=True)
    for name, content in (("simulation", simulation), ("mnist", mnist), ("graph", graph)):
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder.parent


def test_every_toy_is_drawn(toys: Path, tmp_path: Path) -> None:
    pictures, problems = write_toys(toys, tmp_path / "figures")
    assert problems == []
    assert [picture.name for picture in pictures] == [
        "figure1", "figure2", "figure3", "figure3_unit", "figureA1", "simulation_collapse",
    ]  # fmt: skip
    for picture in pictures:
        for ending in ("svg", "png"):
            assert (tmp_path / "figures" / f"{picture.name}.{ending}").stat().st_size > 0
    by_name = {picture.name: picture for picture in pictures}
    assert by_name["figure3"].words == "10 epochs on 60,000 images, seed 1; t-SNE of 4 test images."
    assert by_name["figureA1"].words == "3 starts of 100 steps each."
    assert by_name["figureA1"].title.startswith("Figure A1. Simulation in two dimensions")
    assert not_drawn(pictures) == []


def test_what_is_missing_is_named_with_its_command(toys: Path, tmp_path: Path) -> None:
    (toys / "toy" / "graph.json").unlink()
    (toys / "toy" / "mnist.json").unlink()
    pictures, problems = write_toys(toys, tmp_path / "figures")
    assert problems == []
    assert not_drawn(pictures) == [
        ("classgrow toy drawings", ["figure1", "figure2"]),
        ("classgrow toy mnist", ["figure3"]),
    ]


@pytest.mark.parametrize("content", ["{", "[]", '{"cases": []}', '{"cases": [{"eta": "fixed at 1"}]}'])
def test_a_broken_file_is_named_and_stops_nothing(toys: Path, tmp_path: Path, content: str) -> None:
    file = toys / "toy" / "simulation.json"
    file.write_text(content)
    pictures, problems = write_toys(toys, tmp_path / "figures")
    assert len(pictures) == 4
    assert problems == [f"{file} cannot be read: draw it again (classgrow toy simulation, `output` = {file.parent})."]


def test_the_page_shows_them(toys: Path, tmp_path: Path, make: Any, write: Any) -> None:
    made = make_report(write([make("fgp", "0", 0.4)], toys), tmp_path / "report")
    page = made.index.read_text()
    assert '<img src="figures/figureA1.svg"' in page and '<img src="figures/figure2.svg"' in page
    assert "Not drawn" not in page
    assert made.problems == ()


def test_the_page_says_which_commands_draw_them(tmp_path: Path, make: Any, write: Any) -> None:
    page = make_report(write([make("fgp", "0", 0.4)], tmp_path / "runs"), tmp_path / "report").index.read_text()
    assert "Not drawn: figures 1, 2; <code>classgrow toy drawings --output RUNS/toy</code> draws them." in page
    assert "Not drawn: figure A1; <code>classgrow toy simulation --output RUNS/toy</code> draws it." in page
