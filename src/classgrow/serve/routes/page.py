"""The page and what belongs to it, read once at the start; a description of all routes; and signing in.

Files are found by listing the folder: no name from a client is ever joined to a path.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from importlib import resources

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from classgrow.serve.refusals import RefusedError
from classgrow.serve.requests import json_body, service_of, text_in
from classgrow.serve.sign_in import same, set_cookie

router = APIRouter(include_in_schema=False)
KINDS: Mapping[str, str] = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "ico": "image/x-icon",
    "webmanifest": "application/manifest+json",
}
SIGN_IN = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Sign in</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">
<link rel="stylesheet" href="/style.css">
<main><h1>Sign in</h1><p class="lead" id="said">Signing in ...</p><p><a href="/">To the page</a></p>
<noscript>This page needs JavaScript.</noscript></main>
<script src="/sign-in.js"></script></html>
"""
SIGN_IN_SCRIPT = """const said = document.getElementById("said");
const token = decodeURIComponent(location.hash.slice(1));
history.replaceState(null, "", "/sign-in");
fetch("/sign-in", {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify({token})})
  .then((answer) => {
    if (answer.ok) location.replace("/");
    else said.textContent = "This link is not (or no longer) valid: use the one the service printed last.";
  })
  .catch(() => { said.textContent = "The service does not answer."; });
"""


def page_files() -> dict[str, tuple[bytes, str]]:
    """What there is of the page: the path of each file on the web, its bytes and its kind."""
    folder = resources.files("classgrow.serve") / "page"
    found: dict[str, tuple[bytes, str]] = {}
    for entry in folder.iterdir() if folder.is_dir() else []:
        kind = KINDS.get(entry.name.rpartition(".")[2])
        if entry.is_file() and kind is not None:
            found["/" if entry.name == "index.html" else f"/{entry.name}"] = (entry.read_bytes(), kind)
    return found


def add_page(app: FastAPI) -> list[str]:
    """A route for every file of the page; returns their paths."""

    def add(path: str, content: bytes, kind: str) -> None:
        async def answer() -> Response:
            return Response(content, media_type=kind, headers={"Cache-Control": "no-cache"})

        app.add_api_route(path, answer, methods=["GET"], include_in_schema=False)

    files = page_files()
    for path, (content, kind) in files.items():
        add(path, content, kind)
    if "/" not in files:
        app.add_api_route("/", lambda: RedirectResponse("/docs"), methods=["GET"], include_in_schema=False)
    return ["/", *files]


@router.get("/sign-in")
async def sign_in_page() -> Response:
    """The token stands behind # in the printed link: the browser keeps it to itself, and this page posts it."""
    return Response(SIGN_IN, media_type=KINDS["html"])


@router.get("/sign-in.js")
async def sign_in_script() -> Response:
    return Response(SIGN_IN_SCRIPT, media_type=KINDS["js"])


@router.post("/sign-in")
async def sign_in(request: Request) -> Response:
    """A cookie for the token."""
    settings = service_of(request).settings
    if not same(text_in(await json_body(request), "token"), settings.token):
        raise RefusedError(401, "This is not the token of this service.")
    secure = request.headers.get("origin", "").startswith("https:")
    return JSONResponse({"signed_in": True}, headers={"Set-Cookie": set_cookie(settings, secure)})


@router.get("/session")
async def session(request: Request) -> Response:
    """Whether this browser may write. `may_read`: whether it is answered at all."""
    known = bool(request.scope.get("classgrow.known"))
    return JSONResponse({"signed_in": known, "may_read": known or service_of(request).settings.public_read})


@router.get("/openapi.json")
async def openapi(request: Request) -> Response:
    return Response(json.dumps(request.app.openapi()), media_type="application/json")


@router.get("/docs")
async def docs(request: Request) -> Response:
    """The routes as a table. Nothing is loaded from elsewhere."""
    rows = [
        f"<tr><td>{escape(method.upper())}</td><td><code>{escape(path)}</code></td>"
        f"<td>{escape(str(about.get('description') or about.get('summary') or ''))}</td></tr>"
        for path, methods in request.app.openapi()["paths"].items()
        for method, about in methods.items()
    ]
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Routes</title><h1>Routes</h1>'
    text = f'{head}<p><a href="/openapi.json">openapi.json</a></p><table>{"".join(rows)}</table></html>\n'
    return Response(text, media_type=KINDS["html"])
