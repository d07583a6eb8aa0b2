"""The numbers a method can be given, and a refusal of any other."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping

from classgrow.errors import ClassgrowError, nearest_name
from classgrow.method import Method


def options_of(factory: Callable[..., Method] | None) -> dict[str, float]:
    """Each number that the factory takes, with its usual value; unknown for a method of another package."""
    parameters = inspect.signature(factory).parameters.values() if factory else ()
    return {one.name: one.default for one in parameters if isinstance(one.default, int | float)}


def fitted(name: str, factory: Callable[..., Method], options: Mapping[str, object]) -> dict[str, object]:
    """The options as the factory takes them; numbers that the method called `name` does not take are refused.

    Parts, given from Python, are not looked at, nor what a factory passes on to another package's.
    """
    if any(one.kind is one.VAR_KEYWORD for one in inspect.signature(factory).parameters.values()):
        return dict(options)
    known = options_of(factory)
    found = dict(options)
    for option, value in options.items():
        if option not in inspect.signature(factory).parameters:
            hint = nearest_name(option, list(known))
            raise ClassgrowError(f"{name} has no option {option!r}.{hint} Its options: {', '.join(known) or 'none'}.")
        if option in known:
            whole = isinstance(known[option], int)
            if not isinstance(value, int | float) or not 0 <= value < math.inf or (whole and value != int(value)):
                wanted = "a whole number" if whole else "a number"
                raise ClassgrowError(f"The option {option} of {name} takes {wanted} of at least 0, not {value!r}.")
            found[option] = int(value) if whole else value
    return found
