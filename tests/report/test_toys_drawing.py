"""Drawings of the toys: the data behind the axes, and files that do not change from one drawing to the next."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from classgrow.report.drawings import WEAKEST, graph_figure, grey, mean_change, overview_figure, write_drawings
from classgrow.report.toys import (
    collapse_figure,
    covered,
    mnist_figure,
    simulation_figure,
    write_mnist,
    write_simulation,
)


def test_simulation_figure_has_the_paper_s_layout(simulation: dict[str, Any]) -> None:
    panels = simulation_figure(simulation).axes
    assert len(panels) == 4  # two rows, a column for each number of classes
    assert [panels[0].get_title(), panels[1].get_title()] == ["3 classes", "4 classes"]
    assert [panels[0].get_ylabel(), panels[2].get_ylabel()] == ["rectified cosine", "plain cosine"]
    for panel, classes in zip(panels, (3, 4, 3, 4), strict=True):
        drawn = [point for dots in panel.collections for point in np.asarray(dots.get_offsets())]
        directions = np.linspace(0, 2 * np.pi, classes, endpoint=False)
        assert np.allclose(drawn, 0.8 * np.stack([np.cos(directions), np.sin(directions)], axis=1))
        assert len(panel.lines) == classes + 1  # an embedding each, and the cross in the middle
    assert panels[0].get_xlabel() == "90° (ideal 120°)\n0% collapse"
    assert panels[3].get_xlabel() == "50° (ideal 90°)\n33% collapse"


def test_points_that_coincide_are_all_visible() -> None:
    points = np.array([[1.0, 0.0], [1.0, 0.01], [0.0, 1.0]])
    assert covered(points) == [1, 0, 0]


def test_collapse_figure_and_table(simulation: dict[str, Any], tmp_path: Path) -> None:
    rectified, plain = collapse_figure(simulation).axes
    assert np.allclose(np.asarray(plain.images[0].get_array()), 1 / 3)
    assert np.allclose(np.asarray(rectified.images[0].get_array()), 0)
    paths = write_simulation(simulation, tmp_path)
    assert all(path.stat().st_size > 0 for path in paths)
    with (tmp_path / "simulation.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8
    assert rows[2]["head"] == "cosine" and rows[2]["min_angle_mean"] == "50.0"
    assert rows[2]["all_biases_negative_share"] == "" and rows[0]["all_biases_negative_share"] == "1.0"
    first = {path: path.read_bytes() for path in paths}
    write_simulation(simulation, tmp_path)
    assert first == {path: path.read_bytes() for path in paths}


def test_mnist_figure_swaps_colour_and_grey(mnist: dict[str, Any], tmp_path: Path) -> None:
    rectified, cosine = np.arange(8.0).reshape(4, 2), -np.arange(8.0).reshape(4, 2)
    left, right = mnist_figure(mnist).axes
    for panel, (behind, front) in zip((left, right), ((cosine, rectified), (rectified, cosine)), strict=True):
        grey_dots, coloured = panel.collections
        assert np.allclose(np.asarray(grey_dots.get_offsets()), behind)
        assert np.allclose(np.asarray(coloured.get_offsets()), front)
        assert len(np.unique(coloured.get_facecolors(), axis=0)) == 2
        assert len(np.unique(grey_dots.get_facecolors(), axis=0)) == 1
    assert "between digits 80°, within 2.0°: separation 40.0; nearest mean 90.0 %" in left.get_title()
    assert len(write_mnist(mnist, tmp_path)) == 4


def test_graph_has_an_edge_for_every_sample_and_old_class(graph: dict[str, Any], tmp_path: Path) -> None:
    figure = graph_figure(graph)
    old, new = figure.axes[:2]
    frames = 2  # the two lines under X_old and X_new
    assert len(old.lines) == len(new.lines) == 4 * 2 + frames
    shades = [float(str(line.get_color())) for line in old.lines[: 4 * 2]]
    assert shades == sorted(shades, reverse=True)  # weak first, strong on top
    assert shades[-1] == 0.0 and shades[0] == pytest.approx(0.93)
    assert sum("w_" in text.get_text() for text in old.texts) == 2
    assert sum("w_" in text.get_text() for text in new.texts) == 4
    assert mean_change(graph) == pytest.approx(0.1)
    assert all(path.stat().st_size > 0 for path in write_drawings(graph, tmp_path))


def test_grey_level_is_the_strength() -> None:
    assert float(grey(1.0)) == 0.0
    assert float(grey(WEAKEST)) == pytest.approx(0.93)
    assert float(grey((1 + WEAKEST) / 2)) == pytest.approx(0.465)


def test_overview_names_the_three_steps() -> None:
    texts = [text.get_text() for text in overview_figure().axes[0].texts]
    for words in ("select exemplars", "add data of new classes", "update the model"):
        assert any(words in text for text in texts)


def test_drawings_need_no_torch() -> None:
    code = "import sys, classgrow.report.drawings, classgrow.report.toys; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "False"
