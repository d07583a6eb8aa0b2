"""Pairs of real processes, as torchrun would start them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from classgrow.engine.place import Place
from classgrow.experiments.launch import free_port

PROGRAM = Path(__file__).with_name("program.py")


def environment(**changes: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("CLASSGROW_DATA", "FORCE_COLOR")}
    plain = {"OMP_NUM_THREADS": "1", "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "200", "GLOO_SOCKET_IFNAME": "lo"}
    return kept | plain | changes


@pytest.fixture(scope="session")
def together() -> Callable[..., list[subprocess.Popen[str]]]:
    """Starts `program.py` with these words in two processes."""

    def start(*words: str | Path, **changes: str) -> list[subprocess.Popen[str]]:
        port = free_port()
        return [
            subprocess.Popen(
                [sys.executable, str(PROGRAM), *map(str, words)],
                env=environment(**Place(rank, 2, rank, 2).as_environment("127.0.0.1", port), **changes),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for rank in range(2)
        ]

    return start
