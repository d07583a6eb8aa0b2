"""A picture of accuracy against classes seen, methods side by side, each named where its curve ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from classgrow.errors import ClassgrowError
from classgrow.records.record import Record
from classgrow.records.summary import summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, FAINT = "#222222", "#d0d0d0"
COLOURS = ("#0b5fa5", "#d1495b", "#2e8b57", "#e08e0b", "#7b4fa3", "#00939c", "#8c564b", "#c2559d", "#6b7280", "#98a800")
MARKERS = "osD^vPX*hp"


@dataclass(frozen=True)
class Curve:
    """Accuracies in percent after so many classes: mean, lowest and highest over the runs."""

    name: str
    classes: tuple[int, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


def curve_of(name: str, records: Sequence[Record]) -> Curve:
    """The curve of runs of one method, by its own rule; a phase that some run lacks is left out."""
    every = [summary(record).curve for record in records]
    classes = [phase.classes_seen for phase in records[0].phases]
    points = []
    for seen, values in zip(classes, zip(*every, strict=False), strict=False):
        known = [100 * value for value in values if value is not None]
        if len(known) == len(values):
            points.append((seen, sum(known) / len(known), min(known), max(known)))
    if not points:
        raise ClassgrowError(f"The runs of {name} recorded no accuracy: finish one first.")
    seen_counts, mean, low, high = zip(*points, strict=True)
    return Curve(name, seen_counts, mean, low, high)


def write_curves(groups: Mapping[str, Sequence[Record]], stem: Path, title: str) -> list[Path]:
    """Writes `stem`.png and `stem`.svg and returns their paths."""
    import matplotlib

    figure = draw([curve_of(name, records) for name, records in groups.items()], title)
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = [stem.with_suffix(ending) for ending in (".png", ".svg")]
    with matplotlib.rc_context({"svg.hashsalt": "classgrow", "svg.fonttype": "path"}):
        figure.savefig(paths[0], dpi=160, metadata={"Software": None})
        figure.savefig(paths[1], metadata={"Date": None, "Creator": None})
    return paths


def draw(curves: Sequence[Curve], title: str) -> Figure:
    """One line a method, a band from the lowest to the highest run, names with final values at the right."""
    from matplotlib.figure import Figure

    height = max(4.2, 1.1 + 0.24 * len(curves))
    figure = Figure(figsize=(7.6, height), layout="constrained")
    axes = figure.add_subplot()
    for place, curve in enumerate(curves):
        colour = COLOURS[place % len(COLOURS)]
        dashes = "-" if place < len(COLOURS) else (0, (4, 2))
        marker = MARKERS[place % len(MARKERS)]
        axes.plot(
            curve.classes,
            curve.mean,
            color=colour,
            marker=marker,
            markersize=5,
            linewidth=2,
            linestyle=dashes,
            zorder=3,
        )
        if curve.low != curve.high:
            axes.fill_between(curve.classes, curve.low, curve.high, color=colour, alpha=0.12, linewidth=0, zorder=2)
    decorate(axes, curves, title)
    name_ends(axes, curves, height)
    return figure


def decorate(axes: Axes, curves: Sequence[Curve], title: str) -> None:
    """Ticks where phases end, a dashed horizontal grid, no frame."""
    ticks = sorted({seen for curve in curves for seen in curve.classes})
    axes.set_xticks(ticks if len(ticks) <= 12 else ticks[1::2])
    axes.set_ylim(0, 102)
    axes.set_yticks(range(0, 101, 20))
    axes.grid(axis="y", color=FAINT, linestyle=(0, (4, 3)), linewidth=0.8, zorder=0)
    axes.set_axisbelow(True)
    axes.set_xlabel("classes seen", color=INK)
    axes.set_ylabel("accuracy in %", color=INK)
    axes.set_title(title, loc="left", fontsize=11, color=INK, pad=10)
    axes.tick_params(colors=INK, length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)


def name_ends(axes: Axes, curves: Sequence[Curve], height: float) -> None:
    """Each curve's name and last value beside its end, moved apart where they would overlap (`height`: in inches)."""
    first = min(curve.classes[0] for curve in curves)
    last = max(curve.classes[-1] for curve in curves)
    span = max(1, last - first)
    axes.set_xlim(first - 0.04 * span, last + 0.04 * span)
    heights = spread([curve.mean[-1] for curve in curves], gap=102 * 0.21 / (height - 1.1), highest=100)
    for place, (curve, level) in enumerate(zip(curves, heights, strict=True)):
        colour = COLOURS[place % len(COLOURS)]
        axes.annotate(
            f"{curve.name}  {curve.mean[-1]:.1f}",
            xy=(curve.classes[-1], curve.mean[-1]),
            xytext=(last + 0.09 * span, level),
            va="center",
            color=colour,
            fontsize=9.5,
            fontweight="bold" if place == 0 else "normal",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.7,
                "shrinkA": 2,
                "shrinkB": 4,
                "relpos": (0, 0.5),
            },
        )


def spread(values: Sequence[float], gap: float, lowest: float = 0.0, highest: float = 100.0) -> list[float]:
    """Levels as near to `values` as their order allows, at least `gap` apart and within the limits if they fit."""
    order = sorted(range(len(values)), key=lambda place: values[place])
    levels = [0.0] * len(values)
    floor = lowest
    for place in order:
        levels[place] = max(values[place], floor)
        floor = levels[place] + gap
    ceiling = highest
    for place in reversed(order):
        levels[place] = min(levels[place], ceiling)
        ceiling = levels[place] - gap
    return levels
