"""What a request holds, taken out within bounds: a form with photos, JSON, or raw bytes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from python_multipart.exceptions import FormParserError
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from classgrow.json_values import Json, JsonDict
from classgrow.serve.refusals import RefusedError
from classgrow.serve.service import Service
from classgrow.serve.uploads import Upload, plain_name

FORMS = ("multipart/form-data", "application/x-www-form-urlencoded")
MOST_FIELDS = 300
LONGEST_FIELD = 4096
DEEPEST = 32
LONGEST_INTEGER = 30


def service_of(request: Request) -> Service:
    found = request.app.state.service
    assert isinstance(found, Service)
    return found


@dataclass(frozen=True)
class PhotoForm:
    """The photos of a form, and its other fields."""

    photos: list[Upload]
    fields: dict[str, list[str]]

    def one(self, name: str) -> str:
        """A field that must be there once."""
        values = self.fields.get(name, [])
        if len(values) != 1:
            raise RefusedError(400, f"The form needs `{name}` once.")
        return values[0]

    def many(self, name: str) -> list[str]:
        return self.fields.get(name, [])


async def photo_form(request: Request) -> PhotoForm:
    """A multipart form; photos are in its fields called `photo`."""
    if not request.headers.get("content-type", "").lower().startswith(FORMS):
        raise RefusedError(415, "Send a form (multipart/form-data) with photos in `photo`.")
    most = service_of(request).settings.limits.photos
    try:
        async with request.form(max_files=most, max_fields=MOST_FIELDS, max_part_size=LONGEST_FIELD) as form:
            photos, fields = [], dict[str, list[str]]()
            for name, value in form.multi_items():
                if isinstance(value, UploadFile):
                    if name != "photo":
                        raise RefusedError(400, "Files are taken in `photo` only.")
                    photos.append(Upload(plain_name(value.filename), await value.read()))
                else:
                    fields.setdefault(name, []).append(value)
    except HTTPException as problem:
        raise RefusedError(400, f"The form cannot be read: {problem.detail}") from None
    except FormParserError:
        raise RefusedError(400, "The form cannot be read.") from None
    return PhotoForm(photos, fields)


async def json_body(request: Request) -> JsonDict:
    """A JSON object, within bounds."""
    if request.headers.get("content-type", "").lower().partition(";")[0].strip() != "application/json":
        raise RefusedError(415, "Send JSON (content-type application/json).")
    return parsed(await request.body(), service_of(request).settings.limits.json)


def parsed(content: bytes, most: int) -> JsonDict:
    """The object in a JSON text: no deeper than sense has it, no endless numbers, nothing that is no number."""
    if len(content) > most:
        raise RefusedError(413, f"More than {most >> 20} MB of JSON: send photos as bytes.")
    try:
        found: Json = json.loads(content, parse_constant=_refuse_constant, parse_int=_integer)
    except (ValueError, RecursionError):
        raise RefusedError(400, "The JSON cannot be read.") from None
    if not isinstance(found, dict):
        raise RefusedError(400, "The JSON must be an object.")
    check_depth(found)
    return found


def check_depth(value: Json, left: int = DEEPEST) -> None:
    """Refuse what is nested too deeply."""
    if left == 0:
        raise RefusedError(400, f"The JSON is nested more than {DEEPEST} levels deep.")
    if isinstance(value, dict):
        for one in value.values():
            check_depth(one, left - 1)
    elif isinstance(value, list) and any(isinstance(one, dict | list) for one in value):
        for one in value:
            check_depth(one, left - 1)


def text_in(values: JsonDict, name: str) -> str:
    """A text that must be there."""
    found = values.get(name)
    if not isinstance(found, str) or len(found) > LONGEST_FIELD:
        raise RefusedError(400, f"The JSON needs `{name}`, a text.")
    return found


def dict_in(values: JsonDict, name: str) -> JsonDict:
    """An object, empty where it is left out."""
    found = values.get(name) or {}
    if not isinstance(found, dict):
        raise RefusedError(400, f"`{name}` must be an object.")
    return found


def list_in(values: JsonDict, name: str) -> Sequence[Json]:
    """A list, empty where it is left out."""
    found = values.get(name) or []
    if not isinstance(found, list):
        raise RefusedError(400, f"`{name}` must be a list.")
    return found


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


def _integer(text: str) -> int:
    if len(text) > LONGEST_INTEGER:
        raise ValueError("an endless number")
    return int(text)
