"""What a run will be: its spec resolved, and an estimate of its training, for the time left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from classgrow.data.catalogue import DATASETS
from classgrow.inputs import Shape
from classgrow.memory import Budget
from classgrow.method import Method
from classgrow.methods import METHODS, build_method
from classgrow.methods.fingerprint import value_of
from classgrow.methods.options import options_of
from classgrow.networks.catalogue import NETWORKS
from classgrow.networks.facts import NetworkFacts
from classgrow.parts.rule_catalogue import build_rule
from classgrow.presets import PRESETS
from classgrow.specs.spec import ResolvedSpec, Spec, resolve
from classgrow.steps import PhasePlan, declared

if TYPE_CHECKING:
    from classgrow.experiments.run import Run


def resolved_for(spec: Spec, classes: int, shape: Shape, fingerprint: str) -> ResolvedSpec:
    """The spec with no gap left, for data with so many classes and images of `shape`."""
    method = build_method(spec.method, **spec.options)
    answering = method if spec.rule is None else method.with_rule(build_rule(spec.rule))
    answering.check_rules()
    outside_network = NETWORKS.from_outside(spec.network) if spec.network is not None else ()
    return resolve(
        spec,
        classes,
        method.recipe,
        shape,
        keeps_memory=method.keeps_memory,
        own_options=options_of(METHODS.get(spec.method)),
        own_rule=method.rule.name,
        data=fingerprint,
        value=value_of(spec.method, answering, *DATASETS.from_outside(spec.dataset), *outside_network),
    )


def network_of(resolved: ResolvedSpec) -> NetworkFacts:
    """The network of a resolved spec: its own, or the preset's."""
    return NETWORKS[resolved.network or PRESETS[resolved.kind].network]


def method_of(resolved: ResolvedSpec) -> Method:
    """The method a resolved spec names, with its options for the data set."""
    method = build_method(resolved.method, **resolved.options)
    return method.with_rule(build_rule(resolved.rule)) if resolved.rule else method


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
