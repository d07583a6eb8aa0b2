"""What the fields of a record may hold, checked as it is read: numbers, a recipe, a resolved spec."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import BeforeValidator, Field, InstanceOf, PlainSerializer

from classgrow.recipes import Recipe
from classgrow.specs.spec import ResolvedSpec
from classgrow.specs.typed import as_json, typed


def _finite(value: object) -> object:
    """A number that is not finite is a missing number: JSON has no word for it."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _recipe(value: object) -> object:
    return value if isinstance(value, Recipe) else typed(Recipe, value, "own.recipe")


def _resolved(value: object) -> object:
    """Checked also where it was made here, so that no run is recorded that cannot be read again."""
    return ResolvedSpec.from_json(value.to_json() if isinstance(value, ResolvedSpec) else value)


Number = Annotated[float | None, BeforeValidator(_finite)]
Finite = Annotated[float, Field(allow_inf_nan=False, ge=0, le=1e15)]
Whole = Annotated[int, Field(ge=0, lt=2**53)]
OwnRecipe = Annotated[InstanceOf[Recipe], BeforeValidator(_recipe), PlainSerializer(as_json, return_type=dict)]
Resolved = Annotated[
    InstanceOf[ResolvedSpec], BeforeValidator(_resolved), PlainSerializer(ResolvedSpec.to_json, return_type=dict)
]
