"""From what a user wrote (flags, a TOML file) to checked values, or to one sentence with the way out."""

from __future__ import annotations

import errno
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from classgrow.disk import read_regular
from classgrow.errors import ClassgrowError, nearest_name, one_line

LARGEST_FILE, MOST_DOTS = 64 * 2**10, 64
"""Bytes of a settings file, and dots in one of its lines: a key of 50,000 parts would take 8 GB."""
RIVALS = {"memory": "memory_per_class", "memory_per_class": "memory"}


def read_toml(path: Path) -> dict[str, object]:
    """The settings in a TOML file."""
    try:
        text = read_regular(path, LARGEST_FILE).decode("utf-8")
        if any(line.count(".") > MOST_DOTS for line in text.splitlines()):
            raise OSError(errno.EINVAL, f"a line has more than {MOST_DOTS} dots")
        return tomllib.loads(text)
    except FileNotFoundError:
        raise ClassgrowError(f"There is no settings file {path}: check the path.") from None
    except OSError as error:
        raise ClassgrowError(
            f"The settings file {path} cannot be read ({error.strerror}): give a TOML text file."
        ) from None
    except UnicodeDecodeError as error:
        raise ClassgrowError(f"The settings file {path} cannot be read ({error}): give a TOML text file.") from None
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits
        raise ClassgrowError(
            f'{path} is not valid TOML ({one_line(error)}): write lines like method = "fgp" or memory = 2000.'
        ) from None


def overridden(settings: Mapping[str, object], overrides: Mapping[str, object]) -> dict[str, object]:
    """`settings` with the overrides that were given (None: not given). One of the two ways to size the memory
    replaces the other; options are overridden one by one."""
    given = {key: value for key, value in overrides.items() if value is not None}
    written, asked = settings.get("options"), given.get("options")
    if isinstance(written, dict) and isinstance(asked, dict):
        given["options"] = written | asked
    replaced = {RIVALS[key] for key in given if key in RIVALS} - given.keys()
    return {key: value for key, value in settings.items() if key not in replaced} | given


def check_names(options: Iterable[str], known: tuple[str, ...]) -> None:
    """Refuses an unknown name, with the nearest known one."""
    for name in options:
        if name not in known:
            raise ClassgrowError(
                f"There is no setting {name!r}.{nearest_name(name, known)} The settings are {', '.join(known)}."
            )


def explain(error: ValidationError) -> ClassgrowError:
    """The first thing that is wrong, as one sentence."""
    first = error.errors(include_url=False)[0]
    name = ".".join(str(part) for part in first["loc"] if part not in ("float", "int"))  # those of a union
    return ClassgrowError(f"`{name}` = {first['input']!r} does not fit: give {_wanted(first)}.")


def _wanted(detail: ErrorDetails) -> str:
    context = detail.get("ctx", {})
    match detail["type"]:
        case "int_type" | "int_from_float":
            return "a whole number"
        case "float_type":
            return "a number"
        case "dict_type":
            return "names with numbers, as in options = {strength = 0.5}"
        case "greater_than_equal":
            whole = "" if detail["loc"][0] == "options" else "whole "
            return f"a {whole}number of at least {context['ge']}"
        case "greater_than":
            return f"a number above {context['gt']:g}"
        case "less_than_equal":
            return f"a number of at most {context['le']:g}"
        case "finite_number":
            return "a finite number"
        case "less_than":
            return f"a whole number below {context['lt']}"
        case "string_type" | "string_too_short":
            return "a word in quotes"
        case "literal_error":
            return str(context["expected"])
    return f"another value ({detail['msg']})"
