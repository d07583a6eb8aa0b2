"""(d) How long the command line takes to answer."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from benchmarks.timing import take_turns

COMMANDS = {
    "classgrow --help": ["-m", "classgrow", "--help"],
    "classgrow --version": ["-m", "classgrow", "--version"],
    "python -c pass": ["-c", "pass"],
    "import torch": ["-c", "import torch"],
}


def measure(rounds: int = 5) -> dict[str, Any]:
    def run(arguments: list[str]) -> None:
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)

    timings = take_turns({name: lambda a=words: run(a) for name, words in COMMANDS.items()}, rounds)
    return {
        "rows": [
            {"command": name, "seconds": timing.median, "low": timing.low, "high": timing.high}
            for name, timing in timings.items()
        ]
    }
