"""What the page of one run shows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from classgrow import metrics
from classgrow.records.official import OFFICIAL
from classgrow.records.record import Record
from classgrow.records.repeat import repeat_command
from classgrow.records.summary import RunSummary, summary
from classgrow.report.formula import symbols
from classgrow.report.pixels import matrix_uri
from classgrow.report.runs import Run, run_of

_AS_TABLE_UP_TO = 20  # classes: a confusion matrix that small is shown with its counts
_PAIRS = 8


@dataclass(frozen=True)
class Line:
    """One rule's curve, in the coordinates of a 100 x 100 drawing with accuracy upwards."""

    rule: str
    points: tuple[tuple[float, float], ...]


def run_view(record: Record, run: Run | None = None) -> dict[str, object]:
    """Everything the template needs; None and empty lists where a record has nothing."""
    answer = record.rule(record.headline)
    everyday = [rule.name for rule in record.everyday_rules]
    summaries = [summary(record, rule.name) for rule in record.method.rules if _has(record, rule.name)]
    shown = [one for one in summaries if one.rule in everyday]
    rows = [(record.rule(one.rule).title, one.rule == record.headline, one) for one in summaries]
    return {
        "record": record,
        "symbols": symbols(record.method.formula, answer.formula),
        "run": run or run_of(record),
        "command": repeat_command(record) if record.code != OFFICIAL else None,
        "answer": answer,
        "rules": [row for row in rows if row[2].rule in everyday],
        "other_rules": [row for row in rows if row[2].rule not in everyday],
        "lines": [_line(one, record) for one in shown],
        "matrix": accuracy_matrix(record),
        "groups": _groups(record),
        "confusion": _confusion(record),
        "has_times": any(phase.seconds.total > 0 for phase in record.phases),
        "has_hardware": record.hardware.cores > 0,
    }


def _has(record: Record, rule: str) -> bool:
    return any(phase.rules.get(rule) is not None for phase in record.phases)


def accuracy_matrix(record: Record) -> list[list[float | None]]:
    """A_{j,i} in percent by the headline rule: row j after phase j, one value for each group of classes i <= j."""
    rows: list[list[float | None]] = []
    for phase in record.phases:
        values = phase.per_class(record.headline)
        if values is None:
            rows.append([None] * phase.phase)
            continue
        groups = metrics.phase_accuracy(values, phase.test_counts, record.phase_sizes[: phase.phase])
        rows.append([None if value is None else 100 * value for value in groups])
    return rows


def _groups(record: Record) -> list[str]:
    """ "1–10", "11–20": which classes (by place in the learning order) each phase brought."""
    ends = list(accumulate(record.phase_sizes))
    return [
        f"{end - size + 1}–{end}" if size > 1 else str(end) for size, end in zip(record.phase_sizes, ends, strict=True)
    ]


def _line(numbers: RunSummary, record: Record) -> Line:
    """Scaled so that the last planned phase lies at the right edge."""
    last = max(1, len(record.phase_sizes) - 1)
    points = [(100 * place / last, 100 - 100 * value) for place, value in enumerate(numbers.curve) if value is not None]
    return Line(numbers.rule, tuple((round(x, 2), round(y, 2)) for x, y in points))


def _confusion(record: Record) -> dict[str, object] | None:
    """The confusion matrix as a table (few classes) or an image, with the lines between phases and the pairs that
    are taken for each other most often."""
    if not record.confusion:
        return None
    counts = np.asarray(record.confusion, dtype=np.int64)
    totals = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    shares = counts / totals
    size = len(counts)
    names = record.class_names[:size]
    return {
        "size": size,
        "names": names,
        "rows": [
            [(int(count), float(share)) for count, share in zip(*row, strict=True)]
            for row in zip(counts, shares, strict=True)
        ]
        if size <= _AS_TABLE_UP_TO
        else None,
        "image": matrix_uri(shares) if size > _AS_TABLE_UP_TO else None,
        "borders": [end for end in accumulate(record.phase_sizes) if end < size],
        "pairs": _worst_pairs(counts, names),
    }


def _worst_pairs(counts: np.ndarray, names: list[str]) -> list[tuple[str, str, int, int]]:
    """(true class, taken for, images, of how many), the most frequent errors first."""
    errors = counts.copy()
    np.fill_diagonal(errors, 0)
    order = np.argsort(-errors, axis=None, kind="stable")[:_PAIRS]
    found = []
    for place in order.tolist():
        true, predicted = divmod(place, len(counts))
        if errors[true, predicted] > 0:
            found.append((names[true], names[predicted], int(errors[true, predicted]), int(counts[true].sum())))
    return found
