"""Errors speak of arguments (`memory_per_class`); here they become the running command's flags (--memory-per-class)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

import typer
from typer.core import TyperCommand

from classgrow.errors import ClassgrowError

ARGUMENT = re.compile(r"`([a-z_]+)`( = )?")
"""A name in backticks, perhaps with a value: "`device` = cpu"."""

_running: ContextVar[Mapping[str, str] | None] = ContextVar("running", default=None)
"""The flags of the running command by the names of its parameters."""


class FlagCommand(TyperCommand):
    """A command whose errors name its own flags."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override] # typer's own context, whichever it is
        token = _running.set({parameter.name or "": flag_of(parameter) for parameter in self.params})
        try:
            return super().invoke(ctx)
        except ClassgrowError as error:
            error.args = (with_flags(str(error)),)
            raise
        finally:
            _running.reset(token)


def flag_of(parameter: Any) -> str:
    """--memory for an option; DATASET for an argument that has no flag."""
    flag: str = max(parameter.opts, key=len)
    return flag if flag.startswith("-") else parameter.metavar or flag.upper()


def with_flags(text: str) -> str:
    """The text in the words of the running command; as it is where none runs."""
    flags = _running.get()
    return text if flags is None else name_flags(text, flags)


def name_flags(text: str, flags: Mapping[str, str]) -> str:
    """Names in backticks as flags; a name without one stays as it is.

    >>> name_flags("Raise `memory` or `size`, or give `device` = cpu.", {"memory": "--memory", "device": "--device"})
    'Raise --memory or `size`, or give --device cpu.'
    """

    def flag(found: re.Match[str]) -> str:
        if found[1] not in flags:
            return found[0]
        return flags[found[1]] + (" " if found[2] else "")

    return ARGUMENT.sub(flag, text)
