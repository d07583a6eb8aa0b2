"""The code of functions and classes that are not ours, as Python runs it: editing a function changes it.

Comments, docstrings and line numbers say nothing. Another version of Python may write the same code otherwise.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

Text = Callable[[object], str]
FOREIGN = (sys.stdlib_module_names | {"torch", "numpy"}) - {"builtins", "__main__"}
"""Libraries whose code is not read; a class that was made by `exec` may call itself one of `builtins`."""
HEAP_TYPE = 1 << 9
"""A class that Python code made, and not a built-in one."""


@dataclass(frozen=True)
class Code:
    """Marks, in a reading, that the code of this module is being read."""

    module: str


def is_ours(thing: FunctionType | type) -> bool:
    """A function or class of classgrow that its name alone decides, as that of a lambda does not."""
    return top_level(thing.__module__) == "classgrow" and "<" not in thing.__qualname__


def has_own_code(thing: FunctionType | type, reader: str | None = None) -> bool:
    """Whether the code counts: it is a user's, and belongs to the module that uses it (`reader`), if any does."""
    if is_ours(thing) or top_level(thing.__module__) in FOREIGN:
        return False
    if isinstance(thing, type) and not thing.__flags__ & HEAP_TYPE:
        return False
    return reader is None or belong_together(thing.__module__, reader)


def belong_together(one: str | None, other: str | None) -> bool:
    """Modules of one package, or files side by side that are not all that is installed."""
    if top_level(one) == top_level(other):
        return True
    places = [Path(getattr(sys.modules.get(name or ""), "__file__", None) or "").parent for name in (one, other)]
    return places[0] == places[1] != Path() and places[0].name not in ("site-packages", "dist-packages")


def top_level(module: str | None) -> str:
    return (module or "builtins").partition(".")[0]


def code_of(holder: FunctionType | type) -> object:
    """What the code belongs to: two functions of one `def` share it."""
    return holder.__code__ if isinstance(holder, FunctionType) else holder


def function_code(function: FunctionType, text: Text) -> str:
    """What Python runs, and the values of the global names in it."""
    names = sorted(set(names_in(function.__code__)))
    found = [(name, function.__globals__[name]) for name in names if name in function.__globals__]
    used = [f"{name}={text(value)}" for name, value in found]
    for module in (value for _, value in found if isinstance(value, ModuleType)):
        if belong_together(module.__name__, function.__module__):
            used += [f"{module.__name__}.{name}={text(vars(module)[name])}" for name in names if name in vars(module)]
    return f"{instructions(function.__code__, text, function.__doc__)} with {', '.join(used)}"


def instructions(code: CodeType, text: Text, doc: str | None = None) -> str:
    constants = [
        instructions(one, text) if isinstance(one, CodeType) else text(one)
        for place, one in enumerate(code.co_consts)
        if not (place == 0 and one in (None, doc))
    ]
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    return f"{counts} {code.co_code.hex()} {code.co_exceptiontable.hex()} {code.co_names} ({', '.join(constants)})"


def names_in(code: CodeType) -> Iterator[str]:
    """Names of globals and attributes, also those within inner functions."""
    yield from code.co_names
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from names_in(one)


def class_code(kind: type, text: Text) -> str:
    """Its methods and the values in its body; not what `dataclass` writes."""
    parts = [f"{name}={text(value)}" for name, value in sorted(vars(kind).items()) if _counts(name, value)]
    parts += [f"{name}={text(inner)}" for name, value in sorted(vars(kind).items()) for inner in _functions(value)]
    return f"({', '.join(base.__qualname__ for base in kind.__bases__)}) {', '.join(parts)}"


def _counts(name: str, value: object) -> bool:
    if isinstance(value, FunctionType):
        return value.__code__.co_filename not in ("<string>", dataclasses.__file__) or not name.startswith("__")
    wraps = isinstance(value, property | cached_property | staticmethod | classmethod)
    return not (wraps or name.startswith("__") or name == "_abc_impl" or hasattr(type(value), "__set__"))


def _functions(value: object) -> list[object]:
    """Those that a property or a method of the class is made of."""
    if isinstance(value, property):
        return [one for one in (value.fget, value.fset, value.fdel) if one is not None]
    if isinstance(value, cached_property):
        return [value.func]
    return [value.__func__] if isinstance(value, staticmethod | classmethod) else []
