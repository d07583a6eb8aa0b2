"""The service as a process: it listens, and when it is told to end, it finishes what it was asked."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import cast

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from classgrow.errors import ClassgrowError
from classgrow.serve.app import create_app
from classgrow.serve.settings import Settings

HEADER_BYTES = 32 << 10
SECONDS_TO_FINISH = 30
SECONDS_FOR_HEADERS = 10.0


class PunctualProtocol(H11Protocol):
    """A connection that has sent no whole request header after some seconds is closed."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast(asyncio.Transport, transport))
        self.loop.call_later(SECONDS_FOR_HEADERS, self.close_if_silent)

    def close_if_silent(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
            self.transport.close()


def run(settings: Settings, say: Callable[[str], object], show_link: bool = True) -> None:
    """Answer until a signal ends it. `say` shows the link; a token that was given is not shown again."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    app = create_app(settings)
    listening = listen(settings)
    if show_link:
        say(f"Open {settings.link}")
    else:
        say(f"Open {settings.link.partition('#')[0]}#TOKEN, with your token in place of TOKEN")
    server_for(app, settings.limits.connections).run(sockets=[listening])


def server_for(app: ASGIApp, connections: int) -> uvicorn.Server:
    """What listens: bounded in headers, connections and patience, and silent about what clients send."""
    config = uvicorn.Config(
        app,
        http=PunctualProtocol,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,  # a log of requests is the proxy's; ours would hold what clients sent
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=HEADER_BYTES,
        limit_concurrency=connections,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=SECONDS_TO_FINISH,
    )
    return uvicorn.Server(config)


def listen(settings: Settings) -> socket.socket:
    """A socket at the address, or one sentence on why not."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((settings.host, settings.port))
    except OSError as error:
        found.close()
        raise ClassgrowError(
            f"{settings.host}:{settings.port} cannot be used ({error.strerror}): give another `port` or `host`."
        ) from error
    return found
