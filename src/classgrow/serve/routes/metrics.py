"""Numbers for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from classgrow.serve.requests import service_of

router = APIRouter()


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """Requests, times, batches, queues, jobs and memory."""
    service = service_of(request)
    text = service.metrics.text(service.gauges(), service.job_states())
    return Response(text, media_type="text/plain; version=0.0.4")
