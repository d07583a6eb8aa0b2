"""Runs of one class order that differ in their seed alone: they do not count as further orders."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import fmean
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from classgrow.report.runs import Run


def by_order(runs: Iterable[Run]) -> tuple[Run, ...]:
    """One run for each class order, the mean of its seeds."""
    orders: dict[tuple[int, ...], list[Run]] = defaultdict(list)
    for run in runs:
        orders[run.class_order].append(run)
    return tuple(_mean(group) for group in orders.values())


def _mean(runs: list[Run]) -> Run:
    """A number that one of the seeds lacks is missing."""
    return replace(
        runs[0],
        seeds=tuple(run.seed for run in runs),
        curve=tuple(_known(values) for values in zip(*(run.curve for run in runs), strict=True)),
        phase_accuracies=tuple(_known(values) for values in zip(*(run.phase_accuracies for run in runs), strict=True)),
        final=_known([run.final for run in runs]),
        average=_known([run.average for run in runs]),
        forgetting=_known([run.forgetting for run in runs]),
        mad=_known([run.mad for run in runs]),
        seconds=_known([run.seconds for run in runs]),
    )


def _known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if len(known) == len(values) else None


def seeds_words(runs: Iterable[Run]) -> str:
    """What n counts, where that is not simply class orders with one run each; else nothing."""
    runs = list(runs)
    if any(len(run.seeds) > 1 for run in runs):
        return "Seeds of one class order are averaged first, so that n counts orders."
    places = {(run.regimen, run.setting, run.method, run.class_order) for run in runs}
    several = len(places) < len({run.identity for run in runs})
    return "Where there is one class order, n counts seeds." if several else ""
