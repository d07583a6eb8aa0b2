"""Beyond the paper: what accuracy costs in memory and in time."""

from __future__ import annotations

from collections import defaultdict

from classgrow.report.gather import Results, spread
from classgrow.report.names import dataset_title, in_order
from classgrow.report.panels import FigureData, PanelData, Series
from classgrow.report.runs import Regimen
from classgrow.report.settings import Setting
from classgrow.report.tables import is_ablation
from classgrow.report.words import words

_PER_ROW = 4
_AT_MOST = 8


def trade_off_figures(results: Results) -> list[FigureData]:
    """Accuracy against memory and against training time, where the runs allow it."""
    found = [draw(results, one) for one in results.regimens for draw in (memory_figure, time_figure)]
    return [figure for figure in found if figure is not None]


def memory_figure(results: Results, regimen: Regimen) -> FigureData | None:
    """Final accuracy over memory size, for scenarios that were run with two sizes or more."""
    scenarios: dict[Setting, list[Setting]] = defaultdict(list)
    for setting in results.settings(regimen):
        if setting.memory is not None:
            scenarios[setting.scenario].append(setting)
    rich = {one: sorted(places, key=_memory) for one, places in scenarios.items() if len(places) > 1}
    panels = [
        PanelData(_scenario_title(one), "memory", tuple(_memory_series(results, regimen, places)))
        for one, places in rich.items()
    ]
    places = [place for group in rich.values() for place in group]
    return _figure(results, regimen, "memory", "Accuracy against memory", panels, places, MEMORY_CAPTION)


MEMORY_CAPTION = "Final accuracy, mean over class orders with bars from lowest to highest, by images kept in memory."
TIME_CAPTION = (
    "Final accuracy by wall time of a whole run (training, selecting, testing), means over class orders. Times "
    "compare only within one machine and load."
)


def time_figure(results: Results, regimen: Regimen) -> FigureData | None:
    """Final accuracy over training time, for settings in which two methods or more have times."""
    panels, places, machines = [], [], set()
    for setting in results.settings(regimen):
        series = [
            one
            for method in _main(results.methods(regimen, setting))
            if (one := _time_point(results, regimen, setting, method))
        ]
        if len(series) > 1:
            panels.append(PanelData(setting.title.replace(" classes,", " classes,\n", 1), "seconds", tuple(series)))
            places.append(setting)
            machines |= {
                run.hardware for one in series for run in results.group(regimen, setting, one.method) if run.seconds
            }
    caption, warning = TIME_CAPTION, ""
    if len(machines) > 1:
        warning = f"Times come from {len(machines)} machines or thread counts: do not compare them."
    elif machines:
        caption += f" Machine: {next(iter(machines))}."
    return _figure(results, regimen, "time", "Accuracy against training time", panels, places, caption, warning)


def _memory_series(results: Results, regimen: Regimen, places: list[Setting]) -> list[Series]:
    methods = in_order({method for place in places for method in _main(results.methods(regimen, place))})
    found = []
    for method in methods:
        values = [(_memory(place), results.value(regimen, place, method, "final")) for place in places]
        known = [(float(memory), value) for memory, value in values if value is not None]
        if known:
            found.append(
                Series(
                    method,
                    tuple(memory for memory, _ in known),
                    tuple(100 * value.mean for _, value in known),
                    max(value.n for _, value in known),
                    tuple(100 * value.low for _, value in known),
                    tuple(100 * value.high for _, value in known),
                )
            )
    return found


def _time_point(results: Results, regimen: Regimen, setting: Setting, method: str) -> Series | None:
    runs = results.group(regimen, setting, method)
    seconds, final = spread(run.seconds for run in runs), results.value(regimen, setting, method, "final")
    if seconds is None or final is None:
        return None
    return Series(method, (seconds.mean / 60,), (100 * final.mean,), final.n, (100 * final.low,), (100 * final.high,))


def _figure(
    results: Results,
    regimen: Regimen,
    name: str,
    title: str,
    panels: list[PanelData],
    places: list[Setting],
    caption: str,
    warning: str = "",
) -> FigureData | None:
    if not panels:
        return None
    shown = panels[:_AT_MOST]
    rows = tuple(tuple(shown[start : start + _PER_ROW]) for start in range(0, len(shown), _PER_ROW))
    runs = [
        run
        for place in places
        for method in results.methods(regimen, place)
        for run in results.group(regimen, place, method)
    ]
    more = (f"{len(panels) - _AT_MOST} more settings are left out.",) if len(panels) > _AT_MOST else ()
    return FigureData(f"{name}{regimen.slug}", title, f"{words(runs)} {warning}".strip(), (caption, *more), rows)


def _main(methods: tuple[str, ...]) -> list[str]:
    """Methods, not their ablations."""
    return [method for method in methods if not is_ablation(method)]


def _memory(setting: Setting) -> int:
    return setting.memory or 0


def _scenario_title(scenario: Setting) -> str:
    step = f" + {scenario.sizes[1]} a phase" if len(scenario.sizes) > 1 else ""
    return f"{dataset_title(scenario.dataset)}, {sum(scenario.sizes)} classes,\n{scenario.sizes[0]}{step}"
