"""python -m benchmarks.serving [--seconds N] [--clients N] [--preset fast] [--rounds N] [--output FILE]

Many clients ask a service at once while it is taught class after class: failures, latencies, images a second and
memory, with batching and without it in turns. The service is a process of its own; this one only sends and counts.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image

from classgrow.photos.model import PhotoModel
from classgrow.photos.presets import Wish
from classgrow.progress import Silent

TOKEN = "a-token-for-the-benchmark"
HUES = ((220, 40, 40), (40, 220, 40), (40, 40, 220), (230, 230, 230), (220, 220, 40), (40, 220, 220))
SIDE, EXAMPLES, TAUGHT_EACH = 320, 20, 10


@dataclass
class Load:
    """What clients saw: seconds of every answered request, statuses that were not 200, and memory over time."""

    seconds: list[float] = field(default_factory=list)
    failed: dict[str, int] = field(default_factory=dict)
    memory: list[float] = field(default_factory=list)
    taught: int = 0


@dataclass(frozen=True)
class Row:
    """A run: times in milliseconds, memory in MB. `images_per_cpu_second`: of the service's processor time."""

    batch: int
    answered: int
    failed: int
    images_per_second: float
    images_per_cpu_second: float
    p50: float
    p99: float
    photos_per_batch: float
    taught: int
    memory_begin: float
    memory_end: float


def photo(kind: int, seed: int) -> bytes:
    """A JPEG of a coloured square among noise."""
    random = np.random.default_rng([kind, seed])
    pixels = random.integers(0, 60, (SIDE, SIDE, 3))
    pixels[60:260, 60:260] = np.clip(np.array(HUES[kind % len(HUES)]) + random.integers(-20, 20, 3), 0, 255)
    content = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(content, "JPEG", quality=85)
    return content.getvalue()


def made(place: Path, preset: str) -> Path:
    """A model of two classes."""
    for kind in (0, 1):
        (place / "photos" / f"class {kind}").mkdir(parents=True)
        for seed in range(EXAMPLES):
            (place / "photos" / f"class {kind}" / f"{seed}.jpg").write_bytes(photo(kind, seed))
    wish = Wish(method="frozen", network="small") if preset == "small" else Wish(preset=preset)
    PhotoModel(place / "model", wish, Silent()).learn(place / "photos")
    return place / "model"


# --- requests over bare sockets: what sends must not cost what answers ------------------------------------------------


def head(path: str, port: int, length: int, kind: str = "application/octet-stream", method: str = "POST") -> bytes:
    return (
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Content-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


async def asked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> tuple[int, bytes]:
    """Status and body of one answer on a connection that stays open."""
    writer.write(request)
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    length = re.search(r"(?i)content-length: (\d+)", lines)
    return int(lines.split()[1]), await reader.readexactly(int(length[1]) if length else 0)


async def client(port: int, requests: list[bytes], until: float, load: Load) -> None:
    """One person who asks again and again."""
    turn = 0
    while time.monotonic() < until:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                while time.monotonic() < until:
                    began = time.perf_counter()
                    status, _ = await asked(reader, writer, requests[turn % len(requests)])
                    turn += 1
                    if status == 200:
                        load.seconds.append(time.perf_counter() - began)
                    else:
                        load.failed[str(status)] = load.failed.get(str(status), 0) + 1
            finally:
                writer.close()
        except (OSError, asyncio.IncompleteReadError) as error:
            name = type(error).__name__
            load.failed[name] = load.failed.get(name, 0) + 1
            await asyncio.sleep(0.1)


async def teacher(port: int, until: float, load: Load) -> None:
    """Teaches class after class and keeps each, and writes down the service's memory."""
    number, job, next_look = 2, "", 0.0
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.monotonic() < until:
        if time.monotonic() >= next_look:
            _, text = await asked(reader, writer, head("/metrics", port, 0, method="GET"))
            found = re.search(rb"(?m)^classgrow_resident_memory_bytes (\S+)", text)
            load.memory.append(float(found[1]) / 1e6 if found else 0.0)
            next_look = time.monotonic() + 1
        _, text = await asked(reader, writer, head("/jobs", port, 0, method="GET"))
        states = {one["id"]: one["state"] for one in json.loads(text)["jobs"]}
        if not job or states[job] in ("kept", "failed"):
            load.taught += bool(job) and states[job] == "kept"
            body, kind = lesson(number)
            _, text = await asked(reader, writer, head("/teach", port, len(body), kind) + body)
            job, number = json.loads(text)["job"], number + 1
        await asyncio.sleep(0.2)
    writer.close()


def lesson(number: int) -> tuple[bytes, str]:
    """A form that teaches a class and keeps it."""
    parts = [('name="name"', f"class {number}".encode()), ('name="keep"', b"now")]
    parts += [(f'name="photo"; filename="{n}.jpg"', photo(number, 100 + n)) for n in range(TAUGHT_EACH)]
    body = b"".join(b"--b\r\nContent-Disposition: form-data; %s\r\n\r\n%s\r\n" % (h.encode(), c) for h, c in parts)
    return body + b"--b--\r\n", "multipart/form-data; boundary=b"


async def under_load(port: int, clients: int, seconds: float) -> Load:
    photos = [photo(kind, 500 + seed) for kind in (0, 1) for seed in range(8)]
    requests = [head("/models/model", port, len(one)) + one for one in photos]
    load, until = Load(), time.monotonic() + seconds
    await asyncio.gather(
        teacher(port, until, load), *(client(port, requests[n % 16 :] + requests, until, load) for n in range(clients))
    )
    return load


# --- the service -----------------------------------------------------------------------------------------------------


def run(model: Path, batch: int, clients: int, seconds: float) -> Row:
    """A service of its own under load."""
    port = free_port()
    command = [sys.executable, "-m", "classgrow", "serve", str(model), "--port", str(port), "--batch", str(batch)]
    environment = os.environ | {"CLASSGROW_TOKEN": TOKEN}
    service = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    try:
        wait_for(port, service)
        asyncio.run(under_load(port, clients, min(3.0, seconds)))  # threads, caches and the first exchange
        before = processor_seconds(service.pid)
        load = asyncio.run(under_load(port, clients, seconds))
        used = processor_seconds(service.pid) - before
        sizes = asyncio.run(batch_size(port))
    finally:
        service.send_signal(signal.SIGTERM)
        service.wait(60)
    spent = sorted(load.seconds)
    tenth = max(1, len(load.memory) // 10)
    return Row(
        batch=batch,
        answered=len(spent),
        failed=sum(load.failed.values()),
        images_per_second=len(spent) / seconds,
        images_per_cpu_second=len(spent) / used if used else float("nan"),
        p50=1000 * statistics.median(spent),
        p99=1000 * spent[int(0.99 * len(spent))],
        photos_per_batch=sizes,
        taught=load.taught,
        memory_begin=statistics.median(load.memory[:tenth]),
        memory_end=statistics.median(load.memory[-tenth:]),
    )


async def batch_size(port: int) -> float:
    """Photos in a batch, on average."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    _, text = await asked(reader, writer, head("/metrics", port, 0, method="GET"))
    writer.close()
    found = dict(re.findall(rb"(?m)^classgrow_batch_photos_(sum|count) (\S+)", text))
    return float(found[b"sum"]) / float(found[b"count"])


def processor_seconds(process: int) -> float:
    """Of a process with its threads, without its children; 0 where the system does not say."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def wait_for(port: int, service: subprocess.Popen[bytes]) -> None:
    for _ in range(1200):
        if service.poll() is not None:
            raise SystemExit(f"the service ended with {service.returncode}")
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise SystemExit("the service does not answer")


def measure(seconds: float = 60.0, clients: int = 32, preset: str = "fast", rounds: int = 1) -> dict[str, object]:
    """Batches of 32 and of 1 in turns, each with a model of its own."""
    rows: list[Row] = []
    for _ in range(rounds):
        for batch in (32, 1):
            with tempfile.TemporaryDirectory() as folder:
                rows.append(run(made(Path(folder), preset), batch, clients, seconds))
                print(rows[-1], flush=True)

    def ratio(name: str) -> float:
        many, single = ([getattr(row, name) for row in rows if row.batch == batch] for batch in (32, 1))
        return statistics.median(one / other for one, other in zip(many, single, strict=True))

    return {
        "rows": [asdict(row) for row in rows],
        "preset": preset,
        "clients": clients,
        "seconds": seconds,
        "failed": sum(row.failed for row in rows),
        "throughput_ratio": ratio("images_per_second"),
        "throughput_ratio_by_processor_time": ratio("images_per_cpu_second"),
        "load_average": os.getloadavg()[0],
        "processors": os.cpu_count(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serving", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--preset", default="fast", help="fast, balanced, or small (a network without weights)")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    outcome = measure(given.seconds, given.clients, given.preset, given.rounds)
    text = json.dumps(outcome, indent=1)
    print(text)
    if given.output is not None:
        given.output.write_text(text)


if __name__ == "__main__":
    main()
