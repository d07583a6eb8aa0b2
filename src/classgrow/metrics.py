"""From predictions to numbers.

Accuracies are fractions from 0 to 1 everywhere; only printing turns them into percent. A list of per-class accuracies
is in learning order, and None in it means that the class has no test images. A missing number stays missing: what
cannot be computed is None, never 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import numpy.typing as npt

PerClass = Sequence[float | None]
GROUP = 10
"""Classes in a group where one phase has learned them all."""


def confusion(labels: npt.ArrayLike, predictions: npt.ArrayLike, classes: int) -> npt.NDArray[np.int64]:
    """Counts of test images: row = true class, column = predicted class, both below `classes`."""
    true, predicted = np.asarray(labels, dtype=np.int64), np.asarray(predictions, dtype=np.int64)
    if true.shape != predicted.shape or true.ndim != 1:
        raise ValueError(f"{true.shape} labels and {predicted.shape} predictions do not pair up")
    for values in (true, predicted):
        if values.size and not (values.min() >= 0 and values.max() < classes):
            raise ValueError(f"a class outside 0..{classes - 1}")
    return np.bincount(true * classes + predicted, minlength=classes * classes).reshape(classes, classes)


def per_class_accuracy(counts: npt.NDArray[np.int64]) -> list[float | None]:
    """Correct / total for each row of a confusion matrix."""
    totals, correct = counts.sum(axis=1).tolist(), np.diagonal(counts).tolist()
    return [hits / total if total else None for hits, total in zip(correct, totals, strict=True)]


def incremental_accuracy(per_class: PerClass, counts: Sequence[int]) -> float | None:
    """Accuracy over all test images of the classes: the mean of `per_class` weighted by test images."""
    pairs = [(value, count) for value, count in zip(per_class, counts, strict=True) if count > 0]
    if not pairs:
        return None
    hits = 0.0
    for value, count in pairs:
        if value is None:
            return None
        hits += value * count
    return hits / sum(count for _, count in pairs)


def macro_accuracy(per_class: PerClass) -> float | None:
    """The plain mean over classes with test images; equal to the incremental accuracy on balanced test sets."""
    return _mean([value for value in per_class if value is not None])


def average_incremental_accuracy(accuracies: PerClass) -> float | None:
    """The mean of the incremental accuracies of all phases, the first one included."""
    return _mean(accuracies)


def phase_accuracy(per_class: PerClass, counts: Sequence[int], sizes: Sequence[int]) -> list[float | None]:
    """Accuracy, after the last phase, over the test images of each phase's classes."""
    if sum(sizes) != len(per_class):
        raise ValueError(f"phases of {sum(sizes)} classes in all and {len(per_class)} accuracies")
    ends = list(accumulate(sizes))
    blocks = [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]
    return [incremental_accuracy(per_class[block], counts[block]) for block in blocks]


def compared_groups(sizes: Sequence[int]) -> tuple[int, ...]:
    """How many classes each group has whose accuracies are compared: those of the phases. Where all classes are learned
    in one phase (batch training), groups of ten in learning order, as the phases beside which that is set."""
    if len(sizes) != 1:
        return tuple(sizes)
    whole, rest = divmod(sizes[0], GROUP)
    return (GROUP,) * whole + ((rest,) if rest else ())


def mean_absolute_deviation(phase_accuracies: PerClass) -> float | None:
    """How uneven the phases are: the mean of |P_i - mean P|, each phase counted once. One value gives 0."""
    mean = _mean(phase_accuracies)
    if mean is None:
        return None
    return _mean([abs(value - mean) for value in phase_accuracies if value is not None])


def mad_over_orders(phase_accuracies: Sequence[PerClass]) -> float | None:
    """The paper's number for several class orders: each phase averaged over the orders first, then the deviation.
    It is expected to be smaller than the mean of the orders' own deviations."""
    return mean_absolute_deviation([_mean(values) for values in zip(*phase_accuracies, strict=True)])


def forgetting_per_class(matrix: Sequence[PerClass | None]) -> list[float | None] | None:
    """For each class known before the last phase: its best accuracy after any earlier phase minus its last one.

    `matrix[j]` holds the accuracies after phase j of all classes seen by then. Negative values (a class that got
    better) are kept. None if there is one phase only, or if a phase was not measured.
    """
    rows = [row for row in matrix if row is not None]
    if len(rows) < 2 or len(rows) < len(matrix):
        return None
    *earlier, last = rows
    return [_lost([row[label] for row in earlier if label < len(row)], last[label]) for label in range(len(rows[-2]))]


def forgetting(matrix: Sequence[PerClass | None]) -> float | None:
    """The mean of `forgetting_per_class` over the classes that have test images."""
    losses = forgetting_per_class(matrix)
    return None if losses is None else _mean([loss for loss in losses if loss is not None])


def _lost(before: PerClass, after: float | None) -> float | None:
    known = [value for value in before if value is not None]
    return max(known) - after if after is not None and len(known) == len(before) else None


def _mean(values: PerClass) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None
