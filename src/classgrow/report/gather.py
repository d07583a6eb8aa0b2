"""From runs to groups: the same setting, trained the same way, by the same method, over class orders."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from classgrow import metrics
from classgrow.report.names import in_order
from classgrow.report.runs import Regimen, Run
from classgrow.report.seeds import by_order
from classgrow.report.settings import Setting
from classgrow.specs.paper import Metric


@dataclass(frozen=True)
class Spread:
    """Mean, lowest, highest and standard deviation (n - 1; None for one value) of n values."""

    mean: float
    low: float
    high: float
    std: float | None
    n: int


def spread(values: Iterable[float | None]) -> Spread | None:
    """Over the values that are known; None if there is none."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    std = statistics.stdev(known) if len(known) > 1 else None
    return Spread(statistics.fmean(known), min(known), max(known), std, len(known))


@dataclass(frozen=True)
class Results:
    """All runs, and the groups they form."""

    runs: tuple[Run, ...]
    regimens: tuple[Regimen, ...]
    _groups: dict[tuple[Regimen, Setting, str], tuple[Run, ...]]

    def group(self, regimen: Regimen, setting: Setting, method: str) -> tuple[Run, ...]:
        """Complete runs, by class order. A method without memory is the same at every memory size.

        Where a scenario has several orders, seeds of one order are averaged; with a single order they stand alone."""
        found = self._groups.get((regimen, setting, method), ())
        return found or self._groups.get((regimen, setting.scenario, method), ())

    def settings(self, regimen: Regimen) -> tuple[Setting, ...]:
        """Settings with complete runs; one without memory only where its scenario has no other."""
        found = dict.fromkeys(setting for one, setting, _ in self._groups if one == regimen)
        with_memory = {setting.scenario for setting in found if not setting.memoryless}
        kept = [one for one in found if not (one.memoryless and one in with_memory)]
        return tuple(
            sorted(kept, key=lambda one: (not one.in_paper, one.dataset, one.sizes, one.memory or 0, one.slug))
        )

    def methods(self, regimen: Regimen, setting: Setting) -> tuple[str, ...]:
        """Methods with complete runs in the setting, in the report's order."""
        places = {setting, setting.scenario}
        return in_order({method for one, place, method in self._groups if one == regimen and place in places})

    def count(self, regimen: Regimen, setting: Setting) -> int:
        """How many complete runs the setting has."""
        return sum(len(self.group(regimen, setting, method)) for method in self.methods(regimen, setting))

    def value(self, regimen: Regimen, setting: Setting, method: str, metric: Metric) -> Spread | None:
        """The metric over the group; the MAD is that of the phase accuracies averaged over orders, so it has no
        spread (a single order's deviation is expected to be larger)."""
        runs = self.group(regimen, setting, method)
        if metric != "mad":
            return spread(getattr(run, metric) for run in runs)
        value = metrics.mad_over_orders([run.phase_accuracies for run in runs]) if runs else None
        return None if value is None else Spread(value, value, value, None, len(runs))


def gather(runs: Iterable[Run]) -> Results:
    """Group runs. The same run found twice counts once: the one that got furthest."""
    best: dict[str, Run] = {}
    for run in runs:
        known = best.get(run.identity)
        if known is None or run.phases_done > known.phases_done:
            best[run.identity] = run
    unique = distinguish_edited(tuple(best.values()))
    complete = current([run for run in unique if run.complete])
    regimens = sorted({run.regimen for run in complete}, key=_regimen_order)
    members = {regimen: [run for run in complete if run.belongs(regimen)] for regimen in regimens}
    kept = tuple(one for one in regimens if not _is_part(one, members))
    groups: dict[tuple[Regimen, Setting, str], list[Run]] = defaultdict(list)
    for regimen in kept:
        for run in members[regimen]:
            groups[regimen, run.setting, run.method].append(run)
    orders: dict[tuple[Regimen, Setting], set[tuple[int, ...]]] = defaultdict(set)
    for (regimen, setting, _), group in groups.items():
        orders[regimen, setting.scenario] |= {run.class_order for run in group}
    ordered: dict[tuple[Regimen, Setting, str], tuple[Run, ...]] = {}
    for (regimen, setting, method), group in groups.items():
        group.sort(key=lambda run: (run.order, run.seed))
        several = len(orders[regimen, setting.scenario]) > 1
        ordered[regimen, setting, method] = by_order(group) if several else tuple(group)
    return Results(unique, kept, ordered)


def current(runs: list[Run]) -> list[Run]:
    """Without runs that others supersede: of equal settings, those trained by the recipe and the arithmetic of the
    run that was started last. Means are never over two recipes of one method."""
    last: dict[tuple[Regimen, Setting, str], Run] = {}
    for run in sorted(runs, key=lambda run: run.started):
        last[run.regimen, run.setting, run.method] = run
    return [run for run in runs if run.way == last[run.regimen, run.setting, run.method].way]


def distinguish_edited(runs: tuple[Run, ...]) -> tuple[Run, ...]:
    """Runs of a method that was edited in between stand under names of their own: "steady (5d309434)"."""
    states: dict[str, set[str]] = defaultdict(set)
    for run in runs:
        states[run.method].add(run.value)
    edited = {method for method, values in states.items() if len(values) > 1}
    return tuple(
        replace(run, method=f"{run.method} ({short(run.value)})") if run.method in edited else run for run in runs
    )


def short(value: str) -> str:
    """Four digits of the settings and four of the code."""
    return "".join(part[:4] for part in value.split("-")) or "unknown"


def _regimen_order(regimen: Regimen) -> tuple[object, ...]:
    own = (regimen.selection, regimen.lr or 0.0, regimen.options, regimen.network, regimen.rule, regimen.preset)
    return (regimen.source, regimen.profile != "official", -(regimen.epochs or 10**9), *own)


def _is_part(regimen: Regimen, members: dict[Regimen, list[Run]]) -> bool:
    """True if all runs of a shortened regimen stand in another one too."""
    mine = {run.identity for run in members[regimen]}
    return regimen.epochs is not None and any(
        mine <= {run.identity for run in others} for other, others in members.items() if other != regimen
    )
