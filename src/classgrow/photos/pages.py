"""Pages about photos: one file each with pictures inside, so that it can be opened offline, moved and sent."""

from __future__ import annotations

import base64
import os
import tempfile
from functools import cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from classgrow.errors import ClassgrowError
from classgrow.records.words import printable


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("classgrow.photos"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"printable": printable, "picture": picture, "percent": percent, "count": "{:,}".format}
    return environment


def page(template: str, **values: object) -> str:
    """A template filled in. Every value is escaped."""
    return _environment().get_template(template).render(**values)


def picture(jpeg: bytes) -> str:
    """A small JPEG as an address that needs no file."""
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"


def percent(share: float | None) -> str:
    """0.851 as 85.1 %; nothing measured as a dash."""
    return "–" if share is None else f"{100 * share:.1f}\N{NO-BREAK SPACE}%"


def write_page(path: Path, text: str) -> Path:
    """Write a page in one move: whoever opens it sees all of it or the one before."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, unfinished = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
            Path(unfinished).chmod(0o644)
            Path(unfinished).replace(path)
        finally:
            Path(unfinished).unlink(missing_ok=True)
    except OSError as error:
        raise ClassgrowError(f"Cannot write {path} ({error.strerror}): give another file as `output`.") from error
    return path
