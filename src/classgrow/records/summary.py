"""The few numbers by which a run is known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import get_args

from classgrow import metrics
from classgrow.errors import ClassgrowError
from classgrow.records.record import Record, RuleName
from classgrow.specs.orders import published_orders


@dataclass(frozen=True)
class RunSummary:
    """Fractions from 0 to 1; None where a number is missing. `curve` has an accuracy for each recorded phase,
    `phase_accuracies` one for the classes of each phase, after the last recorded one."""

    rule: RuleName
    final: float | None
    average: float | None
    forgetting: float | None
    mad: float | None
    curve: tuple[float | None, ...]
    phase_accuracies: tuple[float | None, ...]


def summary(record: Record, rule: RuleName | None = None) -> RunSummary:
    """The numbers of a run by its headline rule, or by a named one."""
    rule = rule or record.headline
    if rule not in get_args(RuleName):
        raise ClassgrowError(f"There is no rule {rule!r}: choose one of {', '.join(get_args(RuleName))}.")
    matrix = [phase.per_class(rule) for phase in record.phases]
    counts = [phase.test_counts for phase in record.phases]
    curve = [
        None if row is None else metrics.incremental_accuracy(row, count)
        for row, count in zip(matrix, counts, strict=True)
    ]
    phases: list[float | None] = []
    if matrix and (last := matrix[-1]) is not None:
        phases = metrics.phase_accuracy(last, counts[-1], record.phase_sizes[: len(matrix)])
    return RunSummary(
        rule=rule,
        final=curve[-1] if curve else None,
        average=metrics.average_incremental_accuracy(curve),
        forgetting=metrics.forgetting(matrix),
        mad=metrics.mean_absolute_deviation(phases),
        curve=tuple(curve),
        phase_accuracies=tuple(phases),
    )


def exact(value: float) -> str:
    """0.2 as 0.2 and 2.0 as 2: two numbers never look the same."""
    return f"{value:.15g}"


def set_by_hand(lr: float | None, options: Iterable[tuple[str, float]]) -> str:
    """ ", lr 0.4, strength 0.5": what a run was given instead of its method's own numbers; "" if nothing."""
    parts = [("lr", lr), *options]
    return "".join(f", {name} {exact(value)}" for name, value in parts if value is not None)


def class_order_of(record: Record) -> tuple[int, ...]:
    """The numbers of the classes in the order they are learned."""
    return tuple(record.resolved.get("order") or record.class_ids)


def order_name(record: Record) -> str:
    """ "0" to "4" for the published orders, else as it was given."""
    order, given = class_order_of(record), record.spec.get("order")
    for name, published in published_orders().items():
        if order == published[: len(order)]:
            return name
    return str(given) if given is not None else "natural"
