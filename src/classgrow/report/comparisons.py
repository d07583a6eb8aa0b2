"""Each method against FGP, paired over class orders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from classgrow.report.gather import Results
from classgrow.report.names import label
from classgrow.report.runs import Regimen, Run
from classgrow.report.settings import Setting
from classgrow.report.significance import Paired, paired
from classgrow.report.words import words

TOO_SMALL = "n too small"


@dataclass(frozen=True)
class Comparison:
    """A method against the reference in one setting; differences in points, positive where the reference is ahead."""

    setting: Setting
    method: str
    reference: str
    final: Paired
    average: Paired


@dataclass(frozen=True)
class ComparisonTable:
    """All comparisons of runs that were trained in the same way."""

    name: str
    title: str
    words: str
    rows: tuple[Comparison, ...]
    notes: tuple[str, ...]


def comparison_tables(results: Results) -> list[ComparisonTable]:
    """One table for each regimen that has two methods with a class order in common."""
    tables = [_table(results, regimen) for regimen in results.regimens]
    return [table for table in tables if table.rows]


def _table(results: Results, regimen: Regimen) -> ComparisonTable:
    rows = [one for setting in results.settings(regimen) for one in compare(results, regimen, setting)]
    runs = [run for row in rows for run in results.group(regimen, row.setting, row.method)]
    largest = max((row.final.n for row in rows), default=0)
    notes = [
        "Points by which the reference is ahead, the same orders (or seeds of one order) compared with each other.",
        "Interval: 95 %, paired t. p: exact two-sided sign-flip test over the orders.",
    ]
    if largest >= 2:
        notes.append(f"With {largest} pairs that p cannot fall below {2.0 ** (1 - largest):.2g}.")
    title = f"Against {label(rows[0].reference)}, paired over class orders" if rows else ""
    return ComparisonTable(f"significance{regimen.slug}", title, words(runs), tuple(rows), tuple(notes))


def compare(results: Results, regimen: Regimen, setting: Setting) -> list[Comparison]:
    """Every other method against FGP; without FGP, against the first method."""
    methods = results.methods(regimen, setting)
    if len(methods) < 2:
        return []
    reference = "fgp" if "fgp" in methods else methods[0]
    base = results.group(regimen, setting, reference)
    found = []
    for method in methods:
        runs = results.group(regimen, setting, method)
        final = paired(differences(base, runs, "final"))
        if method != reference and final.n:
            average = paired(differences(base, runs, "average"))
            found.append(Comparison(setting, method, reference, final, average))
    return found


def differences(base: tuple[Run, ...], others: tuple[Run, ...], metric: Literal["final", "average"]) -> list[float]:
    """Base minus other, in points, for each class order and seed that both have."""
    values = {run.pair: getattr(run, metric) for run in others}
    found = []
    for run in base:
        mine, other = getattr(run, metric), values.get(run.pair)
        if mine is not None and other is not None:
            found.append(100 * (mine - other))
    return found


def interval_text(result: Paired) -> str:
    """ "[1.2, 3.4]", or that n is too small."""
    return TOO_SMALL if result.low is None else f"[{result.low:+.1f}, {result.high:+.1f}]"


def p_text(result: Paired) -> str:
    return TOO_SMALL if result.p is None else f"{result.p:.3f}"
