"""Rules by name, a line each.

A package adds its own by an entry point in the group `classgrow.rules` that names a class derived from `Rule`.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint

from classgrow.errors import ClassgrowError, nearest_name
from classgrow.installed import installed_points, loaded
from classgrow.parts.rules import Rule

GROUP = "classgrow.rules"
RULES: dict[str, str] = {
    "nearest": "classgrow.parts.rules:NearestClassMean",
    "raw_nearest": "classgrow.parts.rules:NearestRawMean",
    "head": "classgrow.parts.rules:LargestLogit",
    "discriminant": "classgrow.parts.discriminant:LinearDiscriminant",
    "ridge": "classgrow.parts.ridge:RandomRidge",
}


def build_rule(name: str) -> Rule:
    """The rule of that name; other packages cannot take a built-in name."""
    ours = {known: EntryPoint(known, place, GROUP) for known, place in RULES.items()}
    points = {**installed_points(GROUP), **ours}
    if name not in points:
        known = [*RULES, *(other for other in points if other not in RULES)]
        raise ClassgrowError(
            f"There is no rule {name!r}: `rule` is one of {', '.join(known)}.{nearest_name(name, known)}"
        )
    try:
        rule: Rule = loaded(points[name], "rule")()
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
