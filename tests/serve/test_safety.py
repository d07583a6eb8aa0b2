"""Every class of attack that services like this one fell to, by its name, and that this one does not."""

from __future__ import annotations

import base64
import gzip
import hmac
import io
import json
import logging
import pickle
import socket
import struct
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from PIL import Image

from classgrow.errors import ClassgrowError
from classgrow.serve import running, sign_in
from classgrow.serve.app import create_app
from classgrow.serve.routes.label_studio import Labels, labels_in
from classgrow.serve.service import Service
from classgrow.serve.settings import Limits, Settings
from tests.serve.conftest import SIGNED, TOKEN, Live, Serve, files, noise, png
from tests.serve.test_protocols import data_uri

WRITES = ("/teach", "/correct", "/keep", "/discard", "/forget", "/rename", "/undo", "/tray/remove", "/webhook")
READS = ("/classes", "/history", "/jobs", "/tray", "/metrics", "/docs", "/openapi.json", "/photos/" + 40 * "a")
OUTSIDE = {"Origin": "https://evil.example"}


def error_of(answer: object) -> str:
    """The one sentence of a refusal: nothing else is in it, and no part of a stack trace."""
    body = answer.json()  # type: ignore[attr-defined]
    assert list(body) == ["error"] and "Traceback" not in body["error"] and ".py" not in body["error"]
    return str(body["error"])


# --- who may do what -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", WRITES)
def test_writes_always_need_the_token(serve: Serve, path: str) -> None:
    client = serve(public_read=True)
    for wrong in (
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Cookie": "classgrow-8765=x"},
    ):
        client.headers.pop("Authorization", None)
        answer = client.post(path, json={"name": "red"}, headers=wrong)
        assert answer.status_code == 401 and "token" in error_of(answer)
    assert client.get("/classes").json()["version"] == 1


@pytest.mark.parametrize("public", [False, True])
def test_reads_need_the_token_unless_they_are_public(serve: Serve, public: bool) -> None:
    client = serve(public_read=public)
    del client.headers["Authorization"]
    codes = {path: client.get(path).status_code for path in READS}
    assert codes == {path: (404 if path.startswith("/photos/") else 200) if public else 401 for path in READS}
    assert client.post("/predict", files=files(png("red", 1))).status_code == (200 if public else 401)
    for path in ("/", "/sign-in", "/health/live", "/health/ready", "/v2/health/ready"):
        assert client.get(path, follow_redirects=False).status_code in (200, 307)


def test_a_browser_signs_in_with_the_link_and_gets_a_cookie_without_the_token(
    client: TestClient, settings: Settings
) -> None:
    del client.headers["Authorization"]
    assert settings.link == f"http://127.0.0.1:8765/sign-in#{TOKEN}"  # what follows # is never sent
    assert client.post("/sign-in", json={"token": "guess"}).status_code == 401
    answer = client.post("/sign-in", json={"token": TOKEN})
    header = answer.headers["set-cookie"]
    assert "HttpOnly" in header and "SameSite=Strict" in header and TOKEN not in header
    assert client.get("/session").json() == {"signed_in": True, "may_read": True}
    own = {"Origin": "http://testserver"}
    assert client.post("/rename", json={"name": "red", "new": "crimson"}, headers=own).json() == {"version": 2}


def test_tokens_that_can_be_guessed_are_refused(model: Path) -> None:
    for token in ("", "short", "naïve" * 5, "with\nline" * 5):
        with pytest.raises(ClassgrowError, match="easy to guess"):
            Settings(model, token)


def test_the_token_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    compared: list[tuple[bytes, bytes]] = []
    right = hmac.compare_digest

    def watch(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return right(one, other)

    monkeypatch.setattr(sign_in.hmac, "compare_digest", watch)
    assert sign_in.identify(settings, {"authorization": f"Bearer {TOKEN}"}).known
    assert not sign_in.identify(settings, {"authorization": "Bearer é"}).known
    assert (TOKEN.encode(), TOKEN.encode()) in compared and ("é".encode(), TOKEN.encode()) in compared
    basic = base64.b64encode(f"anybody:{TOKEN}".encode()).decode()
    assert sign_in.identify(settings, {"authorization": f"Basic {basic}"}).known


def test_the_token_is_in_no_log_and_no_repr(
    serve: Serve, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    client = serve()

    async def broken(*_: object) -> None:
        raise RuntimeError("something inside")

    monkeypatch.setattr(client.app.state.service, "predict", broken)  # type: ignore[attr-defined]
    answer = client.post("/predict?token=" + TOKEN, files=files(png("red", 1)))
    assert answer.status_code == 500 and "inside" not in error_of(answer)
    client.post("/sign-in", json={"token": TOKEN})
    assert "POST '/predict' failed" in caplog.text  # the log says what, with its trace
    said = capfd.readouterr()
    classgrow = "\n".join(one.getMessage() for one in caplog.records if one.name.startswith("classgrow"))
    assert TOKEN not in classgrow + said.out + said.err + repr(client.app.state.service.settings)  # type: ignore[attr-defined]


# --- browsers that are led astray ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8765", "", "[::1", "10.0.0.7"]
)
def test_dns_rebinding_by_host(client: TestClient, host: str) -> None:
    answer = client.get("/classes", headers={"Host": host})
    assert answer.status_code == 421 and "name" in error_of(answer)


@pytest.mark.parametrize("host", ["localhost", "localhost:8765", "127.0.0.1:80", "[::1]:8765", "TESTSERVER"])
def test_own_names_are_answered(client: TestClient, host: str) -> None:
    assert client.get("/classes", headers={"Host": host}).status_code == 200


def test_addresses_are_own_names_where_the_network_may_ask(serve: Serve) -> None:
    client = serve(host="0.0.0.0")
    assert client.get("/classes", headers={"Host": "192.168.1.7:8765"}).status_code == 200
    assert client.get("/classes", headers={"Host": "evil.example"}).status_code == 421


@pytest.mark.parametrize("path", (*WRITES, "/predict", "/v2/models/pets/infer", "/models/pets", "/sign-in"))
@pytest.mark.parametrize(
    "headers",
    [
        OUTSIDE,
        {"Origin": "null"},
        {"Origin": "http://localhost:3000"},
        {"Origin": "http://testserver.evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_csrf_by_origin(client: TestClient, path: str, headers: dict[str, str]) -> None:
    """Also "null", which a page in a sandbox or a file has."""
    answer = client.post(path, json={"name": "red"}, headers=headers)
    assert answer.status_code == 403 and "another site" in error_of(answer)


def test_csrf_with_a_cookie_and_no_origin(client: TestClient) -> None:
    client.post("/sign-in", json={"token": TOKEN})
    del client.headers["Authorization"]
    assert client.post("/undo", json={}).status_code == 403
    assert (
        client.post("/undo", json={}, headers={"Sec-Fetch-Site": "same-origin"}).status_code == 409
    )  # nothing to undo


def test_csrf_by_a_form_that_passes_for_json(client: TestClient) -> None:
    answer = client.post("/forget", content='{"name": "red"}', headers={"Content-Type": "text/plain"})
    assert answer.status_code == 415


def test_closed_cors(client: TestClient) -> None:
    asked = {**OUTSIDE, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    for answer in (client.options("/teach", headers=asked), client.get("/classes", headers=OUTSIDE)):
        assert not [name for name in answer.headers if name.startswith("access-control-")]


def test_every_answer_has_the_headers_that_keep_it_harmless(client: TestClient) -> None:
    for path in ("/classes", "/docs", "/sign-in", "/no/such/place", "/health/live"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self';" in policy and "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff" and headers["x-frame-options"] == "DENY"
        assert headers["cross-origin-resource-policy"] == "same-origin" and headers["referrer-policy"] == "no-referrer"


# --- names and files that are something else -----------------------------------------------------------------------

SCRIPT = '<script>alert(1)</script>"><img src=x onerror=alert(2)>'


def test_stored_script_through_class_and_file_names(serve: Serve, settings: Settings) -> None:
    """They come back as data in JSON, never in a page, and a photo is never served as what it claims to be."""
    client = serve()
    assert client.post("/rename", json={"name": "red", "new": SCRIPT}).json() == {"version": 2}
    [answer] = client.post("/predict", files=[("photo", (SCRIPT, png("red", 3), "text/html"))]).json()["answers"]
    assert answer["name"] == SCRIPT
    for path in ("/classes", "/history", "/jobs"):
        shown = client.get(path)
        assert (
            shown.headers["content-type"] == "application/json" and shown.headers["x-content-type-options"] == "nosniff"
        )
    for path in ("/", "/docs", "/sign-in"):
        assert "alert(1)" not in client.get(path).text
    assert "alert" not in client.get("/metrics").text
    photo = client.get(answer["nearest"][0]["photo"])
    assert photo.headers["content-type"] == "image/png" and "sandbox" in photo.headers["content-security-policy"]


EVIL_NAMES = ["x/../../../etc/cron.d/x", "/etc/passwd", "x\\..\\..\\y", "a/../../b", "%2e%2e%2fx", "con", "x" * 200]


def test_path_traversal_by_class_and_file_names(serve: Serve, settings: Settings, tmp_path: Path) -> None:
    """No name from a client is the name of a file: what is written is called by digests and numbers."""
    client = serve(limits=Limits(jobs=50))
    before = {path for path in tmp_path.rglob("*") if "pets.serve" not in str(path)}
    for name in EVIL_NAMES:
        sent = client.post("/teach", data={"name": name}, files=[("photo", (name, png("blue", 1), "image/png"))])
        assert sent.status_code == 202, name
    written = [path for path in tmp_path.rglob("*") if path not in before and path.is_file()]
    allowed = {"job.json", "progress.json", "result.json", "lock", "wish.json", "base"}
    mine = [path for path in written if "jobs" in path.parts]
    assert mine and all(path.name in allowed or (len(path.stem) == 40 and path.suffix == ".png") for path in mine)
    assert all(tmp_path in path.resolve().parents for path in written)
    for job in client.get("/jobs").json()["jobs"]:
        client.post("/discard", json={"job": job["id"]})


@pytest.mark.parametrize("name", ["", " ", ".hidden", "line\nbreak", "\0", "x" * 201])
def test_names_that_no_class_can_have(client: TestClient, name: str) -> None:
    assert client.post("/rename", json={"name": "red", "new": name}).status_code == 400


@pytest.mark.parametrize("path", ["/keep", "/discard"])
@pytest.mark.parametrize("job", ["../../pets", "/etc", "", "x" * 5000, 7, None, ["a"]])
def test_path_traversal_by_job_ids(client: TestClient, path: str, job: object) -> None:
    assert client.post(path, json={"job": job}).status_code in (400, 404)


@pytest.mark.parametrize(
    "content",
    [
        b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
        b"<html><script>alert(1)</script></html>",
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n(/etc/passwd) (r) file\n",
        b"%PDF-1.4\n",
        b"GIF89a",
        b"\x89PNG\r\n\x1a\n",
        b"",
        b"\xff\xd8\xff\xe0" + b"\0" * 100,
        pickle.dumps({"weights": 1}),
    ],
)
def test_what_is_no_image_is_refused_whatever_it_is_called(client: TestClient, content: bytes) -> None:
    for path, data in (("/predict", {}), ("/teach", {"name": "blue"})):
        answer = client.post(path, data=data, files=[("photo", ("cat.jpg", content, "image/jpeg"))])
        assert answer.status_code == 400 and "'cat.jpg' cannot be used" in error_of(answer)
    assert client.get("/jobs").json() == {"jobs": []}


def bomb(side: int) -> bytes:
    """A PNG of a few kilobytes that says it has side x side pixels."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(b"\0" * 10_000))
        + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("side", [10_000, 40_000, 2**31 - 1])
def test_decompression_bomb_by_pixels(client: TestClient, side: int) -> None:
    answer = client.post("/predict", files=files(bomb(side)))
    assert answer.status_code == 400
    words = error_of(answer)  # refused for its size, before anything is decoded
    assert "million pixels are too many" in words or "decompression bomb" in words or "too many" in words


def test_decompression_bomb_by_content_encoding(client: TestClient) -> None:
    body = gzip.compress(b"0" * 1_000_000)
    answer = client.post("/models/pets", content=body, headers={"Content-Encoding": "gzip"})
    assert answer.status_code == 415


def test_metadata_of_a_photo_is_not_kept(client: TestClient, tmp_path: Path) -> None:
    content = io.BytesIO()
    exif = Image.Exif()
    exif[0x010E] = "where I live"
    Image.open(io.BytesIO(png("blue", 1))).save(content, "JPEG", exif=exif, comment=b"where I live")
    assert b"where I live" in content.getvalue()
    job = client.post("/teach", data={"name": "blue"}, files=files(content.getvalue())).json()["job"]
    kept = list((tmp_path / ".pets.serve" / "jobs" / job / "photos").iterdir())
    assert len(kept) == 1 and b"where I live" not in kept[0].read_bytes()
    client.post("/discard", json={"job": job})


# --- requests that want to reach other places ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://127.0.0.1:8765/classes",
        "https://example.org/x.png",
        "file:///etc/passwd",
        "/data/upload/1/x.png",
        "/data/local-files/?d=etc/passwd",
        "s3://bucket/x.png",
        "/photos/../config.json",
        "/photos/" + 40 * "a",
        "data:text/html;base64,PGI+",
        "//evil.example/x.png",
        7,
        None,
    ],
)
def test_label_studio_ssrf(client: TestClient, monkeypatch: pytest.MonkeyPatch, address: object) -> None:
    """Label Studio fetched what a task named: here nothing is fetched, and no file is read."""

    def connect(*_: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", connect)
    choice = {"type": "choices", "value": {"choices": ["red"]}}
    hook = {
        "action": "ANNOTATION_CREATED",
        "task": {"data": {"image": address}},
        "annotation": {"result": [choice]},
        "project": {"host": "http://evil.example"},
    }
    assert client.post("/webhook", json=hook).status_code == 400
    body = {"tasks": [{"data": {"image": address}}]}
    assert client.post("/label-studio/predict", json=body).status_code == 400
    assert client.get("/jobs").json() == {"jobs": []}


def test_label_studio_may_name_a_photo_of_this_service(client: TestClient) -> None:
    [red] = [one for one in client.get("/classes").json()["classes"] if one["name"] == "red"]
    body = {"tasks": [{"data": {"image": red["examples"][0]}}]}
    [result] = client.post("/label-studio/predict", json=body).json()["results"]
    assert result["result"][0]["value"] == {"choices": ["red"]}


def test_xml_entities_in_a_labelling_set_up(client: TestClient) -> None:
    lol = '<!DOCTYPE a [<!ENTITY b "bbbbbbbbbb"><!ENTITY c "&b;&b;&b;">]><View><Image name="&c;"/></View>'
    outside = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><View><Image name="x" value="&x;"/></View>'
    for config in (lol, outside, "<View>", "x" * 200_000):
        answer = client.post("/setup", json={"schema": config})
        assert answer.status_code in (400, 413) and error_of(answer)
    assert labels_in('<View><Image name="i" value="$u"/><Choices name="c" toName="i"/></View>') == Labels("c", "i", "u")


@pytest.mark.parametrize(
    "path",
    [
        "/file=/etc/passwd",
        "/file/etc/passwd",
        "/gradio_api/file=/etc/passwd",
        "/static/../../../../etc/passwd",
        "/photos/../../config.json",
        "/photos/..%2f..%2fconfig.json",
        "/photos/%2e%2e/config.json",
        "/photos/" + "A" * 40,
        "/photos/" + "a" * 39,
        "/component_server?path=/etc/passwd",
        "/assets/..%5c..%5cwindows",
        "/.pets.serve/lock",
        "/%00",
    ],
)
def test_gradio_file_read(live: Live, path: str) -> None:
    """Gradio served any file by its path: here files are known by digests, and are looked up, not opened by name."""
    lines = [f"GET {path} HTTP/1.1", f"Host: {live.host}", f"Authorization: Bearer {TOKEN}", "Connection: close"]
    answer = raw(live, "\r\n".join((*lines, "", "")).encode())
    assert b" 404 " in answer.splitlines()[0] and b"root:" not in answer


@pytest.mark.parametrize("name", ["../pets", "..%2f..%2fetc", "file:%2f%2f%2fetc%2fpasswd", "pets%2f..", "."])
def test_mlflow_path_traversal(client: TestClient, name: str) -> None:
    """MLflow took a model's name or source for a path: here a name is compared with the one there is."""
    for path in (f"/models/{name}", f"/v2/models/{name}/infer", f"/v2/models/{name}/versions/..%2f..%2fx/infer"):
        answer = client.post(path, content=png("red", 1))
        assert answer.status_code in (404, 405), path
    assert client.get("/ajax-api/2.0/mlflow/artifacts/list?path=../../..").status_code == 404


class Bomb:
    """What runs when somebody unpickles it."""

    def __reduce__(self) -> tuple[object, ...]:
        return (Path("/tmp/classgrow-was-run").touch, ())


@pytest.mark.parametrize(
    "path", ["/predict", "/teach", "/models/pets", "/v2/models/pets/infer", "/webhook", "/setup", "/sign-in", "/keep"]
)
@pytest.mark.parametrize("kind", ["application/vnd.bentoml+pickle", "application/octet-stream", "application/json"])
def test_bentoml_pickle_in_a_request(client: TestClient, path: str, kind: str) -> None:
    """BentoML unpickled bodies of one content type: here nothing unpickles anything."""
    content = pickle.dumps(Bomb())
    answer = client.post(path, content=content, headers={"Content-Type": kind, "Payload-Container": "NdarrayContainer"})
    assert 400 <= answer.status_code < 500 and not Path("/tmp/classgrow-was-run").exists()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/models?url=http://evil.example/model.mar"),
        ("PUT", "/models/pets?min_worker=1"),
        ("DELETE", "/models/pets"),
        ("POST", "/v2/repository/models/pets/load"),
        ("POST", "/v2/models/pets/load"),
        ("POST", "/v2/systemsharedmemory/region/x/register"),
        ("GET", "/workflows"),
    ],
)
def test_torchserve_management_by_request(client: TestClient, method: str, path: str) -> None:
    """TorchServe (and Triton) load models from where a request says: here none can be loaded by a request."""
    assert client.request(method, path).status_code in (404, 405)


@pytest.mark.parametrize("path", ["/api/jobs/", "/api/packages/pip/x", "/api/serve/applications/", "/run", "/exec"])
def test_ray_jobs_by_request(client: TestClient, path: str) -> None:
    """Ray runs what a request asks it to: a job here is photos and the name of a class, and takes the token."""
    assert client.post(path, json={"entrypoint": "touch /tmp/classgrow-was-run"}).status_code in (404, 405)
    assert not Path("/tmp/classgrow-was-run").exists()


# --- too much ------------------------------------------------------------------------------------------------------


def raw(live: Live, content: bytes, seconds: float = 30.0) -> bytes:
    """What a service answers to bytes, until it closes the connection."""
    host, port = live.host.split(":")
    with socket.create_connection((host, int(port)), timeout=seconds) as connection:
        connection.sendall(content)
        found = b""
        try:
            while more := connection.recv(65536):
                found += more
        except ConnectionResetError:
            pass
    return found


def test_header_flood(client: TestClient, live: Live) -> None:
    assert client.get("/classes", headers={f"x-{n}": "y" for n in range(101)}).status_code == 431
    endless = b"GET /classes HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 200_000
    answer = raw(live, endless)
    assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 431")) or answer == b""


def test_a_header_that_does_not_come_is_given_up(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of clients that send a byte a minute to hold connections (Slowloris); 10 s are made short here."""
    monkeypatch.setattr(running, "SECONDS_FOR_HEADERS", 0.2)
    assert raw(live, b"GET /classes HTTP/1.1\r\nHost: loc") == b""  # closed by the service, not by our own patience


def test_two_hosts_and_none(live: Live) -> None:
    two = b"GET /classes HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    assert raw(live, two).splitlines()[0].split()[1] in (b"400", b"421")
    assert raw(live, b"GET /classes HTTP/1.0\r\n\r\n").splitlines()[0].split()[1] in (b"400", b"421")


def test_body_over_the_limit_is_not_read_to_its_end(serve: Serve) -> None:
    client = serve(limits=Limits(body=100_000))
    answer = client.post("/models/pets", content=b"x" * 100_001)
    assert answer.status_code == 413 and "0 MB" in error_of(answer)
    asked = []

    def endless() -> object:
        for place in range(1000):
            asked.append(place)
            yield b"x" * 10_000

    assert client.post("/models/pets", content=endless()).status_code == 413  # type: ignore[arg-type]
    assert client.post("/models/pets", content=b"", headers={"Content-Length": "-1"}).status_code in (400, 413)


def test_all_bodies_together_are_bounded(serve: Serve) -> None:
    client = serve(limits=Limits(in_flight=1000))
    answer = client.post("/models/pets", content=b"x" * 1001)
    assert answer.status_code == 429 and answer.headers["retry-after"] == "1"
    assert client.post("/models/pets", content=b"x" * 999).status_code == 400  # it was given back


def test_multipart_flood(serve: Serve) -> None:
    client = serve(limits=Limits(photos=20))
    many = client.post("/predict", files=files(*[b"x"] * 21))
    assert many.status_code == 400 and "Too many files" in error_of(many)
    fields = client.post("/teach", data={f"f{n}": "x" for n in range(301)}, files=files(png("red", 1)))
    assert fields.status_code == 400 and "Too many fields" in error_of(fields)
    long = client.post("/teach", data={"name": "x" * 5000}, files=files(png("red", 1)))
    assert long.status_code == 400
    headers = b"--b\r\n" + b"x: y\r\n" * 100_000
    kind = {"Content-Type": "multipart/form-data; boundary=b"}
    for content in (headers, b"\r\n" * 500_000, b"--b\r\n" * 10_000, b"--b--", b""):
        assert client.post("/predict", content=content, headers=kind).status_code == 400
    assert client.post("/predict", content=b"x", headers={"Content-Type": "multipart/form-data"}).status_code == 400


def test_range_flood(client: TestClient) -> None:
    """Ranges are not served: however many are asked for, a photo comes once and whole."""
    photo = client.get("/classes").json()["classes"][0]["examples"][0]
    whole = client.get(photo)
    many = client.get(photo, headers={"Range": "bytes=" + ",".join(f"{n}-{n + 1}" for n in range(5000))})
    assert (many.status_code, many.content) == (200, whole.content) and "content-range" not in many.headers


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"a":' + "[" * 40 + "]" * 40 + "}",
        '{"version": ' + "9" * 5000 + "}",
        '{"version": NaN}',
        '{"version": Infinity}',
        "[]",
        "7",
        "",
        '{"a": "\\ud800',
        "\xff",
    ],
)
def test_json_depth_and_other_extremes(client: TestClient, text: str) -> None:
    kind = {"Content-Type": "application/json"}
    for path in ("/undo", "/webhook", "/v2/models/pets/infer", "/models/pets"):
        assert client.post(path, content=text.encode("latin-1"), headers=kind).status_code == 400


def test_oversized_json(serve: Serve) -> None:
    client = serve(limits=Limits(json=1000))
    body = {"inputs": [], "x": "y" * 1000}
    assert client.post("/v2/models/pets/infer", json=body).status_code == 413


def test_photos_and_queue_are_bounded(serve: Serve) -> None:
    client = serve(limits=Limits(queue=2, photos=5))
    full = client.post("/predict", files=files(*(png("red", n) for n in range(3))))
    assert full.status_code == 429 and full.headers["retry-after"] == "1" and "waiting" in error_of(full)
    assert client.post("/predict", files=files(png("red", 1))).status_code == 200  # places are given back
    tensor = {"name": "image", "datatype": "UINT8", "shape": [6, 1, 1, 3], "data": [0] * 18}
    assert client.post("/v2/models/pets/infer", json={"inputs": [tensor]}).status_code == 413


def test_jobs_are_bounded(serve: Serve) -> None:
    client = serve(limits=Limits(jobs=0))
    answer = client.post("/teach", data={"name": "blue"}, files=files(png("blue", 1)))
    assert answer.status_code == 429 and answer.headers["retry-after"] == "30"


def test_a_body_that_does_not_come_is_given_up(settings: Settings, live: Live) -> None:
    """As of a client that sends a byte a minute (the limit is made short here)."""
    import asyncio

    from classgrow.serve.refusals import RefusedError
    from classgrow.serve.safety import Body, InFlight

    async def never() -> dict[str, object]:
        await asyncio.sleep(3600)
        raise AssertionError

    async def wait() -> None:
        body = Body(never, replace(settings, limits=Limits(seconds=0.01)), InFlight())
        await body()

    with pytest.raises(RefusedError, match="too long to arrive"):
        asyncio.run(wait())


def test_one_model_has_one_service(serve: Serve, settings: Settings) -> None:
    serve()
    with pytest.raises(ClassgrowError, match="Another service"):
        create_app(settings)


def test_other_folders_are_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter.txt").write_text("mine")
    with pytest.raises(ClassgrowError, match="something else"):
        Service(Settings(tmp_path / "home", TOKEN))
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def test_unknown_photos_wait_in_a_bounded_tray(serve: Serve) -> None:
    client = serve(tray=2)
    client.post("/predict", files=files(noise(1), noise(2), noise(3), png("red", 1)))
    tray = client.get("/tray").json()
    photos = [photo for group in tray["groups"] for photo in group["photos"]]
    assert tray["most"] == 2 and len(photos) == 2
    assert client.get(photos[0]).content[:4] == b"\x89PNG"
    sent = client.post("/teach", data={"name": "noise", "tray": photos[0]})
    assert sent.status_code == 202
    client.post("/discard", json={"job": sent.json()["job"]})
    assert client.post("/tray/remove", json={"photos": photos}).json() == {"left": 0}
    assert client.get("/tray").json()["groups"] == []
    assert client.post("/teach", data={"name": "noise", "tray": photos[0]}).status_code == 404


def test_nothing_is_kept_of_what_is_asked_without_a_tray(client: TestClient, tmp_path: Path) -> None:
    client.post("/predict", files=files(noise(1)))
    assert client.get("/tray").json() == {"most": 0, "groups": []}
    assert list((tmp_path / ".pets.serve").rglob("*.png")) == []


def test_the_kinds_of_data_that_label_studio_may_hold(client: TestClient) -> None:
    body = {"tasks": [{"data": {"image": data_uri(png("red", 4))}}]}
    [result] = client.post("/predict", json=body).json()["results"]
    assert json.dumps(result["result"]).count("red") == 1
    assert SIGNED["Authorization"].endswith(TOKEN)
