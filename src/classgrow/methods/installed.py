"""Methods that other packages bring along by an entry point."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib.metadata import EntryPoint

from classgrow.errors import ClassgrowError, one_line
from classgrow.installed import loaded
from classgrow.method import Method


def from_package(point: EntryPoint) -> Callable[..., Method]:
    """A factory that imports the package when its method is asked for: a broken one disturbs no other method."""

    def build(**options: object) -> Method:
        factory = loaded(point, "method")
        try:
            inspect.signature(factory).bind(**options)
        except TypeError as error:
            raise ClassgrowError(
                f"The method {point.name!r} cannot be built with the options {dict(options)} ({error}): "
                "see what its package says of them."
            ) from None
        try:
            method = factory(**options)
        except ClassgrowError:
            raise
        except (Exception, SystemExit) as error:
            raise broken(point, f"cannot be built ({one_line(error)})") from error
        if not isinstance(method, Method):
            raise broken(point, f"is a {type(method).__name__} and not a Method")
        return method

    return build


def broken(point: EntryPoint, how: str) -> ClassgrowError:
    return ClassgrowError(f"The method {point.name!r} of an installed package {how}: fix or uninstall that package.")
