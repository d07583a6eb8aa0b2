"""Who may do what: a token in a header, or a cookie that was given for it. The token itself is never in a cookie."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie

from classgrow.serve.settings import Settings

MONTH = 30 * 24 * 3600


@dataclass(frozen=True)
class Identity:
    """How a request has shown that it may write; `by_cookie`: a browser may have sent it without being asked to."""

    known: bool
    by_cookie: bool = False


def identify(settings: Settings, headers: Mapping[str, str]) -> Identity:
    """By `Authorization: Bearer TOKEN`, by `Basic` with the token as password, or by the cookie."""
    kind, _, given = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and same(given.strip(), settings.token):
        return Identity(True)
    if kind.lower() == "basic" and same(password(given), settings.token):
        return Identity(True)
    if same(cookie(headers.get("cookie", ""), cookie_name(settings)), session(settings)):
        return Identity(True, by_cookie=True)
    return Identity(False)


def same(given: str, right: str) -> bool:
    """Compared in a time that does not depend on where they differ."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), right.encode())


def session(settings: Settings) -> str:
    """What the cookie holds: it follows from the token, and the token does not follow from it."""
    return hmac.new(settings.token.encode(), b"classgrow session", hashlib.sha256).hexdigest()


def cookie_name(settings: Settings) -> str:
    """Cookies are shared by all ports of a host: each service has its own."""
    return f"classgrow-{settings.port}"


def set_cookie(settings: Settings, secure: bool) -> str:
    """The header that signs a browser in."""
    flags = "; Secure" if secure else ""
    return f"{cookie_name(settings)}={session(settings)}; HttpOnly; SameSite=Strict; Path=/; Max-Age={MONTH}{flags}"


def cookie(header: str, name: str) -> str:
    try:
        found = SimpleCookie(header).get(name)
    except CookieError:
        return ""
    return found.value if found else ""


def password(given: str) -> str:
    """Of `user:password` in base64."""
    try:
        return base64.b64decode(given, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return ""
