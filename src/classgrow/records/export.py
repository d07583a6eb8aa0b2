"""Records for other tools: CSV, and a pandas DataFrame in one call."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from classgrow import metrics
from classgrow.errors import ClassgrowError
from classgrow.records.departures import exact
from classgrow.records.folder import find_records
from classgrow.records.record import PhaseRecord, Record
from classgrow.records.summary import groups_after, order_name

if TYPE_CHECKING:
    import pandas

Records = Iterable[Record] | Path | str
"""Records, or the folder where they lie."""
Cell = str | int | float | None

COLUMNS = (
    "identity",
    "dataset",
    "method",
    "profile",
    "memory",
    "memory_per_class",
    "first",
    "step",
    "classes",
    "order",
    "seed",
    "epochs",
    "lr",
    "options",
    "selection",
    "status",
    "phase",
    "classes_seen",
    "rule",
    "is_headline",
    "accuracy",
    "class_mean_accuracy",
    "average_so_far",
    "forgetting",
    "phase_accuracy_mad",
    "exemplars",
    "held_out",
    "training_images",
    "loss",
    "train_seconds",
    "total_seconds",
    "images_per_second",
    "code_version",
    "commit",
    "cpu",
    "precision",
)


def rows(records: Iterable[Record]) -> Iterator[dict[str, Cell]]:
    """One row for each run, phase and rule the method has. Accuracies are fractions; a missing number is None."""
    for record in records:
        run = _run_columns(record)
        for phase in record.phases:
            for rule, result in phase.rules.items():
                if result is not None:
                    yield run | _phase_columns(record, phase) | _rule_columns(record, phase, rule)


def to_csv(records: Records, path: Path | str) -> Path:
    """Write `rows` as CSV; a missing number is an empty field. Returns the path."""
    path, found = Path(path), list(rows(_read(records)))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows({name: spreadsheet_safe(value) for name, value in row.items()} for row in found)
    except OSError as error:
        raise ClassgrowError(f"Cannot write {path} ({error.strerror}): choose another file.") from error
    return path


def spreadsheet_safe(value: Cell) -> Cell:
    """A text that a spreadsheet would take for a formula, with a ' before it; anything else as it is."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


def to_dataframe(records: Records) -> pandas.DataFrame:
    """`rows` as a pandas DataFrame."""
    try:
        import pandas
    except ImportError:
        raise ClassgrowError("pandas is not installed: pip install 'classgrow[pandas]'.") from None
    return pandas.DataFrame(list(rows(_read(records))), columns=list(COLUMNS))


def _read(records: Records) -> Iterable[Record]:
    return find_records(records) if isinstance(records, str | Path) else records


def _run_columns(record: Record) -> dict[str, Cell]:
    resolved = record.resolved
    sizes = record.phase_sizes
    return {
        "identity": record.identity,
        "dataset": resolved.dataset,
        "method": resolved.method,
        "profile": resolved.profile,
        "memory": resolved.memory,
        "memory_per_class": resolved.memory_per_class,
        "first": sizes[0],
        "step": sizes[1] if len(sizes) > 1 else None,
        "classes": sum(sizes),
        "order": order_name(record),
        "seed": record.seed,
        "epochs": resolved.recipe.first.epochs,
        "lr": resolved.recipe.first.lr,
        "options": " ".join(f"{name}={exact(value)}" for name, value in resolved.options.items()),
        "selection": resolved.selection,
        "status": record.status,
        "code_version": record.code.version,
        "commit": record.code.commit,
        "cpu": record.hardware.cpu,
        "precision": record.execution.precision,
    }


def _phase_columns(record: Record, phase: PhaseRecord) -> dict[str, Cell]:
    return {
        "phase": phase.phase,
        "classes_seen": phase.classes_seen,
        "exemplars": phase.exemplars,
        "held_out": phase.held_out,
        "training_images": phase.training_images,
        "loss": phase.loss,
        "train_seconds": phase.seconds.train,
        "total_seconds": phase.seconds.total,
        "images_per_second": phase.images_per_second,
    }


def _rule_columns(record: Record, phase: PhaseRecord, rule: str) -> dict[str, Cell]:
    """The numbers by one rule as they stand after this phase."""
    until = record.phases[: phase.phase]
    matrix = [earlier.per_class(rule) for earlier in until]
    accuracies = [
        None if row is None else metrics.incremental_accuracy(row, earlier.test_counts)
        for row, earlier in zip(matrix, until, strict=True)
    ]
    last = phase.per_class(rule)
    assert last is not None  # only rules with a result are asked for
    groups = metrics.phase_accuracy(last, phase.test_counts, groups_after(record, phase.phase))
    return {
        "rule": rule,
        "is_headline": rule == record.headline,
        "accuracy": accuracies[-1],
        "class_mean_accuracy": metrics.macro_accuracy(last),
        "average_so_far": metrics.average_incremental_accuracy(accuracies),
        "forgetting": metrics.forgetting(matrix),
        "phase_accuracy_mad": metrics.mean_absolute_deviation(groups),
    }
