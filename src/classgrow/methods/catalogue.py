"""Methods by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from classgrow.errors import ClassgrowError, nearest_name
from classgrow.method import Method
from classgrow.methods.fgp import fgp
from classgrow.methods.plain import finetune

METHODS: dict[str, Callable[..., Method]] = {"fgp": fgp, "finetune": finetune}


def build_method(name: str, **options: Any) -> Method:
    """The named method, with the options of its factory."""
    if name not in METHODS:
        known = sorted(METHODS)
        raise ClassgrowError(f"Unknown method {name!r}; known: {', '.join(known)}.{nearest_name(name, known)}")
    return METHODS[name](**options)
