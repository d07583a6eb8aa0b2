"""Methods that other packages bring along by an entry point."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib.metadata import EntryPoint
from typing import Any

from classgrow.errors import ClassgrowError
from classgrow.installed import loaded
from classgrow.method import Method


def from_package(point: EntryPoint) -> Callable[..., Method]:
    """A factory that imports the package when its method is asked for: a broken one disturbs no other method."""

    def build(**options: Any) -> Method:
        factory = loaded(point, "method")
        try:
            inspect.signature(factory).bind(**options)
        except TypeError as error:
            raise ClassgrowError(
                f"The method {point.name!r} cannot be built with the options {dict(options)} ({error}): "
                "see what its package says of them."
            ) from None
        method: Method = factory(**options)
        return method

    return build
