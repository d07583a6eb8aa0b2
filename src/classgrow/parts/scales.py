"""Factors in front of a loss, named after the ratio they are."""

from __future__ import annotations

import math

from classgrow.parts.objective import Scale
from classgrow.views import ClassCounts


def _sqrt_old_share(counts: ClassCounts) -> float:
    return math.sqrt(counts.old / counts.seen)


def _sqrt_old_over_new(counts: ClassCounts) -> float:
    return math.sqrt(counts.old / counts.new)


def _old_share(counts: ClassCounts) -> float:
    return counts.old / counts.seen


def _new_share(counts: ClassCounts) -> float:
    return counts.new / counts.seen


def _per_class(counts: ClassCounts) -> float:
    return 1.0 / counts.seen


sqrt_old_share = Scale("√(old/seen)", _sqrt_old_share)
"""FGP, Eq. 8: grows from 0 towards 1 as old classes come to outnumber new ones."""

sqrt_old_over_new = Scale("√(old/new)", _sqrt_old_over_new)
"""Hou19: the more old classes, the stronger the hold."""

old_share = Scale("old/seen", _old_share)
"""BiC: weight of distillation."""

new_share = Scale("new/seen", _new_share)
"""BiC: weight of classification, 1 - old/seen."""

per_class = Scale("1/seen", _per_class)
"""Turns a weight meant for a loss summed over classes into one for a loss averaged over them."""
