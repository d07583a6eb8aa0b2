"""Factors in front of a loss, named after the ratio they are."""

from __future__ import annotations

import math

from classgrow.parts.objective import Scale

sqrt_old_share = Scale("√(old/seen)", lambda counts: math.sqrt(counts.old / counts.seen))
"""FGP, Eq. 8: grows from 0 towards 1 as old classes come to outnumber new ones."""

sqrt_old_over_new = Scale("√(old/new)", lambda counts: math.sqrt(counts.old / counts.new))
"""Hou19: the more old classes, the stronger the hold."""

old_share = Scale("old/seen", lambda counts: counts.old / counts.seen)
"""BiC: weight of distillation."""

new_share = Scale("new/seen", lambda counts: counts.new / counts.seen)
"""BiC: weight of classification, 1 - old/seen."""

per_class = Scale("1/seen", lambda counts: 1.0 / counts.seen)
"""Turns a weight meant for a loss summed over classes into one for a loss averaged over them."""
