"""Records of format 1, as versions before rules were values wrote them. Nothing else in the project knows of them.

They name no rule's words and do not say what the method's own numbers were: both are filled in here, once.
"""

from __future__ import annotations

from classgrow.recipes import RECIPES, Recipe, method_options
from classgrow.specs.spec import ResolvedSpec
from classgrow.specs.typed import as_json

OLD_RULES: tuple[dict[str, object], ...] = (
    {"name": "nearest", "title": "nearest class mean", "formula": "argmin_c ‖μ_c − f̄(x)‖", "everyday": True},
    {
        "name": "raw_nearest",
        "title": "nearest class mean, unnormalised",
        "formula": "argmin_c ‖μ_c − f̄(x)‖, μ_c of features as they are",
        "everyday": False,
    },
    {"name": "head", "title": "head", "formula": "argmax_c a_c(x)", "everyday": True},
)
"""The three rules that format 1 knows."""


def as_format_2(content: dict[str, object]) -> dict[str, object]:
    """The same as format 2. What is not a record stays as it is: validation then refuses it."""
    spec, method = content.get("spec"), content.get("method")
    given = spec if isinstance(spec, dict) else {}
    resolved = ResolvedSpec.from_json(content.get("resolved"))
    return content | {
        "format": 2,
        "own": _own(given, resolved),
        "method": _method(method, content.get("headline")) if isinstance(method, dict) else method,
    }


def _method(method: dict[str, object], headline: object) -> dict[str, object]:
    """The old entry `rule` is the formula of the rule that answers."""
    words = {name: value for name, value in method.items() if name != "rule"}
    answer = {"formula": method.get("rule")}
    rules = [rule | answer if rule["name"] == headline else rule for rule in OLD_RULES]
    return words | {"rules": rules}


def _own(given: dict[str, object], resolved: ResolvedSpec) -> dict[str, object]:
    """What was not asked for is the method's own; of what was, the table of this version tells."""
    recipe = _own_recipe(given, resolved)
    options_asked = given.get("options")
    asked = options_asked if isinstance(options_asked, dict) else {}
    table = method_options(resolved.method, resolved.kind)
    options = {name: value for name, value in resolved.options.items() if name not in asked}
    return {"recipe": as_json(recipe) if recipe else None, "options": table | options}


def _own_recipe(given: dict[str, object], resolved: ResolvedSpec) -> Recipe | None:
    if given.get("epochs") is None and given.get("lr") is None and resolved.profile == "official":
        return resolved.recipe
    return RECIPES.get(resolved.recipe_name, {}).get(resolved.kind)
