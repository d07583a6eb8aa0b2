"""What a figure shows, as numbers: series, panels, rows. Nothing is drawn here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from classgrow.report.gather import Results, spread
from classgrow.report.names import dataset_title, label, thousands
from classgrow.report.reduced import NO_PART, Part, part_of_paper, part_of_setting
from classgrow.report.runs import Regimen, Run
from classgrow.report.settings import Setting
from classgrow.report.tables import is_ablation
from classgrow.report.words import words
from classgrow.specs.paper import ITEMS, Item, View

SHARED = ("fgp", "icarl")
"""Methods an ablation figure borrows from the main grid: alone they make no comparison."""

Axis = Literal["incremental", "phase", "memory", "seconds"]
X_LABELS: dict[Axis, str] = {
    "incremental": "Number of classes",
    "phase": "$N^{th}$ phase",
    "memory": "Memory (images)",
    "seconds": "Training time (minutes)",
}
Y_LABELS: dict[Axis, str] = {
    "incremental": "Incremental accuracy (%)",
    "phase": "Phase accuracy (%)",
    "memory": "Final accuracy (%)",
    "seconds": "Final accuracy (%)",
}


@dataclass(frozen=True)
class Series:
    """One method's points; `low` and `high` are the ends of its bars, or the edges of a `band`. `value` stands in the
    legend; `name` and `colour` where they are not those of the method."""

    method: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    n: int
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None
    value: float | None = None
    name: str = ""
    colour: str = ""
    band: bool = False

    @property
    def legend(self) -> str:
        if self.name:
            return self.name
        return label(self.method) if self.value is None else f"{label(self.method)} ({self.value:.1f})"


@dataclass(frozen=True)
class PanelData:
    """One pair of axes. Without series it is drawn empty, with the word "missing"."""

    title: str
    axis: Axis
    series: tuple[Series, ...]


@dataclass(frozen=True)
class FigureData:
    """Rows of panels with a caption. `words` says what was shortened, `part` what of the paper this is."""

    name: str
    title: str
    words: str
    caption: tuple[str, ...]
    rows: tuple[tuple[PanelData, ...], ...]
    part: Part = NO_PART

    @property
    def columns(self) -> int:
        return max(len(row) for row in self.rows)


def incremental_series(results: Results, regimen: Regimen, setting: Setting, method: str) -> Series | None:
    """A_j over classes seen: the mean over orders, bars from the lowest to the highest; legend: the average."""
    runs = results.group(regimen, setting, method)
    points = [(seen, spread(values)) for seen, values in _columns(runs)]
    known = [(seen, found) for seen, found in points if found is not None]
    if not known:
        return None
    average = results.value(regimen, setting, method, "average")
    return Series(
        method,
        tuple(float(seen) for seen, _ in known),
        tuple(100 * found.mean for _, found in known),
        len(runs),
        tuple(100 * found.low for _, found in known),
        tuple(100 * found.high for _, found in known),
        None if average is None else 100 * average.mean,
    )


def _columns(runs: Iterable[Run]) -> list[tuple[int, tuple[float | None, ...]]]:
    """(classes seen, the runs' accuracies then)."""
    runs = list(runs)
    if not runs:
        return []
    return list(zip(runs[0].classes_seen, zip(*(run.curve for run in runs), strict=True), strict=True))


def phase_series(results: Results, regimen: Regimen, setting: Setting, method: str) -> Series | None:
    """A_{T,i} over phases i, averaged over orders; legend: the mean absolute deviation of that average."""
    runs = results.group(regimen, setting, method)
    means = [spread(values) for values in zip(*(run.phase_accuracies for run in runs), strict=True)]
    known = [(float(number), found) for number, found in enumerate(means, start=1) if found is not None]
    if not known:
        return None
    mad = results.value(regimen, setting, method, "mad")
    return Series(
        method,
        tuple(number for number, _ in known),
        tuple(100 * found.mean for _, found in known),
        len(runs),
        value=None if mad is None else 100 * mad.mean,
    )


def panel(
    results: Results, regimen: Regimen, setting: Setting, methods: Iterable[str], view: View, title: str
) -> PanelData:
    """One view of one setting."""
    series_of = incremental_series if view == "incremental" else phase_series
    found = [series_of(results, regimen, setting, method) for method in methods]
    return PanelData(title, view, tuple(one for one in found if one is not None))


def paper_figure(results: Results, regimen: Regimen, item: Item) -> FigureData | None:
    """A figure in the paper's layout; None if nothing it compares has been run. A data set without any run is left
    out; any other panel without runs stays, empty."""
    own = [method for method in item.methods if method not in SHARED] if _is_ablation_figure(item) else item.methods
    places = {one: Setting.of_paper(one) for one in item.settings}
    present = {one.dataset for one in places.values() if any(results.group(regimen, one, method) for method in own)}
    if not present:
        return None
    rows = tuple(
        tuple(
            panel(results, regimen, places[one.setting], item.methods, one.view, panel_title(places[one.setting]))
            for one in row
            if one.setting.dataset in present
        )
        for row in item.panels
    )
    runs = [
        run
        for place in places.values()
        if place.dataset in present
        for method in item.methods
        for run in results.group(regimen, place, method)
    ]
    rows = tuple(row for row in rows if row)
    part = part_of_paper(item, runs)
    absent = dict.fromkeys(one.dataset for one in item.settings if one.dataset not in present)
    return FigureData(
        name=f"{item.name}{regimen.slug}",
        title=part.title(item.title),
        words=words(runs),
        caption=(*caption(rows, item.methods), *(f"No run on {dataset_title(name)}: left out." for name in absent)),
        rows=rows,
        part=part,
    )


def _is_ablation_figure(item: Item) -> bool:
    return any(is_ablation(method) for method in item.methods)


def panel_title(setting: Setting) -> str:
    start = f"from {setting.sizes[0]}" if setting.sizes[0] == 50 else "from scratch"
    return f"{dataset_title(setting.dataset)}, {thousands(setting.memory or 0)}, {start}"


def caption(rows: tuple[tuple[PanelData, ...], ...], methods: Iterable[str]) -> list[str]:
    """What bars and parentheses mean, over how many runs, and what is missing."""
    panels = [one for row in rows for one in row]
    views = {one.axis for one in panels}
    counts = sorted({series.n for one in panels for series in one.series})
    over = f"n = {counts[0]}" if len(counts) == 1 else f"n = {counts[0]} to {counts[-1]}" if counts else "n = 0"
    parts = []
    if "incremental" in views:
        parts.append(
            "Incremental accuracy: mean over class orders, bars from lowest to highest; in parentheses the average "
            "over phases."
        )
    if "phase" in views:
        parts.append("Phase accuracy after the last phase; in parentheses its mean absolute deviation (MAD).")
        if counts and counts[0] == 1:
            parts.append("A MAD of a single class order (n = 1) is expected to be larger than one over five.")
    parts.append(f"Runs for each curve: {over}.")
    return [*parts, *_missing(panels, tuple(methods))]


def _missing(panels: list[PanelData], methods: tuple[str, ...]) -> list[str]:
    """What is in no panel, then what is in some only."""
    drawn = [{series.method for series in one.series} for one in panels]
    nowhere = [method for method in methods if not any(method in found for found in drawn)]
    sentences = [f"Missing: {', '.join(map(label, nowhere))}."] if nowhere else []
    partly = {
        one.title: [label(method) for method in methods if method not in found and method not in nowhere]
        for one, found in zip(panels, drawn, strict=True)
    }
    places = "; ".join(f"{', '.join(absent)} in {title}" for title, absent in partly.items() if absent)
    return [*sentences, *([f"Missing in part: {places}."] if places else [])]


def setting_figure(results: Results, regimen: Regimen, setting: Setting, item: Item | None = None) -> FigureData | None:
    """Figures 4 and 5 side by side for a setting the paper does not have; with `item`, that ablation for it."""
    methods = results.methods(regimen, setting)
    if item is None:
        chosen = tuple(method for method in methods if not is_ablation(method))
        views: tuple[View, ...] = ("incremental", "phase")
    else:
        chosen = item.methods
        views = tuple(dict.fromkeys(row[0].view for row in item.panels))
        if not any(method in methods for method in chosen if method not in SHARED):
            return None
    if not chosen:
        return None
    titles = {"incremental": "after each phase", "phase": "by phase, at the end"}
    row = tuple(panel(results, regimen, setting, chosen, view, titles[view]) for view in views)
    runs = [run for method in chosen for run in results.group(regimen, setting, method)]
    prefix = f"{item.name}-" if item else "curves-"
    part = part_of_setting(setting, (item.name,) if item else ("figure4", "figure5"), chosen)
    return FigureData(
        name=f"{prefix}{setting.slug}{regimen.slug}",
        title=part.title(f"{f'{item.title}; ' if item else ''}{setting.title}{regimen.changes}"),
        words=words(runs),
        caption=tuple(caption((row,), chosen)),
        rows=(row,),
        part=part,
    )


def paper_figures(results: Results) -> list[FigureData]:
    """Every figure of the paper that has runs, for each way runs were trained."""
    figures = [item for item in ITEMS.values() if item.kind == "figure"]
    found = [paper_figure(results, regimen, item) for regimen in results.regimens for item in figures]
    return [figure for figure in found if figure is not None]


def own_figures(results: Results, at_most: int) -> tuple[list[FigureData], int]:
    """Figures of settings the paper does not have, those with most runs first; and how many settings were left out
    because there are more than `at_most`."""
    places = [(one, place) for one in results.regimens for place in results.settings(one) if not place.in_paper]
    places.sort(key=lambda pair: -results.count(*pair))
    ablations = [item for item in ITEMS.values() if item.kind == "figure" and _is_ablation_figure(item)]
    found = [
        setting_figure(results, regimen, setting, item)
        for regimen, setting in places[:at_most]
        for item in (None, *ablations)
    ]
    return [figure for figure in found if figure is not None], max(0, len(places) - at_most)
