"""What tests of the page need: a service as a process of its own, and what a visitor does in a browser."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError

from tests.serve.conftest import TOKEN, png

LEARNED = 90_000
"""Milliseconds that a job may take where the machine is busy."""


@dataclass(frozen=True)
class Running:
    """A service in a process of its own."""

    url: str
    process: subprocess.Popen[bytes]

    @property
    def link(self) -> str:
        return f"{self.url}/sign-in#{TOKEN}"

    def wait(self) -> None:
        """Until it answers."""
        until = time.monotonic() + 90
        while time.monotonic() < until:
            assert self.process.poll() is None, "the service has ended"
            try:
                urllib.request.urlopen(f"{self.url}/health/live", timeout=5).close()
                return
            except URLError:
                time.sleep(0.1)
        raise AssertionError("the service does not answer")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def started(model: Path, *flags: str) -> Running:
    port = free_port()
    command = [sys.executable, "-m", "classgrow", "serve", str(model), "--port", str(port), *flags]
    made = ["--method", "frozen", "--network", "small", "--tray", "50", "--token", TOKEN]
    return Running(f"http://127.0.0.1:{port}", subprocess.Popen([*command, *made], stdout=subprocess.DEVNULL))


@dataclass
class Visit:
    """A page and what went wrong on it."""

    page: Any
    wrong: list[str]

    def go(self, view: str) -> None:
        self.page.click(f".tabs a[href='#{view}']")
        self.page.locator(f"#view-{view}").wait_for()

    def choose(self, button: str, files: list[Path] | list[dict[str, Any]]) -> None:
        with self.page.expect_file_chooser() as chooser:
            self.page.click(button)
        chooser.value.set_files(files)

    def ask(self, content: bytes, name: str = "photo.png") -> Any:
        """The card of a photo's answer."""
        self.go("ask")
        self.choose("#ask-choose", [photo(content, name)])
        card = self.page.locator(".answer").first
        card.locator(".bars").wait_for()
        return card

    def classes(self) -> list[str]:
        self.go("classes")
        self.page.locator(".class").first.wait_for()
        return list(self.page.locator(".class h3").all_inner_texts())

    def sees_classes(self, *names: str) -> bool:
        """Whether these are the classes that are shown, sooner or later."""
        until = time.monotonic() + 20
        while self.classes() != list(names) and time.monotonic() < until:
            self.page.wait_for_timeout(100)
        return self.classes() == list(names)

    def decide(self, choice: str) -> None:
        """Wait until something has been learned, then keep or discard it."""
        self.page.locator(".job.ready").wait_for(timeout=LEARNED)
        self.page.locator(".job.ready").get_by_role("button", name=choice).click()
        self.page.locator(".job.ready").wait_for(state="detached")


def photo(content: bytes, name: str = "photo.png") -> dict[str, Any]:
    return {"name": name, "mimeType": "image/png", "buffer": content}


def photos(colour: str, count: int) -> list[dict[str, Any]]:
    return [photo(png(colour, 100 + number), f"{colour} {number}.png") for number in range(count)]
