"""The Open Inference Protocol, version 2, as `tritonclient` and KServe speak it.

Input `image`: UINT8 [n, height, width, 3], or BYTES [n], each a whole image file. Outputs: `label` BYTES [n] ("" where
unknown), `probabilities` FP32 [n, classes] in the order of the parameter `classes`, `unknown` BOOL [n].
"""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from classgrow import __version__
from classgrow.json_values import JsonDict
from classgrow.photos.results import Prediction
from classgrow.serve.current import Loaded
from classgrow.serve.refusals import RefusedError
from classgrow.serve.requests import service_of
from classgrow.serve.routes.described import json_object
from classgrow.serve.routes.tensors import Call, answered, call_in, pixels_of
from classgrow.serve.service import Service
from classgrow.serve.uploads import Upload

router = APIRouter(prefix="/v2")
PLATFORM = "classgrow"


@router.get("")
async def server() -> Response:
    """What answers here."""
    return JSONResponse({"name": "classgrow", "version": __version__, "extensions": ["binary_tensor_data"]})


@router.get("/health/live")
async def live() -> Response:
    return JSONResponse({"live": True})


@router.get("/health/ready")
async def ready(request: Request) -> Response:
    is_ready = service_of(request).is_ready
    return JSONResponse({"ready": is_ready}, 200 if is_ready else 503)


@router.post("/repository/index")
async def index(request: Request) -> Response:
    """The models here: one."""
    service = service_of(request)
    loaded = service.current.loaded
    state = "READY" if loaded else "UNAVAILABLE"
    found = {"name": service.settings.name, "version": str(loaded.version if loaded else 0), "state": state}
    return JSONResponse([found])


@router.get("/models/{name}")
@router.get("/models/{name}/versions/{version}")
async def model(request: Request, name: str, version: str = "") -> Response:
    """What goes in and comes out."""
    loaded = asked_for(service_of(request), name, version)
    classes = len(loaded.classes)
    outputs: list[JsonDict] = [
        {"name": "label", "datatype": "BYTES", "shape": [-1]},
        {"name": "probabilities", "datatype": "FP32", "shape": [-1, classes]},
        {"name": "unknown", "datatype": "BOOL", "shape": [-1]},
    ]
    described: JsonDict = {
        "name": name,
        "versions": [str(loaded.version)],
        "platform": PLATFORM,
        "inputs": [{"name": "image", "datatype": "BYTES", "shape": [-1]}],
        "outputs": outputs,
        "parameters": {"classes": list(loaded.classes), "also": "image UINT8 [-1, -1, -1, 3]"},
    }
    return JSONResponse(described)


@router.get("/models/{name}/ready")
@router.get("/models/{name}/versions/{version}/ready")
async def model_ready(request: Request, name: str, version: str = "") -> Response:
    asked_for(service_of(request), name, version)
    return JSONResponse({"ready": True})


@router.get("/models/{name}/config")
async def config(request: Request, name: str) -> Response:
    """The least of what Triton's clients ask of a configuration."""
    service = service_of(request)
    asked_for(service, name, "")
    return JSONResponse({"name": name, "platform": PLATFORM, "max_batch_size": service.settings.limits.photos})


@router.post("/models/{name}/infer", openapi_extra=json_object({"inputs": "tensors"}, ("inputs",)))
@router.post("/models/{name}/versions/{version}/infer", openapi_extra=json_object({"inputs": "tensors"}, ("inputs",)))
async def infer(request: Request, name: str, version: str = "") -> Response:
    """Photos in, labels and probabilities out; in JSON, or with tensors as bytes after it."""
    service = service_of(request)
    loaded = asked_for(service, name, version)
    call = await call_in(request)
    answers = await ask(service, loaded, call)
    return answered(call, service.settings.name, str(loaded.version), loaded.classes, answers)


async def ask(service: Service, loaded: Loaded, call: Call) -> list[Prediction]:
    top = len(loaded.classes)
    if call.files is not None:
        uploads = [Upload(f"image {place}", content) for place, content in enumerate(call.files)]
        return await service.predict(uploads, top)
    return await service.predict_pixels(loaded, pixels_of(call, loaded, service.settings.limits.photos), top)


def asked_for(service: Service, name: str, version: str) -> Loaded:
    """The model, if that is the one that is asked for."""
    if name != service.settings.name:
        raise RefusedError(404, f"The model here is called {service.settings.name}.")
    loaded = service.current.need()
    if version not in ("", str(loaded.version)):
        raise RefusedError(404, f"Version {loaded.version} answers; no other is loaded.")
    return loaded
