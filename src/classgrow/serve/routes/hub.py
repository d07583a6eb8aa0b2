"""As model hubs answer: the bytes of a photo in, `[{"label", "score"}]` out. `huggingface_hub`'s client speaks it."""

from __future__ import annotations

import base64
import binascii

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from classgrow.serve.refusals import RefusedError
from classgrow.serve.requests import dict_in, json_body, service_of
from classgrow.serve.routes.described import image_bytes
from classgrow.serve.uploads import Upload

router = APIRouter()
TOP, MOST_TOP = 5, 1000


@router.post("/models/{name}", openapi_extra=image_bytes())
async def classify(request: Request, name: str) -> Response:
    """The likeliest classes of one photo. This form cannot say "unknown": /predict can."""
    service = service_of(request)
    if name != service.settings.name:
        raise RefusedError(404, f"The model here is called {service.settings.name}.")
    content, top = await photo_and_top(request)
    [answer] = await service.predict([Upload("photo", content)], top)
    return JSONResponse([{"label": label, "score": score} for label, score in answer.ranking])


async def photo_and_top(request: Request) -> tuple[bytes, int]:
    """The bytes themselves, or JSON with them in base64 and how many classes are wanted."""
    if not request.headers.get("content-type", "").startswith("application/json"):
        return await request.body(), TOP
    sent = await json_body(request)
    inputs, top = sent.get("inputs"), dict_in(sent, "parameters").get("top_k", TOP)
    if not isinstance(inputs, str) or not isinstance(top, int) or not 1 <= top <= MOST_TOP:
        raise RefusedError(400, "Send the photo in base64 as `inputs`, and a whole number as `top_k`, if any.")
    return from_base64(inputs), top


def from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text.partition("base64,")[2] or text, validate=True)
    except (binascii.Error, ValueError):
        raise RefusedError(400, "The photo is not base64.") from None
