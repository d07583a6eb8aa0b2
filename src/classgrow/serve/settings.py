"""What a service is told when it starts. Values alone."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

from classgrow.errors import ClassgrowError
from classgrow.photos.presets import Wish

SHORTEST_TOKEN = 16
PORT = 8765


@dataclass(frozen=True)
class Limits:
    """What one request, and all of them together, may take.

    body, json      bytes of a request, and of its JSON
    in_flight       bytes of all requests that are being read or answered
    headers         header lines of a request
    photos, pixels  photos of a request, and pixels of one photo
    queue           photos that wait for the network
    jobs            teachings that wait
    seconds         how long a request may take to arrive, and then to be answered
    connections     connections at a time
    """

    body: int = 64 << 20
    json: int = 16 << 20
    in_flight: int = 256 << 20
    headers: int = 100
    photos: int = 200
    pixels: int = 50_000_000
    queue: int = 256
    jobs: int = 16
    seconds: float = 30.0
    connections: int = 512


@dataclass(frozen=True)
class Batching:
    """How single photos are gathered: as many as `most`, waiting at most `milliseconds` for one another."""

    most: int = 32
    milliseconds: float = 4.0


@dataclass(frozen=True)
class Settings:
    """Which model, where, and for whom.

    token        what writes need, and reads unless `public_read`
    names        other names that the service is reached by, as behind a reverse proxy
    tray         how many photos that were predicted as unknown are kept (0: none)
    wish         how a model is made that does not exist yet
    """

    model: Path
    token: str = field(repr=False)
    host: str = "127.0.0.1"
    port: int = PORT
    public_read: bool = False
    names: tuple[str, ...] = ()
    tray: int = 0
    wish: Wish = field(default_factory=Wish)
    limits: Limits = field(default_factory=Limits)
    batching: Batching = field(default_factory=Batching)

    def __post_init__(self) -> None:
        if len(self.token) < SHORTEST_TOKEN or not self.token.isascii() or not self.token.isprintable():
            raise ClassgrowError(f"`token` is too easy to guess: give {SHORTEST_TOKEN} or more letters and digits.")

    @property
    def folder(self) -> Path:
        return self.model.expanduser().resolve()

    @property
    def name(self) -> str:
        """What the model is called in protocols that want a name."""
        return self.folder.name

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host == "localhost" or (is_address(self.host) and ipaddress.ip_address(self.host).is_loopback)

    @property
    def link(self) -> str:
        """The page, signed in: what comes after # never leaves the browser, so no log and no proxy sees the token."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/sign-in#{self.token}"


def is_address(host: str) -> bool:
    """Whether this is an IP address, not a name."""
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True
