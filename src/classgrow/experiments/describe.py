"""A method in its record: its own numbers, and its rules in their own words."""

from __future__ import annotations

from classgrow.data.catalogue import DATASETS
from classgrow.inputs import Shape
from classgrow.method import Method
from classgrow.recipes import method_options, recipe_for
from classgrow.records.record import Own, RuleRecord
from classgrow.specs.spec import ResolvedSpec
from classgrow.specs.training import Asked, preset_of


def own_numbers(resolved: ResolvedSpec, shape: Shape) -> Own:
    """What the method has on images of this shape by default."""
    preset = preset_of(Asked(), DATASETS.find(resolved.dataset), shape)
    own = recipe_for(resolved.recipe_name, resolved.kind)
    return Own(recipe=own, options=method_options(resolved.method, resolved.kind), preset=preset)


def rule_records(method: Method) -> list[RuleRecord]:
    """The rule that answers and those recorded beside it, in their own words."""
    return [
        RuleRecord(name=rule.name, title=rule.title, formula=rule.formula, everyday=rule.everyday)
        for rule in method.rules
    ]
