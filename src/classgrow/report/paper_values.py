"""The numbers the paper prints, in percent."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files

from classgrow.report.settings import Setting
from classgrow.specs.paper import BATCH, METHODS, Metric
from classgrow.specs.reduction import PaperSetting

_METRICS: dict[str, Metric] = {"final_accuracy": "final", "forgetting": "forgetting"}

# Legends of the two curve pictures that the authors published outside the paper; the paper's other legends are not
# available. In the order of METHODS.
_LEGENDS: dict[tuple[Metric, PaperSetting], tuple[float, ...]] = {
    ("average", PaperSetting("cifar100", 10, 10, 1000)): (52.3, 55.9, 56.0, 48.9, 50.3, 59.8),
    ("mad", PaperSetting("cifar100", 50, 10, 1000)): (5.5, 10.8, 9.5, 9.8, 9.7, 3.8),
}


def paper_value(metric: Metric, setting: Setting, method: str) -> float | None:
    """What the paper prints for a method in a setting; None where it prints nothing."""
    return _values().get((metric, setting, method))


@cache
def _values() -> dict[tuple[Metric, Setting, str], float]:
    text = files("classgrow.specs").joinpath("data/paper_tables.csv").read_text(encoding="utf-8")
    values: dict[tuple[Metric, Setting, str], float] = {}
    for row in csv.DictReader(text.splitlines()):
        first, step, memory = (int(row[name]) for name in ("first_phase_classes", "classes_per_phase", "memory"))
        setting = Setting.of_paper(PaperSetting(row["dataset"], first, step, memory))
        values[_METRICS[row["metric"]], setting, row["method"]] = float(row["value"])
    for (metric, place), numbers in _LEGENDS.items():
        for method, number in zip(METHODS, numbers, strict=True):
            values[metric, Setting.of_paper(place), method] = number
    values["mad", Setting.of_paper(BATCH), "joint"] = 2.5
    return values
