"""What a method is, as a short text: equal for equal methods in any process, another for anything that was changed.

Values count by their settings, functions and classes by their names; those that are not ours by their code too, with
the functions and constants of their package that it uses. So an edited method of a user's own is another method.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from enum import Enum
from types import FunctionType, MethodType, ModuleType

import numpy as np
import torch
from torch import nn

from classgrow.method import Method, Source
from classgrow.methods.catalogue import METHODS
from classgrow.methods.own_code import Code, class_code, code_of, function_code, has_own_code, is_ours
from classgrow.parts.rule_catalogue import RULES
from classgrow.parts.rules import Rule


def fingerprint(value: Method | Rule) -> str:
    """`settings`, or `settings-code` where any code is not ours; a method's name and source change no number."""
    reading = Reading()
    settings = reading.text(replace(value, name="", source=Source()) if isinstance(value, Method) else value)
    code = "\n".join(sorted(reading.code.values()))
    return f"{_digest(settings)}-{_digest(code)}" if code else _digest(settings)


def value_of(name: str, method: Method, *outside: object) -> str:
    """What adds to the identity of a run where names do not decide everything; else nothing.

    That is a method or a rule that is not ours, and whatever else comes from another package: facts of a network or a
    data set, with the code that they name."""
    ours = name in METHODS and method.rule.name in RULES
    if not outside:
        return "" if ours else fingerprint(method)
    reading = Reading()
    parts = outside if ours else (replace(method, name="", source=Source()), *outside)
    settings = "\n".join(reading.text(part) for part in parts)
    return f"{_digest(settings)}-{_digest(chr(10).join(sorted(reading.code.values())))}"


def settings_of(text: str) -> str:
    """The part of a fingerprint that an edited function leaves as it is."""
    return text.partition("-")[0]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass
class Reading:
    """Goes through a value. `code`: the code found on the way, by what holds it; `inside`: what is being read now."""

    code: dict[int, str] = field(default_factory=dict)
    kept: list[object] = field(default_factory=list)
    """What the keys of `code` belong to, so that nothing else can get the same."""
    inside: list[object] = field(default_factory=list)

    def text(self, value: object) -> str:
        """The value as text; one that holds itself ends there."""
        if any(value is one for one in self.inside):
            return "…"
        self.inside.append(value)
        try:
            return _text(value, self)
        finally:
            self.inside.pop()

    def items(self, pairs: Iterable[tuple[str, object]]) -> str:
        return ", ".join(f"{name}={self.text(value)}" for name, value in pairs)

    def read(self, holder: FunctionType | type) -> None:
        """Take down the code of a function or a class, once, unless it is ours or another library's."""
        reader = next((one for one in reversed(self.inside[:-1]) if isinstance(one, Code)), None)
        key = id(code_of(holder))
        if key in self.code or not has_own_code(holder, reader.module if reader else None):
            return
        self.code[key] = ""
        self.kept.append(code_of(holder))
        self.inside.append(Code(holder.__module__))
        try:
            if isinstance(holder, FunctionType):
                code = function_code(holder, self.text)
            else:
                code = class_code(holder, self.text)
            self.code[key] = f"{holder.__qualname__}: {code}"
        finally:
            self.inside.pop()


@functools.singledispatch
def _text(value: object, reading: Reading) -> str:
    """Any object: its class and what it holds; of another library's as much as it says of itself."""
    kind = type(value)
    if is_dataclass(value):
        ours = is_ours(kind)
        settings = {one.name: getattr(value, one.name) for one in fields(value)}
        usual = {one.name for one in fields(value) if ours and _is_usual(one, settings[one.name], reading)}
        inside = {name: setting for name, setting in settings.items() if name not in usual}
    elif is_ours(kind) or has_own_code(kind):
        inside = getattr(value, "__dict__", {})
    elif hasattr(value, "__wrapped__"):
        return f"{kind.__qualname__}({reading.text(value.__wrapped__)})"
    else:
        return repr(value) if " at 0x" not in repr(value) else f"{kind.__module__}.{kind.__qualname__}"
    return f"{reading.text(kind)}({reading.items(sorted(inside.items()))})"


def _is_usual(one: Field[object], value: object, reading: Reading) -> bool:
    """A setting of ours at its default says nothing: a new one changes no fingerprint of before."""
    if one.default_factory is not MISSING:
        return reading.text(value) == reading.text(one.default_factory())
    return one.default is not MISSING and reading.text(value) == reading.text(one.default)


@_text.register(FunctionType)
def _(value: FunctionType, reading: Reading) -> str:
    reading.read(value)
    held = [one for one in (value.__defaults__, value.__kwdefaults__, _enclosed(value)) if one]
    return f"{value.__qualname__}{reading.text(held) if held and not is_ours(value) else ''}"


def _enclosed(function: FunctionType) -> list[object]:
    """The values that an inner function uses of the one around it."""
    found = []
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # not set yet
            found.append(cell.cell_contents)
    return found


@_text.register(type)
def _(value: type, reading: Reading) -> str:
    for base in value.__mro__:
        reading.read(base)
    return value.__qualname__


@_text.register(MethodType)
def _(value: MethodType, reading: Reading) -> str:
    return f"{reading.text(value.__self__)}.{reading.text(value.__func__)}"


@_text.register(functools.partial)
def _(value: functools.partial[object], reading: Reading) -> str:
    return f"partial({reading.text(value.func)}, {reading.text(value.args)}, {reading.text(value.keywords)})"


@_text.register(ModuleType)
def _(value: ModuleType, reading: Reading) -> str:
    return value.__name__


@_text.register(bool)
@_text.register(str)
@_text.register(bytes)
@_text.register(type(None))
def _(value: object, reading: Reading) -> str:
    return repr(value)


@_text.register(int)
@_text.register(float)
def _(value: float, reading: Reading) -> str:
    """2 and 2.0 are one number."""
    return repr(int(value)) if isinstance(value, float) and value.is_integer() else repr(value)


@_text.register(Enum)
def _(value: Enum, reading: Reading) -> str:
    return f"{type(value).__qualname__}.{value.name}({reading.text(value.value)})"


@_text.register(tuple)
@_text.register(list)
def _(value: Iterable[object], reading: Reading) -> str:
    return f"({', '.join(reading.text(one) for one in value)})"


@_text.register(set)
@_text.register(frozenset)
def _(value: Iterable[object], reading: Reading) -> str:
    return f"{{{', '.join(sorted(reading.text(one) for one in value))}}}"


@_text.register(Mapping)
def _(value: Mapping[object, object], reading: Reading) -> str:
    return f"{{{', '.join(sorted(f'{reading.text(key)}: {reading.text(one)}' for key, one in value.items()))}}}"


@_text.register(torch.Tensor)
@_text.register(np.ndarray)
def _(value: torch.Tensor | np.ndarray, reading: Reading) -> str:
    array = value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else value
    return f"array({array.dtype}, {array.shape}, {hashlib.sha256(array.tobytes()).hexdigest()})"


@_text.register(nn.Module)
def _(value: nn.Module, reading: Reading) -> str:
    return f"{reading.text(type(value))}({value!r}, {reading.text(value.state_dict())})"
