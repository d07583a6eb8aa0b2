"""From JSON values to frozen dataclasses and back: every value is checked against the type of its field.

Numbers keep the form they have (2 stays 2 and 2.0 stays 2.0), so that writing a value again gives the same text, and
with it the same identity. Every text is a word that may stand in the name of a file.
"""

from __future__ import annotations

import math
import re
from dataclasses import MISSING, Field, fields, is_dataclass
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from classgrow.errors import ClassgrowError
from classgrow.json_values import Json, JsonDict

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

WORD = re.compile(r"\w[\w.+:-]{0,63}")
"""What a name may be made of: no blank, no slash, no dot in front."""
LARGEST = 2**63
"""Whole numbers stay below it in size."""
Value = TypeVar("Value", bound="DataclassInstance")


def typed(kind: type[Value], values: object, place: str = "") -> Value:
    """The dataclass `kind` from a dict. A field that is missing gets its default; anything that does not fit is a
    ClassgrowError that names it (`place` is what the whole is called)."""
    if not isinstance(values, dict):
        raise _misfit(place or kind.__name__, values, "an object")
    known = {field.name: field for field in fields(kind)}
    for name in values:
        if name not in known:
            raise ClassgrowError(f"this version does not know {_shown(_inside(place, name))}")
    hints = get_type_hints(kind)
    found = {name: _field(field, hints[name], values, _inside(place, name)) for name, field in known.items()}
    return kind(**found)


def json_of(value: DataclassInstance) -> JsonDict:
    """What `typed` reads as the same dataclass. A field whose metadata says `{"json": "where needed"}` is left out
    while it has its default."""
    return {field.name: as_json(getattr(value, field.name)) for field in fields(value) if _is_said(field, value)}


def as_json(value: object) -> Json:
    """Dataclasses, dicts, lists, numbers and words as JSON values."""
    if is_dataclass(value) and not isinstance(value, type):
        return json_of(value)
    if isinstance(value, dict):
        return {str(name): as_json(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(one) for one in value]
    assert value is None or isinstance(value, str | int | float | bool)
    return value


def _is_said(field: Field[object], value: object) -> bool:
    return field.metadata.get("json") != "where needed" or getattr(value, field.name) != field.default


def _field(field: Field[object], hint: object, values: dict[str, object], place: str) -> object:
    if field.name in values:
        value = values[field.name]
        return value if value == "" and field.default == "" else _value(hint, value, place)
    if field.default is not MISSING:
        return field.default
    if field.default_factory is not MISSING:
        return field.default_factory()
    raise ClassgrowError(f"{place} is missing")


def _value(hint: object, value: object, place: str) -> object:
    if isinstance(hint, type) and is_dataclass(hint):
        return typed(hint, value, place)
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _value(inner[0], value, place)
    if origin is Union or origin is UnionType:
        return _one_of(inner, value, place)
    if origin is Literal:
        if not any(type(value) is type(word) and value == word for word in inner):
            raise _misfit(place, value, f"one of {', '.join(map(str, inner))}")
        return value
    if origin is tuple:
        return tuple(_value(inner[0], one, place) for one in _list(value, place))
    if origin is dict:
        return {_plain(str, name, place): _value(inner[1], one, f"{place}.{name}") for name, one in _dict(value, place)}
    return _plain(hint, value, place)


def _one_of(hints: tuple[object, ...], value: object, place: str) -> object:
    """By the only member of a union that can fit: None, or the rest."""
    if value is None and NoneType in hints:
        return None
    problem = _misfit(place, value, "another value")
    for hint in hints:
        if hint is not NoneType:
            try:
                return _value(hint, value, place)
            except ClassgrowError as error:
                problem = error
    raise problem


def _plain(hint: object, value: object, place: str) -> object:
    if hint is bool:
        fits, wanted = type(value) is bool, "true or false"
    elif hint is int:
        fits, wanted = _is_whole(value), "a whole number"
    elif hint is float:
        fits, wanted = _is_whole(value) or (type(value) is float and math.isfinite(value)), "a finite number"
    elif hint is str:
        fits, wanted = isinstance(value, str) and WORD.fullmatch(value) is not None, "a plain word"
    else:
        raise TypeError(f"{place}: values of type {hint} cannot be read from JSON")
    if not fits:
        raise _misfit(place, value, wanted)
    return value


def _is_whole(value: object) -> bool:
    return type(value) is int and abs(value) < LARGEST


def _list(value: object, place: str) -> list[object]:
    if not isinstance(value, list | tuple):
        raise _misfit(place, value, "a list")
    return list(value)


def _dict(value: object, place: str) -> list[tuple[object, object]]:
    if not isinstance(value, dict):
        raise _misfit(place, value, "names with values")
    return list(value.items())


def _inside(place: str, name: object) -> str:
    return f"{place}.{name}" if place else str(name)


def _misfit(place: str, value: object, wanted: str) -> ClassgrowError:
    return ClassgrowError(f"{_shown(place)} is {_shown(value)} and not {wanted}")


def _shown(value: object) -> str:
    """The start of a value that may be anything, on one line."""
    if type(value) is int and not _is_whole(value):
        return "a number without end"
    if isinstance(value, list | tuple | dict):
        return "a list" if not isinstance(value, dict) else "an object"
    text = ascii(value) if not isinstance(value, str) or not value.isprintable() else value
    return text if len(text) <= 60 else f"{text[:60]}…"
