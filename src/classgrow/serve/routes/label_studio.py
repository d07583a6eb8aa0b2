"""A backend for Label Studio: it predicts for tasks, and its labels teach.

Photos are taken from the task itself (data: URIs) or from this service (/photos/<digest>). A URL is never fetched: a
task could name any address that this machine can reach.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from xml.parsers import expat

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from classgrow.json_values import JsonDict
from classgrow.photos.results import Prediction
from classgrow.serve.kept_photos import is_digest
from classgrow.serve.refusals import RefusedError
from classgrow.serve.requests import dict_in, json_body, list_in, service_of
from classgrow.serve.routes.described import json_object
from classgrow.serve.routes.hub import from_base64
from classgrow.serve.service import Service
from classgrow.serve.uploads import Upload

router = APIRouter()
LONGEST_CONFIG = 100_000
TEACHING = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED")


@dataclass(frozen=True)
class Labels:
    """Names in a labelling set-up: the choice, the image it is about, and where a task has that."""

    choice: str = "choice"
    image: str = "image"
    value: str = "image"


@router.get("/health")
async def health() -> Response:
    return JSONResponse({"status": "UP", "model_class": "classgrow"})


@router.post("/setup", openapi_extra=json_object({"schema": "the labelling set-up"}))
async def setup(request: Request) -> Response:
    """Label Studio says hello. Its access token is not kept: nothing is ever fetched from it."""
    labels_in(str((await json_body(request)).get("schema") or ""))
    return JSONResponse({"model_version": version_of(service_of(request))})


@router.post("/webhook", openapi_extra=json_object({"action": "", "task": "", "annotation": ""}))
async def webhook(request: Request) -> Response:
    """An annotation was made or changed: its photo is learned as what it says, and kept."""
    sent = await json_body(request)
    if sent.get("action") not in TEACHING:
        return JSONResponse({"job": None, "status": "ignored"})
    task, annotation = dict_in(sent, "task"), dict_in(sent, "annotation")
    if annotation.get("was_cancelled"):
        return JSONResponse({"job": None, "status": "ignored"})
    name = choice_in(annotation)
    if name is None:
        return JSONResponse({"job": None, "status": "ignored"})
    service = service_of(request)
    upload = photo_of(service, dict_in(task, "data"))
    job = await service.teach([upload], [name], "now", "label-studio")
    return JSONResponse({"job": job.id, "status": "queued"}, 201)


@router.post("/predict", openapi_extra=json_object({"tasks": "", "label_config": ""}))
async def predict(request: Request) -> Response:
    """Predictions for tasks, in Label Studio's form."""
    return await predicted(request, await json_body(request))


async def predicted(request: Request, sent: JsonDict) -> Response:
    """An empty result where a photo is of no known class."""
    service = service_of(request)
    labels = labels_in(str(sent.get("label_config") or ""))
    tasks = [dict_in({"task": task}, "task") for task in list_in(sent, "tasks")]
    if not tasks:
        return JSONResponse({"results": []})
    uploads = [photo_of(service, dict_in(task, "data"), labels.value) for task in tasks]
    answers = await service.predict(uploads, 1)
    return JSONResponse({"results": [result(answer, labels, version_of(service)) for answer in answers]})


def result(answer: Prediction, labels: Labels, version: str) -> JsonDict:
    if answer.name is None:
        return {"result": [], "score": 0.0, "model_version": version}
    choice: JsonDict = {
        "from_name": labels.choice,
        "to_name": labels.image,
        "type": "choices",
        "value": {"choices": [answer.name]},
    }
    return {"result": [choice], "score": answer.probability, "model_version": version}


def version_of(service: Service) -> str:
    loaded = service.current.loaded
    return str(loaded.version if loaded else 0)


def choice_in(annotation: JsonDict) -> str | None:
    """The first choice of an annotation."""
    for one in list_in(annotation, "result"):
        if isinstance(one, dict) and one.get("type") == "choices":
            chosen = list_in(dict_in(dict(one), "value"), "choices")
            if chosen and isinstance(chosen[0], str):
                return chosen[0]
    return None


def photo_of(service: Service, data: JsonDict, value: str = "image") -> Upload:
    """The photo of a task: in its field `value`, or in the only one there is."""
    given = data.get(value, next(iter(data.values()), None))
    if not isinstance(given, str):
        raise RefusedError(400, "The task has no photo.")
    if given.startswith("data:image/"):
        return Upload("photo", from_base64(given))
    digest = given.removeprefix("/photos/")
    path = service.photo(digest) if given.startswith("/photos/") and is_digest(digest) else None
    if path is None:
        raise RefusedError(
            400,
            "Addresses are not fetched: give tasks their photo as a data: URI, or as /photos/<digest> of this service.",
        )
    return Upload("photo", path.read_bytes())


def labels_in(config: str) -> Labels:
    """Names from a labelling set-up in XML: `<Image name value="$image"/>` and `<Choices name toName>`."""
    if not config.strip():
        return Labels()
    if len(config) > LONGEST_CONFIG:
        raise RefusedError(413, "The labelling set-up is too long.")
    found = dict(elements(config))
    image, choices = found.get("Image", {}), found.get("Choices", {})
    return Labels(
        choice=choices.get("name", "choice"),
        image=choices.get("toName", image.get("name", "image")),
        value=image.get("value", "$image").lstrip("$"),
    )


def elements(config: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The elements of an XML text with their attributes. Declarations, by which it could grow, are refused."""
    found: list[tuple[str, dict[str, str]]] = []
    parser = expat.ParserCreate()

    def refuse(*_: object) -> None:
        raise RefusedError(400, "The labelling set-up may not declare document types.")

    def start(name: str, attributes: dict[str, str]) -> None:
        found.append((name, attributes))

    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(config, True)
    except expat.ExpatError:
        raise RefusedError(400, "The labelling set-up is not XML.") from None
    yield from found
