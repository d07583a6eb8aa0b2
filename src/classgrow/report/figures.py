"""Figures drawn from their numbers, as SVG and PNG, in the style of the paper's pictures."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from classgrow.report.legends import place_legends, room_below
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
_MAX_TICKS = 11
_LEFT, _RIGHT, _ABOVE, _BELOW = 0.55, 0.12, 0.42, 0.5  # inches around the axes of a panel
_FOOTER_LINE = 0.135  # inches
_FOOTER_LETTER = 0.053  # inches, on average


def write_figure(data: FigureData, folder: Path) -> list[Path]:
    """`name`.svg and `name`.png in `folder`; the same numbers give the same files. Each says what was shortened, in
    the picture and in its metadata."""
    import matplotlib

    paths = [folder / f"{data.name}.svg", folder / f"{data.name}.png"]
    about = {"Title": data.title, "Description": data.words}
    with matplotlib.rc_context(_STYLE):
        figure = draw(data)
        figure.savefig(paths[0], metadata={"Date": None, "Creator": "classgrow", **about})
        figure.savefig(paths[1], dpi=150, metadata={"Software": "classgrow", **about})
    return paths


def figure_size(data: FigureData) -> tuple[float, float]:
    """Width and height in inches: the panels, legends that stand below them, and the footer."""
    rows = sum(PANEL_HEIGHT + room_below(panels) for panels in data.rows)
    return PANEL_WIDTH * data.columns, rows + _footer_height(data)


def draw(data: FigureData) -> Figure:
    """The figure with one pair of axes for each panel, row by row; all of a row share the vertical scale."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    size = width, height = figure_size(data)
    figure = Figure(figsize=size, facecolor="white")
    FigureCanvasAgg(figure)
    top = height
    for panels in data.rows:
        drawn = []
        for column, panel in enumerate(panels):
            left, wide = _column_place(data, column)
            high = PANEL_HEIGHT - _ABOVE - _BELOW
            bottom = top - _ABOVE - high
            axes = figure.add_axes((left / width, bottom / height, wide / width, high / height))
            draw_panel(axes, panel)
            if column == 0 or panels[column - 1].axis != panel.axis:
                axes.set_ylabel(Y_LABELS[panel.axis])
            if panel.series:
                drawn.append((axes, panel))
        if drawn:
            place_legends(drawn, _limits(panels))
            for axes, _ in drawn:
                _percent_axis(axes)
        top -= PANEL_HEIGHT + room_below(panels)
    footer = "\n".join(_footer_lines(data))
    figure.text(
        0.12 / width, 0.07 / height, footer, size=7, color="#767676", va="bottom", linespacing=1.25, parse_math=False
    )
    return figure


def _column_place(data: FigureData, column: int) -> tuple[float, float]:
    """Left edge and width of a column's axes in inches: solving for them would take most of the drawing time."""
    mixed = any(len({panel.axis for panel in row}) > 1 for row in data.rows)
    gap = 0.72 if mixed else 0.42  # room for a second label of the vertical axis, or for its numbers
    wide = (PANEL_WIDTH * data.columns - _LEFT - _RIGHT - gap * (data.columns - 1)) / data.columns
    return _LEFT + column * (wide + gap), wide


def _footer_lines(data: FigureData) -> list[str]:
    """What was shortened, as the page says it, in lines that fit the figure."""
    return textwrap.wrap(data.words, int((PANEL_WIDTH * data.columns - 0.24) / _FOOTER_LETTER))


def _footer_height(data: FigureData) -> float:
    return _FOOTER_LINE * len(_footer_lines(data)) + 0.1


def draw_panel(axes: Axes, panel: PanelData) -> None:
    """Axes of one panel, as yet without legend; without series, the word "missing"."""
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


def draw_series(axes: Axes, series: Series, axis: str) -> None:
    """A line with markers and, where there are several runs, bars from lowest to highest."""
    style = look(series.method)
    if series.band:
        draw_band(axes, series)
        return
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
        color=series.colour or style.colour,
        marker=style.marker,
        markersize=5,
        linewidth=0 if axis == "seconds" else 1.4,
        elinewidth=0.8,
        capsize=2,
        zorder=3 if series.method == "fgp" and not series.colour else 2,
    )


def draw_band(axes: Axes, series: Series) -> None:
    """From the lowest to the highest of the runs, with their mean as a broken line."""
    colour = series.colour or look(series.method).colour
    axes.fill_between(series.x, series.low or series.y, series.high or series.y, color=colour, alpha=0.2, linewidth=0)
    axes.plot(series.x, series.y, "--", color=colour, linewidth=1.0, label=series.legend)


def _ticks(axes: Axes, panel: PanelData) -> None:
    """A tick for each class count, phase or memory size; every second one where they would touch."""
    if panel.axis == "seconds":
        axes.margins(x=0.25)
        axes.set_xlim(left=0)
        return
    places = sorted({x for series in panel.series for x in series.x})
    every = -(-len(places) // _MAX_TICKS)
    shown = places[::-1][::every][::-1]
    axes.set_xticks(shown, [f"{x:,.0f}" for x in shown])


def _percent_axis(axes: Axes) -> None:
    """Ticks at whole percents up to 100; where room for markers or a legend lies beyond 100, the axis ends there."""
    from matplotlib.ticker import MaxNLocator

    low, high = axes.get_ylim()
    most = min(100.0, high)
    places = MaxNLocator(nbins=7, steps=[1, 2, 5, 10], integer=True).tick_values(low, most)
    shown = [float(tick) for tick in places if low <= tick <= most]
    axes.set_yticks(shown, [f"{tick:.0f}" for tick in shown])
    axes.set_ylim(low, high)
    axes.spines["left"].set_bounds(low, most)


def _limits(panels: tuple[PanelData, ...]) -> tuple[float, float]:
    """The scale a row shares: its lowest and highest point, inside 0 to 100, with some air, so that a marker at 100 is
    whole."""
    points = [
        value
        for panel in panels
        for series in panel.series
        for values in (series.y, series.low or (), series.high or ())
        for value in values
    ]
    air = max(2.0, 0.06 * (max(points) - min(points)))
    return max(0.0, min(points) - air), min(100.0, max(points)) + air
