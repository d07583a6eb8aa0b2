"""How long work tells where it stands. The rooms below the command line only know this small protocol."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """A bar that can be started, advanced and ended; counts are images. Training a phase is what a run plans for."""

    def begin(self, text: str, total: int, done: int = 0) -> None: ...

    def begin_training(self, phase: int, total: int, done: int = 0) -> None: ...

    def advance(self, images: int) -> None: ...

    def end(self) -> None: ...

    def say(self, text: str) -> None: ...


class Silent:
    """Shows nothing."""

    def begin(self, text: str, total: int, done: int = 0) -> None:
        pass

    def begin_training(self, phase: int, total: int, done: int = 0) -> None:
        self.begin(f"phase {phase}", total, done)

    def advance(self, images: int) -> None:
        pass

    def end(self) -> None:
        pass

    def say(self, text: str) -> None:
        pass
