"""Pictures of the toys, from the plain values they leave: figure A1 (simulation) and figure 3 (MNIST)."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from classgrow.records.toys import Mnist, Simulation, SimulationCase

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, FAINT, GREY = "#222222", "#d5d5d5", "#c9ccd1"
DIGIT_COLOURS = (
    "#0b5fa5", "#d1495b", "#2e8b57", "#e08e0b", "#7b4fa3", "#00939c", "#8c564b", "#c2559d", "#4b5563", "#98a800",
)  # fmt: skip
HEAD_NAMES = {"rectified": "rectified cosine", "cosine": "plain cosine"}
SETTING = "learnable from 10"
"""The setting of η that figure A1 draws."""


def save(figure: Figure, stem: Path) -> list[Path]:
    """`stem`.png and `stem`.svg, the same bytes for the same figure."""
    import matplotlib

    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = [stem.with_name(f"{stem.name}{ending}") for ending in (".png", ".svg")]
    with matplotlib.rc_context({"svg.hashsalt": "classgrow", "svg.fonttype": "path"}):
        figure.savefig(paths[0], dpi=160, metadata={"Software": None})
        figure.savefig(paths[1], metadata={"Date": None, "Creator": None})
    return paths


# --- simulation ------------------------------------------------------------------------------------------------------


def simulation_figure(content: Simulation, setting: str = SETTING) -> Figure:
    """Figure A1: row 1 rectified, row 2 plain, a column for each number of classes; the first seed is drawn and the
    share of all seeds that collapse is written below."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    cases = {(case["head"], case["classes"]): case for case in content["cases"] if case["eta"] == setting}
    counts = sorted({classes for _, classes in cases})
    figure = Figure(figsize=(1.9 * len(counts) + 0.6, 5.6), layout=ConstrainedLayoutEngine(w_pad=0.02, h_pad=0.04))
    grid = figure.subplots(2, len(counts), squeeze=False)
    for row, head in enumerate(HEAD_NAMES):
        for column, classes in enumerate(counts):
            axes = grid[row][column]
            draw_disc(axes, cases[head, classes])
            if row == 0:
                axes.set_title(f"{classes} classes", fontsize=11, color=INK)
        grid[row][0].set_ylabel(HEAD_NAMES[head], fontsize=12, color=INK, labelpad=8)
    seeds = next(iter(cases.values()))["seeds"]
    figure.supxlabel(
        f"η {setting}; {content['iterations']:,} steps. Dots: points f; lines: embeddings w, in the plane of the unit "
        f"vectors, first of {seeds} starts.\nBelow each: mean over the {seeds} starts of the smallest angle between "
        f"two points (ideal 360°/n), and the share in which two points fall together (below "
        f"{content['collapsed_below_degrees']:g}°).",
        fontsize=9.5,
        color="#555555",
    )
    return figure


def draw_disc(axes: Axes, case: SimulationCase) -> None:
    """One simulation in the unit disc."""
    from matplotlib.patches import Circle

    axes.add_patch(Circle((0, 0), 1, facecolor="#f7f8fa", edgecolor=FAINT, linewidth=1))
    axes.plot([0], [0], marker="+", color="#9aa0a6", markersize=5, markeredgewidth=0.8)
    points, embeddings = np.asarray(case["drawn_points"]), np.asarray(case["drawn_embeddings"])
    under_points, under_embeddings = covered(points), covered(embeddings)
    for place, (point, embedding) in enumerate(zip(points, embeddings, strict=True)):
        colour = DIGIT_COLOURS[place % len(DIGIT_COLOURS)]
        width = 1.6 + 1.5 * under_embeddings[place]
        axes.plot([0, embedding[0]], [0, embedding[1]], color=colour, linewidth=width, zorder=2, solid_capstyle="round")
        size, edge = (6.5 + 2.6 * under_points[place]) ** 2, "none" if under_points[place] else "white"
        axes.scatter(point[0], point[1], s=size, color=colour, edgecolor=edge, linewidth=0.8, zorder=3, clip_on=False)
    collapsed = case["collapsed"]
    axes.set_xlabel(
        f"{np.mean(case['min_angles']):.0f}° (ideal {360 / case['classes']:.0f}°)\n{collapsed:.0%} collapse",
        fontsize=9.5,
        color="#b3261e" if collapsed > 0.5 else INK,
    )
    axes.set_xlim(-1.12, 1.12)
    axes.set_ylim(-1.12, 1.12)
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)


def covered(points: np.ndarray, near: float = 0.04) -> list[int]:
    """How many later ones lie upon each: it is drawn that much larger, so that all can be seen."""
    return [
        int((np.linalg.norm(points[place + 1 :] - points[place], axis=1) < near).sum()) for place in range(len(points))
    ]


def collapse_figure(content: Simulation) -> Figure:
    """The share of starts that collapse, for every setting of η and number of classes, heads side by side."""
    from matplotlib.figure import Figure

    cases = content["cases"]
    settings = list(dict.fromkeys(case["eta"] for case in cases))
    counts = sorted({case["classes"] for case in cases})
    figure = Figure(figsize=(11, 0.5 * len(settings) + 2.0), layout="constrained")
    grid = figure.subplots(1, 2, sharey=True)
    for axes, (head, name) in zip(grid, HEAD_NAMES.items(), strict=True):
        shares = np.full((len(settings), len(counts)), np.nan)
        for case in cases:
            if case["head"] == head:
                shares[settings.index(case["eta"]), counts.index(case["classes"])] = case["collapsed"]
        axes.imshow(shares, cmap="Reds", vmin=0, vmax=1.15, aspect="auto")
        for (row, column), share in np.ndenumerate(shares):
            colour = "white" if share > 0.6 else INK
            axes.text(column, row, f"{share:.0%}", ha="center", va="center", fontsize=9.5, color=colour)
        axes.set_xticks(range(len(counts)), [str(count) for count in counts])
        axes.set_yticks(range(len(settings)), [f"η {setting}" for setting in settings])
        axes.set_title(name, fontsize=11, color=INK)
        axes.set_xlabel("classes", color=INK)
        axes.tick_params(length=0, colors=INK)
        for spine in axes.spines.values():
            spine.set_visible(False)
    figure.suptitle(f"Share of {cases[0]['seeds']} starts in which two classes fall together", fontsize=12, color=INK)
    return figure


def write_simulation(content: Simulation, output: Path) -> list[Path]:
    """figureA1 and simulation_collapse as PNG and SVG, and the numbers as simulation.csv."""
    output.mkdir(parents=True, exist_ok=True)
    table = output / "simulation.csv"
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerows(simulation_rows(content))
    figures = save(simulation_figure(content), output / "figureA1")
    return [*figures, *save(collapse_figure(content), output / "simulation_collapse"), table]


def simulation_rows(content: Simulation) -> list[list[object]]:
    """A header and a row for each number of classes, head and setting of η. Angles in degrees."""
    rows: list[list[object]] = [
        ["classes", "head", "eta", "seeds", "min_angle_mean", "min_angle_lowest", "min_angle_highest",
         "collapsed_share", "own_angle_largest", "all_biases_negative_share", "final_eta_mean"],
    ]  # fmt: skip
    for case in content["cases"]:
        angles = case["min_angles"]
        negative = case["negative_bias"]
        rows.append(
            [
                case["classes"],
                case["head"],
                case["eta"],
                case["seeds"],
                round(float(np.mean(angles)), 2),
                round(min(angles), 2),
                round(max(angles), 2),
                case["collapsed"],
                round(max(case["own_angles"]), 2),
                "" if negative is None else negative,
                round(float(np.mean(case["final_etas"])), 2),
            ]
        )
    return rows


# --- MNIST -----------------------------------------------------------------------------------------------------------


def mnist_figure(content: Mnist, kind: str = "raw") -> Figure:
    """Figure 3: one joint embedding drawn twice; (a) rectified in colour over plain in grey, (b) the reverse."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    labels = np.asarray(content["labels"])
    points = {head: np.asarray(content["embeddings"][kind][head]) for head in HEAD_NAMES}
    figure = Figure(figsize=(11.5, 6.1), layout="constrained")
    for place, (axes, head) in enumerate(zip(figure.subplots(1, 2), HEAD_NAMES, strict=True)):
        other = next(name for name in HEAD_NAMES if name != head)
        axes.scatter(*points[other].T, s=5, color=GREY, linewidths=0, zorder=1, rasterized=True)
        colours = [DIGIT_COLOURS[label] for label in labels]
        axes.scatter(*points[head].T, s=8, c=colours, linewidths=0, zorder=2, rasterized=True)
        name_digits(axes, points[head], labels)
        scores = content["scores"][head]
        axes.set_title(
            f"({'ab'[place]}) {HEAD_NAMES[head]} in colour, {HEAD_NAMES[other]} in grey\n"
            f"between digits {scores['mean_angle']:.0f}°, within {scores['angle_within']:.1f}°: "
            f"separation {scores['separation']:.1f}; nearest mean {100 * scores['nearest_mean_accuracy']:.1f} %",
            fontsize=10.5,
            color=INK,
        )
        axes.set_xticks([])
        axes.set_yticks([])
        for spine in axes.spines.values():
            spine.set_color(FAINT)
    handles = [
        Line2D([], [], marker="o", linestyle="", color=colour, label=str(digit))
        for digit, colour in enumerate(DIGIT_COLOURS)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=10, frameon=False, handletextpad=0.1)
    return figure


def name_digits(axes: Axes, points: np.ndarray, labels: np.ndarray) -> None:
    """Each digit where most of its points lie."""
    from matplotlib.patheffects import withStroke

    for digit in np.unique(labels):
        x, y = np.median(points[labels == digit], axis=0)
        axes.text(
            x, y, str(digit), ha="center", va="center", fontsize=13, fontweight="bold", color=INK, zorder=4,
            path_effects=[withStroke(linewidth=3, foreground="white")],
        )  # fmt: skip


def write_mnist(content: Mnist, output: Path) -> list[Path]:
    """figure3 (raw features) and figure3_unit (unit features), as PNG and SVG."""
    names: Sequence[tuple[str, str]] = (("raw", "figure3"), ("unit", "figure3_unit"))
    return [path for kind, name in names for path in save(mnist_figure(content, kind), output / name)]
