"""The few numbers by which a run is known."""

from __future__ import annotations

from dataclasses import dataclass

from classgrow import metrics
from classgrow.records.record import Record
from classgrow.records.words import printable
from classgrow.specs.orders import published_orders


@dataclass(frozen=True)
class RunSummary:
    """Fractions from 0 to 1; None where a number is missing. `curve` has an accuracy for each recorded phase,
    `phase_accuracies` one for the classes of each phase, after the last recorded one (for each ten classes where one
    phase has them all)."""

    rule: str
    final: float | None
    average: float | None
    forgetting: float | None
    mad: float | None
    curve: tuple[float | None, ...]
    phase_accuracies: tuple[float | None, ...]


def summary(record: Record, rule: str | None = None) -> RunSummary:
    """The numbers of a run by its headline rule, or by a named one."""
    rule = record.rule(rule or record.headline).name
    matrix = [phase.per_class(rule) for phase in record.phases]
    counts = [phase.test_counts for phase in record.phases]
    curve = [
        None if row is None else metrics.incremental_accuracy(row, count)
        for row, count in zip(matrix, counts, strict=True)
    ]
    phases: list[float | None] = []
    if matrix and (last := matrix[-1]) is not None:
        phases = metrics.phase_accuracy(last, counts[-1], groups_after(record, len(matrix)))
    return RunSummary(
        rule=rule,
        final=curve[-1] if curve else None,
        average=metrics.average_incremental_accuracy(curve),
        forgetting=metrics.forgetting(matrix),
        mad=metrics.mean_absolute_deviation(phases),
        curve=tuple(curve),
        phase_accuracies=tuple(phases),
    )


def groups_after(record: Record, phases: int) -> tuple[int, ...]:
    """How many classes each group has whose accuracies are compared after so many phases."""
    sizes = tuple(record.phase_sizes)
    return metrics.compared_groups(sizes) if len(sizes) == 1 else sizes[:phases]


def class_order_of(record: Record) -> tuple[int, ...]:
    """The numbers of the classes in the order they are learned."""
    return record.resolved.order


def order_name(record: Record) -> str:
    """ "0" to "4" for the published orders, else as it was given."""
    order, given = class_order_of(record), record.spec.order if record.spec else None
    for name, published in published_orders().items():
        if order == published[: len(order)]:
            return name
    if given is not None:
        return printable(given)
    return "natural" if record.spec else "unknown"
