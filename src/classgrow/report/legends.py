"""Where legends stand: in a corner without data, in room made for them, or below their panel."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from classgrow.report.panels import PanelData

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

CROWDED = 6
"""A panel with more series has its legend below."""
_LINE = 0.155  # inches
Corner = Literal["upper right", "lower left", "upper left", "lower right"]
_CORNERS: tuple[Corner, ...] = ("upper right", "lower left", "upper left", "lower right")
_LONG_NAME = 22  # characters: with longer ones two columns would not fit in a panel
_AIR = 0.07  # inches around a legend, so that no half marker reaches under it
Arguments = dict[str, Any]
"""Keywords for matplotlib, whose own types for them differ from version to version."""
_LOOK: Arguments = {
    "prop": {"weight": "bold", "size": 7},
    "framealpha": 0.85,
    "edgecolor": "none",
    "borderpad": 0.3,
}
Drawn = list[tuple["Axes", PanelData]]
Limits = tuple[float, float]


def room_below(panels: tuple[PanelData, ...]) -> float:
    """Inches that the legends below a row of panels need."""
    lines = [-(-len(panel.series) // _columns(panel)) for panel in panels if _is_crowded(panel)]
    return max(lines) * _LINE + 0.1 if lines else 0.0


def place_legends(drawn: Drawn, limits: Limits) -> None:
    """Gives a row its vertical scale and each of its panels a legend that hides nothing."""
    for axes, _ in drawn:
        axes.set_xlim(axes.get_xlim())  # settled, so that places can be measured
        axes.set_ylim(*limits)
    inside = [(axes, panel) for axes, panel in drawn if not _is_crowded(panel)]
    if not all(_in_corner(axes, panel) for axes, panel in inside):
        _in_strip(drawn, inside, limits)
    for axes, panel in drawn:
        if _is_crowded(panel):
            below = -_pixels(axes, 0.44) / axes.bbox.height  # under the label of the horizontal axis
            place: Arguments = {"loc": "upper center", "bbox_to_anchor": (0.5, below), "borderaxespad": 0.0}
            axes.legend(ncols=_columns(panel), **place, **_LOOK)


def with_room(limits: Limits, share: float) -> tuple[float, float, Corner]:
    """The scale with `share` of the height free, and on which side: above, or below where above is beyond 100."""
    low, high = limits
    more = (high - low) * share / (1 - share)
    if high + more > 100 and low - more >= 0:
        return low - more, high, "lower left"
    return low, high + more, "upper right"


def _in_corner(axes: Axes, panel: PanelData) -> bool:
    """A legend in the first corner without data; False if there is none."""
    legend = axes.legend(loc=_CORNERS[0], **_LOOK)
    legend.set_zorder(4)
    places = axes.transData.transform(_ink(panel))
    for corner in _CORNERS:
        legend.set_loc(corner)
        if not _covers(legend, axes, places):
            return True
    return False


def _in_strip(drawn: Drawn, inside: Drawn, limits: Limits) -> None:
    """Every panel of the row gets a free strip as high as the highest legend, and the legends stand in it."""
    legends = [axes.legend(ncols=_columns(panel), **_LOOK) for axes, panel in inside]
    shares = [
        (legend.get_window_extent().height + 2.4 * _pixels(axes, _AIR)) / axes.bbox.height
        for (axes, _), legend in zip(inside, legends, strict=True)
    ]
    low, high, corner = with_room(limits, min(0.7, max(shares)))
    for axes, _ in drawn:
        axes.set_ylim(low, high)
    for legend in legends:
        legend.set_loc(corner)
        legend.set_zorder(4)


def _covers(legend: Legend, axes: Axes, places: np.ndarray) -> bool:
    box = legend.get_window_extent().padded(_pixels(axes, _AIR))
    (left, bottom), (right, top) = box.min, box.max
    x, y = places.T
    return bool(np.any((x > left) & (x < right) & (y > bottom) & (y < top)))


def _pixels(axes: Axes, inches: float) -> float:
    return inches * axes.figure.dpi


def _ink(panel: PanelData) -> np.ndarray:
    """Points along everything drawn in the panel: curves, and bars from end to end."""
    steps = np.linspace(0, 1, 21)[:, None]
    pieces = []
    for series in panel.series:
        line = np.column_stack([series.x, series.y])
        pieces.append(line)
        if panel.axis != "seconds":
            pieces += [start + steps * (end - start) for start, end in pairwise(line)]
        for x, low, high in zip(series.x, series.low or (), series.high or (), strict=False):
            pieces.append(np.array([x, low]) + steps * np.array([0, high - low]))
    return np.concatenate(pieces)


def _is_crowded(panel: PanelData) -> bool:
    return len(panel.series) > CROWDED


def _columns(panel: PanelData) -> int:
    return 2 if max(len(series.legend) for series in panel.series) <= _LONG_NAME else 1
