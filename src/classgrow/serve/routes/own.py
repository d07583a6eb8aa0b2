"""Questions in the service's own words: predict, and what there is to see of the model."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from classgrow.json_values import JsonDict
from classgrow.photos.folder import earlier_versions
from classgrow.photos.history import Version
from classgrow.photos.results import Prediction
from classgrow.serve.current import Loaded
from classgrow.serve.kept_photos import is_digest
from classgrow.serve.refusals import RefusedError
from classgrow.serve.requests import json_body, photo_form, service_of
from classgrow.serve.routes import label_studio
from classgrow.serve.routes.described import form

router = APIRouter()
TOP, MOST_TOP = 5, 1000
EXAMPLES = 8
PHOTO_HEADERS = {
    "Cache-Control": "private, max-age=31536000, immutable",
    "Content-Disposition": 'inline; filename="photo.png"',
    "Content-Security-Policy": "default-src 'none'; sandbox",
}


@router.post("/predict", openapi_extra=form({"photo": "one or more", "top": "how many classes (5)"}, needed=("photo",)))
async def predict(request: Request) -> Response:
    """The class of each photo, its probability, and the kept photos most like it (also in Label Studio's JSON)."""
    if request.headers.get("content-type", "").startswith("application/json"):
        return await label_studio.predicted(request, await json_body(request))
    sent = await photo_form(request)
    answers = await service_of(request).predict(sent.photos, top_of(sent.many("top")))
    return JSONResponse({"answers": [described(answer) for answer in answers]})


@router.get("/classes")
async def classes(request: Request) -> Response:
    """What it knows: each class with the phase that brought it, its photos and its accuracy."""
    service = service_of(request)
    loaded, model = service.current.loaded, service.settings.name
    if loaded is None:
        return JSONResponse({"model": model, "version": 0, "classes": []})
    return JSONResponse({"model": model, "version": loaded.version, "classes": described_classes(loaded)})


@router.get("/history")
async def history(request: Request) -> Response:
    """What was done to the model, version by version, the present one last."""
    service = service_of(request)
    loaded = service.current.loaded
    if loaded is None:
        return JSONResponse({"version": 0, "versions": []})
    at_hand = set(earlier_versions(service.settings.folder))
    versions = [described_version(one, one.number in at_hand) for one in loaded.model.history]
    return JSONResponse({"version": loaded.version, "versions": versions})


@router.get("/jobs")
async def jobs(request: Request) -> Response:
    """What is being learned, what waits, and what became of the last ones, oldest first."""
    book = service_of(request).book
    return JSONResponse({"jobs": [book.described(job) for job in book.jobs.values()]})


@router.get("/tray")
async def tray(request: Request) -> Response:
    """Photos that were predicted as unknown, in groups that look alike, the largest first."""
    service = service_of(request)
    groups = await service.tray_groups()
    described_groups = [{"photos": [f"/photos/{digest}" for digest in group]} for group in groups]
    return JSONResponse({"most": service.tray.most, "groups": described_groups})


@router.get("/photos/{digest}")
async def photo(request: Request, digest: str) -> Response:
    """A kept photo, as PNG. Parts of it (Range) are not served."""
    path = service_of(request).photo(digest) if is_digest(digest) else None
    if path is None:
        raise RefusedError(404, "There is no such photo.")
    try:
        content = path.read_bytes()
    except OSError:  # gone with the version that had it
        raise RefusedError(404, "There is no such photo.") from None
    return Response(content, media_type="image/png", headers=PHOTO_HEADERS)


@router.get("/health/live")
async def live() -> Response:
    """Whether the process answers at all."""
    return JSONResponse({"live": True})


@router.get("/health/ready")
async def ready(request: Request) -> Response:
    """Whether it can be asked and taught."""
    service = service_of(request)
    loaded = service.current.loaded
    state: JsonDict = {"ready": service.is_ready, "version": loaded.version if loaded else 0}
    return JSONResponse(state, 200 if service.is_ready else 503)


# --- in JSON -------------------------------------------------------------------------------------------------------


def top_of(given: Sequence[str]) -> int:
    if not given:
        return TOP
    if len(given) != 1 or not given[0].isdecimal() or len(given[0]) > 4 or not 1 <= int(given[0]) <= MOST_TOP:
        raise RefusedError(400, f"`top` is a whole number from 1 to {MOST_TOP}.")
    return int(given[0])


def described(answer: Prediction) -> JsonDict:
    """An answer for clients. Photos are named by what they are, not by where they lie."""
    return {
        "source": answer.source,
        "name": answer.name,
        "unknown": answer.unknown,
        "probability": answer.probability,
        "ranking": [[name, probability] for name, probability in answer.ranking],
        "distance": answer.distance,
        "nearest": [
            {
                "name": one.name,
                "photo": f"/photos/{one.file.stem}" if one.file else None,
                "similarity": one.similarity,
            }
            for one in answer.nearest
        ],
    }


def described_classes(loaded: Loaded) -> list[JsonDict]:
    latest = loaded.model.history[-1]
    ends = list(accumulate(loaded.model.learner.state.blocks))
    return [
        {
            "name": name,
            "phase": 1 + sum(place >= end for end in ends),
            "photos": latest.photos.get(name, 0),
            "accuracy": latest.after.get(name),
            "examples": [f"/photos/{file.removesuffix('.png')}" for file in loaded.photos.get(name, [])[:EXAMPLES]],
        }
        for place, name in enumerate(loaded.classes)
    ]


def described_version(version: Version, restorable: bool) -> JsonDict:
    return {
        "number": version.number,
        "when": version.when,
        "action": version.action,
        "words": version.words,
        "classes": list(version.classes),
        "photos": version.photos,
        "new": list(version.new),
        "before": version.before,
        "after": version.after,
        "accuracy": version.accuracy,
        "measured": version.measured,
        "seconds": version.seconds,
        "restorable": restorable,
    }
