"""What bodies look like, for the OpenAPI description: routes read them themselves, within bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def form(fields: Mapping[str, str], needed: Sequence[str]) -> dict[str, object]:
    """A multipart form; `photo` holds files."""
    many = {"type": "array", "items": {"type": "string", "format": "binary"}}
    properties = {
        name: {**(many if name == "photo" else {"type": "string"}), "description": words}
        for name, words in fields.items()
    }
    return _body("multipart/form-data", {"type": "object", "properties": properties, "required": list(needed)})


def json_object(fields: Mapping[str, str], needed: Sequence[str] = ()) -> dict[str, object]:
    """A JSON object."""
    properties = {name: {"description": words} for name, words in fields.items()}
    return _body("application/json", {"type": "object", "properties": properties, "required": list(needed)})


def image_bytes() -> dict[str, object]:
    """The bytes of a photo."""
    return _body("application/octet-stream", {"type": "string", "format": "binary"})


def _body(kind: str, schema: dict[str, object]) -> dict[str, object]:
    return {"requestBody": {"required": True, "content": {kind: {"schema": schema}}}}
