"""The service as a real process: what is asked is finished, and what was queued survives every end."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from classgrow.cli.serve import serve
from classgrow.errors import ClassgrowError
from tests.serve.conftest import TOKEN, png

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="ends processes by POSIX signals")
PATIENCE = 120.0


class Process:
    """`classgrow serve` with a folder of its own."""

    def __init__(self, model: Path) -> None:
        self.model, self.port = model, free_port()
        self.process: subprocess.Popen[str] | None = None

    def start(self, *options: str) -> Process:
        command = [sys.executable, "-m", "classgrow", "serve", str(self.model), "--port", str(self.port), *options]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"CLASSGROW_TOKEN": TOKEN},
        )
        self.until(lambda: self.get("/health/ready")["ready"])
        return self

    def end(self, how: int = signal.SIGTERM) -> tuple[int, str]:
        """The exit code, and everything that was said."""
        assert self.process is not None
        self.process.send_signal(how)
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out + err

    def get(self, path: str) -> dict:  # type: ignore[type-arg]
        return self.ask(urllib.request.Request(self.url(path)))

    def post(self, path: str, body: object) -> dict:  # type: ignore[type-arg]
        kind = {"Content-Type": "application/json"}
        return self.ask(urllib.request.Request(self.url(path), json.dumps(body).encode(), kind))

    def teach(self, name: str, count: int) -> str:
        parts = [("name", "", name.encode()), *(("photo", f"{n}.png", png(name, n)) for n in range(count))]
        body = b""
        for field, file, content in parts:
            called = f'; filename="{file}"' if file else ""
            body += (
                f'--b\r\nContent-Disposition: form-data; name="{field}"{called}\r\n\r\n'.encode() + content + b"\r\n"
            )
        kind = {"Content-Type": "multipart/form-data; boundary=b"}
        return str(self.ask(urllib.request.Request(self.url("/teach"), body + b"--b--\r\n", kind))["job"])

    def ask(self, request: urllib.request.Request) -> dict:  # type: ignore[type-arg]
        request.add_header("Authorization", f"Bearer {TOKEN}")
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return dict(json.loads(answer.read()))

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def job(self, job_id: str) -> dict:  # type: ignore[type-arg]
        return dict(next(one for one in self.get("/jobs")["jobs"] if one["id"] == job_id))

    def until(self, true: object) -> None:
        """Wait for something to be so."""
        limit = time.monotonic() + PATIENCE
        while time.monotonic() < limit:
            try:
                if true():  # type: ignore[operator]
                    return
            except (urllib.error.URLError, ConnectionError):
                assert self.process is not None and self.process.poll() is None, self.process
            time.sleep(0.05)
        raise AssertionError("it took too long")


def inference(photo: bytes) -> bytes:
    """A request of the Open Inference Protocol in JSON."""
    data = [base64.b64encode(photo).decode()]
    return json.dumps({"inputs": [{"name": "image", "datatype": "BYTES", "shape": [1], "data": data}]}).encode()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def workers() -> set[int]:
    """The processes that learn, by what they were called with."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"classgrow.serve.worker" in words:
            found.add(int(path.parent.name))
    return found


@pytest.fixture
def service(model: Path) -> Iterator[Process]:
    one = Process(model)
    yield one
    if one.process is not None and one.process.poll() is None:
        one.process.kill()
        one.process.communicate()


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="finds processes in /proc")
def test_jobs_and_photos_survive_kill_9_of_worker_and_service(service: Process) -> None:
    service.start()
    first, second = service.teach("blue", 5), service.teach("white", 4)
    mine = str(service.model).encode()

    def learners() -> list[int]:
        return [pid for pid in workers() if mine in Path(f"/proc/{pid}/cmdline").read_bytes()]

    service.until(lambda: len(learners()) == 1)
    [worker] = learners()
    os.kill(worker, signal.SIGKILL)
    service.until(lambda: learners() not in ([], [worker]))  # it is begun again by itself
    assert [service.job(job)["state"] for job in (first, second)] == ["learning", "waiting"]
    [worker] = learners()
    photo = urllib.request.Request(service.url("/v2/models/pets/infer"), inference(png("red", 41)))
    assert service.ask(photo)["outputs"][0]["data"] == ["red"]  # predictions go on
    assert service.job(first)["state"] == "learning"
    service.end(signal.SIGKILL)
    limit = time.monotonic() + PATIENCE
    while learners() and time.monotonic() < limit:  # it ends with its service
        time.sleep(0.05)
    assert learners() == []
    service.start()
    assert [one["id"] for one in service.get("/jobs")["jobs"]] == [first, second]
    service.until(lambda: service.job(first)["state"] == "ready")
    assert service.job(second)["state"] == "waiting" and service.job(first)["photos"] == {"blue": 5}
    assert service.get("/classes")["version"] == 1
    assert service.post("/keep", {"job": first})["version"] == 2
    assert [one["name"] for one in service.get("/classes")["classes"]] == ["green", "red", "blue"]
    assert service.post("/discard", {"job": second})["state"] == "discarded"
    finishes_requests_when_told_to_end(service)


def finishes_requests_when_told_to_end(service: Process) -> None:
    """The answer to a body that is still on its way when the signal comes."""
    photo = png("red", 40)
    head = (
        f"POST /models/pets HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Content-Length: {len(photo)}\r\nConnection: close\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as connection:
        connection.sendall(head.encode() + photo[:100])
        time.sleep(0.3)
        assert service.process is not None
        service.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        connection.sendall(photo[100:])
        answer = b""
        while more := connection.recv(65536):
            answer += more
    assert answer.startswith(b"HTTP/1.1 200 ") and b'"label":"red"' in answer
    out, err = service.process.communicate(timeout=PATIENCE)
    assert service.process.returncode in (0, -signal.SIGTERM)
    assert "Traceback" not in out + err and TOKEN not in out + err


def test_a_port_that_is_taken_is_said_in_one_line(model: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "classgrow", "serve", str(model), "--port", port]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), done.stderr
    assert "give another --port" in done.stderr


def test_without_the_extra_the_way_out_is_named(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "classgrow.serve.running", raising=False)
    with pytest.raises(ClassgrowError, match=r"pip install 'classgrow\[serve\]'"):
        serve(model)
