"""Rules by name: ours, a line each, and those that other packages bring along in the group `classgrow.rules`."""

from __future__ import annotations

from collections.abc import Callable

from classgrow.errors import ClassgrowError, nearest_name
from classgrow.installed import installed_points, loaded
from classgrow.parts.discriminant import LinearDiscriminant
from classgrow.parts.rules import LargestLogit, NearestClassMean, NearestRawMean, Rule

RULES: dict[str, Callable[[], Rule]] = {
    "nearest": NearestClassMean,
    "raw_nearest": NearestRawMean,
    "head": LargestLogit,
    "discriminant": LinearDiscriminant,
}


def build_rule(name: str) -> Rule:
    """The rule of that name; other packages cannot take a built-in name."""
    if name in RULES:
        return RULES[name]()
    found = installed_points("classgrow.rules")
    if name not in found:
        known = [*RULES, *found]
        raise ClassgrowError(
            f"There is no rule {name!r}: `rule` is one of {', '.join(known)}.{nearest_name(name, known)}"
        )
    try:
        rule: Rule = loaded(found[name], "rule")()
    except ClassgrowError:
        raise
    except Exception as error:
        raise ClassgrowError(
            f"The rule {name!r} of an installed package cannot be made ({error}): fix or uninstall that package."
        ) from error
    if getattr(rule, "name", None) != name:
        raise ClassgrowError(
            f"The rule {name!r} of an installed package has another `name`: fix or uninstall that package."
        )
    return rule
