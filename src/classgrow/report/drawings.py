"""The two drawings: the process of a phase (figure 1), and the graph that FGP preserves (figure 2, from values)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from classgrow.records.toys import FeatureGraph
from classgrow.report.toys import INK, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OLD_COLOURS, NEW_COLOURS = ("#0b5fa5", "#2e8b57"), ("#e08e0b", "#d1495b")
QUIET = "#6b7280"
WEAKEST = float(np.exp(-2))
"""p of the two farthest unit vectors."""


# --- figure 2 --------------------------------------------------------------------------------------------------------


def grey(strength: float) -> str:
    """An edge's grey level: the strongest black, the weakest almost white."""
    share = (strength - WEAKEST) / (1 - WEAKEST)
    return str(round(0.93 - 0.93 * min(1.0, max(0.0, share)), 3))


def graph_figure(content: FeatureGraph) -> Figure:
    """Figure 2: old model left, new model right, class embeddings above, sample features below, edges by strength."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.5, 5.4))
    panels = [figure.add_axes((0.015, 0.10, 0.40, 0.78)), figure.add_axes((0.525, 0.10, 0.40, 0.78))]
    models = (("old model", content["before"]), ("new model", content["after"]))
    for axes, (title, edges) in zip(panels, models, strict=True):
        draw_graph(axes, content, np.asarray(edges), with_new=title == "new model")
        axes.set_title(title, fontsize=14, color=INK, pad=8)
    figure.text(0.47, 0.55, "updating\nmodel", ha="center", va="bottom", fontsize=11.5, color=INK)
    middle = figure.add_axes((0.425, 0.47, 0.09, 0.06))
    middle.annotate("", xy=(1, 0.5), xytext=(0, 0.5), arrowprops={"arrowstyle": "simple", "color": QUIET})
    middle.set_axis_off()
    draw_scale(figure.add_axes((0.945, 0.22, 0.014, 0.52)))
    figure.text(
        0.015,
        0.025,
        f"Computed: {content['method']} on the digits, {' and '.join(content['old_classes'])} learned first, then "
        f"{' and '.join(content['new_classes'])}, {content['epochs']} epochs each, seed {content['seed']}; "
        f"test images; strength p = exp(−d/2), d = ‖f̄ − w̄‖². Mean change of p: {mean_change(content):.2f}.",
        fontsize=9.5,
        color=QUIET,
    )
    return figure


def mean_change(content: FeatureGraph) -> float:
    """How much the update moved an edge, on the average."""
    return float(np.abs(np.asarray(content["after"]) - np.asarray(content["before"])).mean())


def draw_graph(axes: Axes, content: FeatureGraph, strengths: np.ndarray, with_new: bool) -> None:
    """One model: rings for class embeddings, discs for features, the images below; weak edges first."""
    colours = (*OLD_COLOURS, *NEW_COLOURS)
    labels = content["labels"]
    samples = spread_out(labels)
    names = [*content["old_classes"], *content["new_classes"]]
    old = len(content["old_classes"])
    tops = [2.1, 5.0, 8.2, 10.4]
    for sample, embedding in sorted(np.ndindex(strengths.shape), key=lambda place: strengths[place]):
        strength = float(strengths[sample, embedding])
        axes.plot(
            [samples[sample], tops[embedding]], [0, 3], color=grey(strength), linewidth=0.9 + 1.4 * strength, zorder=1
        )
    for place, name in enumerate(names[: len(names) if with_new else old]):
        axes.scatter(tops[place], 3, s=260, facecolor="white", edgecolor=colours[place], linewidth=3.2, zorder=3)
        axes.text(tops[place], 3.36, f"$w_{{{name}}}$", ha="center", va="bottom", fontsize=12.5, color=INK)
    for place, label in enumerate(labels):
        axes.scatter(samples[place], 0, s=120, color=colours[label], edgecolor="white", linewidth=1, zorder=3)
        draw_image(axes, content["images"][place], samples[place], -0.66)
    for first, last, text in ((0, old - 1, "X_{old}"), (old, len(names) - 1, "X_{new}")):
        mine = [position for position, label in zip(samples, labels, strict=True) if first <= label <= last]
        axes.plot([min(mine) - 0.4, max(mine) + 0.4], [-1.18, -1.18], color=QUIET, linewidth=1)
        axes.text(float(np.mean(mine)), -1.3, f"${text}$", ha="center", va="top", fontsize=12.5, color=INK)
    axes.set_xlim(-0.6, 12.2)
    axes.set_ylim(-1.85, 3.85)
    axes.set_axis_off()


def spread_out(labels: Sequence[int]) -> list[float]:
    """Where samples stand: one after another, a gap between classes."""
    places, at = [], 0.0
    for place, label in enumerate(labels):
        if place:
            at += 0.92 if label == labels[place - 1] else 1.25
        places.append(at)
    return places


def draw_image(axes: Axes, pixels: list[list[int]], x: float, y: float) -> None:
    """A sample's pixels, dark on white."""
    half_width, half_height = 0.37, 0.30
    axes.imshow(
        255 - np.asarray(pixels), cmap="gray", vmin=0, vmax=255, aspect="auto", zorder=2, interpolation="nearest",
        extent=(x - half_width, x + half_width, y - half_height, y + half_height),
    )  # fmt: skip


def draw_scale(axes: Axes) -> None:
    """The bar from strong to weak."""
    levels = np.linspace(1, WEAKEST, 256)[:, None]
    axes.imshow(np.vectorize(lambda level: float(grey(level)))(levels), cmap="gray", vmin=0, vmax=1, aspect="auto")
    axes.set_xticks([])
    axes.set_yticks([0, 255], ["strong, p = 1", f"weak, p = {WEAKEST:.2f}"])
    axes.yaxis.tick_right()
    axes.tick_params(length=0, labelsize=9, colors=INK)
    for label, angle in zip(axes.get_yticklabels(), ("bottom", "top"), strict=True):
        label.set_rotation(90)
        label.set_verticalalignment("top" if angle == "bottom" else "bottom")
    for spine in axes.spines.values():
        spine.set_color("#9aa0a6")


# --- figure 1 --------------------------------------------------------------------------------------------------------


def overview_figure() -> Figure:
    """Figure 1: select exemplars, add the data of new classes, update the model; and again with the next classes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 5.0))
    axes = figure.add_axes((0.01, 0.01, 0.98, 0.98))
    axes.set_xlim(0, 12)
    axes.set_ylim(0, 5)
    axes.set_axis_off()
    heading(axes, 1.75, "1", "select exemplars")
    heading(axes, 5.55, "2", "add data of new classes")
    heading(axes, 9.55, "3", "update the model")
    network(axes, 1.75, 3.45, "old model", OLD_COLOURS)
    box(axes, 1.75, 1.2, 2.9, 1.35, "exemplars of old classes")
    images(axes, 1.75, 1.3, OLD_COLOURS, each=3)
    arrow(axes, (1.75, 2.72), (1.75, 1.98), "herding")
    box(axes, 5.55, 1.2, 3.5, 1.35, "training set")
    images(axes, 4.55, 1.3, OLD_COLOURS, each=2, size=0.26)
    images(axes, 6.3, 1.3, NEW_COLOURS, each=4, size=0.26)
    box(axes, 5.55, 3.5, 2.9, 1.2, "all images of new classes")
    images(axes, 5.55, 3.5, NEW_COLOURS, each=5, size=0.3)
    arrow(axes, (3.25, 1.2), (3.75, 1.2))
    arrow(axes, (5.55, 2.86), (5.55, 1.98))
    network(axes, 9.55, 3.45, "new model", (*OLD_COLOURS, *NEW_COLOURS))
    arrow(axes, (7.35, 1.2), (8.15, 1.2))
    box(axes, 9.55, 1.2, 2.7, 1.35, "objective")
    axes.text(9.55, 1.32, "classify all classes", ha="center", va="center", fontsize=11, color=INK)
    axes.text(9.55, 0.92, "+ keep the old model's graph", ha="center", va="center", fontsize=11, color=INK)
    arrow(axes, (9.55, 1.92), (9.55, 2.66))
    turn_back(axes, [(11.0, 3.45), (11.6, 3.45), (11.6, 0.14), (1.75, 0.14), (1.75, 0.5)])
    axes.text(6.6, 0.24, "the next classes arrive", ha="center", va="bottom", fontsize=10.5, color=QUIET)
    return figure


def turn_back(axes: Axes, corners: Sequence[tuple[float, float]]) -> None:
    """A line around corners that ends in an arrow."""
    axes.plot(*zip(*corners[:-1], strict=True), color=QUIET, linewidth=1.8, solid_joinstyle="round")
    arrow(axes, corners[-2], corners[-1])


def heading(axes: Axes, x: float, number: str, text: str) -> None:
    axes.text(x, 4.62, f"{number}   {text}", ha="center", va="center", fontsize=14, fontweight="bold", color=INK)


def box(axes: Axes, x: float, y: float, width: float, height: float, text: str) -> None:
    """A rounded frame with its name inside at the top."""
    from matplotlib.patches import FancyBboxPatch

    corner = (x - width / 2, y - height / 2)
    axes.add_patch(
        FancyBboxPatch(
            corner, width, height, boxstyle="round,pad=0,rounding_size=0.12", facecolor="#f7f8fa", edgecolor="#c3c8cf",
            linewidth=1.2, zorder=1,
        )
    )  # fmt: skip
    axes.text(x, y + height / 2 - 0.2, text, ha="center", va="center", fontsize=10.5, color=QUIET)


def images(axes: Axes, x: float, y: float, colours: Sequence[str], each: int, size: float = 0.34) -> None:
    """A row of small squares for each class, centred at (x, y)."""
    from matplotlib.patches import FancyBboxPatch

    pitch = size * 1.22
    for row, colour in enumerate(colours):
        for place in range(each):
            left = x + (place - each / 2) * pitch
            bottom = y - 0.12 - (row - len(colours) / 2 + 1) * pitch
            axes.add_patch(
                FancyBboxPatch(
                    (left, bottom), size, size, boxstyle="round,pad=0,rounding_size=0.04", facecolor=colour,
                    edgecolor="white", linewidth=0.8, zorder=2,
                )
            )  # fmt: skip


def network(axes: Axes, x: float, y: float, text: str, colours: Sequence[str]) -> None:
    """A funnel of layers that ends in one ring per class."""
    from matplotlib.patches import Polygon

    shape = [(x - 1.05, y - 0.62), (x - 1.05, y + 0.62), (x + 0.35, y + 0.3), (x + 0.35, y - 0.3)]
    axes.add_patch(Polygon(shape, closed=True, facecolor="#e8edf3", edgecolor="#9fb0c3", linewidth=1.4, zorder=1))
    axes.text(x - 0.38, y, text, ha="center", va="center", fontsize=11.5, color=INK)
    for place, colour in enumerate(colours):
        height = y + (place - (len(colours) - 1) / 2) * 0.34
        axes.plot([x + 0.35, x + 0.85], [y, height], color="#9aa0a6", linewidth=1, zorder=0)
        axes.scatter(x + 0.95, height, s=95, facecolor="white", edgecolor=colour, linewidth=2.6, zorder=2)


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], text: str = "") -> None:
    style = {"arrowstyle": "-|>", "color": QUIET, "linewidth": 1.8, "mutation_scale": 17}
    axes.annotate("", xy=end, xytext=start, arrowprops=style)
    if text:
        axes.text(start[0] + 0.14, (start[1] + end[1]) / 2, text, ha="left", va="center", fontsize=10.5, color=QUIET)


def write_drawings(content: FeatureGraph, output: Path) -> list[Path]:
    """figure1 and figure2 as PNG and SVG; `content`: what `toys.graph.feature_graph` gives."""
    return [*save(overview_figure(), output / "figure1"), *save(graph_figure(content), output / "figure2")]
