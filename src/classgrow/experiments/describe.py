"""A method in its record: its own numbers, and its rules in their own words."""

from __future__ import annotations

from classgrow.method import Method
from classgrow.recipes import kind_for, method_options, recipe_for
from classgrow.records.format_1 import OLD_RULES
from classgrow.records.record import Own, RuleRecord
from classgrow.specs.spec import ResolvedSpec


def own_numbers(resolved: ResolvedSpec, shape: tuple[int, int, int]) -> Own:
    """What the method has on images of this shape unless told otherwise."""
    preset = kind_for(min(shape[:2]))
    own = recipe_for(resolved.recipe_name, resolved.kind)
    return Own(recipe=own, options=method_options(resolved.method, resolved.kind), preset=preset)


def rule_records(method: Method) -> list[RuleRecord]:
    """The rule that answers and those recorded beside it, in their own words."""
    rules = (method.rule, *getattr(method, "others", ()))
    found = {
        rule.name: RuleRecord(
            name=rule.name,
            title=getattr(rule, "title", rule.name),
            formula=rule.formula,
            everyday=getattr(rule, "everyday", True),
        )
        for rule in rules
    }
    if not hasattr(method, "others"):  # a learner that predicts by the three rules of format 1
        found |= {old["name"]: RuleRecord(**old) for old in OLD_RULES}
    return list(found.values())
