"""Rules by name: ours, and those that installed packages bring along in the group `classgrow.rules`."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points

from classgrow.errors import ClassgrowError, nearest_name
from classgrow.parts.discriminant import LinearDiscriminant
from classgrow.parts.rules import LargestLogit, NearestClassMean, NearestRawMean, Rule

RULES: dict[str, Callable[[], Rule]] = {
    "nearest": NearestClassMean,
    "raw_nearest": NearestRawMean,
    "head": LargestLogit,
    "discriminant": LinearDiscriminant,
}


def build_rule(name: str) -> Rule:
    """The rule of that name; ours win over a package's."""
    if name in RULES:
        return RULES[name]()
    found = {point.name: point for point in entry_points(group="classgrow.rules")}
    if name not in found:
        known = [*RULES, *found]
        raise ClassgrowError(f"There is no rule {name!r}; known are {', '.join(known)}.{nearest_name(name, known)}")
    try:
        rule: Rule = found[name].load()()
    except Exception as error:
        raise ClassgrowError(
            f"The rule {name!r} of an installed package cannot be loaded ({error}): fix or uninstall that package."
        ) from error
    return rule
