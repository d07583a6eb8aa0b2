"""The application: routes, what guards them, and start and stop."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from classgrow import __version__
from classgrow.errors import ClassgrowError
from classgrow.serve.metrics import Metrics
from classgrow.serve.refusals import RefusedError
from classgrow.serve.routes import hub, label_studio, metrics, own, page, teaching, v2
from classgrow.serve.safety import Safety
from classgrow.serve.service import Service
from classgrow.serve.settings import Settings

OPEN = (
    "/sign-in",
    "/sign-in.js",
    "/session",
    "/health",
    "/health/live",
    "/health/ready",
    "/v2/health/live",
    "/v2/health/ready",
)
READING_POSTS = ("/predict", "/models/", "/v2/", "/label-studio/predict", "/label-studio/setup", "/setup")
"""What is sent by POST and changes nothing."""


def create_app(settings: Settings) -> FastAPI:
    """The service of one model. It holds the model's lock from here on, and answers while its lifespan lasts."""
    service = Service(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await service.start()
        yield
        await service.stop()

    app = FastAPI(
        title="classgrow", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None
    )
    app.state.service = service
    for router in (own.router, teaching.router, v2.router, hub.router, metrics.router, page.router):
        app.include_router(router)
    app.include_router(label_studio.router, prefix="/label-studio")
    app.include_router(label_studio.router, include_in_schema=False)  # its own /predict comes after ours
    files = page.add_page(app)
    add_refusals(app, settings.folder)
    app.add_middleware(Safety, settings=settings, open_paths=frozenset((*OPEN, *files)), reading_posts=READING_POSTS)
    app.add_middleware(Measured, metrics=service.metrics)
    return app


def add_refusals(app: FastAPI, folder: Path) -> None:
    """Every error is one sentence in JSON, which does not say where the model lies."""

    async def refused(_: Request, error: Exception) -> Response:
        assert isinstance(error, RefusedError)
        return error.response()

    async def unfit(_: Request, error: Exception) -> Response:
        return JSONResponse({"error": str(error).replace(str(folder), folder.name)}, 409)

    async def missing(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return JSONResponse({"error": str(error.detail)}, error.status_code, headers=error.headers)

    app.add_exception_handler(RefusedError, refused)
    app.add_exception_handler(ClassgrowError, unfit)
    app.add_exception_handler(HTTPException, missing)


class Measured:
    """Counts every request by the template of its route, so that no client decides how many there are."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, watched)
        finally:
            template = str(getattr(scope.get("route"), "path", "other"))
            method = scope["method"] if scope["method"] in ("GET", "POST", "HEAD") else "other"
            self.metrics.observe(template, method, status, time.perf_counter() - began)
