"""The numbers a method can be given, and a refusal of any other."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from classgrow.errors import ClassgrowError, nearest_name
from classgrow.method import Method


def options_of(factory: Callable[..., Method]) -> dict[str, float]:
    """Each number that the factory takes, with its usual value."""
    parameters = inspect.signature(factory).parameters.values()
    return {one.name: one.default for one in parameters if isinstance(one.default, int | float)}


def check_options(name: str, factory: Callable[..., Method], options: Mapping[str, Any]) -> None:
    """Refuses numbers that the method called `name` does not take.

    Parts, given from Python, are not looked at, nor what a factory passes on to another package's.
    """
    if any(one.kind is one.VAR_KEYWORD for one in inspect.signature(factory).parameters.values()):
        return
    known = options_of(factory)
    for option, value in options.items():
        if not isinstance(value, int | float):
            continue
        if option not in known:
            hint = nearest_name(option, list(known))
            raise ClassgrowError(f"{name} has no option {option!r}.{hint} Its options: {', '.join(known) or 'none'}.")
        if isinstance(known[option], int) and value != int(value):
            raise ClassgrowError(f"The option {option} of {name} takes a whole number, not {value}.")
