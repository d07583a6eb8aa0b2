"""How much training a run has before it: an estimate, for the time left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from classgrow.memory import Budget
from classgrow.method import Method
from classgrow.methods import build_method
from classgrow.specs.spec import ResolvedSpec
from classgrow.steps import PhasePlan, declared

if TYPE_CHECKING:
    from classgrow.experiments.run import Run


def method_of(resolved: ResolvedSpec) -> Method:
    """The method a resolved spec names, with its options for the data set."""
    return build_method(resolved.method, **resolved.options)


def planned_images(run: Run) -> tuple[int, ...]:
    """For each phase of the run, the images its training stages go over, repetitions counted."""
    counts = run.dataset.train.relabelled(run.resolved.order).counts()
    return training_images(run.resolved, run.phases, [int(counts[label]) for label in range(len(run.resolved.order))])


def training_images(resolved: ResolvedSpec, phases: int, of_class: Sequence[int]) -> tuple[int, ...]:
    """The same from the images of each class alone, in learning order."""
    method = method_of(resolved)
    budget = budget_of(resolved, method)
    images = []
    for phase in range(1, phases + 1):
        old, seen = sum(resolved.sizes[: phase - 1]), sum(resolved.sizes[:phase])
        quota = budget.quota(old) if budget and old else 0
        kept = sum(min(quota, count) for count in of_class[:old])
        balanced = sum(min(quota, count) for count in of_class[:seen])
        plan = PhasePlan(phase, resolved.recipe, kept + sum(of_class[old:seen]), balanced)
        images.append(sum(declared(step).images(plan) for step in method.steps))
    return tuple(images)


def budget_of(resolved: ResolvedSpec, method: Method) -> Budget | None:
    """The memory's budget; None for a method that keeps nothing."""
    if method.unlimited_memory:
        return Budget(unlimited=True)
    if not method.keeps_memory:
        return None
    return Budget(total=resolved.memory, per_class=resolved.memory_per_class)
