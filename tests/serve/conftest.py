"""A small model of coloured squares, made once, and a service for each test that answers for a copy of it."""

from __future__ import annotations

import io
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image

from classgrow.photos.model import PhotoModel
from classgrow.photos.presets import Wish
from classgrow.progress import Silent
from classgrow.serve.app import create_app
from classgrow.serve.running import listen, server_for
from classgrow.serve.settings import Settings

TOKEN = "a-token-for-the-tests"
WISH = Wish(method="frozen", network="small", seed=1)
HUES = {"red": (220, 40, 40), "green": (40, 220, 40), "blue": (40, 40, 220), "white": (230, 230, 230)}
SIGNED = {"Authorization": f"Bearer {TOKEN}"}


def picture(name: str, seed: int) -> Image.Image:
    """A noisy square with a coloured patch."""
    random = np.random.default_rng([seed, *HUES[name]])
    pixels = random.integers(0, 60, (40, 48, 3))
    pixels[8:32, 8:40] = np.clip(np.array(HUES[name]) + random.integers(-20, 20, 3), 0, 255)
    return Image.fromarray(pixels.astype(np.uint8))


def png(name: str, seed: int) -> bytes:
    content = io.BytesIO()
    picture(name, seed).save(content, "PNG")
    return content.getvalue()


def noise(seed: int = 0) -> bytes:
    """A picture of nothing that was ever learned."""
    content = io.BytesIO()
    values = np.random.default_rng(seed).integers(0, 255, (40, 40, 3), dtype=np.uint8)
    Image.fromarray(values).save(content, "PNG")
    return content.getvalue()


def files(*contents: bytes) -> list[tuple[str, tuple[str, bytes, str]]]:
    """Photos as fields of a form."""
    return [("photo", (f"{place}.png", content, "image/png")) for place, content in enumerate(contents)]


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of red and green."""
    place = tmp_path_factory.mktemp("trained")
    for name in ("red", "green"):
        (place / "photos" / name).mkdir(parents=True)
        for seed in range(8):
            picture(name, seed).save(place / "photos" / name / f"{seed}.png")
    PhotoModel(place / "pets", WISH, Silent()).learn(place / "photos")
    return place / "pets"


@pytest.fixture
def model(trained: Path, tmp_path: Path) -> Path:
    """A copy of its own."""
    shutil.copytree(trained, tmp_path / "pets")
    return tmp_path / "pets"


@pytest.fixture
def settings(model: Path) -> Settings:
    return Settings(model, TOKEN, names=("testserver",), wish=WISH)


Serve = Callable[..., TestClient]


@pytest.fixture
def serve(settings: Settings) -> Iterator[Serve]:
    """A client that is signed in, of a service with other settings where they are given."""
    open_clients: list[TestClient] = []

    def start(**changes: object) -> TestClient:
        app = create_app(replace(settings, **changes))  # type: ignore[arg-type]
        client = TestClient(app, headers=SIGNED)
        client.__enter__()
        open_clients.append(client)
        return client

    yield start
    for client in open_clients:
        client.__exit__(None, None, None)


@pytest.fixture
def client(serve: Serve) -> TestClient:
    return serve()


@dataclass(frozen=True)
class Live:
    """A service that listens for real, in a thread of the tests."""

    host: str
    settings: Settings

    @property
    def url(self) -> str:
        return f"http://{self.host}"


@contextmanager
def listening_at(folder: Path) -> Iterator[Live]:
    """A service for the model in a folder, at a port that is free."""
    settings = Settings(folder, TOKEN, port=0, wish=WISH)
    listening = listen(settings)
    server = server_for(create_app(settings), 64)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    host, port = listening.getsockname()
    yield Live(f"{host}:{port}", settings)
    server.should_exit = True
    thread.join(60)


@pytest.fixture(scope="session")
def live(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """One for all tests that change nothing."""
    place = tmp_path_factory.mktemp("live") / "pets"
    shutil.copytree(trained, place)
    with listening_at(place) as one:
        yield one


@pytest.fixture
def fresh(model: Path) -> Iterator[Live]:
    """One for a test that changes it."""
    with listening_at(model) as one:
        yield one
