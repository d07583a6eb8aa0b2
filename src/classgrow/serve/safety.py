"""What every request passes before any route sees it: host, origin, token, sizes and time; and every answer after it.

- Host: only names this service goes by. A foreign name that points here (DNS rebinding) is refused.
- Origin: a page of another site, or of none ("null"), cannot make a browser write here.
- Bodies are counted while they arrive, and what all requests hold together is bounded.
- No answer holds a stack trace, and none may be embedded, sniffed or run as a script.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from classgrow.serve.refusals import RefusedError, busy
from classgrow.serve.settings import Settings, is_address
from classgrow.serve.sign_in import identify

READS = ("GET", "HEAD", "OPTIONS")
LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")
LOG = logging.getLogger("classgrow.serve")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; "
    "connect-src 'self'; font-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(self), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


@dataclass
class InFlight:
    """Bytes of bodies that requests hold at the moment."""

    bytes: int = 0


@dataclass
class Safety:
    """The outermost layer. `open_paths` are answered to anybody who passes the checks of host and origin."""

    app: ASGIApp
    settings: Settings
    open_paths: frozenset[str]
    reading_posts: tuple[str, ...]
    in_flight: InFlight = field(default_factory=InFlight)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answer = Answer(send)
        body = Body(receive, self.settings, self.in_flight)
        try:
            check(self, scope)
            await self.app(scope, body, answer)
        except RefusedError as refusal:
            await answer.refuse(refusal, scope, receive)
        except Exception as error:
            LOG.error("%s %s failed", scope["method"], _shown(scope["path"]), exc_info=error)
            sentence = "Something went wrong here; the log of the service has more."
            await answer.refuse(RefusedError(500, sentence), scope, receive)
        finally:
            body.release()


def check(safety: Safety, scope: Scope) -> None:
    """Refuse what a request's first lines give reason to."""
    settings = safety.settings
    lines: list[tuple[bytes, bytes]] = scope["headers"]
    if len(lines) > settings.limits.headers:
        raise RefusedError(431, f"More than {settings.limits.headers} header lines: send fewer.")
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in lines}
    hosts = [value for name, value in lines if name.lower() == b"host"]
    if len(hosts) != 1 or not is_own_host(settings, headers["host"]):
        raise RefusedError(
            421, "The service does not go by that name: give it that name when it starts, or use its address."
        )
    method = str(scope["method"])
    if method not in READS:
        check_origin(headers)
    check_length(settings, headers)
    identity = identify(settings, headers)
    scope["classgrow.known"] = identity.known
    path = str(scope["path"])
    reads = method in READS or path.startswith(safety.reading_posts)
    if path in safety.open_paths or (identity.known and not (identity.by_cookie and method not in READS)):
        return
    if identity.known:
        check_from_own_page(headers)
        return
    if not (reads and settings.public_read):
        raise RefusedError(
            401, "Sign in with the link the service printed, or send its token.", {"WWW-Authenticate": "Bearer"}
        )


def is_own_host(settings: Settings, host: str) -> bool:
    """Whether the Host header names this service; which port is not asked, since proxies change it."""
    name = host.lower()
    bare = name if name.endswith("]") else name.rpartition(":")[0] or name
    if bare in LOCAL_NAMES or bare in settings.names or bare == settings.host.lower():
        return True
    # an address cannot be rebound, a name can
    return not settings.is_local and is_address(bare)


def check_origin(headers: Mapping[str, str]) -> None:
    """A browser says which page a write comes from: it must be one of ours."""
    origin = headers.get("origin")
    if origin is not None and origin.lower().partition("://")[2] != headers["host"].lower():
        raise RefusedError(403, "A page of another site may not do this.")
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise RefusedError(403, "A page of another site may not do this.")


def check_from_own_page(headers: Mapping[str, str]) -> None:
    """A cookie alone does not show that our own page wants something: the browser must say so."""
    if "origin" not in headers and headers.get("sec-fetch-site") != "same-origin":
        raise RefusedError(403, "A write with a cookie must come from the service's own page.")


def check_length(settings: Settings, headers: Mapping[str, str]) -> None:
    """What a body says of itself is believed only where it says too much."""
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise RefusedError(415, "Compressed bodies are not taken: send it as it is.")
    length = headers.get("content-length", "0")
    if not length.isdecimal() or len(length) > 15 or int(length) > settings.limits.body:
        raise too_large(settings)


def too_large(settings: Settings) -> RefusedError:
    return RefusedError(413, f"More than {settings.limits.body >> 20} MB: send fewer or smaller photos at a time.")


class Body:
    """The bytes of a request as they arrive: counted, and given up when they take too long."""

    def __init__(self, receive: Receive, settings: Settings, in_flight: InFlight) -> None:
        self.receive, self.settings, self.in_flight = receive, settings, in_flight
        self.bytes, self.complete = 0, False
        self.until = asyncio.get_running_loop().time() + settings.limits.seconds

    async def __call__(self) -> Message:
        if self.complete:  # from here on only the news that the client has gone
            return await self.receive()
        left = self.until - asyncio.get_running_loop().time()
        try:
            message = await asyncio.wait_for(self.receive(), max(left, 0.0))
        except TimeoutError:
            raise RefusedError(408, "The request took too long to arrive.") from None
        self.complete = not message.get("more_body", False)
        self.count(len(message.get("body", b"")))
        return message

    def count(self, more: int) -> None:
        self.bytes += more
        self.in_flight.bytes += more
        if self.bytes > self.settings.limits.body:
            raise too_large(self.settings)
        if self.in_flight.bytes > self.settings.limits.in_flight:
            raise busy("Too much is being sent at the same time: try again.")

    def release(self) -> None:
        self.in_flight.bytes -= self.bytes
        self.bytes = 0


class Answer:
    """What is sent back, with the headers that keep it harmless."""

    def __init__(self, send: Send) -> None:
        self.send, self.started = send, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            present = {name.lower() for name, _ in message["headers"]}
            more = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in present]
            message = {**message, "headers": [*message["headers"], *more]}
        await self.send(message)

    async def refuse(self, refusal: RefusedError, scope: Scope, receive: Receive) -> None:
        if self.started:
            return
        response = refusal.response()
        response.headers["connection"] = "close"  # what is left of the body is not read
        await response(scope, receive, self)


def _shown(path: object) -> str:
    """A path for the log: no control characters, not endless, and never what came after a question mark."""
    return ascii(str(path)[:200])
