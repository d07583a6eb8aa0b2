"""Figures drawn from their numbers, as SVG and PNG, in the style of the paper's pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from classgrow.report.names import look
from classgrow.report.panels import X_LABELS, Y_LABELS, FigureData, PanelData, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL_WIDTH, PANEL_HEIGHT = 3.7, 3.1  # inches
_STYLE: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9,
    "axes.linewidth": 0.8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "svg.fonttype": "path",
    "svg.hashsalt": "classgrow",
}
_LEGEND_FONT: dict[str, Any] = {"weight": "bold", "size": 7}
_MAX_TICKS = 11
_CROWDED = 6  # series: more need a legend in two columns


def write_figure(data: FigureData, folder: Path) -> list[Path]:
    """`name`.svg and `name`.png in `folder`; the same numbers give the same files."""
    import matplotlib

    paths = [folder / f"{data.name}.svg", folder / f"{data.name}.png"]
    with matplotlib.rc_context(_STYLE):
        figure = draw(data)
        figure.savefig(paths[0], metadata={"Date": None, "Creator": "classgrow"})
        figure.savefig(paths[1], dpi=150, metadata={"Software": "classgrow"})
    return paths


def draw(data: FigureData) -> Figure:
    """The figure with one pair of axes for each panel, row by row; all of a row share the vertical scale."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows, columns = len(data.rows), data.columns
    width, height = PANEL_WIDTH * columns, PANEL_HEIGHT * rows
    mixed = any(len({panel.axis for panel in row}) > 1 for row in data.rows)
    gap = 0.72 if mixed else 0.42  # between columns: room for a second label of the vertical axis, or for its numbers
    figure = Figure(figsize=(width, height), facecolor="white")
    figure.subplots_adjust(  # fixed margins in inches: solving for them would take most of the drawing time
        left=0.55 / width,
        right=1 - 0.12 / width,
        bottom=0.5 / height,
        top=1 - 0.42 / height,
        wspace=gap / (PANEL_WIDTH - gap),
        hspace=0.92 / (PANEL_HEIGHT - 0.92),
    )
    FigureCanvasAgg(figure)
    for row, panels in enumerate(data.rows):
        limits = _limits(panels)
        for column, panel in enumerate(panels):
            axes = figure.add_subplot(rows, columns, row * columns + column + 1)
            draw_panel(axes, panel, limits)
            if column == 0 or panels[column - 1].axis != panel.axis:
                axes.set_ylabel(Y_LABELS[panel.axis])
    return figure


def draw_panel(axes: Axes, panel: PanelData, limits: tuple[float, float] | None = None) -> None:
    """Axes of one panel; without series, the word "missing"."""
    axes.set_title(panel.title, y=1.02)  # a given height spares the search for one
    axes.spines[["top", "right"]].set_visible(False)
    if not panel.series:
        axes.set_xticks([])
        axes.set_yticks([])
        axes.text(0.5, 0.5, "missing", transform=axes.transAxes, ha="center", va="center", color="#767676", size=12)
        return
    axes.set_xlabel(X_LABELS[panel.axis])
    axes.grid(axis="y", linestyle="--", color="#b0b0b0", linewidth=0.6)
    axes.set_axisbelow(True)
    for series in panel.series:
        draw_series(axes, series, panel.axis)
    _ticks(axes, panel)
    if limits is not None:
        axes.set_ylim(*limits)
    legend = axes.legend(
        loc="best",
        ncols=2 if len(panel.series) > _CROWDED else 1,
        prop=_LEGEND_FONT,
        framealpha=0.85,
        edgecolor="none",
        borderpad=0.3,
    )
    legend.set_zorder(4)


def draw_series(axes: Axes, series: Series, axis: str) -> None:
    """A line with markers and, where there are several runs, bars from lowest to highest."""
    style = look(series.method)
    bars = None
    if series.low is not None and series.high is not None and series.n > 1:
        below = [y - low for y, low in zip(series.y, series.low, strict=True)]
        above = [high - y for y, high in zip(series.y, series.high, strict=True)]
        bars = [[max(0.0, gap) for gap in below], [max(0.0, gap) for gap in above]]
    axes.errorbar(
        series.x,
        series.y,
        yerr=bars,
        label=series.legend,
        color=style.colour,
        marker=style.marker,
        markersize=5,
        linewidth=0 if axis == "seconds" else 1.4,
        elinewidth=0.8,
        capsize=2,
        zorder=3 if series.method == "fgp" else 2,
    )


def _ticks(axes: Axes, panel: PanelData) -> None:
    """A tick for each class count, phase or memory size; every second one where they would touch."""
    if panel.axis == "seconds":
        axes.margins(x=0.25)
        return
    places = sorted({x for series in panel.series for x in series.x})
    every = -(-len(places) // _MAX_TICKS)
    shown = places[::-1][::every][::-1]
    axes.set_xticks(shown, [f"{x:,.0f}" for x in shown])


def _limits(panels: tuple[PanelData, ...]) -> tuple[float, float] | None:
    """The scale a row shares: its lowest and highest point with some air, inside 0 to 100."""
    points = [
        value
        for panel in panels
        for series in panel.series
        for values in (series.y, series.low or (), series.high or ())
        for value in values
    ]
    if not points:
        return None
    span = max(points) - min(points)
    air = max(2.0, 0.06 * span)
    most = max(len(panel.series) for panel in panels)
    room = 0.3 * span if most > _CROWDED else 0.0  # for a legend that would hide curves
    return max(0.0, min(points) - air), min(100.0, max(points)) + air + room
