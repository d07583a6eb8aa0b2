"""Tensors of the Open Inference Protocol: read from JSON or from bytes after it, and written the same way."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import torch
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from torch import Tensor

from classgrow.data.crops import resized
from classgrow.data.intake import with_channels
from classgrow.json_values import Json, JsonDict
from classgrow.photos.results import Prediction
from classgrow.serve.current import Loaded
from classgrow.serve.refusals import RefusedError
from classgrow.serve.requests import dict_in, list_in, parsed, service_of

LENGTH = "inference-header-content-length"
MOST_DIMENSIONS = 4


@dataclass(frozen=True)
class Call:
    """What is asked: image files, or pixels uint8 (n, height, width, channels); which outputs, and which as bytes."""

    id: str | None
    files: list[bytes] | None
    pixels: np.ndarray | None
    outputs: tuple[str, ...]
    binary: frozenset[str]


OUTPUTS = ("label", "probabilities", "unknown")


async def call_in(request: Request) -> Call:
    """An inference request, checked."""
    body = await request.body()
    limits = service_of(request).settings.limits
    given = request.headers.get(LENGTH)
    if given is not None and (not given.isdecimal() or len(given) > 12 or int(given) > len(body)):
        raise RefusedError(400, f"The header {LENGTH} does not fit the body.")
    head = len(body) if given is None else int(given)
    asked = parsed(body[:head], limits.json)
    tensors = list_in(asked, "inputs")
    if len(tensors) != 1 or not isinstance(tensors[0], dict):
        raise RefusedError(400, "There is one input: `image`.")
    tensor = dict(tensors[0])
    shape = shape_in(tensor)
    if shape[0] > limits.photos:
        raise RefusedError(413, f"{shape[0]} photos are too many for one request: send at most {limits.photos}.")
    content = binary_in(tensor, body[head:])
    outputs, binary = wanted(asked)
    match tensor.get("datatype"):
        case "BYTES" if prod(shape) == shape[0]:
            files = texts_in(tensor, shape[0]) if content is None else elements(content, shape[0])
            return Call(id_of(asked), files, None, outputs, binary)
        case "UINT8" if len(shape) == MOST_DIMENSIONS and shape[3] in (1, 3):
            if prod(shape[1:3]) > limits.pixels:
                raise RefusedError(413, "The images have too many pixels.")
            pixels = numbers_in(tensor, shape) if content is None else bytes_as(content, shape)
            return Call(id_of(asked), None, pixels, outputs, binary)
    raise RefusedError(400, "`image` is BYTES [n] (image files) or UINT8 [n, height, width, 3].")


def id_of(asked: JsonDict) -> str | None:
    found = asked.get("id")
    return found[:200] if isinstance(found, str) else None


def shape_in(tensor: JsonDict) -> tuple[int, ...]:
    shape = [one for one in list_in(tensor, "shape") if isinstance(one, int) and 0 < one < 1 << 31]
    if not 1 <= len(shape) <= MOST_DIMENSIONS or len(shape) != len(list_in(tensor, "shape")):
        raise RefusedError(400, "The shape of `image` cannot be used.")
    return tuple(shape)


def binary_in(tensor: JsonDict, rest: bytes) -> bytes | None:
    """The bytes of a tensor that is not in the JSON."""
    size = dict_in(tensor, "parameters").get("binary_data_size")
    if size is None:
        return None
    if size != len(rest):
        raise RefusedError(400, "`binary_data_size` does not fit the body.")
    return rest


def elements(content: bytes, count: int) -> list[bytes]:
    """Byte strings, each after its length in four bytes."""
    found: list[bytes] = []
    place = 0
    while place < len(content) and len(found) < count:
        if place + 4 > len(content):
            break
        (length,) = struct.unpack_from("<I", content, place)
        found.append(content[place + 4 : place + 4 + length])
        place += 4 + length
    if place != len(content) or len(found) != count:
        raise RefusedError(400, "The bytes of `image` do not fit its shape.")
    return found


def texts_in(tensor: JsonDict, count: int) -> list[bytes]:
    """Image files in base64, as JSON holds them."""
    from classgrow.serve.routes.hub import from_base64

    data = flat(tensor.get("data"))
    if len(data) != count or not all(isinstance(one, str) for one in data):
        raise RefusedError(400, "`data` of BYTES in JSON are image files in base64, as many as the shape says.")
    return [from_base64(str(one)) for one in data]


def numbers_in(tensor: JsonDict, shape: tuple[int, ...]) -> np.ndarray:
    data = flat(tensor.get("data"))
    if len(data) != prod(shape) or not all(type(one) is int and 0 <= one <= 255 for one in data):
        raise RefusedError(400, "`data` of UINT8 are whole numbers from 0 to 255, as many as the shape says.")
    return np.array(data, np.uint8).reshape(shape)


def flat(value: Json) -> list[Json]:
    """The values of a list of lists, in their order."""
    if not isinstance(value, list):
        return [value]
    found = list(value)
    while any(isinstance(one, list) for one in found):
        found = [inner for one in found for inner in (one if isinstance(one, list) else [one])]
    return found


def bytes_as(content: bytes, shape: tuple[int, ...]) -> np.ndarray:
    if len(content) != prod(shape):
        raise RefusedError(400, "The bytes of `image` do not fit its shape.")
    return np.frombuffer(content, np.uint8).reshape(shape)


def pixels_of(call: Call, loaded: Loaded, most: int) -> list[Tensor]:
    """Squares as the model wants them, from the middle of each image."""
    assert call.pixels is not None and len(call.pixels) <= most
    height, width = call.pixels.shape[1:3]
    short = min(height, width)
    top, left = (height - short) // 2, (width - short) // 2
    found = []
    for image in call.pixels:
        middle = np.ascontiguousarray(image[top : top + short, left : left + short])
        square = torch.from_numpy(middle.copy()) if short == loaded.side else resized(middle, loaded.side, loaded.side)
        found.append(with_channels(square[None], loaded.channels)[0])
    return found


def wanted(asked: JsonDict) -> tuple[tuple[str, ...], frozenset[str]]:
    """Which outputs, and which of them as bytes."""
    everything = dict_in(asked, "parameters").get("binary_data_output") is True
    listed = [dict(one) for one in list_in(asked, "outputs") if isinstance(one, dict)]
    names = tuple(str(one.get("name")) for one in listed) or OUTPUTS
    if not set(names) <= set(OUTPUTS):
        raise RefusedError(400, f"Outputs are {', '.join(OUTPUTS)}.")
    chosen = {str(one.get("name")): dict_in(one, "parameters").get("binary_data", everything) for one in listed}
    return names, frozenset(name for name in names if chosen.get(name, everything) is True)


def answered(call: Call, name: str, version: str, classes: Sequence[str], answers: Sequence[Prediction]) -> Response:
    """The outputs in JSON, or their bytes after it."""
    outputs: list[JsonDict] = []
    rest = b""
    for output in dict.fromkeys(call.outputs):
        described, values, content = encoded(output, classes, answers)
        if output in call.binary:
            described["parameters"] = {"binary_data_size": len(content)}
            rest += content
        else:
            described["data"] = values
        outputs.append(described)
    head: JsonDict = {"model_name": name, "model_version": version, "outputs": outputs}
    head["parameters"] = {"classes": list(classes)}
    if call.id is not None:
        head["id"] = call.id
    if not call.binary:
        return JSONResponse(head)
    text = json.dumps(head).encode()
    return Response(text + rest, media_type="application/octet-stream", headers={LENGTH: str(len(text))})


def encoded(output: str, classes: Sequence[str], answers: Sequence[Prediction]) -> tuple[JsonDict, list[Json], bytes]:
    """An output: what it is, its values for JSON, and its bytes."""
    count = len(answers)
    if output == "label":
        labels = [answer.name or "" for answer in answers]
        content = b"".join(struct.pack("<I", len(text.encode())) + text.encode() for text in labels)
        return {"name": output, "datatype": "BYTES", "shape": [count]}, list(labels), content
    if output == "unknown":
        flags = [bool(answer.unknown) for answer in answers]
        return {"name": output, "datatype": "BOOL", "shape": [count]}, list(flags), bytes(flags)
    rows = [dict(answer.ranking) for answer in answers]
    values = [row.get(name, 0.0) for row in rows for name in classes]
    described: JsonDict = {"name": output, "datatype": "FP32", "shape": [count, len(classes)]}
    return described, list(values), np.array(values, "<f4").tobytes()
