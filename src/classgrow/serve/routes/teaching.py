"""Changes in the service's own words: teach, correct, keep or discard, forget, rename, undo; and the tray."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from classgrow.serve.jobs import Keep
from classgrow.serve.refusals import RefusedError
from classgrow.serve.requests import json_body, list_in, photo_form, service_of, text_in
from classgrow.serve.routes.described import form, json_object

router = APIRouter()
TEACH_FIELDS = {
    "name": "the class, new or known",
    "photo": "one or more photos of it",
    "tray": "digests of photos in the tray that are of it",
    "keep": "ask (default: keep or discard the result) or now",
}


@router.post("/teach", status_code=202, openapi_extra=form(TEACH_FIELDS, needed=("name",)))
async def teach(request: Request) -> Response:
    """Learn photos of a class: a job that waits its turn. Its result is kept or discarded."""
    sent = await photo_form(request)
    from_tray = [one.removeprefix("/photos/") for one in sent.many("tray")]
    names = [sent.one("name")] * (len(sent.photos) + len(from_tray))
    keep = keep_of(sent.many("keep"))
    job = await service_of(request).teach(sent.photos, names, keep, "teach", from_tray)
    return JSONResponse({"job": job.id}, 202)


@router.post("/correct", status_code=202, openapi_extra=form(TEACH_FIELDS, needed=("name", "photo")))
async def correct(request: Request) -> Response:
    """A wrong answer: the photo becomes one of its class. Corrections that wait are learned together, and kept."""
    sent = await photo_form(request)
    names = [sent.one("name")] * len(sent.photos)
    job = await service_of(request).teach(sent.photos, names, "now", "correct")
    return JSONResponse({"job": job.id}, 202)


@router.post("/keep", openapi_extra=json_object({"job": "its id"}, ("job",)))
async def keep(request: Request) -> Response:
    """The result of a job becomes the model's present version."""
    service = service_of(request)
    job = service.job(text_in(await json_body(request), "job"))
    kept = await service.teaching.keep(job)
    loaded = service.current.loaded
    return JSONResponse({"job": kept.id, "state": kept.state, "version": loaded.version if loaded else 0})


@router.post("/discard", openapi_extra=json_object({"job": "its id"}, ("job",)))
async def discard(request: Request) -> Response:
    """A job is dropped, wherever it stands, with its photos."""
    service = service_of(request)
    job = await service.teaching.discard(service.job(text_in(await json_body(request), "job")))
    return JSONResponse({"job": job.id, "state": job.state})


@router.post("/forget", openapi_extra=json_object({"name": "the class"}, ("name",)))
async def forget(request: Request) -> Response:
    """Take a class out, with its photos, features, statistics and name, in every version."""
    return JSONResponse(await service_of(request).forget(text_in(await json_body(request), "name")))


@router.post("/rename", openapi_extra=json_object({"name": "the class", "new": "its new name"}, ("name", "new")))
async def rename(request: Request) -> Response:
    """Call a class by another name."""
    sent = await json_body(request)
    return JSONResponse({"version": await service_of(request).rename(text_in(sent, "name"), text_in(sent, "new"))})


@router.post("/undo", openapi_extra=json_object({"version": "which to go back to (the one before)"}))
async def undo(request: Request) -> Response:
    """Go back to an earlier version, which becomes a new one: nothing is lost."""
    number = (await json_body(request)).get("version")
    if number is not None and (not isinstance(number, int) or isinstance(number, bool)):
        raise RefusedError(400, "`version` is the number of a version.")
    return JSONResponse({"version": await service_of(request).undo(number)})


@router.post("/tray/remove", openapi_extra=json_object({"photos": "digests"}, ("photos",)))
async def remove_from_tray(request: Request) -> Response:
    """Photos that need no name leave the tray."""
    service = service_of(request)
    digests = [str(one).removeprefix("/photos/") for one in list_in(await json_body(request), "photos")]
    service.tray.remove(digests)
    return JSONResponse({"left": len(service.tray.digests)})


def keep_of(given: list[str]) -> Keep:
    match given:
        case [] | ["ask"]:
            return "ask"
        case ["now"]:
            return "now"
    raise RefusedError(400, "`keep` is ask or now.")
